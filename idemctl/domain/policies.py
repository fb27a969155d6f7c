"""Policies: for how long each endpoint promises to recognise a retry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from idemctl.domain.horizons import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class Previously:
    """A longer ttl that was promised before and is still owed."""

    ttl: timedelta
    until: datetime
    """From this instant on, nobody can rely on the old promise any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointPolicy:
    """The promise of one endpoint."""

    endpoint: str
    """The label under which the store keeps it, as in `POST /v1/charges`."""
    ttl: timedelta
    previously: Previously | None = None
    provider: Provider | None = None
    """Who delivers to it again after a failure; what is owed is the ttl all the same."""

    def ttl_owed(self, at: datetime) -> timedelta:
        """Give the ttl that must be honoured at `at`: the longer one while both are owed."""
        if self.previously is not None and at < self.previously.until:
            return max(self.ttl, self.previously.ttl)
        return self.ttl


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """All promises of one store; empty where there is no policy file."""

    endpoints: Mapping[str, EndpointPolicy] = field(default_factory=dict)

    def ttls_owed(self, at: datetime) -> dict[bytes, timedelta]:
        """Map each endpoint's label, as stored, to the ttl that must be honoured at `at`."""
        return {
            name.encode("utf-8"): policy.ttl_owed(at) for name, policy in self.endpoints.items()
        }

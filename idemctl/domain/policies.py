"""Policies: what each endpoint promises to those who send a request again."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from idemctl.domain.horizons import requirement
from idemctl.domain.records import Pattern
from idemctl.domain.routes import most_specific

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from idemctl.domain.horizons import Provider, ReplayPath, Requirement
    from idemctl.domain.routes import Route


class KeyPlace(StrEnum):
    """Where in a request the key travels."""

    HEADER = "header"
    QUERY = "query"
    BODY = "body"
    PATH = "path"


class Maker(StrEnum):
    """Who makes the key."""

    CLIENT = "client"
    PROVIDER = "provider"
    DERIVED = "derived"
    """Computed from what the request says, the same each time it is sent."""
    SERVER = "server"
    """Who gets a new one with each request, and recognises none: always a mistake."""


class Class(StrEnum):
    """What is at stake."""

    FINANCIAL = "financial"
    OTHER = "other"


class Effect(StrEnum):
    """How far the work reaches: what a rollback can take back, and what it cannot."""

    EXTERNAL = "external"
    DATABASE = "database"


class Reads(StrEnum):
    """Where the application looks for the key."""

    PRIMARY_ONLY = "primary-only"
    REPLICA = "replica"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Where the key is found, and what it looks like."""

    place: KeyPlace
    name: str
    format: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What of a request is hashed, to tell two requests with one key apart."""

    hashed: tuple[str, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The HTTP status of a request that found a record."""

    mismatch: int = 422
    conflict: int = 409


@dataclass(frozen=True, slots=True, kw_only=True)
class Previously:
    """A longer ttl that was promised before and is still owed."""

    ttl: timedelta
    until: datetime
    """From this instant on, nobody can rely on the old promise any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemption:
    """A rule that a person has taken an endpoint out of, for a while."""

    code: str
    owner: str
    reason: str
    until: datetime
    """From this instant on, the rule counts again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointPolicy:
    """The promise of one endpoint; None is what the file does not say."""

    endpoint: str
    """The label under which the store keeps it, as in `POST /v1/charges`."""
    route: Route | None = None
    """The label understood as method and path; None where it is another word."""
    ttl: timedelta
    previously: Previously | None = None
    reason: str | None = None
    """Why the ttl is an unusual one."""
    pattern: Pattern | None = None
    key: Key | None = None
    made_by: Maker | None = None
    scope: tuple[str, ...] = ()
    """What makes the key unique beside itself."""
    in_progress_timeout: timedelta | None = None
    """After which a request that was begun may be begun by another."""
    timeout: timedelta | None = None
    """The endpoint's own: how long one request may work."""
    redis_ttl: timedelta | None = None
    """For how long Redis keeps the copy, where Postgres keeps the record for `ttl`."""
    upstream_key_ttl: timedelta | None = None
    """For how long the provider that this endpoint calls recognises the key it is sent."""
    stakes: Class = Class.OTHER
    effect: Effect | None = None
    reads: Reads | None = None
    fingerprint: Fingerprint | None = None
    answers: Answers = field(default_factory=Answers)
    provider: Provider | None = None
    """Who delivers to it again after a failure; what is owed is the ttl all the same."""
    replay: tuple[ReplayPath, ...] = ()
    """Every way back, the provider's own first."""
    rows_kept: Mapping[str, timedelta] = field(default_factory=dict)
    """For how long `outbox` and `workflow` rows stay."""
    owner: str | None = None
    exempt: tuple[Exemption, ...] = ()

    def ttl_owed(self, at: datetime) -> timedelta:
        """Give the ttl that must be honoured at `at`: the longer one while both are owed."""
        if self.previously is not None and at < self.previously.until:
            return max(self.ttl, self.previously.ttl)
        return self.ttl

    @property
    def longest(self) -> ReplayPath | None:
        """The longest way back; of one with an unknown hop, what is known of it."""
        return max(self.replay, key=lambda path: path.at_least, default=None)

    @property
    def required(self) -> Requirement | None:
        """What the longest way back asks of the ttl; None where nothing is known of any.

        A hash of the body recognises what comes within moments, and promises no more.
        """
        longest = self.longest
        if self.pattern is Pattern.BODY_HASH or longest is None or not longest.at_least:
            return None
        return requirement(longest.at_least)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """All promises of one store; empty where there is no policy file."""

    endpoints: Mapping[str, EndpointPolicy] = field(default_factory=dict)

    def ttls_owed(self, at: datetime) -> dict[bytes, timedelta]:
        """Map each endpoint's label, as stored, to the ttl that must be honoured at `at`."""
        return {
            name.encode("utf-8"): policy.ttl_owed(at) for name, policy in self.endpoints.items()
        }

    def governing(self, endpoint: str) -> EndpointPolicy | None:
        """Find the policy of a label, or else of a request such as `POST /v1/charges/ch_1`."""
        if endpoint in self.endpoints:
            return self.endpoints[endpoint]
        method, _, path = endpoint.partition(" ")
        routes = {policy.route: policy for policy in self.endpoints.values() if policy.route}
        found = most_specific(routes, method, path)
        return None if found is None else routes[found]

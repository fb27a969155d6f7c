"""What a verb works on: one side of a store, with the promises made for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from idemctl.domain.policies import Policies

if TYPE_CHECKING:
    from datetime import timedelta

    from idemctl.stores.ports import Opens


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One Postgres table or Redis keyspace of a configured store."""

    store: str
    opens: Opens
    ttl: timedelta | None = None
    """The store's ttl, where neither a record nor a policy says."""
    policies: Policies = field(default_factory=Policies)
    expires_by_itself: bool = False
    """Whether the store removes expired records itself: there is nothing to collect."""
    in_progress_means: str = "in progress"
    """What the application's people call it."""

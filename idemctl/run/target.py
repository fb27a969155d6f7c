"""What a verb works on: one side of a store, with the promises made for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from idemctl.domain.policies import Policies
from idemctl.domain.records import Status
from idemctl.domain.sight import Engine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from idemctl.domain.secrets import Secret
    from idemctl.domain.sight import Sight
    from idemctl.errors import Unsupported
    from idemctl.layouts.transcript import Transcript
    from idemctl.run.throttle import Throttling
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
    engine: Engine = Engine.POSTGRES
    sight: frozenset[Sight] = frozenset()
    """What its records show, read through its layout."""
    statuses: frozenset[Status] = frozenset(Status)
    """In which its records can be seen."""
    server: Secret | None = None
    """What leads to its server, by which stores on the same one are known."""
    where: str = ""
    """The table or the prefix, as configuration or layout name it."""
    layout: str = ""
    """The name of the layout through which it is read."""
    is_shared: bool = False
    """Whether the same table or prefix is read through other layouts, too."""
    keeps_for: timedelta | None = None
    """How long a key stays in Redis after it was written, by the configuration."""
    promised: Policies = field(default_factory=Policies)
    """What policies promise, also where it is Redis's own TTL that ends a record."""
    has_locks: bool = False
    """Whether its layout has keys whose presence says that work is in progress."""
    has_opaque_values: bool = False
    """Whether its layout says that values are never taken apart."""
    has_witness: bool = False
    """Whether the store has somewhere to keep one."""
    is_never_collected: bool = False
    """Whether its layout says that no record of it ever goes: it holds the business itself."""
    known_faults: Mapping[str, str] = field(default_factory=dict)
    """By the code of a check, what its library is known to get wrong."""
    reads_replica: bool = False
    """Whether it is to be read from a standby, and from nothing else."""
    replica_count: int = 0
    """How many servers have to copy this one, by the configuration."""
    throttling: Throttling | None = None
    """When a run that changes it waits; `None` where nobody says."""
    is_configured: bool = True
    """Whether a file names its store, so that other commands know it, too."""

    def named(self, place: str) -> str:
        """Name its place, as the store itself does, apart from that of its other layouts."""
        return f"{place} ({self.layout})" if self.is_shared else place


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A Postgres table and a Redis keyspace that hold the same keys."""

    store: str
    postgres: Target
    redis: Target
    redis_ttl: timedelta | None
    """How long a record stays in Redis after it was written there."""
    write_order: str
    """`postgres-first`, `redis-first` or `unknown`: which the application writes first."""
    transcript: Transcript | Unsupported
    """How twins are written, or why they cannot be."""
    on_redis_miss: str
    """`postgres`, `proceed` or `unknown`: where it looks when Redis knows no such key."""

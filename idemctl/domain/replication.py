"""Replication: who follows a server, what it follows, and what is kept for those who do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What a standby knows of itself."""

    is_receiving: bool
    """Whether it is connected to the server that it follows."""
    is_paused: bool
    """Whether somebody told it to replay nothing for now."""
    has_replayed_all: bool
    """Whether it shows everything that it had received a moment ago."""
    replayed_for: timedelta | None
    """How old the last transaction is that it shows; None where it has replayed none."""

    def is_level_within(self, lag: timedelta) -> bool:
        """Whether it surely shows what its primary did before so long."""
        if self.is_receiving and self.has_replayed_all:
            return True  # However long ago the last of it was: nobody has written since.
        return self.replayed_for is not None and self.replayed_for <= lag


@dataclass(frozen=True, slots=True, kw_only=True)
class Standby:
    """A standby, as the server knows it that it follows."""

    name: str
    sync_state: str
    behind_bytes: int | None
    """Of WAL that it does not show yet."""
    behind_for: timedelta | None
    """How long the last commit took to be shown there; None where it is idle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A replication slot: a promise to keep WAL until somebody has fetched it."""

    name: str
    is_active: bool
    wal_status: str
    """`reserved`, `extended`, `unreserved` or `lost`; empty where it keeps nothing."""
    retained_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Archiver:
    """What carries WAL away, for restores."""

    failed_count: int
    failed_file: str
    """The last one that it failed on; empty where it never did."""
    is_failing: bool
    """Whether the last attempt failed."""
    archived_for: timedelta | None
    """How long ago the last file was archived."""
    queued_bytes: int = 0
    """Of WAL that waits to be archived; the segment that is being written does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresReplication:
    """That of a Postgres server."""

    recovery: Recovery | None = None
    """None on a primary."""
    standbys: tuple[Standby, ...] = ()
    hidden_standby_count: int = 0
    """Those of which this user sees nothing."""
    slots: tuple[Slot, ...] = ()
    archiver: Archiver | None = None
    """None where nothing is archived."""

"""What idemctl asks of a store. Read this first.

The contracts are executable: `tests/stores/contract.py` runs the same cases against
every adapter, and a new adapter is done when they pass. A store without a capability
raises `Unsupported`.

A store is closed by its opener. Everything here may raise `Unreachable` (down, loading,
cannot be judged), `Denied` (credentials or rights) and `ConfigError` (no such table).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from datetime import datetime

    from idemctl.domain.batch import Batch
    from idemctl.domain.collection import Chunk
    from idemctl.domain.records import Pattern
    from idemctl.domain.retention import Retention


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` disjoint parts of a store, which together are the whole."""

    index: int = 0
    count: int = 1

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


WHOLE = Shard()


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """A privilege that some command needs."""

    name: str
    granted: bool
    needed_for: str
    grant: str
    """The statement that an administrator types to give it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a store says of itself."""

    product: str
    """`PostgreSQL`, `Redis`, `Valkey` or `memory`."""
    version: str
    supported: bool
    """Whether the version is at or above the floor."""
    place: str
    """The table or the prefix, as idemctl names it in every output."""
    user: str
    is_replica: bool
    row_estimate: int | None
    """About how many records; `None` where the store keeps no such number."""
    hides_rows: str | None = None
    """Why some records may be invisible to this user, when they may."""
    drags: tuple[str, ...] = ()
    """Other tables whose rows a deletion here would delete or change, unasked."""
    rights: tuple[Right, ...] = ()


class Describes(Protocol):
    """Says what it is, and what time it is there."""

    def clock(self) -> datetime:
        """Read the store's own clock: the only one by which its records expire."""
        ...

    def describe(self) -> Description:
        """Look at version, role and rights."""
        ...


class Scans(Protocol):
    """Streams every record, as columns."""

    def scan(self, shard: Shard = WHOLE) -> Iterator[Batch]:
        """Read the records of one shard, each at least once.

        A record that appears, moves or goes while the scan runs may be seen once, twice
        or not at all; one that stands still is seen exactly once.
        """
        ...


class Collects(Protocol):
    """Finds and deletes expired records, a small committed batch at a time."""

    def survey(self, retention: Retention, shard: Shard = WHOLE) -> Generator[Chunk]:
        """Count records by verdict and promise; changes nothing."""
        ...

    def collect(self, retention: Retention, shard: Shard = WHOLE) -> Generator[Chunk]:
        """Delete what is expired, and yield after each commit.

        Whether a record is expired is decided again at the store at the moment of its
        deletion. Closing the generator between two steps leaves nothing half done.
        """
        ...

    def oldest_expired(self, retention: Retention) -> datetime | None:
        """Find when the earliest promise that is over ended; `None` when none is.

        Asked when a walk left something behind, to tell a late run from a backlog.
        """
        ...


class Lock(Protocol):
    """A lock that this process holds at a store."""

    def is_held(self) -> bool:
        """Ask the store; false once it was lost, and then for good."""
        ...

    def release(self) -> None:
        """Give it back; a lost lock is no error."""
        ...


class Locks(Protocol):
    """Lets one run at a time work on a store, across hosts."""

    def lock(self, purpose: str) -> Lock:
        """Take the lock without waiting.

        Raises:
            Locked: Somebody else holds it; the message says who.
            Refused: Such a lock would not be dependable here.
        """
        ...


class Closes(Protocol):
    """Holds connections."""

    def close(self) -> None:
        """Give them back; harmless when repeated."""
        ...


class Store(Describes, Scans, Collects, Locks, Closes, Protocol):
    """One Postgres table or Redis keyspace, read through one layout."""

    @property
    def pattern(self) -> Pattern:
        """How the application uses it."""
        ...

    @property
    def has_stored_expiry(self) -> bool:
        """Whether its records carry their own expiry."""
        ...


class Opens(Protocol):
    """Opens a store; can be carried to another process."""

    def open(self, *, writable: bool) -> Store:
        """Make the store; it connects when it is first asked something.

        Args:
            writable: without it the store itself refuses every write.
        """
        ...

"""What idemctl asks of a store. Read this first.

The contracts are executable: `tests/stores/contract.py` runs the same cases against
every adapter, and a new adapter is done when they pass. A store without a capability
raises `Unsupported`.

A store is closed by its opener. Everything here may raise `Unreachable` (down, loading,
cannot be judged), `Denied` (credentials or rights) and `ConfigError` (no such table).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from idemctl.stores.answers import WHOLE
from idemctl.stores.archiving import Archives
from idemctl.stores.locking import Locks
from idemctl.stores.telling import Accounts, TellsCircumstances, TellsLoad

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from idemctl.domain.batch import Batch
    from idemctl.domain.collection import Chunk
    from idemctl.domain.inspections import Inspection
    from idemctl.domain.records import Pattern
    from idemctl.domain.retention import Retention
    from idemctl.layouts.transcript import Transcript
    from idemctl.stores.answers import (
        Choose,
        Description,
        Found,
        Held,
        Right,
        Shard,
        Wanted,
        Written,
    )


class Describes(Protocol):
    """Says what it is, and what time it is there."""

    def clock(self) -> datetime:
        """Read the store's own clock: the only one by which its records expire."""
        ...

    def describe(self) -> Description:
        """Look at version and role."""
        ...

    def rights(self) -> Sequence[Right]:
        """List what this user needs here, whatever for, and whether it is granted.

        Nothing is changed to find out.
        """
        ...


class Scans(Protocol):
    """Streams every record, as columns."""

    done: float
    """The share of the newest walk that lies behind, 0 to 1; 0 where the store cannot tell."""

    def scan(self, shard: Shard = WHOLE) -> Iterator[Batch]:
        """Read the records of one shard, each at least once.

        A record that appears, moves or goes while the scan runs may be seen once, twice
        or not at all; one that stands still is seen exactly once.
        """
        ...


class Samples(Protocol):
    """Streams some records first that stand for all."""

    def sample(self) -> Iterator[Batch]:
        """Read the records from everywhere in the store; who has enough stops reading.

        However early that is, records of every age were among them. Who reads to the end has
        seen what a scan shows.
        """
        ...


class ShowsHeaders(Protocol):
    """Streams some records first, with the headers that they keep."""

    def headers(self) -> Iterator[Batch]:
        """Sample, with headers of request and response in the place of fingerprint and endpoint.

        They are as they are stored, credentials and all: to be counted, never to be kept.
        """
        ...


class LooksUp(Protocol):
    """Finds the records of given keys."""

    def look_up(self, wanted: Iterable[Wanted]) -> Iterator[Found]:
        """Answer one request after another; the next may be taken before the last is answered.

        A key that no record of this store can have is not found. Where two keys have one
        name, a record that says that it is the other one's does so in its batch.

        Raises:
            Unsupported: the layout does not say under which name a key lies.
        """
        ...


class Names(Protocol):
    """Knows its records by names that can be listed without them: a Redis keyspace.

    All three raise `Unsupported` where there are none.
    """

    def names_of(self, wanted: Wanted) -> Sequence[bytes | None]:
        """Say under which name each key lies; `None` where no record has that key."""
        ...

    def names(self, shard: Shard = WHOLE) -> Iterator[Sequence[bytes]]:
        """List the names of one shard's records, each as often as `scan` reads it."""
        ...

    def scan_named(self, choose: Choose, shard: Shard = WHOLE) -> Iterator[Batch]:
        """Read the records of one shard whose names are chosen; see `Scans.scan`."""
        ...


class Holds(Protocol):
    """Keeps rows as they are while their twins are written: a table opened for writing."""

    def hold(
        self, transcript: Transcript, *, written_after: datetime, shard: Shard = WHOLE
    ) -> Generator[Held | None]:
        """Hold the rows of one shard, some at a time: those that it yields, until it is resumed.

        It yields `None` when they are free again, and nothing is held: the time to rest.
        Rows that somebody else has locked are left out. Steps may be empty.

        Args:
            transcript: how twins are written.
            written_after: no older row is held.
            shard: which part.
        """
        ...

    def hold_keys(self, transcript: Transcript, wanted: Wanted) -> AbstractContextManager[Held]:
        """Hold the rows of some keys for the length of the block."""
        ...


class Fills(Protocol):
    """Writes twins where there are none: a Redis keyspace that was opened for writing."""

    def fill(
        self, wanted: Wanted, values: Sequence[bytes], until: NDArray[np.int64], *, now: int
    ) -> Written:
        """Write what is absent, and say which were; what is there stays as it is.

        Meant to be called while the rows in Postgres are held. It waits a second for the
        server, and when it returns or raises nothing will be written any more. Called with
        nothing to write it connects, so that no row is held for that.

        Args:
            wanted: whose twins.
            values: what each holds.
            until: when each ends, in microseconds by this store's own clock; rounded down to
                the millisecond.
            now: what time it is by that clock, in microseconds, at the least.

        Where the server falls silent, the answer says how many may have been written.

        Raises:
            Unsupported: the layout does not say under which name a key lies.
            Unreachable: it cannot be reached, and nothing was sent.
        """
        ...


class Collects(Protocol):
    """Finds and deletes expired records, a small committed batch at a time."""

    def survey(self, retention: Retention, shard: Shard = WHOLE) -> Generator[Chunk]:
        """Count records by verdict and promise; changes nothing."""
        ...

    def collect(
        self, retention: Retention, shard: Shard = WHOLE, limit: int | None = None
    ) -> Generator[Chunk]:
        """Delete what is expired, never more than `limit`, and yield after each commit.

        Whether a record is expired is decided again at the store at the moment of its
        deletion. Closing the generator between two steps leaves nothing half done.
        """
        ...

    def count_expired(self, retention: Retention, at_most: int) -> Generator[Chunk]:
        """Count what `collect` would take, until it is more than `at_most`."""
        ...

    def oldest_expired(self, retention: Retention) -> datetime | None:
        """Find when the earliest promise that is over ended; `None` when none is.

        Asked when a walk left something behind, to tell a late run from a backlog.
        """
        ...


class Inspects(Protocol):
    """Looks at records beside other rows: the steps of a run, the events that come after."""

    def inspect(self, what: Inspection, shard: Shard = WHOLE) -> Iterator[Batch]:
        """Find the records of one shard of which other rows tell that.

        Batches may be empty, for the caller's pace.

        Raises:
            Unsupported: the layout does not say which rows those are.
        """
        ...


class Closes(Protocol):
    """Holds connections."""

    def close(self) -> None:
        """Give them back; harmless when repeated."""
        ...


class Store(
    Describes,
    Scans,
    Samples,
    ShowsHeaders,
    LooksUp,
    Names,
    Inspects,
    Holds,
    Fills,
    Collects,
    Archives,
    Accounts,
    TellsCircumstances,
    TellsLoad,
    Locks,
    Closes,
    Protocol,
):
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

"""The reference adapter: a table as a list of dictionaries.

It is short enough to be seen right, and passes the same contract as the real ones; the
operations are tested on it.
"""

from __future__ import annotations

import time
import zlib
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from idemctl.domain.allowance import Allowance
from idemctl.domain.circumstances import PostgresCircumstances
from idemctl.domain.collection import Chunk
from idemctl.domain.incident import Account
from idemctl.domain.instants import from_micros
from idemctl.domain.retention import Verdict, judge, tally
from idemctl.domain.shapes import TableShape
from idemctl.domain.spread import spread
from idemctl.domain.throttle import Load
from idemctl.errors import Locked
from idemctl.layouts.columns import as_bytes, missing
from idemctl.layouts.conditions import reading
from idemctl.layouts.instants import Unit
from idemctl.layouts.joins import joined
from idemctl.layouts.rows import RowReader
from idemctl.stores.answers import WHOLE, Description, Found
from idemctl.stores.archiving import Unarchived
from idemctl.stores.untwinned import WithoutTwin

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from datetime import datetime

    from idemctl.domain.batch import Batch
    from idemctl.domain.records import Pattern
    from idemctl.domain.retention import Retention
    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.answers import Choose, Right, Shard, Wanted

Row = dict[str, Any]


class MemoryStore(WithoutTwin, Unarchived):
    """A table in this process. See `stores.ports.Store`."""

    done = 0.0

    def __init__(
        self,
        rows: list[Row],
        layout: PostgresLayout,
        clock: Callable[[], datetime],
        *,
        batch_size: int = 100,
    ) -> None:
        self.rows = rows
        self.held: set[bytes] = set()
        """Keys of rows that another session holds."""
        self.past = Account()
        self.surroundings = PostgresCircumstances(shape=TableShape(key="key"))
        self.strain = Load()
        self._layout = layout
        self._clock = clock
        self._batch_size = batch_size
        self._locked_for: set[str] = set()

    @property
    def pattern(self) -> Pattern:
        """See `Store.pattern`."""
        return self._layout.pattern

    @property
    def has_stored_expiry(self) -> bool:
        """See `Store.has_stored_expiry`."""
        return self._layout.expires is not None

    def clock(self) -> datetime:
        """See `Describes.clock`."""
        return self._clock()

    def describe(self) -> Description:
        """See `Describes.describe`."""
        return Description(
            product="memory",
            version="1",
            supported=True,
            place="memory",
            user="you",
            is_replica=False,
            row_estimate=len(self.rows),
        )

    def rights(self) -> Sequence[Right]:
        """See `Describes.rights`; nobody may be kept from its own memory."""
        return ()

    def scan(self, shard: Shard = WHOLE) -> Iterator[Batch]:
        """See `Scans.scan`."""
        for rows in self._batches(shard):
            yield self._read(rows)

    def sample(self) -> Iterator[Batch]:
        """See `Samples.sample`."""
        mine = self._mine
        rows = [mine[at] for at in spread(len(mine))]
        for at in range(0, len(rows), self._batch_size):
            yield self._read(rows[at : at + self._batch_size])

    def headers(self) -> Iterator[Batch]:
        """See `ShowsHeaders.headers`."""
        layout = self._layout.with_headers()
        return MemoryStore(self.rows, layout, self._clock, batch_size=self._batch_size).sample()

    def look_up(self, wanted: Iterable[Wanted]) -> Iterator[Found]:
        """See `LooksUp.look_up`."""
        for keys, scopes in wanted:
            places = {who: at for at, who in enumerate(zip(keys, scopes, strict=True))}
            whole = self._read(self._mine)
            owners = zip(whole.keys, whole.scopes, strict=True)
            known = [(row, places[who]) for row, who in enumerate(owners) if who in places]
            rows, at = np.array(known, np.intp).reshape(len(known), 2).T
            yield Found(batch=whole.take(rows), at=at)

    def names_of(self, wanted: Wanted) -> Sequence[bytes | None]:
        """See `Names.names_of`."""
        return list(_names(*wanted))

    def names(self, shard: Shard = WHOLE) -> Iterator[Sequence[bytes]]:
        """See `Names.names`."""
        for batch in self.scan(shard):
            yield _names(batch.keys, batch.scopes)

    def scan_named(self, choose: Choose, shard: Shard = WHOLE) -> Iterator[Batch]:
        """See `Names.scan_named`."""
        for batch in self.scan(shard):
            names = _names(batch.keys, batch.scopes)
            chosen = set(choose(names))
            yield batch.take(np.flatnonzero([name in chosen for name in names]))

    def survey(self, retention: Retention, shard: Shard = WHOLE) -> Generator[Chunk]:
        """See `Collects.survey`."""
        for batch in self.scan(shard):
            started = time.perf_counter()
            tallies = tuple(tally(batch, retention))
            yield Chunk(
                part="memory",
                took=timedelta(seconds=time.perf_counter() - started),
                tallies=tallies,
                candidates=sum(one.count for one in tallies if one.verdict is Verdict.EXPIRED),
            )

    def collect(
        self, retention: Retention, shard: Shard = WHOLE, limit: int | None = None
    ) -> Generator[Chunk]:
        """See `Collects.collect`."""
        allowance = Allowance(limit)
        for rows in self._batches(shard):
            started = time.perf_counter()
            batch = self._read(rows)
            verdicts, _, _ = judge(batch, retention)
            expired = np.flatnonzero(verdicts == Verdict.EXPIRED)
            free = [rows[at] for at in expired if batch.keys[int(at)] not in self.held]
            gone = free[: allowance.left]
            self.rows = [row for row in self.rows if not any(row is one for one in gone)]
            took = timedelta(seconds=time.perf_counter() - started)
            allowance.spend(len(gone))
            yield Chunk(
                part="memory",
                took=took,
                held_for=took,
                tallies=tuple(tally(batch, retention)),
                candidates=len(expired) - len(free) + len(gone),
                deleted=len(gone),
                skipped_locked=len(expired) - len(free),
                limited=allowance.is_spent,
            )
            if allowance.is_spent:
                return

    def count_expired(self, retention: Retention, at_most: int) -> Generator[Chunk]:
        """See `Collects.count_expired`."""
        count = sum(chunk.candidates for chunk in MemoryStore.survey(self, retention))
        yield Chunk(part="memory", took=timedelta(0), candidates=min(count, at_most + 1))

    def oldest_expired(self, retention: Retention) -> datetime | None:
        """See `Collects.oldest_expired`."""
        over: list[int] = []
        for batch in self.scan():
            verdicts, _, ends = judge(batch, retention)
            over += ends[verdicts == Verdict.EXPIRED].tolist()
        return from_micros(min(over)) if over else None

    def circumstances(self) -> PostgresCircumstances:
        """See `TellsCircumstances.circumstances`."""
        return self.surroundings

    def load(self, query: str | None = None) -> Load:
        """See `TellsLoad.load`."""
        del query
        return self.strain

    def account(self) -> Account:
        """See `Accounts.account`."""
        return self.past

    def lock(self, purpose: str) -> MemoryLock:
        """See `Locks.lock`."""
        if purpose in self._locked_for:
            raise Locked(f"memory: another {purpose} is at work here")
        self._locked_for.add(purpose)
        return MemoryLock(self._locked_for, purpose)

    def close(self) -> None:
        """See `Closes.close`."""

    @property
    def _mine(self) -> list[Row]:
        """The rows that are records of this layout."""
        only = self._layout.only
        return self.rows if only is None else list(filter(reading(only), self.rows))

    def _batches(self, shard: Shard) -> Iterator[list[Row]]:
        key = self._layout.key
        mine = [
            row for row in self._mine if zlib.crc32(as_bytes(row[key])) % shard.count == shard.index
        ]
        for at in range(0, len(mine), self._batch_size):
            yield mine[at : at + self._batch_size]

    def _read(self, rows: list[Row]) -> Batch:
        layout, reader = self._layout, RowReader(self._layout, Unit.MICROSECONDS)
        columns = reader.columns(rows)
        batch = reader.batch(
            columns,
            keys=reader.texts(rows, layout.key),
            scopes=reader.texts(rows, layout.scope),
            endpoints=joined(columns, layout.endpoint) or [b""] * len(rows),
            key_expires_at=missing(len(rows)),
            sizes=np.array([len(repr(row)) for row in rows], np.int64),
        )
        if layout.never_collected is None:
            return batch
        stays = np.fromiter(map(reading(layout.never_collected), rows), np.bool_, len(rows))
        return replace(batch, never_collected=stays)


def _names(keys: Sequence[bytes], scopes: Sequence[bytes]) -> list[bytes]:
    return [scope + b"/" + key for key, scope in zip(keys, scopes, strict=True)]


class MemoryLock:
    """See `stores.ports.Lock`."""

    def __init__(self, locked_for: set[str], purpose: str) -> None:
        self._locked_for = locked_for
        self._purpose = purpose

    def is_held(self) -> bool:
        """See `Lock.is_held`."""
        return self._purpose in self._locked_for

    def release(self) -> None:
        """See `Lock.release`."""
        self._locked_for.discard(self._purpose)

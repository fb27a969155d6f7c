"""Sweeps over a pair: both ways, in columns, on nothing but the ports.

From Postgres: what does Redis owe and has not, or has under another's name? From Redis: what
does it hold that Postgres does not know, or says otherwise? Nothing that a sweep sees is true
for sure: the application writes meanwhile. `look_again` tells what stands still.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.differences import Difference, are_anothers, compare, expected_until
from idemctl.domain.instants import MISSING, to_micros
from idemctl.domain.records import Status
from idemctl.domain.roll import marks
from idemctl.domain.sweeps import Suspects, Swept, of_pairs
from idemctl.errors import IdemctlError
from idemctl.stores.answers import WHOLE, Filling
from idemctl.stores.asking import requests, requests_of_held
from idemctl.stores.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray

    from idemctl.domain.batch import Batch
    from idemctl.domain.differences import Terms
    from idemctl.domain.roll import Uneven
    from idemctl.layouts.transcript import Transcript
    from idemctl.stores.answers import Held, Shard, Wanted, Written
    from idemctl.stores.asking import Asked, Reading
    from idemctl.stores.ports import Store

_CLOCK_FOR = timedelta(seconds=5)
"""How long a reading of the clocks is trusted by who fills."""
_MICROSECOND = timedelta(microseconds=1)
_MILLISECOND = 1000
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True, kw_only=True)
class OpenPair:
    """Both stores of a pair, opened."""

    postgres: Store
    redis: Store
    terms: Terms
    clock: Clock
    row_estimate: int | None = None
    """About how many rows the table has, where it says."""

    def both_ways(self, read: Reading) -> Generator[Swept]:
        """Sweep from Postgres, then from Redis, all that is read there."""
        yield from self.from_postgres(read=read)
        yield from self.from_redis(read=read)

    def call_roll(self, key: bytes, shard: Shard = WHOLE) -> Generator[Swept]:
        """Sweep from Postgres, then list what Redis has; say by marks what is equal, and listed.

        Where `Roll` finds no difference, a sweep from Redis would find none that counts.
        """
        yield from self.from_postgres(shard, key=key)
        started = time.perf_counter()
        for names in self.redis.names(shard):
            yield Swept(
                part="redis",
                took=timedelta(seconds=time.perf_counter() - started),
                units=max(len(names), 1),
                redis_scanned=len(names),
                listed=marks(names, key),
            )
            started = time.perf_counter()

    def from_postgres(
        self, shard: Shard = WHOLE, *, read: Reading | None = None, key: bytes | None = None
    ) -> Generator[Swept]:
        """Look for what Redis owes and has not; with a key, mark what is equal.

        What differs is found from Redis, with the rest of what is there; but what cannot be
        told there to belong to a row is told here.
        """
        batches = self.postgres.scan(shard) if read is None else read("postgres")
        asked: deque[Asked] = deque()
        started = time.perf_counter()
        for found in self.redis.look_up(self._owed(batches, asked)):
            sent = asked.popleft()
            rows = sent.rows.take(found.at)
            differences = compare(rows, found.batch, sent.until[found.at], self.terms)
            equal = found.at[differences == Difference.EQUAL]
            told = (differences == Difference.MALFORMED) | are_anothers(rows, found.batch)
            seen = np.full(len(sent.rows), Difference.MISSING, np.uint8)
            seen[found.at] = np.where(told, differences, Difference.EQUAL)
            versions = of_pairs(len(seen), (sent.rows, _all(sent.rows)), (found.batch, found.at))
            yield Swept(
                part="postgres",
                took=timedelta(seconds=time.perf_counter() - started),
                units=max(sent.scanned, 1),
                postgres_scanned=sent.scanned,
                equal=len(equal),
                suspects=_suspects(sent.rows, seen, versions),
                judged=None if key is None else self._marks(sent.rows.take(equal), key),
            )
            started = time.perf_counter()

    def from_redis(
        self, shard: Shard = WHOLE, *, read: Reading | None = None, among: Uneven | None = None
    ) -> Generator[Swept]:
        """Look for what Redis holds and Postgres does not know, or says otherwise.

        With `among`, only names are looked at of which a roll call told.
        """
        batches = self.redis.scan(shard) if read is None else read("redis")
        if among is not None:
            batches = self.redis.scan_named(among.names, shard)
        asked: deque[Asked] = deque()
        started = time.perf_counter()
        for found in self.postgres.look_up(requests_of_held(batches, asked)):
            sent = asked.popleft()
            until = expected_until(found.batch, self.terms, self.clock.now())
            known = sent.rows.take(found.at)
            # What cannot be read may be anybody's: it is nobody's orphan.
            lost = sent.rows.status == Status.MALFORMED
            seen = np.where(lost, Difference.EQUAL, Difference.ORPHAN).astype(np.uint8)
            seen[found.at] = compare(found.batch, known, until, self.terms)
            lost[found.at] = False
            versions = of_pairs(len(seen), (found.batch, found.at), (sent.rows, _all(sent.rows)))
            yield Swept(
                part="redis",
                took=timedelta(seconds=time.perf_counter() - started),
                units=max(sent.scanned, 1),
                redis_scanned=sent.scanned,
                unreadable=sent.nameless + int(np.count_nonzero(lost)),
                suspects=_suspects(sent.rows, seen, versions),
            )
            started = time.perf_counter()

    def look_again(self, suspects: Suspects) -> Suspects:
        """Compare the twins of suspects once more; give what is seen now, in the same order."""
        wanted = [(suspects.keys, suspects.scopes)]
        (ours,) = self.postgres.look_up(wanted)
        (theirs,) = self.redis.look_up(wanted)
        count = len(suspects)
        until = expected_until(ours.batch, self.terms, self.clock.now())
        seen = np.full(count, Difference.EQUAL, np.uint8)
        seen[ours.at[until != MISSING]] = Difference.MISSING
        seen[theirs.at] = Difference.ORPHAN
        both, left, right = np.intersect1d(ours.at, theirs.at, return_indices=True)
        twins = ours.batch.take(left), theirs.batch.take(right)
        seen[both] = compare(*twins, until[left], self.terms)
        versions = of_pairs(count, (ours.batch, ours.at), (theirs.batch, theirs.at))
        return Suspects(
            keys=suspects.keys, scopes=suspects.scopes, difference=seen, versions=versions
        )

    def refill(self, transcript: Transcript, shard: Shard = WHOLE) -> Generator[Swept]:
        """Write every twin that is owed and absent, each while its row is held."""
        kept_for = self.terms.redis_ttl
        lately = _LONG_AGO if kept_for is None else self.clock.now() - kept_for
        self._connect()
        with closing(
            self.postgres.hold(transcript, written_after=lately, shard=shard)
        ) as held_rows:
            yield from self._refill(held_rows)

    def _refill(self, held_rows: Iterator[Held | None]) -> Generator[Swept]:
        step, failure = Swept(part=""), None
        started = time.perf_counter()

        def told() -> Swept:
            return replace(step, held_for=timedelta(seconds=time.perf_counter() - started))

        try:
            for held in held_rows:
                if held is None:
                    # Only now, for who hears of it may rest.
                    yield told()
                    step = Swept(part="")
                    if failure is not None:
                        raise failure
                    self._keep_time()
                    started = time.perf_counter()
                else:
                    written = self._fill(held)
                    failure = written.failure
                    step = Swept(
                        part=held.part,
                        took=timedelta(seconds=time.perf_counter() - started),
                        done=held.done,
                        units=held.units,
                        filled=int(np.count_nonzero(written.flags)),
                        unknown=written.unknown_count,
                    )
        except IdemctlError:
            # What was written is there, whatever became of the rows.
            if step.filled or step.unknown:
                yield told()
            raise

    def fill(self, transcript: Transcript, suspects: Suspects) -> Filling:
        """Write the twins of some keys, where they are owed and absent; count them."""
        self._keep_time()
        self._connect()
        started = time.perf_counter()
        written, held_count = None, 0
        try:
            with self.postgres.hold_keys(transcript, (suspects.keys, suspects.scopes)) as held:
                held_count = len(held.batch)
                written = self._fill(held)
        except IdemctlError as error:
            if written is None:
                raise
            # What was written is there, whatever became of the rows.
            written = replace(written, failure=written.failure or error)
        return Filling(
            filled_count=int(np.count_nonzero(written.flags)),
            held_count=held_count,
            held_for=timedelta(seconds=time.perf_counter() - started),
            failure=written.failure,
            unknown_count=written.unknown_count,
        )

    def _connect(self) -> None:
        """Reach Redis before a row is held, so that none waits for a connection."""
        self.redis.fill(([], []), [], np.zeros(0, np.int64), now=0)

    def _keep_time(self) -> None:
        """Read the clocks again now and then, while no row is held: one may have been set."""
        if time.monotonic() - self.clock.began > _CLOCK_FOR.total_seconds():
            self.clock = Clock.read(self.postgres, self.redis, self.clock.store)

    def _fill(self, held: Held) -> Written:
        """Write twins of rows that nobody can change now.

        A result ends early rather than late, so that it is never replayed longer than
        promised; a lease ends late rather than early, so that no second owner comes in.
        """
        until = expected_until(held.batch, self.terms, self.clock.now())
        owed = np.flatnonzero(until != MISSING)
        rows = held.batch.take(owed)
        claimed = rows.status == Status.IN_PROGRESS
        ahead = self.clock.redis_ahead
        earliest, latest = ahead.least // _MICROSECOND, ahead.most // _MICROSECOND
        ends = until[owed] + np.where(claimed, latest + _MILLISECOND - 1, earliest)
        values = [held.values[row] for row in owed.tolist()]
        now = to_micros(self.clock.now()) + earliest
        return self.redis.fill((rows.keys, rows.scopes), values, ends, now=now)

    def _owed(self, batches: Iterator[Batch], asked: deque[Asked]) -> Iterator[Wanted]:
        for batch in batches:
            until = expected_until(batch, self.terms, self.clock.now())
            owed = np.flatnonzero(until != MISSING)
            rows = batch.take(owed)
            yield from requests(rows, asked, until=until[owed], scanned=len(batch))

    def _marks(self, rows: Batch, key: bytes) -> NDArray[np.uint64]:
        names = self.redis.names_of((rows.keys, rows.scopes))
        return marks([name for name in names if name is not None], key)


def _suspects(
    rows: Batch, seen: NDArray[np.uint8], versions: NDArray[np.uint64]
) -> tuple[Suspects, ...]:
    odd = np.flatnonzero(seen != Difference.EQUAL)
    if not len(odd):
        return ()
    whole = Suspects(keys=rows.keys, scopes=rows.scopes, difference=seen, versions=versions)
    return (whole if len(odd) == len(rows) else whole.take(odd),)


def _all(rows: Batch) -> NDArray[np.intp]:
    return np.arange(len(rows))

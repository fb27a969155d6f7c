"""Evidence of what happened to a pair: a sample of its records, and the server's own account."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.differences import expected_until
from idemctl.domain.incident import Evidence, find_border
from idemctl.domain.instants import MISSING, from_micros, to_micros
from idemctl.domain.records import Status
from idemctl.domain.spread import spread
from idemctl.domain.verdicts import Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from idemctl.domain.batch import Batch
    from idemctl.domain.incident import Border
    from idemctl.run.run import Run
    from idemctl.stores.answers import Wanted
    from idemctl.stores.pair import OpenPair
    from idemctl.stores.ports import LooksUp

_SAMPLED = 2_000
"""Records that Redis is asked for at first."""
_ENOUGH = 20_000
"""Expected records from which those are taken, evenly by age; the others serve to narrow
down the instant of a loss."""
_MOST_ROWS = 100_000
_RECENT = 200
"""Records that are looked up in the other store where the witness asks for a second sign."""
_ENOUGH_RECENT = 4_000
"""Records among which the most recent ones are taken."""
_LOOKS_FOR = timedelta(seconds=3)
_AT_ONCE = 500
_SETTLES_IN = timedelta(seconds=2)
"""What was written more recently may be on its way from one store to the other."""
_AHEAD = timedelta(minutes=1)
"""What ends while we look is not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What was found out, and from how much."""

    evidence: Evidence
    expected: int
    """Records among the rows that Redis is expected to have."""
    rows_read: int


def gather(both: OpenPair, store: str, read_for: timedelta, run: Run) -> Gathered:
    """Read rows from all over the table, and ask Redis which of them it has.

    Args:
        both: the pair, opened; nothing is changed.
        store: its name, for who follows the progress.
        read_for: how long rows are read at most.
        run: asked between steps whether to go on.
    """
    account = both.redis.account()
    rows = _read(both, store, read_for, run, enough=_ENOUGH)
    owed = rows.owed
    asked = _Asked(owed=owed, redis=both.redis, run=run)
    sampled = min(len(owed), _SAMPLED)
    asked.ask([turn * len(owed) // sampled for turn in range(sampled)])
    # What is asked for to narrow the border down lies beside it, and stands for no share.
    sample = list(asked.there.values())
    evidence = Evidence(
        sampled=len(sample),
        missing=sample.count(False),
        border=asked.narrowed(asked.border),
        account=account,
        at=both.clock.now(),
    )
    return Gathered(evidence=evidence, expected=len(owed), rows_read=rows.count)


def recent_in_redis(both: OpenPair, store: str, before: datetime, run: Run) -> Sample:
    """Ask Redis for the most recent records that were written before an instant.

    What was written later may be there whatever happened then.
    """
    owed = _read(both, store, _LOOKS_FOR, run, enough=_ENOUGH_RECENT).owed
    last = bisect_right(owed.written, before)
    asked = _Asked(owed=owed, redis=both.redis, run=run)
    asked.ask(range(max(0, last - _RECENT), last))
    return Sample(asked=len(asked.there), missing=list(asked.there.values()).count(False))


def some_in_postgres(both: OpenPair, run: Run) -> Sample:
    """Ask Postgres for some of what Redis holds, and will hold for a while yet.

    Work in progress is left out: it may be on its way, or be given up.
    """
    asked = missing = 0
    began = started = time.perf_counter()
    for batch in both.redis.scan():
        latest = to_micros(both.clock.now() - _SETTLES_IN)
        earliest = to_micros(both.clock.now() + _AHEAD)
        settled = (batch.status != Status.MALFORMED) & (batch.status != Status.IN_PROGRESS)
        lasting = (batch.key_expires_at > earliest) & (batch.written_at <= latest)
        rows = np.flatnonzero(settled & lasting)[: _RECENT - asked]
        wanted = [batch.keys[row] for row in rows], [batch.scopes[row] for row in rows]
        if len(rows):
            (found,) = both.postgres.look_up([wanted])
            asked += len(rows)
            missing += len(rows) - len(set(found.at.tolist()))
        now = time.perf_counter()
        if asked >= _RECENT or now - began > _LOOKS_FOR.total_seconds():
            break
        run.checkpoint(timedelta(seconds=now - started), len(batch))
        started = time.perf_counter()
    return Sample(asked=asked, missing=missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owed:
    """Records that Redis is expected to have, oldest first."""

    keys: Sequence[bytes]
    scopes: Sequence[bytes]
    written: Sequence[datetime]

    def __len__(self) -> int:
        return len(self.keys)

    def at(self, places: Iterable[int]) -> Wanted:
        """Give what is asked of a store to find some of them."""
        chosen = list(places)
        return [self.keys[at] for at in chosen], [self.scopes[at] for at in chosen]


@dataclass(slots=True)
class _Rows:
    """What was read of a table so far."""

    count: int = 0
    found: list[tuple[datetime, bytes, bytes]] = field(default_factory=list)

    def add(self, batch: Batch, both: OpenPair) -> None:
        """Keep those that Redis has to have by now, and for a while yet."""
        now = both.clock.now()
        self.count += len(batch)
        until = expected_until(batch, both.terms, now + _AHEAD)
        written = batch.written_at
        for row in np.flatnonzero(until != MISSING).tolist():
            written_at = from_micros(int(written[row]))
            if written_at is not None and written_at <= now - _SETTLES_IN:
                self.found.append((written_at, batch.keys[row], batch.scopes[row]))

    @property
    def owed(self) -> _Owed:
        self.found.sort()
        written, keys, scopes = zip(*self.found, strict=True) if self.found else ((), (), ())
        return _Owed(keys=keys, scopes=scopes, written=written)


def _read(both: OpenPair, store: str, read_for: timedelta, run: Run, *, enough: int) -> _Rows:
    """Read rows from all over the table, until there is enough to judge by."""
    rows = _Rows()
    began = started = time.perf_counter()
    for batch in both.postgres.sample():
        rows.add(batch, both)
        now = time.perf_counter()
        spent = (now - began) / read_for.total_seconds()
        done = max(spent, rows.count / _MOST_ROWS, len(rows.found) / enough)
        if done >= 1:
            break
        run.progress.at(f"{store} sample", done, {"rows": rows.count})
        run.checkpoint(timedelta(seconds=now - started), len(batch))
        started = time.perf_counter()
    return rows


@dataclass(slots=True, kw_only=True)
class _Asked:
    """What Redis has of the records that it was asked for so far."""

    owed: _Owed
    redis: LooksUp
    run: Run
    there: dict[int, bool] = field(default_factory=dict)
    """By their place among those owed."""

    def ask(self, places: Sequence[int]) -> None:
        starts = range(0, len(places), _AT_ONCE)
        portions = [places[start : start + _AT_ONCE] for start in starts]
        wanted = (self.owed.at(portion) for portion in portions)
        for portion, found in zip(portions, self.redis.look_up(wanted), strict=True):
            known = set(found.at.tolist())
            self.there |= {place: at in known for at, place in enumerate(portion)}
            self.run.checkpoint()

    @property
    def border(self) -> Border | None:
        places = sorted(self.there)
        written = [self.owed.written[place] for place in places]
        return find_border(written, [self.there[place] for place in places])

    def narrowed(self, border: Border | None) -> Border | None:
        """Ask for the records between the two that a border was found between."""
        if border is None:
            return None
        written = self.owed.written
        first, last = bisect_right(written, border.lost_after), len(written)
        if border.lost_before is not None:
            last = max(first, bisect_left(written, border.lost_before))
        self.ask(sorted(first + at for at in islice(spread(last - first), _SAMPLED)))
        return self.border or border

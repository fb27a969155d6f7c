"""Deletes what is expired: small batches, two walks, and never a row that is alive.

The heap walk takes a range of pages at a time and suits a table with much to collect, or
without a usable index; its cost does not depend on how the expiries are spread. The index
walk follows the expiry index and suits a table with little to collect. Both say the
condition again where the row is deleted, because between a look and a deletion a key may
have been renewed; and both commit each batch.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.allowance import Allowance
from idemctl.domain.batch_size import BatchSize
from idemctl.domain.collection import Chunk
from idemctl.domain.instants import MISSING, from_micros
from idemctl.domain.retention import Verdict
from idemctl.stores.answers import WHOLE
from idemctl.stores.postgres.conditions import Judgement
from idemctl.stores.postgres.connect import BatchFailed
from idemctl.stores.postgres.counting import count_expired
from idemctl.stores.postgres.leaves import PageWalk, heap_range
from idemctl.stores.postgres.leftovers import Leftovers
from idemctl.stores.postgres.statements import Clock, Deleted, Statements

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from datetime import datetime

    from psycopg import sql

    from idemctl.domain.retention import Retention, Tally
    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.answers import Shard
    from idemctl.stores.archiving import Archive
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.postgres.leaves import Leaf

_BATCH_TARGET = timedelta(milliseconds=12)
_SURVEY_TARGET = timedelta(milliseconds=50)
_LOCK_PATIENCE = timedelta(milliseconds=10)
_FIRST_PAGES, _MOST_PAGES = 64, 1024
_FIRST_ROWS, _MOST_ROWS = 500, 10_000
_ARCHIVED_START = 16
"""How many times smaller batches begin that go to an archive."""
_SAMPLED_PAGES = 200
_MOST_FAILURES = 4
"""In a row, before an index walk gives way to a heap walk."""
_MUCH = 0.05
"""The share of candidates from which the heap walk is the cheaper one."""
_NOTHING = Deleted(tallies=(), children=0, picked=0)


class Collector:
    """Collects from one table, leaf by leaf."""

    def __init__(
        self,
        connection: Connection,
        layout: PostgresLayout,
        place: str,
        *,
        pins: tuple[sql.Composable, ...] = (),
        lock_patience: timedelta = _LOCK_PATIENCE,
        archive: Archive | None = None,
    ) -> None:
        self._layout = layout
        self._pins = pins
        self._place = place
        self._statements = Statements(connection, layout, place, lock_patience, archive)
        # Archived rows are in memory for as long as their batch is, and may be large.
        self._smaller = 1 if archive is None else _ARCHIVED_START

    def survey(self, leaves: list[Leaf], retention: Retention, shard: Shard) -> Generator[Chunk]:
        """Count a shard by verdict and promise. See `Collects.survey`."""
        judgement = Judgement(self._layout, retention, self._pins)
        size = BatchSize(current=_FIRST_PAGES, largest=8 * _MOST_PAGES, target=_SURVEY_TARGET)
        for leaf in leaves:
            walk = PageWalk(leaf, shard, size)
            while (step := walk.step()) is not None:
                clock = Clock()
                try:
                    tallies = self._statements.tallies(leaf, judgement, heap_range(step))
                except BatchFailed as failure:
                    size.halve()
                    yield Chunk(part=str(leaf), took=clock.took(), trouble=failure.message)
                    continue
                size.after(clock.took())
                walk.passed(step)
                yield Chunk(
                    part=str(leaf),
                    took=clock.took(),
                    units=len(step),
                    done=walk.done,
                    tallies=tuple(tallies),
                    candidates=_expired(tallies),
                )

    def collect(
        self, leaves: list[Leaf], retention: Retention, shard: Shard, limit: int | None = None
    ) -> Generator[Chunk]:
        """Delete a shard's expired rows. See `Collects.collect`."""
        judgement = Judgement(self._layout, retention, self._pins)
        allowance = Allowance(limit)
        wrote = False
        try:
            for leaf in leaves:
                by_heap = self._prefers_heap(leaf, judgement, shard)
                walk = self._heap_walk if by_heap else self._index_walk
                for chunk in walk(leaf, judgement, shard, allowance):
                    wrote = wrote or chunk.wrote
                    yield chunk
                if allowance.is_spent:
                    return
        finally:
            # Also where somebody stops the walk: what was told as gone is to stay gone.
            if wrote:
                self._statements.flush()

    def count_expired(
        self, leaves: list[Leaf], retention: Retention, at_most: int
    ) -> Generator[Chunk]:
        """Count what would go. See `Collects.count_expired`."""
        judgement = Judgement(self._layout, retention, self._pins)
        return count_expired(self._statements, leaves, judgement, at_most)

    def oldest_expired(self, leaves: list[Leaf], retention: Retention) -> datetime | None:
        """Find the earliest promise that is over. See `Collects.oldest_expired`."""
        judgement = Judgement(self._layout, retention, self._pins)
        found = [self._statements.oldest_end(leaf, judgement) for leaf in leaves]
        return from_micros(min((end for end in found if end is not None), default=MISSING))

    def _prefers_heap(self, leaf: Leaf, judgement: Judgement, shard: Shard) -> bool:
        if shard != WHOLE or not leaf.has_index or leaf.pages <= _SAMPLED_PAGES:
            return True
        try:
            met, seen = self._statements.sample(leaf, judgement, _SAMPLED_PAGES / leaf.pages)
        except BatchFailed:
            return True
        return met >= _MUCH * max(seen, 1)

    def _heap_walk(
        self, leaf: Leaf, judgement: Judgement, shard: Shard, allowance: Allowance
    ) -> Generator[Chunk]:
        first = _FIRST_PAGES // self._smaller
        size = BatchSize(current=first, largest=_MOST_PAGES, target=_BATCH_TARGET)
        left: list[tuple[range, int]] = []
        walk = PageWalk(leaf, shard, size)
        while (step := walk.step()) is not None:
            clock = Clock()
            deleted, trouble = _NOTHING, None
            try:
                deleted = self._delete_range(leaf, judgement, step, allowance.left)
            except BatchFailed as failure:
                trouble = failure.message
                if not size.is_smallest:
                    size.halve()
                    yield _failed(leaf, clock, trouble)
                    continue
            held_for = clock.took()
            # What is left is counted after the deletion: it is less, and nothing that a look
            # before it saw could be relied on.
            rest: list[Tally] = []
            try:
                rest = self._statements.tallies(leaf, judgement, heap_range(step))
            except BatchFailed as failure:
                trouble = trouble or failure.message
            if trouble is None:
                size.after(held_for)
            allowance.spend(deleted.count)
            if trouble or _expired(rest):
                left.append((step, _expired(rest)))
            walk.passed(step)
            yield Chunk(
                part=str(leaf),
                took=clock.took(),
                held_for=held_for,
                units=len(step),
                done=walk.done,
                tallies=(*deleted.tallies, *rest),
                candidates=deleted.count,
                deleted=deleted.count,
                children_deleted=deleted.children,
                limited=allowance.is_spent,
                trouble=trouble,
            )
            if allowance.is_spent:
                return
        leftovers = Leftovers(self._statements, leaf, judgement, self._place, allowance)
        for step, pending in left:
            yield from leftovers.second_pass(step, pending)

    def _delete_range(
        self, leaf: Leaf, judgement: Judgement, step: range, limit: int | None
    ) -> Deleted:
        """Delete at once; where somebody holds a row, delete around the holders.

        Deleting at once costs half of locking first and deleting then, and is as safe: a
        row that was held is judged again as it is once it is free. It must only not wait
        for long. Where only so many may go, they are picked first.
        """
        where = heap_range(step)
        if limit is not None:
            return self._statements.delete_unlocked(leaf, judgement, where, limit)
        try:
            return self._statements.delete_range(leaf, judgement, where)
        except BatchFailed as failure:
            if not failure.met_lock:
                raise
            return self._statements.delete_unlocked(leaf, judgement, where, limit)

    def _index_walk(
        self, leaf: Leaf, judgement: Judgement, shard: Shard, allowance: Allowance
    ) -> Generator[Chunk]:
        """Follow the expiry index twice, the second time for what was held; then look back."""
        for _pass in range(2):
            reached_end = yield from self._index_pass(leaf, judgement, allowance)
            if allowance.is_spent:
                return
            if not reached_end:
                # Something stands in the way of all behind it; a heap walk gets past.
                yield from self._heap_walk(leaf, judgement, shard, allowance)
                return
        clock = Clock()
        # What is behind the cutoff and still there: kept on purpose, or held by somebody.
        try:
            tallies = self._statements.tallies(leaf, judgement, judgement.long_ago)
        except BatchFailed as failure:
            yield Chunk(
                part=str(leaf), took=clock.took(), done=1.0, blind=True, trouble=failure.message
            )
            return
        held = _expired(tallies)
        yield Chunk(
            part=str(leaf),
            took=clock.took(),
            done=1.0,
            tallies=tuple(tallies),
            candidates=held,
            skipped_locked=held,
        )

    def _index_pass(
        self, leaf: Leaf, judgement: Judgement, allowance: Allowance
    ) -> Generator[Chunk, None, bool]:
        """Delete along the index; false when something kept this from reaching the end."""
        first = _FIRST_ROWS // self._smaller
        size = BatchSize(current=first, largest=_MOST_ROWS, target=_BATCH_TARGET)
        after = None
        failures = 0
        while True:
            clock = Clock()
            try:
                deleted = self._statements.delete_oldest(
                    leaf, judgement, after=after, limit=allowance.of(size.current)
                )
            except BatchFailed as failure:
                yield _failed(leaf, clock, failure.message)
                failures += 1
                if failures == _MOST_FAILURES:
                    return False
                size.halve()
                continue
            if deleted.last is None:
                return True
            held_for = clock.took()
            size.after(held_for)
            allowance.spend(deleted.count)
            yield Chunk(
                part=str(leaf),
                took=held_for,
                held_for=held_for,
                units=deleted.picked,
                tallies=deleted.tallies,
                candidates=deleted.count,
                deleted=deleted.count,
                children_deleted=deleted.children,
                limited=allowance.is_spent,
            )
            if deleted.count < deleted.picked or allowance.is_spent:
                return False
            after, failures = deleted.last, 0


def _failed(leaf: Leaf, clock: Clock, trouble: str) -> Chunk:
    """Tell of a batch that was rolled back: it held its rows all the same."""
    took = clock.took()
    return Chunk(part=str(leaf), took=took, held_for=took, trouble=trouble)


def _expired(tallies: Iterable[Tally]) -> int:
    return sum(one.count for one in tallies if one.verdict is Verdict.EXPIRED)

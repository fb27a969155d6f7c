"""Single statements of gc, each on one physical table in a transaction of its own.

Each may raise `BatchFailed`; what to do then is decided by the walks in `collect`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from psycopg import sql

from idemctl.domain.instants import LONG_PAST, MISSING
from idemctl.domain.retention import Promise, Tally, Verdict
from idemctl.layouts.tables import parts_of
from idemctl.stores.postgres.archiver import Archiver
from idemctl.stores.postgres.conditions import among
from idemctl.stores.postgres.connect import transaction
from idemctl.stores.postgres.places import value
from idemctl.stores.postgres.queries import query

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import psycopg

    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.archiving import Archive
    from idemctl.stores.postgres.conditions import Judgement
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.postgres.leaves import Leaf


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """What one committed batch did."""

    tallies: tuple[Tally, ...]
    """The rows that went, by promise."""
    children: int
    picked: int
    """Rows that were locked to be deleted; a trigger may have kept some of them."""
    last: str | None = None
    """Where to go on along the index."""

    @property
    def count(self) -> int:
        """How many rows went."""
        return sum(one.count for one in self.tallies)


class Statements:
    """Looks and deletions, through one layout."""

    def __init__(
        self,
        connection: Connection,
        layout: PostgresLayout,
        place: str,
        lock_patience: timedelta,
        archive: Archive | None = None,
    ) -> None:
        self._connection = connection
        self._layout = layout
        self._place = place
        self._lock_patience = lock_patience
        self._archiver = None if archive is None else Archiver(connection, layout, place, archive)

    def tallies(self, leaf: Leaf, judgement: Judgement, where: sql.Composable) -> list[Tally]:
        """Count rows by verdict and promise."""
        statement = query(
            "survey",
            leaf=leaf.identifier,
            range=among(self._layout, where),
            verdict=judgement.verdict,
            promise=judgement.promise,
            promises=sql.Literal(len(Promise)),
            ends=judgement.ends,
            **_SPAN,
        )
        return [
            _tally(Verdict(judged // len(Promise)), judged % len(Promise), *numbers)
            for judged, *numbers in self._look(statement)
        ]

    def count(
        self, leaf: Leaf, judgement: Judgement, where: sql.Composable, up_to: int | None = None
    ) -> int:
        """Count expired rows; more than `up_to` are as many as that."""
        statement = query(
            "count_expired",
            leaf=leaf.identifier,
            range=where,
            expired=judgement.expired,
            up_to=sql.Literal(up_to),
        )
        ((count,),) = self._look(statement)
        return int(count)

    def count_along_index(self, leaf: Leaf, judgement: Judgement, up_to: int) -> int:
        """Count expired rows, oldest first, in no more of the index than that takes."""
        statement = query(
            "count_oldest",
            leaf=leaf.identifier,
            expired=judgement.expired,
            ordered_by=value(judgement.ordered_by.field),
            up_to=sql.Literal(up_to),
        )
        with transaction(self._connection, place=self._place) as cursor:
            cursor.execute(query("by_expiry"))
            ((count,),) = cursor.execute(statement).fetchall()
        return int(count)

    def list_expired(self, leaf: Leaf, judgement: Judgement, where: sql.Composable) -> list[str]:
        """List the ctids of expired rows, as text."""
        statement = query(
            "list_expired", leaf=leaf.identifier, range=where, expired=judgement.expired
        )
        return [ctid for (ctid,) in self._look(statement)]

    def sample(self, leaf: Leaf, judgement: Judgement, share: float) -> tuple[int, int]:
        """Count, in about that share of the pages, what an index walk would meet, and all rows."""
        statement = query(
            "sample",
            leaf=leaf.identifier,
            long_ago=judgement.long_ago,
            percent=sql.Literal(100 * share),
        )
        ((met, seen),) = self._look(statement)
        return met, seen

    def oldest_end(self, leaf: Leaf, judgement: Judgement) -> int | None:
        """Find when the earliest promise that is over ended, in microseconds."""
        statement = query(
            "oldest_expired",
            leaf=leaf.identifier,
            as_micros=_as_micros(judgement.ends),
            expired=judgement.expired,
            order=judgement.order,
        )
        rows = self._look(statement)
        return int(rows[0][0]) if rows else None

    def delete_range(self, leaf: Leaf, judgement: Judgement, where: sql.Composable) -> Deleted:
        """Delete expired rows; where somebody holds one, wait for it, but not for long."""
        promise = judgement.only_promise
        if promise is not None and self._layout.child is None and self._archiver is None:
            statement = query(
                "delete_range", leaf=leaf.identifier, range=where, expired=judgement.expired
            )
            with self._batch() as cursor:
                count = cursor.execute(statement).rowcount
            one = Tally(verdict=Verdict.EXPIRED, promise=promise, count=count)
            return Deleted(tallies=(one,) if count else (), children=0, picked=count)
        rows = self._told(
            query("delete_range_telling", range=where, **self._slots(leaf, judgement, width=5)),
            leaf,
        )
        went = _went(rows)
        return Deleted(tallies=went, children=rows[0][-1], picked=sum(one.count for one in went))

    def delete_unlocked(
        self, leaf: Leaf, judgement: Judgement, where: sql.Composable, limit: int | None
    ) -> Deleted:
        """Delete expired rows, but those that somebody holds, and no more than that many."""
        slots = self._slots(leaf, judgement, width=6)
        rows = self._told(
            query("delete_unlocked", range=where, limit=sql.Literal(limit), **slots), leaf
        )
        *_, children, picked = rows[0]
        return Deleted(tallies=_went(rows), children=children, picked=picked)

    def delete_oldest(
        self, leaf: Leaf, judgement: Judgement, *, after: str | None, limit: int
    ) -> Deleted:
        """Delete the next batch along the index, from its start or from a value on."""
        ordered_by = value(judgement.ordered_by.field)
        rows = self._told(
            query(
                "delete_oldest",
                ordered_by=ordered_by,
                # What stands in quotes becomes whatever the column is.
                after=ordered_by if after is None else sql.Literal(after),
                limit=sql.Literal(limit),
                **self._slots(leaf, judgement, width=7),
            ),
            leaf,
        )
        *_, children, picked, last = rows[0]
        return Deleted(tallies=_went(rows), children=children, picked=picked, last=last)

    def flush(self) -> None:
        """Wait until all batches are on disk."""
        with transaction(self._connection, place=self._place, synchronous="local") as cursor:
            cursor.execute(query("flush"))

    def _slots(self, leaf: Leaf, judgement: Judgement, *, width: int) -> dict[str, sql.Composable]:
        """Fill what all deletions share; `width` is the number of columns that they tell."""
        child = self._layout.child
        slots: dict[str, sql.Composable] = dict.fromkeys(_UNARCHIVED, sql.SQL(""))
        what: sql.Composable = sql.SQL("1")
        if self._archiver is not None:
            slots, what = self._archiver.slots(width), self._archiver.child_row
        join: sql.Composable = sql.SQL("NULL")
        children = query("no_children")
        if child is not None:
            join = sql.Identifier(child.join)
            table = sql.Identifier(*parts_of(child.table))
            children = query("children", child=table, join=join, what=what)
        return {
            **slots,
            "leaf": leaf.identifier,
            "expired": judgement.expired,
            "promise": judgement.promise,
            "ends": judgement.ends,
            "join": join,
            "children": children,
            "went": query("went", **_SPAN),
        }

    def _look(self, statement: sql.Composed) -> list[tuple[Any, ...]]:
        with transaction(self._connection, place=self._place) as cursor:
            return cursor.execute(statement).fetchall()

    def _told(self, statement: sql.Composed, leaf: Leaf) -> list[tuple[Any, ...]]:
        if self._archiver is not None:
            return self._archiver.told(statement, leaf, self._batch)
        with self._batch() as cursor:
            return cursor.execute(statement).fetchall()

    def _batch(self) -> AbstractContextManager[psycopg.Cursor[tuple[Any, ...]]]:
        # A deletion that a crash of the server undoes is done again by the next run, so
        # no batch needs to wait for the disk; `flush` does, once.
        return transaction(
            self._connection,
            place=self._place,
            lock_timeout=self._lock_patience,
            synchronous="off",
        )


def _went(rows: list[tuple[Any, ...]]) -> tuple[Tally, ...]:
    return tuple(
        _tally(Verdict.EXPIRED, promise, count, oldest, newest)
        for promise, count, oldest, newest, *_ in rows
        if promise is not None
    )


def _tally(
    verdict: Verdict, promise: int, count: int, oldest: int | None, newest: int | None
) -> Tally:
    return Tally(
        verdict=verdict,
        promise=Promise(promise),
        count=count,
        oldest=MISSING if oldest is None else oldest,
        newest=MISSING if newest is None else newest,
    )


def _as_micros(at: sql.Composable) -> sql.Composable:
    return query("as_micros", at=at, long_past=sql.Literal(LONG_PAST))


_UNARCHIVED = ("record", "no_row", "rows")
_SPAN = {name: _as_micros(sql.Identifier(name)) for name in ("oldest", "newest")}


class Clock:
    """Times one step."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    def took(self) -> timedelta:
        """Give the time since it was made."""
        return timedelta(seconds=time.perf_counter() - self._started)

"""Single statements of gc, each on one physical table in a transaction of its own.

Each may raise `BatchFailed`; what to do then is decided by the walks in `collect`.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from psycopg import sql

from idemctl.domain.instants import LONG_PAST, MISSING
from idemctl.domain.retention import Promise, Tally, Verdict
from idemctl.stores.postgres.connect import transaction
from idemctl.stores.postgres.queries import query

if TYPE_CHECKING:
    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.postgres.conditions import Judgement
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.postgres.leaves import Leaf

_FAR = sql.SQL("'294247-01-01 00:00:00+00'")
"""Later instants do not fit into 64 bits of microseconds, and are shown as no end."""


class Statements:
    """Looks and deletions, through one layout."""

    def __init__(
        self,
        connection: Connection,
        layout: PostgresLayout,
        place: str,
        lock_patience: timedelta,
    ) -> None:
        self._connection = connection
        self._layout = layout
        self._place = place
        self._lock_patience = lock_patience

    def tallies(self, leaf: Leaf, judgement: Judgement, where: sql.Composable) -> list[Tally]:
        """Count rows by verdict and promise."""
        statement = query(
            "survey",
            leaf=leaf.identifier,
            range=where,
            verdict=judgement.verdict,
            promise=judgement.promise,
            promises=sql.Literal(len(Promise)),
            ends=judgement.ends,
            long_past=sql.Literal(LONG_PAST),
            far=_FAR,
        )
        return [
            Tally(
                verdict=Verdict(judged // len(Promise)),
                promise=Promise(judged % len(Promise)),
                count=count,
                oldest=MISSING if oldest is None else oldest,
                newest=MISSING if newest is None else newest,
            )
            for judged, count, oldest, newest in self._look(statement)
        ]

    def count(self, leaf: Leaf, judgement: Judgement, where: sql.Composable) -> int:
        """Count expired rows."""
        statement = query(
            "count_expired", leaf=leaf.identifier, range=where, expired=judgement.expired
        )
        ((count,),) = self._look(statement)
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
            ends=judgement.ends,
            expired=judgement.expired,
            order=judgement.order,
            long_past=sql.Literal(LONG_PAST),
        )
        rows = self._look(statement)
        return int(rows[0][0]) if rows else None

    def delete(
        self, leaf: Leaf, judgement: Judgement, block: str, where: sql.Composable
    ) -> tuple[int, ...]:
        """Delete expired rows by a block of SQL; it says what it counts."""
        return self._batch(
            query(
                block,
                leaf=leaf.identifier,
                range=where,
                expired=judgement.expired,
                **self._child_slots(),
            )
        )

    def delete_oldest(
        self, leaf: Leaf, judgement: Judgement, *, after: str, limit: int
    ) -> tuple[Any, ...]:
        """Delete the next batch along the index.

        Returns:
            How many rows went, how many children, how many of the rows by a policy, how many
            were picked, and where to go on.
        """
        return self._batch(
            query(
                "delete_oldest",
                leaf=leaf.identifier,
                expired=judgement.expired,
                ordered_by=sql.Identifier(judgement.ordered_by),
                by_policy=sql.SQL("{} = {}").format(
                    judgement.promise, sql.Literal(int(Promise.POLICY))
                ),
                after=sql.Literal(after),
                limit=sql.Literal(limit),
                **self._child_slots(),
            )
        )

    def flush(self) -> None:
        """Wait until all batches are on disk."""
        with transaction(self._connection, place=self._place, synchronous="local") as cursor:
            cursor.execute(query("flush"))

    def _child_slots(self) -> dict[str, sql.Composable]:
        child = self._layout.child
        if child is None:
            return {"join": sql.SQL("NULL"), "children": query("no_children")}
        join = sql.Identifier(child.join)
        table = sql.Identifier(*child.table.split("."))
        return {"join": join, "children": query("children", child=table, join=join)}

    def _look(self, statement: sql.Composed) -> list[tuple[Any, ...]]:
        with transaction(self._connection, place=self._place) as cursor:
            return cursor.execute(statement).fetchall()

    def _batch(self, statement: sql.Composed) -> tuple[Any, ...]:
        # A deletion that a crash of the server undoes is done again by the next run, so
        # no batch needs to wait for the disk; `flush` does, once.
        with transaction(
            self._connection,
            place=self._place,
            lock_timeout=self._lock_patience,
            synchronous="off",
        ) as cursor:
            (row,) = cursor.execute(statement).fetchall()
        return row


class Clock:
    """Times one step."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    def took(self) -> timedelta:
        """Give the time since it was made."""
        return timedelta(seconds=time.perf_counter() - self._started)

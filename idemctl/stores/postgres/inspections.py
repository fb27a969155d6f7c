"""Finds the rows whose trouble other rows tell of: a run's steps, an event's successors.

Those that are asked about are walked by TID ranges, and the others of each are found by their
index: they may lie anywhere, so ranges of a heap would tear them apart. Without that index no
range is small enough, and the walk says so.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from psycopg import sql

from idemctl.domain.batch_size import BatchSize
from idemctl.domain.inspections import Inspection
from idemctl.errors import Unsupported
from idemctl.layouts.sides import Statuses
from idemctl.layouts.tables import parts_of
from idemctl.stores.postgres.conditions import among, as_sql
from idemctl.stores.postgres.connect import transaction
from idemctl.stores.postgres.leaves import by_ranges, heap_range
from idemctl.stores.postgres.places import instant
from idemctl.stores.postgres.queries import query
from idemctl.stores.postgres.rows import fetched, fields, read, spelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.domain.batch import Batch
    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.answers import Shard
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.postgres.leaves import Leaf, Table

_TARGET = timedelta(milliseconds=100)
_FIRST_PAGES = 4
_MOST_PAGES = 64


class Inspector:
    """Looks at rows beside others, through a layout that says which belong together."""

    def __init__(
        self,
        connection: Connection,
        table: Table,
        layout: PostgresLayout,
        place: str,
        what: Inspection,
    ) -> None:
        """Take the layout's word for it.

        Raises:
            Unsupported: it says nothing of that.
        """
        self._connection = connection
        self._layout = layout
        self._place = place
        self._statement = what.value
        parts = _steps(layout) if what is Inspection.REPEATED_STEPS else _order(layout, table)
        if parts is None:
            raise Unsupported(f"{place}: {_SILENT[what]}", hint=_HINTS[what])
        self._parts = parts | {"fields": spelled(connection, fields(layout))}

    def found(self, leaves: list[Leaf], shard: Shard) -> Iterator[Batch]:
        """Yield the rows of one shard, a range of pages at a time. See `Inspects`."""
        size = BatchSize(current=_FIRST_PAGES, largest=_MOST_PAGES, target=_TARGET)
        return by_ranges(leaves, shard, size, self._look)

    def _look(self, leaf: Leaf, pages: range) -> Batch:
        statement = query(
            self._statement,
            leaf=leaf.identifier,
            range=among(self._layout, heap_range(pages)),
            **self._parts,
        )
        with transaction(self._connection, place=self._place) as cursor:
            cursor.execute(query("by_index"))
            return read(fetched(cursor, statement))


_SILENT = {
    Inspection.REPEATED_STEPS: "the layout does not say what a step is, and when it is done",
    Inspection.OVERTAKEN: "the layout does not say in which order events go",
}
_HINTS = {
    Inspection.REPEATED_STEPS: "give it a child with step: and done:",
    Inspection.OVERTAKEN: "give it order: with within: and by:, and both statuses",
}


def _steps(layout: PostgresLayout) -> dict[str, Any] | None:
    child = layout.child
    if child is None or child.step is None or child.done is None:
        return None
    return {
        "child": sql.Identifier(*parts_of(child.table)),
        "join": sql.Identifier(child.join),
        "step": sql.Identifier(child.step),
        "done": as_sql(child.done),
    }


def _order(layout: PostgresLayout, table: Table) -> dict[str, Any] | None:
    order, status, at = layout.order, layout.status, layout.completed or layout.counted_from
    if order is None or at is None or not isinstance(status, Statuses):
        return None
    if status.in_progress is None or status.completed is None:
        return None
    return {
        "table": table.identifier,
        "within": sql.Identifier(order.within),
        "by": sql.Identifier(order.by),
        "waiting": as_sql(status.in_progress),
        "gone": as_sql(status.completed),
        "gone_at": instant(at, "later"),
    }

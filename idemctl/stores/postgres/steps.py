"""Finds the rows whose child table tells of a step that was done more than once.

The parents are walked by TID ranges, and the children of each are found by the index on
their join: a run's steps may lie anywhere, so ranges of the children's own heap would tear
them apart. Without that index no range is small enough, and the walk says so.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from psycopg import sql

from idemctl.domain.batch_size import BatchSize
from idemctl.errors import Unsupported
from idemctl.layouts.tables import parts_of
from idemctl.stores.postgres.conditions import among, as_sql
from idemctl.stores.postgres.connect import transaction
from idemctl.stores.postgres.leaves import by_ranges, heap_range
from idemctl.stores.postgres.queries import query
from idemctl.stores.postgres.rows import fetched, fields, read, spelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.domain.batch import Batch
    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.answers import Shard
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.postgres.leaves import Leaf

_TARGET = timedelta(milliseconds=100)
_FIRST_PAGES = 4
_MOST_PAGES = 64


class StepInspector:
    """Looks at the steps of runs, through a layout with a child table."""

    def __init__(self, connection: Connection, layout: PostgresLayout, place: str) -> None:
        """Take the layout's word for what a step is.

        Raises:
            Unsupported: it says nothing of steps.
        """
        child = layout.child
        if child is None or child.step is None or child.done is None:
            raise Unsupported(
                f"{place}: the layout does not say what a step is, and when it is done",
                hint="give it a child with step: and done:",
            )
        self._connection = connection
        self._layout = layout
        self._place = place
        self._parts = {
            "fields": spelled(connection, fields(layout)),
            "child": sql.Identifier(*parts_of(child.table)),
            "join": sql.Identifier(child.join),
            "step": sql.Identifier(child.step),
            "done": as_sql(child.done),
        }

    def repeated(self, leaves: list[Leaf], shard: Shard) -> Iterator[Batch]:
        """Yield the rows of one shard, a range of pages at a time. See `Inspects`."""
        size = BatchSize(current=_FIRST_PAGES, largest=_MOST_PAGES, target=_TARGET)
        return by_ranges(leaves, shard, size, self._look)

    def _look(self, leaf: Leaf, pages: range) -> Batch:
        statement = query(
            "repeated_steps",
            leaf=leaf.identifier,
            range=among(self._layout, heap_range(pages)),
            **self._parts,
        )
        with transaction(self._connection, place=self._place) as cursor:
            cursor.execute(query("by_index"))
            return read(fetched(cursor, statement))

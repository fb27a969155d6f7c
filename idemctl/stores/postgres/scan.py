"""Streams a table by TID ranges, into columns.

Walking the heap reads every page once and needs no index. Each range is a statement and a
transaction of its own, so that no snapshot grows old.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.batch_size import BatchSize
from idemctl.stores.postgres.conditions import among
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
    from idemctl.stores.postgres.rows import Row

_TARGET = timedelta(milliseconds=100)
_FIRST_PAGES = 64
_MOST_PAGES = 512


class Scanner:
    """Reads a table's leaves through its layout."""

    def __init__(self, connection: Connection, layout: PostgresLayout, place: str) -> None:
        self._connection = connection
        self._layout = layout
        self._fields = spelled(connection, fields(layout))
        self._place = place

    def scan(self, leaves: list[Leaf], shard: Shard) -> Iterator[Batch]:
        """Yield the rows of one shard, a range of pages at a time."""
        size = BatchSize(current=_FIRST_PAGES, largest=_MOST_PAGES, target=_TARGET)
        for rows in by_ranges(leaves, shard, size, self._rows):
            # None of them may be this layout's: the caller wants to rest, or to stop, all the same.
            yield read(rows)

    def _rows(self, leaf: Leaf, pages: range) -> list[Row]:
        statement = query(
            "scan",
            fields=self._fields,
            leaf=leaf.identifier,
            range=among(self._layout, heap_range(pages)),
        )
        with transaction(self._connection, place=self._place) as cursor:
            return fetched(cursor, statement)

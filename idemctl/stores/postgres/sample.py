"""Samples a table: a few pages here and a few there, over the whole of its heap.

A heap is often in the order of its writing, so the pages at its beginning say nothing of
yesterday. The pages are taken in an order that covers the heap evenly however early the
caller stops, and begins at its end, where a table that only grows keeps its newest rows.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from idemctl.domain.spread import spread
from idemctl.stores.postgres.conditions import among
from idemctl.stores.postgres.connect import transaction
from idemctl.stores.postgres.leaves import heap_range
from idemctl.stores.postgres.queries import query
from idemctl.stores.postgres.rows import fetched, fields, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.domain.batch import Batch
    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.postgres.leaves import Leaf

_PAGES = 8
"""Pages that are read in one spot."""


def sample(
    connection: Connection, layout: PostgresLayout, leaves: list[Leaf], place: str
) -> Iterator[Batch]:
    """Yield the rows of one spot after another, until every page was read once."""
    columns = fields(layout)
    bounds = list(accumulate(-(-leaf.pages // _PAGES) for leaf in leaves))
    for spot in spread(bounds[-1] if bounds else 0):
        at = bisect_right(bounds, spot)
        leaf = leaves[at]
        first = (spot - (bounds[at - 1] if at else 0)) * _PAGES
        pages = range(first, min(first + _PAGES, leaf.pages))
        where = among(layout, heap_range(pages))
        statement = query("scan", fields=columns, leaf=leaf.identifier, range=where)
        with transaction(connection, place=place) as cursor:
            rows = fetched(cursor, statement)
        yield read(rows)

"""The physical tables behind a table's name, and walks over their heaps.

A ctid names a row in one physical table only: through a partitioned parent it would hit
rows of other partitions. So everything here works leaf by leaf, with ONLY.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from psycopg import sql

from idemctl.errors import ConfigError, Denied
from idemctl.layouts.instants import suits
from idemctl.layouts.tables import parts_of
from idemctl.stores.postgres.connect import BatchFailed, transaction
from idemctl.stores.postgres.queries import query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from idemctl.domain.batch_size import BatchSize
    from idemctl.layouts.instants import At
    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.answers import Shard
    from idemctl.stores.postgres.connect import Connection

Looked = TypeVar("Looked")

_STRIPE = 512
"""Pages; larger than most batches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The table that a name leads to."""

    oid: int
    schema: str
    name: str

    @property
    def identifier(self) -> sql.Identifier:
        """The quoted name."""
        return sql.Identifier(self.schema, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One physical table."""

    schema: str
    name: str
    pages: int
    row_estimate: int
    """The planner's; -1 before the first vacuum or analyze."""
    has_index: bool
    """Whether an index leads with the column by which records expire."""

    @property
    def identifier(self) -> sql.Identifier:
        """The quoted name."""
        return sql.Identifier(self.schema, self.name)

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"

    def pages_of(self, shard: Shard) -> list[range]:
        """Give the pages of one shard; all shards together give every page once.

        Shards take turns with stripes of fixed width, for each process measures the table
        itself, and it grows: bounds made from its size would leave gaps between them.
        """
        if shard.count == 1:
            return [range(self.pages)]
        starts = range(shard.index * _STRIPE, self.pages, shard.count * _STRIPE)
        return [range(start, min(start + _STRIPE, self.pages)) for start in starts]


class PageWalk:
    """Goes through the pages of one shard, in steps whose size somebody else steers."""

    def __init__(self, leaf: Leaf, shard: Shard, size: BatchSize) -> None:
        self._left = leaf.pages_of(shard)
        self._size = size
        self._total = sum(len(pages) for pages in self._left)
        self._behind = 0

    def step(self) -> range | None:
        """Give the next pages, again and again until they are passed; `None` at the end."""
        if self._behind == self._total:
            return None
        first = self._left[0]
        return range(first.start, min(first.start + self._size.current, first.stop))

    def passed(self, step: range) -> None:
        """Leave these pages behind."""
        self._behind += len(step)
        first = self._left[0]
        self._left[0] = range(step.stop, first.stop)
        if not self._left[0]:
            del self._left[0]

    @property
    def done(self) -> float:
        """The share of the pages that lies behind."""
        return self._behind / self._total


def by_ranges(
    leaves: list[Leaf], shard: Shard, size: BatchSize, look: Callable[[Leaf, range], Looked]
) -> Iterator[Looked]:
    """Look at one range of pages after the other, in smaller ones where a look fails.

    Raises:
        BatchFailed: the look at a single page failed.
    """
    for leaf in leaves:
        walk = PageWalk(leaf, shard, size)
        while (step := walk.step()) is not None:
            started = time.perf_counter()
            try:
                looked = look(leaf, step)
            except BatchFailed:
                if size.is_smallest:
                    raise
                size.halve()
                continue
            size.after(timedelta(seconds=time.perf_counter() - started))
            walk.passed(step)
            yield looked


def find_table(connection: Connection, table: str, place: str) -> Table:
    """Look up a table by its name.

    Raises:
        ConfigError: there is no such table.
        Denied: this user may not use the schema that it would be in.
    """
    try:
        with transaction(connection, place=place) as cursor:
            row = cursor.execute(query("find_table"), {"table": table}).fetchone()
    except Denied as error:
        with transaction(connection, place=place) as cursor:
            closed = cursor.execute(query("closed_schema"), {"table": table}).fetchone()
        # There is no other reason; but it may have been opened since.
        hint = error.hint if closed is None else "GRANT USAGE ON SCHEMA {} TO {};".format(*closed)
        raise Denied(error.message, hint=hint) from None
    if row is None:
        raise ConfigError(
            f"{place}: there is no table {table} in this database",
            hint="check table and dsn_env of this store in idemctl.yaml; "
            "idemctl doctor shows where it looked",
        )
    oid, schema, name = row
    return Table(oid=oid, schema=schema, name=name)


def find_child(connection: Connection, layout: PostgresLayout, place: str) -> int | None:
    """Look up the child table of a layout, whose schema is known; none has no oid.

    Raises:
        ConfigError: there is no such table.
        Denied: this user may not use the schema that it would be in.
    """
    if layout.child is None:
        return None
    quoted = sql.Identifier(*parts_of(layout.child.table)).as_string(connection)
    return find_table(connection, quoted, place).oid


def refuse_doubtful_instants(
    connection: Connection, oid: int, layout: PostgresLayout, place: str
) -> None:
    """Refuse columns that are something else than the layout takes them for.

    An hour of doubt about an expiry is an hour in which a live key would be collected.

    Raises:
        ConfigError: a timestamp has no time zone, and the layout names none; or the like.
    """
    wanted = {at.field: at for at in layout.instants() if isinstance(at.field, str)}
    with transaction(connection, place=place) as cursor:
        columns = cursor.execute(query("instants"), {"oid": oid, "names": list(wanted)}).fetchall()
    for name, type_, base in columns:
        if not suits(wanted[name], base):
            wrong, hint = _doubt(wanted[name], name, base)
            raise ConfigError(f"{place}: {name} is a {type_}{wrong}", hint=hint)


def _doubt(at: At, name: str, base: str) -> tuple[str, str]:
    """Say what is wrong with a column that does not suit, and what to write instead."""
    if at.unit is not None:
        wrong = f", and counts no {at.unit.value}"
        return wrong, "take unit out of the layout, or name the column that counts"
    if at.zone is not None:
        return ", which needs no zone", "take zone out of the layout"
    if base == "timestamp":
        hint = f"say in the layout in which zone it is written: {{field: {name}, zone: UTC}}"
    else:
        hint = f"say in the layout what it counts: {{field: {name}, unit: milliseconds}}"
    return ", so its instants are unknown", hint


def find_leaves(connection: Connection, oid: int, ordered_by: str, place: str) -> list[Leaf]:
    """List the physical tables under an oid.

    Raises:
        ConfigError: there is something else under it, whose rows cannot be walked.
    """
    with transaction(connection, place=place) as cursor:
        rows = cursor.execute(query("leaves"), {"oid": oid, "ordered_by": ordered_by}).fetchall()
    for schema, name, is_table, *_ in rows:
        if not is_table:
            raise ConfigError(
                f"{place}: {schema}.{name} is a view or a foreign table, not a table",
                hint="name the table itself, on the server that holds it",
            )
    return [
        Leaf(schema=schema, name=name, pages=pages, row_estimate=rows_, has_index=has_index)
        for schema, name, _, pages, rows_, has_index in rows
    ]


def heap_range(pages: range) -> sql.Composable:
    """Write the condition that a row lies in these pages."""
    return sql.SQL("ctid >= {}::tid AND ctid < {}::tid").format(
        sql.Literal(f"({pages.start},0)"), sql.Literal(f"({pages.stop},0)")
    )


def row_at(ctid: str) -> sql.Composable:
    """Write the condition that a row lies in this one place."""
    return sql.SQL("ctid = {}::tid").format(sql.Literal(ctid))

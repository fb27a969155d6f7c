"""Hands deleted rows to an archive, inside the transaction that deletes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psycopg import sql

from idemctl.domain.archived import Column, Origin, Shape, Taken
from idemctl.errors import ConfigError, Unsupported
from idemctl.layouts.tables import parts_of
from idemctl.stores.postgres.connect import BatchFailed, transaction
from idemctl.stores.postgres.leaves import find_child
from idemctl.stores.postgres.queries import query
from idemctl.stores.postgres.references import find_references

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    import psycopg

    from idemctl.domain.archived import Name
    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.archiving import Archive
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.postgres.leaves import Leaf, Table

    Opens = Callable[[], AbstractContextManager[psycopg.Cursor[tuple[Any, ...]]]]

_RECORD, _CHILD = range(2)


class Archiver:
    """Archives what the deletions of one walk return."""

    def __init__(
        self, connection: Connection, layout: PostgresLayout, place: str, archive: Archive
    ) -> None:
        self._connection = connection
        self._place = place
        self._archive = archive
        self._child = None if layout.child is None else name_of(layout.child.table)
        self._described: set[Name] = set()

    child_row = sql.SQL("(c.*)::text AS record")

    def slots(self, width: int) -> dict[str, sql.Composable]:
        """Let a deletion that tells so many columns return its rows, too."""
        parts = {"gone": _RECORD} | ({} if self._child is None else {"children": _CHILD})
        rows = [
            query(
                "archived_rows",
                kind=sql.Literal(kind),
                nothing=sql.SQL(", ").join([sql.NULL] * (width - 2)),
                gone=sql.Identifier(part),
            )
            for part, kind in parts.items()
        ]
        return {
            "record": sql.SQL(", (leaf.*)::text AS record"),
            "no_row": sql.SQL(", NULL::text"),
            "rows": sql.SQL("\n").join([sql.SQL(""), *rows]),
        }

    def told(self, statement: sql.Composed, leaf: Leaf, batch: Opens) -> list[tuple[Any, ...]]:
        """Delete a batch, and give what is told of it: it commits once its rows are archived.

        Raises:
            BatchFailed: nothing was deleted, whatever the archive has.
            IdemctlError: the same; there is no going on without an archive.
        """
        self._describe(leaf)
        is_kept = False
        try:
            with batch() as cursor:
                answer = cursor.execute(statement).fetchall()
                told = [row[:-1] for row in answer if row[-1] is None]
                rows = [row for row in answer if row[-1] is not None]
                if rows:
                    self._archive.keep(_taken(leaf, rows))
                    is_kept = True
        except BatchFailed:
            if is_kept:
                self._archive.void()
            raise
        return told

    def _describe(self, leaf: Leaf) -> None:
        for table in ((leaf.schema, leaf.name), self._child):
            if table is not None and table not in self._described:
                self._archive.describe(find_shape(self._connection, table, self._place))
                self._described.add(table)


def find_shape(connection: Connection, table: Name, place: str) -> Shape:
    """Look up the columns of a table.

    Raises:
        ConfigError: it is gone.
    """
    quoted = sql.Identifier(*table).as_string(connection)
    with transaction(connection, place=place) as cursor:
        rows = cursor.execute(query("columns"), {"table": quoted}).fetchall()
    if not rows:
        raise ConfigError(f"{place}: there is no table {'.'.join(table)}")
    columns = (Column(name=name, type=type_, is_generated=made) for name, type_, made in rows)
    return Shape(table=table, columns=tuple(columns))


def begin(
    archive: Archive, connection: Connection, table: Table, layout: PostgresLayout, place: str
) -> None:
    """Say where rows come from that are collected through a layout.

    Raises:
        Unsupported: a foreign key takes rows along, or changes some, that no deletion returns.
    """
    child_oid = find_child(connection, layout, place)
    for one in find_references(connection, table, child_oid, layout, place):
        if one.drags and not one.is_own:
            raise Unsupported(
                f"{place}: rows of {one} would go or change along, and reach no archive",
                hint="collect without --archive, or take ON DELETE off that key",
            )
    child = layout.child
    origin = Origin(
        database=connection.info.dbname,
        table=(table.schema, table.name),
        key=layout.key,
        scope=layout.scope,
        child=None if child is None else name_of(child.table),
        join=None if child is None else child.join,
    )
    archive.begin(origin)


def name_of(table: str) -> Name:
    """Give schema and name of a table that stands in a schema."""
    schema, name = parts_of(table)
    return schema, name


def _taken(leaf: Leaf, rows: list[tuple[Any, ...]]) -> Taken:
    return Taken(
        leaf=(leaf.schema, leaf.name),
        records=tuple(row[-1].encode() for row in rows if row[1] != _CHILD),
        children=tuple(row[-1].encode() for row in rows if row[1] == _CHILD),
    )

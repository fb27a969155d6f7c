"""Reads the shape of a table out of the catalogue, which hides nothing of it from anybody."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from psycopg import sql

from idemctl.domain.keys import escape
from idemctl.domain.shapes import Column, Index, IndexColumn, PhysicalTable, TableShape
from idemctl.layouts.joins import pieces
from idemctl.stores.postgres.connect import transaction
from idemctl.stores.postgres.queries import query

if TYPE_CHECKING:
    from collections.abc import Iterable

    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.postgres.leaves import Table

_TELLS_DEFAULT_COLLATION = 150_000
"""The first server that knows with which version a database was made."""


def read_shape(
    connection: Connection, table: Table, layout: PostgresLayout, place: str
) -> TableShape:
    """Describe a table, its partitions and its heirs."""
    actual = sql.SQL("NULL")
    if connection.info.server_version >= _TELLS_DEFAULT_COLLATION:
        actual = sql.SQL("pg_database_collation_actual_version(d.oid)")
    statement = query("shape", oid=sql.Literal(table.oid), actual=actual)
    with transaction(connection, place=place) as cursor:
        rows = cursor.execute(statement).fetchall()
    return TableShape(
        key=layout.key,
        scope=layout.scope,
        endpoint=tuple(path for path in pieces(layout.endpoint) if isinstance(path, str)),
        expires_by=layout.expiry_column,
        zones={
            at.field: at.zone
            for at in layout.instants()
            if isinstance(at.field, str) and at.zone is not None
        },
        is_collected=layout.never_collected != "always",
        columns={name: Column(**traits) for name, traits in (rows[0][5] or {}).items()},
        is_partitioned=rows[0][2],
        split_by=frozenset(_all(row[6] for row in rows)),
        parts=tuple(_part(*row) for row in rows if not row[2]),
        delete_triggers=tuple(sorted({shown(name) for name in _all(row[7] for row in rows)})),
    )


def shown(name: str) -> str:
    """Show a name that somebody else chose."""
    return escape(name.encode())


def length(seconds: float | None) -> timedelta | None:
    """Read a length of time."""
    return None if seconds is None else timedelta(seconds=seconds)


def _all(lists: Iterable[list[str] | None]) -> list[str]:
    return [one for some in lists for one in some or ()]


def _part(schema: str, name: str, *facts: Any) -> PhysicalTable:
    _, is_unlogged, row_count, *_, indexes = facts
    return PhysicalTable(
        name=shown(f"{schema}.{name}"),
        row_count=row_count,
        is_unlogged=is_unlogged,
        indexes=tuple(_index(**one) for one in indexes or ()),
    )


def _index(name: str, columns: list[dict[str, Any]], **traits: bool) -> Index:
    return Index(name=shown(name), columns=tuple(IndexColumn(**one) for one in columns), **traits)

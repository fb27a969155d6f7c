"""Foreign keys by which other tables hang on the rows that gc deletes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql

from idemctl.domain.references import OnDelete, Reference
from idemctl.layouts.tables import parts_of
from idemctl.stores.postgres.connect import transaction
from idemctl.stores.postgres.queries import query

if TYPE_CHECKING:
    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.postgres.leaves import Table

_ACTIONS = {
    "a": OnDelete.NO_ACTION,
    "r": OnDelete.RESTRICT,
    "c": OnDelete.CASCADE,
    "n": OnDelete.SET_NULL,
    "d": OnDelete.SET_DEFAULT,
}


def find_pins(
    connection: Connection, oid: int, layout: PostgresLayout, place: str
) -> tuple[sql.Composable, ...]:
    """Write what holds of a row, by the name `leaf`, that others refer to and that cannot go.

    A key whose rows no index finds, or that this user may not read, is left out: there the
    database refuses, row by row.
    """
    child = None
    if layout.child is not None:
        child = sql.Identifier(*parts_of(layout.child.table)).as_string(connection)
    with transaction(connection, place=place) as cursor:
        rows = cursor.execute(query("pins"), {"oid": oid, "child": child}).fetchall()
    return tuple(
        query(
            "pinned",
            table=sql.Identifier(schema, name),
            matches=sql.SQL(" AND ").join(
                sql.SQL("{} = {}").format(sql.Identifier("pin", ours), sql.Identifier("leaf", its))
                for ours, its in zip(columns, referred_to, strict=True)
            ),
        )
        for schema, name, columns, referred_to in rows
    )


def find_references(
    connection: Connection, table: Table, child: int | None, layout: PostgresLayout, place: str
) -> tuple[Reference, ...]:
    """Find what hangs on the rows of a table and its child, and what the layout says of it."""
    facts = {
        "oid": table.oid,
        "child": child,
        "deleted_from": [table.oid] if child is None else [table.oid, child],
        "drags": list(layout.drags),
        "schema": table.schema,
    }
    with transaction(connection, place=place) as cursor:
        rows = cursor.execute(query("references"), facts).fetchall()
    return tuple(
        Reference(
            table=name,
            key=key,
            on_delete=_ACTIONS[action],
            is_meant=is_meant and not is_own,
            is_own=is_own,
            has_index=has_index,
            columns=columns,
        )
        for name, key, action, is_meant, is_own, has_index, columns in rows
    )

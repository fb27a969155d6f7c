"""Foreign keys by which other tables hang on the rows that gc deletes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.stores.answers import OnDelete, Reference
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

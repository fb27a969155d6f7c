"""Asks a Postgres server for the circumstances of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.domain.circumstances import PostgresCircumstances
from idemctl.stores.postgres.connect import transaction
from idemctl.stores.postgres.queries import query

if TYPE_CHECKING:
    from idemctl.stores.postgres.connect import Connection


def read_circumstances(connection: Connection, oid: int, place: str) -> PostgresCircumstances:
    """Ask the catalogue, which hides nothing of a table's shape from anybody."""
    with transaction(connection, place=place) as cursor:
        row = cursor.execute(query("persistence"), {"oid": oid}).fetchone()
    assert row is not None, "an aggregate has a row"
    (is_unlogged,) = row
    return PostgresCircumstances(is_unlogged=is_unlogged)

"""Asks a Postgres server for the circumstances of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql

from idemctl.domain.circumstances import NOT_REPEATED, PostgresCircumstances, Repeated, Unseen
from idemctl.domain.findings import MOST_SAMPLED
from idemctl.stores.postgres.conditions import is_record
from idemctl.stores.postgres.connect import BatchFailed, transaction
from idemctl.stores.postgres.leaves import find_child
from idemctl.stores.postgres.places import text
from idemctl.stores.postgres.queries import query
from idemctl.stores.postgres.references import find_references
from idemctl.stores.postgres.replication import read_replication
from idemctl.stores.postgres.rows import identity
from idemctl.stores.postgres.shape import read_shape
from idemctl.stores.postgres.upkeep import read_upkeep

if TYPE_CHECKING:
    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.postgres.leaves import Table


_SOME = 10_000
"""Rows whose clients are counted."""


def read_circumstances(
    connection: Connection, table: Table, layout: PostgresLayout, place: str
) -> PostgresCircumstances:
    """Ask the catalogue, and the rows themselves for what no index excludes."""
    shape = read_shape(connection, table, layout, place)
    repeated: Repeated | Unseen = NOT_REPEATED
    if not shape.keeps_identities_apart:
        repeated = _repeated(connection, table, layout, place)
    child = find_child(connection, layout, place)
    return PostgresCircumstances(
        shape=shape,
        references=find_references(connection, table, child, layout, place),
        repeated=repeated,
        client_count=_clients(connection, table, layout, place),
        upkeep=read_upkeep(connection, table.oid, place),
        replication=read_replication(connection, place),
    )


def _clients(
    connection: Connection, table: Table, layout: PostgresLayout, place: str
) -> int | Unseen:
    """Count in the rows that come first: whether there are several, they tell."""
    if layout.client is None or layout.scope is not None:
        return 0
    statement = query(
        "clients", client=text(layout.client), table=table.identifier, most=sql.Literal(_SOME)
    )
    try:
        with transaction(connection, place=place) as cursor:
            ((count,),) = cursor.execute(statement).fetchall()
    except BatchFailed as error:
        return Unseen(error.message)
    return int(count)


def _repeated(
    connection: Connection, table: Table, layout: PostgresLayout, place: str
) -> Repeated | Unseen:
    """Count in one statement, which is exact; beyond its time limit nothing is known."""
    key, scope, endpoint = identity(layout)
    statement = query(
        "repeated_identities",
        key=key,
        scope=scope,
        endpoint=endpoint,
        table=table.identifier,
        mine=is_record(layout),
        most=sql.Literal(MOST_SAMPLED),
    )
    try:
        with transaction(connection, place=place) as cursor:
            rows = cursor.execute(statement).fetchall()
    except BatchFailed as error:
        return Unseen(error.message)
    if not rows:
        return NOT_REPEATED
    _, _, count, row_count = rows[0]
    return Repeated(
        count=count,
        row_count=row_count,
        sample=tuple((bytes(key), bytes(scope)) for key, scope, *_ in rows),
    )

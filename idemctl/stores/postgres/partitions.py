"""Partitions by time: where each ends, and the statements that take one out of its table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql

from idemctl.domain.partitions import Partition
from idemctl.domain.records import Status
from idemctl.stores.postgres.conditions import among, as_sql, status_as_sql
from idemctl.stores.postgres.connect import transaction
from idemctl.stores.postgres.queries import query

if TYPE_CHECKING:
    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.postgres.leaves import Leaf, Table


def find_partitions(
    connection: Connection, table: Table, leaves: list[Leaf], layout: PostgresLayout, place: str
) -> tuple[Partition, ...]:
    """Find the leaves that hold a range of the instant by which records expire.

    None are found where that is no plain `timestamptz`, and where records have rows in a child
    table, which a detached partition would leave behind.
    """
    at = layout.ordered_by
    is_plain = at is not None and not (at.unit or at.zone or at.plus)
    is_one_table = [leaf.identifier for leaf in leaves] == [table.identifier]
    if not is_plain or layout.expiry_column is None or layout.child or is_one_table:
        return ()
    facts = {"oid": table.oid, "column": layout.expiry_column}
    with transaction(connection, place=place) as cursor:
        rows = cursor.execute(query("partitions"), facts).fetchall()
    return tuple(
        Partition(
            name=name.as_string(connection),
            until=until,
            row_estimate=None if row_estimate < 0 else row_estimate,
            detach=query(
                "detach",
                parent=sql.Identifier(*parent),
                part=name,
                how=sql.SQL(" CONCURRENTLY" if is_concurrent else ""),
            ).as_string(connection),
            is_concurrent=is_concurrent,
            count_kept=_count_kept(layout, name).as_string(connection),
        )
        for *parent, schema, part, until, row_estimate, is_concurrent in rows
        for name in (sql.Identifier(schema, part),)
    )


def _count_kept(layout: PostgresLayout, name: sql.Identifier) -> sql.Composed:
    """Write the query for rows that are no records, are not done, or are never collected.

    Rows to which others refer need none: Postgres does not detach them.
    """
    goes = sql.SQL("{} IN ({}, {})").format(
        status_as_sql(layout), sql.Literal(int(Status.COMPLETED)), sql.Literal(int(Status.FAILED))
    )
    if layout.never_collected is not None:
        goes = sql.SQL("{} AND NOT {}").format(goes, as_sql(layout.never_collected))
    return query("count_kept", leaf=name, goes=among(layout, goes))

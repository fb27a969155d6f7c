"""What a Postgres server and a table say of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.stores.answers import Description
from idemctl.stores.postgres.connect import transaction
from idemctl.stores.postgres.leaves import find_child
from idemctl.stores.postgres.partitions import find_partitions
from idemctl.stores.postgres.queries import query
from idemctl.stores.postgres.references import find_references

if TYPE_CHECKING:
    from datetime import datetime

    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.postgres.leaves import Leaf, Table

_FLOOR = 140_000


def read_clock(connection: Connection, place: str) -> datetime:
    """Read the server's clock, not frozen by any transaction."""
    with transaction(connection, place=place) as cursor:
        row = cursor.execute(query("clock")).fetchone()
    assert row is not None, "a clock always answers"
    at: datetime = row[0]
    return at


def is_supported(number: int) -> bool:
    """Whether a version, as Postgres numbers it, is at or above the floor."""
    return number >= _FLOOR


def describe(
    connection: Connection,
    *,
    place: str,
    name: str,
    table: Table,
    leaves: list[Leaf],
    layout: PostgresLayout,
) -> Description:
    """Look at version and role."""
    with transaction(connection, place=place) as cursor:
        row = cursor.execute(query("server")).fetchone()
    assert row is not None, "a server always has a version"
    number, version, is_replica, user, _pid = row
    tables = [(name, table.oid)]
    child_oid = find_child(connection, layout, place)
    if layout.child is not None and child_oid is not None:
        tables.append((layout.child.table, child_oid))
    hidden = []
    for where, oid in tables:
        with transaction(connection, place=place) as cursor:
            hides = cursor.execute(query("hides_rows"), {"oid": oid}).fetchone()
        assert hides is not None, "an aggregate returns one row"
        if hides[0]:
            hidden.append(f"row-level security on {where} is active for {user}")
    estimates = [leaf.row_estimate for leaf in leaves]
    return Description(
        product="PostgreSQL",
        version=version,
        supported=is_supported(number),
        place=place,
        user=user,
        is_replica=is_replica,
        server=f"{connection.info.host}:{connection.info.port}/{connection.info.dbname}",
        row_estimate=None if min(estimates, default=-1) < 0 else sum(estimates),
        hides_rows="; ".join(hidden) or None,
        references=find_references(connection, table, child_oid, layout, place),
        partitions=find_partitions(connection, table, leaves, layout, place),
    )

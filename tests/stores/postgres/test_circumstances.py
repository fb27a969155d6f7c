"""What a server tells of a table, as the checks are handed it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.domain.circumstances import NOT_REPEATED, Repeated, Unseen
from idemctl.domain.secrets import Secret
from idemctl.domain.shapes import Column
from idemctl.stores.postgres.table import PostgresTable
from tests.checks.tables import told
from tests.stores.postgres.tables import REFERENCE
from tests.stores.postgres.test_libraries import TABLES, place

if TYPE_CHECKING:
    from idemctl.domain.circumstances import PostgresCircumstances
    from tests.stores.postgres.tables import Session

__all__ = ["place"]

UNZONED = "timestamp-without-zone"
KNOWN = {
    "idempo": {UNZONED},
    "idempotency-plug": {UNZONED},
    "node-idempotency": {"table-unlogged"},
    "brandur": {"unique-lets-nulls-repeat"},
    "acidic-job": {UNZONED, "reference-without-index"},
    "masstransit-inbox": {"unique-lets-nulls-repeat", "reference-without-index"},
    "nservicebus-outbox": {UNZONED},
    "camel-jdbc": {UNZONED, "identity-not-unique"},
    "idempotence4j": {UNZONED},
    "lago": {UNZONED},
}
"""What the tables in libraries.yaml have; those that are not here have nothing."""


@pytest.mark.parametrize("name", TABLES)
def test_of_a_library_s_table_nothing_is_said_but_what_it_has(place: Any, name: str) -> None:
    store, _ = place(name)
    with closing(store):
        assert set(told(store.circumstances())) == KNOWN.get(name, set())


def opened(database: str, where: str) -> PostgresTable:
    return PostgresTable(
        dsn=Secret(database),
        table=where,
        layout=REFERENCE,
        writable=False,
        application="idemctl test",
    )


def look(database: str, where: str) -> PostgresCircumstances:
    with closing(opened(database, where)) as store:
        return store.circumstances()


@pytest.fixture
def bare(application: Session, database: str, schema: str) -> str:
    """A table of the reference form without any index."""
    name = f"{schema}.events"
    application.execute(f"CREATE TABLE {name} (LIKE public.processed_events INCLUDING DEFAULTS)")
    return name


def test_columns_indexes_and_partitions_are_told(
    application: Session, database: str, schema: str
) -> None:
    where = f"{schema}.events"
    application.execute(
        f"CREATE TABLE {where} (LIKE public.processed_events INCLUDING DEFAULTS)"
        " PARTITION BY RANGE (created_at, (expires_at - created_at));"
        f"CREATE TABLE {schema}.rest PARTITION OF {where} DEFAULT;"
        f"CREATE UNIQUE INDEX one ON {schema}.rest (scope, idempotency_key) INCLUDE (status);"
        f"CREATE INDEX two ON {schema}.rest USING hash (endpoint)"
    )
    shape = look(database, where).shape
    assert (shape.key, shape.scope, shape.endpoint) == ("idempotency_key", "scope", ("endpoint",))
    assert shape.columns["scope"] == Column(type="text", is_nullable=False)
    assert shape.columns["endpoint"] == Column(type="text", is_nullable=True)
    assert shape.is_partitioned
    assert shape.split_by == frozenset({"created_at", ""})
    (rest,) = shape.parts
    one, two = rest.indexes
    assert rest.name == f"{schema}.rest"
    assert (str(one), one.is_unique, one.is_valid) == ("one (scope, idempotency_key)", True, True)
    assert (str(two), two.is_unique, two.is_ordered) == ("two (endpoint)", False, False)


def test_an_identity_is_repeated_where_key_scope_and_endpoint_are(
    application: Session, database: str, bare: str
) -> None:
    def add(*rows: tuple[str, str, str | None]) -> None:
        application.cursor().executemany(
            f"INSERT INTO {bare} (idempotency_key, scope, endpoint, status, expires_at)"
            " VALUES (%s, %s, %s, 'completed', now())",
            rows,
        )

    add(("a", "", "x"), ("a", "", "y"), ("a", "eu", "x"), ("A", "", "x"), ("b", "", None))
    assert look(database, bare).repeated == NOT_REPEATED
    add(("a", "", "x"), ("b", "", None), ("b", "", None))
    assert look(database, bare).repeated == Repeated(
        count=2, row_count=5, sample=((b"b", b""), (b"a", b""))
    )


def test_keys_that_the_collation_takes_for_one_are_two(
    application: Session, database: str, schema: str, bare: str
) -> None:
    application.execute(f"CREATE EXTENSION citext SCHEMA {schema}")
    application.execute(f"ALTER TABLE {bare} ALTER idempotency_key TYPE {schema}.citext")
    application.execute(
        f"INSERT INTO {bare} (idempotency_key, status, expires_at)"
        " VALUES ('a', 'completed', now()), ('A', 'completed', now())"
    )
    assert look(database, bare).repeated == NOT_REPEATED


def test_where_rows_cannot_be_counted_in_time_nobody_says_that_none_is_repeated(
    application: Session, database: str, bare: str
) -> None:
    with closing(opened(database, bare)) as store, application.transaction():
        store.clock()
        application.execute(f"LOCK TABLE {bare} IN ACCESS EXCLUSIVE MODE")
        repeated = store.circumstances().repeated
    assert repeated == Unseen(f"postgres {bare}: locked by another session")


def test_a_guard_makes_counting_needless(application: Session, database: str, bare: str) -> None:
    application.execute(f"CREATE UNIQUE INDEX ON {bare} (scope, idempotency_key)")
    with closing(opened(database, bare)) as store, application.transaction():
        store.clock()
        application.execute(f"LOCK TABLE {bare} IN ACCESS EXCLUSIVE MODE")
        assert store.circumstances().repeated == NOT_REPEATED

"""Partitions by time: which are found, by which bound, and what is to be typed."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import psycopg
import pytest

from idemctl.domain.partitions import past_partitions
from idemctl.layouts.conditions import Is, Not
from idemctl.layouts.instants import At
from tests.stores.postgres.tables import REFERENCE, keys, mutated, open_table, promises
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from idemctl.domain.partitions import Partition
    from idemctl.layouts.model import PostgresLayout
    from tests.stores.postgres.tables import Session

DAY = timedelta(days=1)
MICROSECOND = timedelta(microseconds=1)
OLD, NEW = datetime(2026, 1, 1, tzinfo=UTC), datetime(2999, 1, 1, tzinfo=UTC)


def partitioned(session: Session, schema: str, by: str = "expires_at") -> str:
    table = f"{schema}.events"
    session.execute(
        f"CREATE TABLE {table} (LIKE public.processed_events INCLUDING DEFAULTS)"
        f" PARTITION BY RANGE ({by})"
    )
    return table


def add(session: Session, schema: str, name: str, bounds: str, table: str = "events") -> None:
    session.execute(f"CREATE TABLE {schema}.{name} PARTITION OF {schema}.{table} {bounds}")


def until(end: datetime, start: str = "MINVALUE") -> str:
    return f"FOR VALUES FROM ({start}) TO ('{end.isoformat()}')"


def found(dsn: str, table: str, layout: PostgresLayout = REFERENCE) -> dict[str, Partition]:
    with closing(open_table(dsn, table, layout)) as store:
        partitions = store.describe().partitions
    return {one.name.split(".")[-1].strip('"'): one for one in partitions}


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kathmandu"])
def test_a_partition_is_past_only_up_to_the_microsecond_of_the_cutoff(
    database: str, application: Session, schema: str, zone: str
) -> None:
    table = partitioned(application, schema)
    retention = promises(application)
    cutoff = retention.cutoff
    add(application, schema, "older", until(OLD))
    add(application, schema, "just", until(cutoff, f"'{OLD.isoformat()}'"))
    add(application, schema, "near", until(cutoff + MICROSECOND, f"'{cutoff.isoformat()}'"))
    after = f"'{(cutoff + MICROSECOND).isoformat()}'"
    add(application, schema, "endless", f"FOR VALUES FROM ({after}) TO (MAXVALUE)")
    dsn = f"{database}?options=-c%20TimeZone%3D{zone}%20-c%20DateStyle%3DSQL,DMY"
    partitions = found(dsn, table)
    assert {name: one.until for name, one in partitions.items()} == {
        "older": OLD,
        "just": cutoff,
        "near": cutoff + MICROSECOND,
    }
    past = past_partitions(partitions.values(), retention)
    assert [one.name for one in past] == [f'"{schema}"."older"', f'"{schema}"."just"']


def test_the_instant_that_promises_count_from_is_a_bound_where_records_have_no_expiry(
    database: str, application: Session, schema: str
) -> None:
    table = f"{schema}.events"
    application.execute(
        f"CREATE TABLE {table} (idempotency_key text, created_at timestamptz)"
        " PARTITION BY RANGE (created_at)"
    )
    retention = promises(application, stored=False, ttl=7 * DAY)
    end = retention.cutoff - 7 * DAY
    add(application, schema, "just", until(end))
    add(application, schema, "near", until(end + MICROSECOND, f"'{end.isoformat()}'"))
    partitions = found(database, table, LAYOUTS["bare"]).values()
    past = past_partitions(partitions, retention)
    assert [one.name for one in past] == [f'"{schema}"."just"']
    assert len(partitions) == 2
    # The day on which a record was made says nothing of the expiry that it carries.
    expiring = LAYOUTS["bare"].model_copy(update={"expires": At(field="expires_at")})
    application.execute(f"ALTER TABLE {table} ADD expires_at timestamptz")
    assert found(database, table, expiring) == {}


@pytest.mark.parametrize(
    ("by", "bounds"),
    [
        ("expires_at, idempotency_key", "FOR VALUES FROM ('2020-1-1', 'a') TO ('2021-1-1', 'b')"),
        ("(expires_at)", "FOR VALUES FROM ('2020-1-1') TO (MAXVALUE)"),
        ("expires_at", "FOR VALUES FROM ('2020-1-1') TO ('infinity')"),
        ("(timezone('UTC', expires_at))", "FOR VALUES FROM ('2020-1-1') TO ('2021-1-1')"),
        ("idempotency_key", "FOR VALUES FROM ('a') TO ('b')"),
        ("created_at", "FOR VALUES FROM ('2020-1-1') TO ('2021-1-1')"),
        ("expires_at", "DEFAULT"),
        ("expires_at", "FOR VALUES FROM ('2020-1-1') TO ('2021-1-1') PARTITION BY LIST (status)"),
    ],
)
def test_what_is_no_range_of_the_expiry_alone_is_not_told(
    database: str, application: Session, schema: str, by: str, bounds: str
) -> None:
    table = partitioned(application, schema, by)
    add(application, schema, "part", bounds)
    if "LIST" in bounds:
        add(application, schema, "inner_one", "DEFAULT", "part")
    assert found(database, table) == {}


def test_a_plain_table_has_none_and_neither_has_one_whose_records_have_children(
    database: str, application: Session, schema: str
) -> None:
    assert found(database, "public.processed_events") == {}
    layout = LAYOUTS["workflow"]
    assert layout.child is not None
    column = layout.expiry_column
    application.execute(
        f"CREATE TABLE {schema}.events (LIKE public.workflow_runs INCLUDING DEFAULTS)"
        f" PARTITION BY RANGE ({column})"
    )
    application.execute(f"CREATE TABLE {schema}.workflow_steps (LIKE public.workflow_steps)")
    add(application, schema, "old", until(OLD))
    assert found(database, f"{schema}.events", layout) == {}
    alone = layout.model_copy(update={"child": None})
    assert set(found(database, f"{schema}.events", alone)) == {"old"}


def test_the_statements_count_what_gc_keeps_and_detach_the_rest(
    database: str, application: Session, schema: str
) -> None:
    table = partitioned(application, schema)
    name = 'Odd ""Part"" %s {}'
    add(application, schema, f'"{name}"', until(OLD))
    add(application, schema, "live", until(NEW, f"'{OLD.isoformat()}'"))
    application.execute(
        f"INSERT INTO {table} (idempotency_key, status, expires_at) VALUES"
        " ('done', 'completed', '2020-1-1'), ('failed', 'failed', '2020-1-1'),"
        " ('running', 'in_progress', '2020-1-1'), ('odd', '?', '2020-1-1'),"
        " ('live', 'completed', '2990-1-1')"
    )
    [one, _] = found(database, table).values()
    assert one.name == f'"{schema}"."{name}"'
    assert one.row_estimate is None
    assert "\n" not in one.count_kept
    assert application.execute(one.count_kept.encode()).fetchone() == (2,)
    application.execute(f"DELETE FROM {table} WHERE status NOT IN ('completed', 'failed')")
    assert application.execute(one.count_kept.encode()).fetchone() == (0,)
    assert one.is_concurrent
    assert one.detach == (
        f'ALTER TABLE "{schema}"."events" DETACH PARTITION {one.name} CONCURRENTLY;'
    )
    application.execute(one.detach.encode())
    assert keys(application, table) == {"live"}
    assert set(found(database, table)) == {"live"}


def test_what_the_layout_keeps_and_what_is_no_record_of_it_are_counted(
    database: str, application: Session, schema: str
) -> None:
    table = partitioned(application, schema)
    add(application, schema, "old", until(OLD))
    application.execute(
        f"INSERT INTO {table} (idempotency_key, endpoint, client, status, expires_at) VALUES"
        " ('a', 'e', NULL, 'completed', '2020-1-1'), ('b', 'kept', NULL, 'completed', '2020-1-1'),"
        " ('c', NULL, 'other', 'completed', '2020-1-1')"
    )
    layout = REFERENCE.model_copy(
        update={
            "never_collected": Is.model_validate({"field": "endpoint", "is": "kept"}),
            "only": Not.model_validate({"not": {"field": "client", "is": "other"}}),
        }
    )
    for chosen, kept in ((REFERENCE, 0), (layout, 2)):
        [one] = found(database, table, chosen).values()
        assert application.execute(one.count_kept.encode()).fetchone() == (kept,)


def test_beside_a_default_partition_postgres_detaches_nothing_concurrently(
    database: str, application: Session, schema: str
) -> None:
    table = partitioned(application, schema)
    add(application, schema, "old", until(OLD))
    add(application, schema, "rest", "DEFAULT")
    [one] = found(database, table).values()
    assert not one.is_concurrent
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
        application.execute(one.detach.replace(";", " CONCURRENTLY;").encode())
    application.execute(one.detach.encode())
    with mutated(("partitions", ">= 140000", ">= 990000")):
        application.execute(f"DROP TABLE {schema}.rest")
        add(application, schema, "next", until(OLD))
        [one] = found(database, table).values()
        assert not one.is_concurrent
    [one] = found(database, table).values()
    assert one.is_concurrent


def test_a_partition_that_is_partitioned_by_time_itself_leaves_its_own_parent(
    database: str, application: Session, schema: str
) -> None:
    table = f"{schema}.events"
    application.execute(
        f"CREATE TABLE {table} (LIKE public.processed_events INCLUDING DEFAULTS)"
        " PARTITION BY LIST (scope)"
    )
    add(application, schema, "tenant", "FOR VALUES IN ('t') PARTITION BY RANGE (expires_at)")
    add(application, schema, "old", until(OLD), "tenant")
    [one] = found(database, table).values()
    assert one.detach == (
        f'ALTER TABLE "{schema}"."tenant" DETACH PARTITION "{schema}"."old" CONCURRENTLY;'
    )
    application.execute(one.detach.encode())
    assert found(database, table) == {}


@pytest.mark.parametrize("action", ["NO ACTION", "CASCADE"])
@pytest.mark.parametrize("concurrently", [True, False])
def test_postgres_detaches_no_rows_to_which_others_refer(
    database: str, application: Session, schema: str, action: str, concurrently: bool
) -> None:
    table = partitioned(application, schema)
    add(application, schema, "old", until(OLD))
    application.execute(
        f"ALTER TABLE {table} ADD PRIMARY KEY (idempotency_key, expires_at);"
        f"INSERT INTO {table} (idempotency_key, status, expires_at)"
        f" VALUES ('done', 'completed', '2020-1-1');"
        f"CREATE TABLE {schema}.payment (k text, at timestamptz, FOREIGN KEY (k, at)"
        f" REFERENCES {table} ON DELETE {action});"
        f"INSERT INTO {schema}.payment VALUES ('done', '2020-1-1')"
    )
    [one] = found(database, table).values()
    detach = one.detach if concurrently else one.detach.replace(" CONCURRENTLY", "")
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        application.execute(detach.encode())
    application.execute(f"DELETE FROM {schema}.payment")
    application.execute(detach.encode())
    assert keys(application, table) == set()


def test_a_partition_that_is_half_detached_is_not_told_again(
    database: str, application: Session, connection_to_database: Session, schema: str
) -> None:
    table = partitioned(application, schema)
    add(application, schema, "old", until(OLD))
    [one] = found(database, table).values()
    with connection_to_database.transaction():
        connection_to_database.execute(f"SELECT FROM {table}")
        application.execute("SET statement_timeout = '200ms'")
        try:
            with pytest.raises(psycopg.errors.QueryCanceled):
                application.execute(one.detach.encode())
        finally:
            application.execute("RESET statement_timeout")
    assert found(database, table) == {}
    with mutated(("partitions", "IS DISTINCT FROM 'true'", "IS DISTINCT FROM 'never'")):
        assert set(found(database, table)) == {"old"}
    application.execute(one.detach.replace("CONCURRENTLY", "FINALIZE").encode())

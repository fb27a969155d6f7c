"""Tables of every form: partitions, heirs, odd names, other types. One leaf at a time."""

from __future__ import annotations

from contextlib import closing, nullcontext
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from idemctl.domain.collection import Collection
from idemctl.domain.retention import Verdict
from idemctl.errors import ConfigError
from idemctl.layouts.instants import At
from idemctl.stores.answers import Shard
from tests.stores.contract import added, looked
from tests.stores.postgres.tables import (
    REFERENCE,
    collect,
    fill,
    keys,
    make,
    names,
    open_table,
    promises,
)
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from tests.stores.postgres.tables import (
        Session,
    )

HOUR = timedelta(hours=1)


def test_a_table_partitioned_by_hash_is_collected_leaf_by_leaf(
    database: str, application: Session, schema: str, walk: str
) -> None:
    table = f"{schema}.events"
    make(application, table, "PARTITION BY HASH (idempotency_key)")
    for part in range(4):
        application.execute(
            f"CREATE TABLE {schema}.part_{part} PARTITION OF {table}"
            f" FOR VALUES WITH (MODULUS 4, REMAINDER {part})"
        )
    fill(application, table, expired=200, live=200, working=100)
    with closing(open_table(database, table)) as store:
        retention = promises(application)
        survey = looked(store.survey(retention))
        total = added(store.collect(retention))
    assert survey.count(Verdict.EXPIRED) == total.deleted == 200
    assert keys(application, table) == names("live", 200) | names("working", 100)


def twins(session: Session, schema: str) -> str:
    """Make a table of two partitions in which each expired row has a live one at its ctid."""
    table = f"{schema}.events"
    session.execute(
        f"CREATE TABLE {table} (LIKE public.processed_events INCLUDING DEFAULTS)"
        " PARTITION BY LIST (status)"
    )
    session.execute(f"CREATE INDEX ON {table} (expires_at)")
    for part, status in (("a", "completed"), ("b", "failed")):
        session.execute(
            f"CREATE TABLE {schema}.{part} PARTITION OF {table} FOR VALUES IN ('{status}')"
        )
    for status, at in (("completed", "- interval '1 day'"), ("failed", "+ interval '1 day'")):
        session.execute(
            f"INSERT INTO {table} (idempotency_key, status, expires_at)"
            f" SELECT '{status}-' || n, '{status}', now() {at} FROM generate_series(0, 49) n"
        )
    return table


def test_a_live_row_at_the_ctid_of_an_expired_one_in_another_partition_stays(
    database: str, application: Session, connection_to_database: Session, schema: str, walk: str
) -> None:
    table = twins(application, schema)
    with connection_to_database.transaction():
        # One held row, so that the statement that works by ctid is used.
        connection_to_database.execute(
            f"SELECT FROM {table} WHERE idempotency_key = 'completed-0' FOR UPDATE"
        )
        total = collect(database, promises(application), table)
    assert (total.deleted, total.skipped_locked) == (49, 1)
    assert keys(application, table) == names("failed", 50) | {"completed-0"}


def test_a_ctid_used_through_the_parent_would_have_deleted_it(
    application: Session, schema: str
) -> None:
    table = twins(application, schema)
    application.execute(
        f"DELETE FROM {table} WHERE ctid = ANY(ARRAY("
        f" SELECT ctid FROM {table} WHERE expires_at < now() LIMIT 5))"
    )
    assert len(names("failed", 50) - keys(application, table)) == 5


def inherited(session: Session, schema: str) -> str:
    """Make a table with heirs of the old kind: each has rows, at the same ctids."""
    table = f"{schema}.a_parent"
    make(session, table)
    fill(session, table, expired=30, live=30)
    for heir in ("b_heir", "c_heir"):
        make(session, f"{schema}.{heir}")
        session.execute(f"ALTER TABLE {schema}.{heir} INHERIT {table}")
    fill(session, f"{schema}.b_heir", expired=10, live=50)
    fill(session, f"{schema}.c_heir", expired=0, live=60)
    return table


def each_table_is_counted_as_itself(
    dsn: str, application: Session, holder: Session | None, schema: str
) -> None:
    table = inherited(application, schema)
    retention = promises(application)
    with closing(open_table(dsn, table)) as store:
        scanned = sum(len(batch) for batch in store.scan())
        surveyed = {
            chunk.part: chunk.candidates for chunk in store.survey(retention) if chunk.candidates
        }
        deleted: dict[str, int] = {}
        skipped = 0
        with nullcontext() if holder is None else holder.transaction():
            if holder is not None:
                holder.execute(
                    f"SELECT FROM ONLY {table} WHERE idempotency_key = 'expired-3' FOR UPDATE"
                )
            for chunk in store.collect(retention):
                deleted[chunk.part] = deleted.get(chunk.part, 0) + chunk.deleted
                skipped += chunk.skipped_locked
    assert scanned == 180
    assert surveyed == {f"{schema}.a_parent": 30, f"{schema}.b_heir": 10}
    assert deleted == {
        f"{schema}.a_parent": 30 if holder is None else 29,
        f"{schema}.b_heir": 10,
        f"{schema}.c_heir": 0,
    }
    assert skipped == (0 if holder is None else 1)
    assert len(keys(application, f"{schema}.c_heir")) == 60


def test_heirs_of_a_table_are_counted_and_collected_as_themselves(
    database: str, application: Session, schema: str, walk: str
) -> None:
    each_table_is_counted_as_itself(database, application, None, schema)


def test_a_held_row_is_counted_in_its_own_table_and_not_in_an_heir_s(
    database: str, application: Session, connection_to_database: Session, schema: str, walk: str
) -> None:
    each_table_is_counted_as_itself(database, application, connection_to_database, schema)


def test_names_that_need_quotes_are_quoted(database: str, application: Session, walk: str) -> None:
    place = '"Odd ""Schema"."The Keys % {}"'
    layout = REFERENCE.model_copy(
        update={
            "table": place,
            "key": 'the "Key" %s',
            "expires": At(field="Expires At%"),
            "scope": None,
            "endpoint": "select",
            "counted_from": At(field="created {}"),
            "fingerprint": None,
            "lease": None,
            "fence": None,
            "epoch": None,
            "response_status": None,
            "completed": None,
        }
    )
    application.execute('CREATE SCHEMA "Odd ""Schema"')
    try:
        application.execute(
            f'CREATE TABLE {place} ("the ""Key"" %s" text, "Expires At%" timestamptz,'
            ' "select" text, "created {}" timestamptz, status text)'
        )
        application.execute(f'CREATE INDEX ON {place} ("Expires At%")')
        application.execute(
            f"INSERT INTO {place} SELECT n, now() + (n - 50) * interval '1 h', 'e',"
            " now() - interval '9 days', 'completed' FROM generate_series(0, 99) n"
        )
        with closing(open_table(database, place, layout)) as store:
            retention = promises(application, policies={"e": HOUR})
            assert sum(len(batch) for batch in store.scan()) == 100
            assert looked(store.survey(retention)).count(Verdict.EXPIRED) == 51
            assert store.oldest_expired(retention) is not None
            assert added(store.collect(retention)).deleted == 51
            assert store.oldest_expired(retention) is None
    finally:
        application.execute('DROP SCHEMA "Odd ""Schema" CASCADE')


@pytest.mark.parametrize("kind", ["uuid", "bytea", "bigint"])
def test_a_key_may_be_of_another_type_than_text(
    database: str, application: Session, schema: str, walk: str, kind: str
) -> None:
    table = f"{schema}.typed"
    value = {
        "uuid": "lpad(n::text, 32, 'A')::uuid",
        "bytea": "decode(lpad(n::text, 4, '0') || 'ff00', 'hex')",
        "bigint": "n",
    }[kind]
    application.execute(f"CREATE TABLE {table} (idempotency_key {kind}, created_at timestamptz)")
    application.execute(
        f"INSERT INTO {table} SELECT {value}, now() - n * interval '1 h'"
        " FROM generate_series(0, 9) n"
    )
    expected = {
        "uuid": b"aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaa7",
        "bytea": b"\x00\x07\xff\x00",
        "bigint": b"7",
    }[kind]
    with closing(open_table(database, table, LAYOUTS["bare"])) as store:
        assert expected in [key for batch in store.scan() for key in batch.keys]
        retention = promises(application, stored=False, ttl=5 * HOUR - HOUR / 2)
        assert added(store.collect(retention)).deleted == 5


@pytest.mark.parametrize("kind", ["timestamp", "date", "a_domain"])
@pytest.mark.parametrize("column", ["created_at", "expires_at", "lease_until"])
def test_a_column_without_time_zone_is_refused_because_its_instants_are_unknown(
    database: str, application: Session, schema: str, column: str, kind: str
) -> None:
    table = f"{schema}.naive"
    application.execute(f"CREATE DOMAIN {schema}.a_domain AS timestamp")
    application.execute(f"CREATE DOMAIN {schema}.an_instant AS timestamptz")
    names = {"expires": At(field="expires_at"), "lease": At(field="lease_until")}
    layout = LAYOUTS["bare"].model_copy(update=names)
    instants = ("created_at", "expires_at", "lease_until")
    kinds = dict.fromkeys(instants, f"{schema}.an_instant")
    kinds[column] = f"{schema}.{kind}" if kind == "a_domain" else kind
    columns = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    application.execute(f"CREATE TABLE {table} (idempotency_key text, {columns})")
    retention = promises(application)
    with closing(open_table(database, table, layout)) as store:
        for look in (store.describe, store.scan, lambda: store.survey(retention)):
            with pytest.raises(ConfigError, match=f"{column} is a .*, so its instants are unknown"):
                look()


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kathmandu"])
def test_no_instant_depends_on_the_zone_of_the_session(
    database: str, application: Session, schema: str, zone: str
) -> None:
    table = f"{schema}.zoned"
    layout = LAYOUTS["bare"].model_copy(update={"expires": At(field="expires_at")})
    application.execute(
        f"CREATE TABLE {table}"
        " (idempotency_key text, created_at timestamptz, expires_at timestamptz)"
    )
    application.execute(
        f"INSERT INTO {table} SELECT n, now(), now() + (n - 50) * interval '6 min'"
        " FROM generate_series(0, 99) n"
    )
    dsn = f"{database}?options=-c%20TimeZone%3D{zone}%20-c%20DateStyle%3DSQL,DMY"
    retention = promises(application)
    with closing(open_table(dsn, table, layout)) as store:
        expiries = sorted(int(at) for batch in store.scan() for at in batch.expires_at)
        assert abs(expiries[50] - retention.cutoff_micros) < 60_000_000
        oldest = store.oldest_expired(retention)
        assert oldest is not None
        assert timedelta(0) <= retention.cutoff - 50 * timedelta(minutes=6) - oldest < HOUR / 60
        assert added(store.collect(retention)).deleted == 51


def test_shards_collect_the_whole_of_a_partitioned_table(
    database: str, application: Session, schema: str
) -> None:
    table = twins(application, schema)
    application.execute(
        f"INSERT INTO {table} (idempotency_key, status, expires_at)"
        " SELECT 'more-' || n, 'completed', now() - interval '1 h' FROM generate_series(1, 2000) n"
    )
    retention = promises(application)
    with closing(open_table(database, table)) as store:
        whole = looked(store.survey(retention))
        parts = [looked(store.survey(retention, Shard(n, 3))) for n in range(3)]
        assert sum(parts, Collection()).tallies == whole.tallies
        collected = [added(store.collect(retention, Shard(n, 3))).deleted for n in range(3)]
    assert sum(collected) == 2050
    assert keys(application, table) == names("failed", 50)

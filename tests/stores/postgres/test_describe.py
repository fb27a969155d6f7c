"""What a server and a table say of themselves, and what this user may do there."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from idemctl.domain.records import Pattern
from idemctl.errors import ConfigError, Denied
from tests.stores.postgres.tables import fill, make, open_table, promises
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from idemctl.stores.answers import Description, Right
    from idemctl.stores.postgres.table import PostgresTable
    from tests.stores.postgres.conftest import Stranger
    from tests.stores.postgres.tables import Session

EVENTS = "public.processed_events"


def describe(dsn: str, table: str = EVENTS, layout: str = "reference") -> Description:
    with closing(open_table(dsn, table, LAYOUTS[layout])) as store:
        return store.describe()


def rights(dsn: str, table: str = EVENTS, layout: str = "reference") -> list[Right]:
    """List those without which something fails."""
    with closing(open_table(dsn, table, LAYOUTS[layout])) as store:
        return [right for right in store.rights() if not right.is_spared]


def lacking(those: list[Right]) -> list[str]:
    return [right.name for right in those if not right.granted]


def test_an_owner_has_every_right(database: str, application: Session) -> None:
    description = describe(database)
    assert description.product == "PostgreSQL"
    assert description.version.startswith("18")
    assert description.supported
    assert not description.is_replica
    assert (description.place, description.user) == (f"postgres {EVENTS}", "idemctl")
    assert description.hides_rows is None
    assert lacking(rights(database)) == []
    assert [right.name for right in rights(database)] == [
        f"CONNECT on {database.rpartition('/')[2]}",
        "USAGE on public",
        f"SELECT on {EVENTS}",
        f"UPDATE on {EVENTS}",
        f"DELETE on {EVENTS}",
    ]


def test_a_child_table_needs_rights_of_its_own(database: str, stranger: Stranger) -> None:
    assert lacking(rights(stranger.dsn, "public.workflow_runs", "workflow")) == [
        "SELECT on public.workflow_runs",
        "UPDATE on public.workflow_runs",
        "DELETE on public.workflow_runs",
        "SELECT on public.workflow_steps",
        "DELETE on public.workflow_steps",
    ]


def test_each_missing_right_is_told_with_a_grant_that_gives_it(
    application: Session, stranger: Stranger
) -> None:
    missing = rights(stranger.dsn)
    assert len(lacking(missing)) == 3
    for right in missing[2:]:
        application.execute(right.grant)
    assert lacking(rights(stranger.dsn)) == []


def test_a_user_whose_name_needs_quotes_gets_a_grant_that_works(
    application: Session, superuser: Session, stranger: Stranger
) -> None:
    odd = f'{stranger.name}-"Odd"'
    quoted = '"' + odd.replace('"', '""') + '"'
    superuser.execute(f'ALTER ROLE "{stranger.name}" RENAME TO {quoted}')
    try:
        dsn = stranger.dsn.replace(f"//{stranger.name}:", f"//{odd.replace(chr(34), '%22')}:")
        for right in rights(dsn)[2:]:
            application.execute(right.grant)
        assert lacking(rights(dsn)) == []
    finally:
        superuser.execute(f'ALTER ROLE {quoted} RENAME TO "{stranger.name}"')


def test_rights_on_a_partitioned_table_are_those_on_its_partitions(
    application: Session, stranger: Stranger, schema: str
) -> None:
    table = f"{schema}.events"
    make(application, table, "PARTITION BY HASH (idempotency_key)")
    for part in range(2):
        application.execute(
            f"CREATE TABLE {schema}.part_{part} PARTITION OF {table}"
            f" FOR VALUES WITH (MODULUS 2, REMAINDER {part})"
        )
    application.execute(f"GRANT USAGE ON SCHEMA {schema} TO {stranger.name}")
    application.execute(f"GRANT SELECT, UPDATE, DELETE ON {table} TO {stranger.name}")
    application.execute(f"GRANT SELECT, UPDATE, DELETE ON {schema}.part_0 TO {stranger.name}")
    missing = rights(stranger.dsn, table)
    assert len(lacking(missing)) == 3
    assert [right.grant for right in missing if not right.granted] == [
        f"GRANT SELECT ON {schema}.part_1 TO {stranger.name};",
        f"GRANT UPDATE (expires_at) ON {schema}.part_1 TO {stranger.name};",
        f"GRANT DELETE ON {schema}.part_1 TO {stranger.name};",
    ]
    # Who has nothing yet needs the parent too, by whose name records are looked up.
    assert missing[2].rule == f"GRANT SELECT ON {table}, {schema}.part_0, {schema}.part_1"
    assert missing[4].rule == f"GRANT DELETE ON {schema}.part_0, {schema}.part_1"
    for right in missing[2:]:
        application.execute(right.grant)
    assert lacking(rights(stranger.dsn, table)) == []
    with closing(open_table(stranger.dsn, table)) as store:
        assert list(store.scan()) == []


LOOKS: dict[str, tuple[str, Callable[[PostgresTable, Session], object]]] = {
    "scan": ("SELECT", lambda store, _: list(store.scan())),
    "survey": ("SELECT", lambda store, session: list(store.survey(promises(session)))),
    "oldest": ("SELECT", lambda store, session: store.oldest_expired(promises(session))),
    "collect": ("SELECT", lambda store, session: list(store.collect(promises(session)))),
    "delete": ("DELETE", lambda store, session: list(store.collect(promises(session)))),
    "delete around": ("UPDATE", lambda store, session: list(store.collect(promises(session)))),
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_missing_right_is_denied_in_one_line(
    application: Session, connection_to_database: Session, stranger: Stranger, name: str
) -> None:
    fill(application, expired=5, live=5)
    lacks, does = LOOKS[name]
    others = ", ".join({"SELECT", "UPDATE", "DELETE"} - {lacks})
    application.execute(f"GRANT {others} ON {EVENTS} TO {stranger.name}")
    assert lacking(rights(stranger.dsn)) == [f"{lacks} on {EVENTS}"]
    with closing(open_table(stranger.dsn)) as store, connection_to_database.transaction():
        connection_to_database.execute(
            f"SELECT FROM {EVENTS} WHERE idempotency_key = 'expired-1' FOR UPDATE"
        )
        with pytest.raises(Denied) as refusal:
            does(store, application)
    message = f"postgres {EVENTS}: permission denied for table processed_events"
    assert refusal.value.message == message
    assert "\n" not in str(refusal.value.hint)
    application.execute(f"REVOKE ALL ON {EVENTS} FROM {stranger.name}")


def test_a_schema_out_of_reach_is_denied(
    application: Session, stranger: Stranger, schema: str
) -> None:
    make(application, f"{schema}.events")
    with (
        closing(open_table(stranger.dsn, f"{schema}.events")) as store,
        pytest.raises(Denied, match=f"permission denied for schema {schema}") as denied,
    ):
        store.describe()
    assert denied.value.hint == f"GRANT USAGE ON SCHEMA {schema} TO {stranger.name};"


@pytest.mark.parametrize("leaf_only", [False, True])
def test_rows_that_a_policy_of_the_server_hides_are_told(
    application: Session, stranger: Stranger, schema: str, leaf_only: bool
) -> None:
    table = f"{schema}.events"
    make(application, table, "PARTITION BY HASH (idempotency_key)")
    application.execute(
        f"CREATE TABLE {schema}.part PARTITION OF {table} FOR VALUES WITH (MODULUS 1, REMAINDER 0)"
    )
    application.execute(f"GRANT USAGE ON SCHEMA {schema} TO {stranger.name}")
    application.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {stranger.name}")
    assert describe(stranger.dsn, table).hides_rows is None
    secured = f"{schema}.part" if leaf_only else table
    application.execute(f"ALTER TABLE {secured} ENABLE ROW LEVEL SECURITY")
    hidden = describe(stranger.dsn, table).hides_rows
    # What lies on the parent alone does not touch who goes to the partitions.
    expected = f"row-level security on {table} is active for {stranger.name}"
    assert hidden == (expected if leaf_only else None)
    fill(application, table, expired=5, live=5)
    with closing(open_table(stranger.dsn, table)) as store:
        assert sum(len(batch) for batch in store.scan()) == (0 if leaf_only else 10)


def test_row_level_security_of_a_plain_table_is_told(
    application: Session, stranger: Stranger, schema: str
) -> None:
    make(application, f"{schema}.events")
    application.execute(f"GRANT USAGE ON SCHEMA {schema} TO {stranger.name}")
    application.execute(f"ALTER TABLE {schema}.events ENABLE ROW LEVEL SECURITY")
    assert describe(stranger.dsn, f"{schema}.events").hides_rows is not None


def test_the_number_of_rows_is_the_planner_s_and_unknown_before_it_looked(
    database: str, application: Session, schema: str
) -> None:
    make(application, f"{schema}.events")
    fill(application, f"{schema}.events", expired=100, live=100)
    assert describe(database, f"{schema}.events").row_estimate is None
    application.execute(f"ANALYZE {schema}.events")
    assert describe(database, f"{schema}.events").row_estimate == 200


@pytest.mark.parametrize("kind", ["VIEW", "MATERIALIZED VIEW"])
def test_a_view_is_refused_and_never_taken_for_an_empty_table(
    database: str, application: Session, schema: str, kind: str
) -> None:
    application.execute(f"CREATE {kind} {schema}.seen AS SELECT * FROM {EVENTS}")
    with closing(open_table(database, f"{schema}.seen")) as store:
        for look in (store.describe, store.scan, lambda: store.survey(promises(application))):
            with pytest.raises(ConfigError, match=f"{schema}.seen is a view or a foreign table"):
                look()


def test_a_partition_on_another_server_is_refused_and_never_left_out(
    database: str, application: Session, superuser_inside: Session, schema: str
) -> None:
    application.execute(
        f"CREATE TABLE {schema}.events (idempotency_key text, created_at timestamptz)"
        " PARTITION BY LIST (idempotency_key)"
    )
    superuser_inside.execute("CREATE FOREIGN DATA WRAPPER elsewhere")
    try:
        superuser_inside.execute("CREATE SERVER elsewhere FOREIGN DATA WRAPPER elsewhere")
        superuser_inside.execute(
            f"CREATE FOREIGN TABLE {schema}.far PARTITION OF {schema}.events DEFAULT"
            " SERVER elsewhere"
        )
        with (
            closing(open_table(database, f"{schema}.events", LAYOUTS["bare"])) as store,
            pytest.raises(ConfigError, match=f"{schema}.far is a view or a foreign table"),
        ):
            list(store.scan())
    finally:
        superuser_inside.execute("DROP FOREIGN DATA WRAPPER elsewhere CASCADE")


def test_a_table_partitioned_into_nothing_is_empty(
    database: str, application: Session, schema: str
) -> None:
    make(application, f"{schema}.events", "PARTITION BY HASH (idempotency_key)")
    with closing(open_table(database, f"{schema}.events")) as store:
        assert list(store.scan()) == []
        assert store.describe().row_estimate is None
        assert store.oldest_expired(promises(application)) is None


def test_the_clock_is_the_server_s_and_moves_within_a_store(
    database: str, application: Session
) -> None:
    dsn = f"{database}?options=-c%20TimeZone%3DAsia/Kathmandu"
    with closing(open_table(dsn)) as store:
        first, second = store.clock(), store.clock()
    assert first < second
    assert first.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - first) < timedelta(minutes=1)


@pytest.mark.parametrize("name", ["reference", "bare", "workflow", "outbox"])
def test_a_store_says_what_its_layout_says(database: str, name: str) -> None:
    store = open_table(database, LAYOUTS[name].table, LAYOUTS[name])
    assert store.pattern in {Pattern.POSTGRES_UNIQUE, Pattern.WORKFLOW, Pattern.OUTBOX}
    assert store.has_stored_expiry is (name == "reference")
    store.close()

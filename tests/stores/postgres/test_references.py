"""Tables that hang on records by a foreign key: found, and judged by what the layout says."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from idemctl.domain.references import OnDelete
from tests.stores.cases import DAY
from tests.stores.contract import added
from tests.stores.postgres.tables import open_table, promises
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from idemctl.domain.references import Reference
    from idemctl.layouts.model import PostgresLayout
    from tests.stores.postgres.tables import Session

ACTIONS = [action.value for action in OnDelete]
DRAGGING = {"CASCADE", "SET NULL", "SET DEFAULT"}


def bare(*drags: str) -> PostgresLayout:
    return LAYOUTS["bare"].model_copy(update={"drags": drags})


def references(dsn: str, table: str, layout: PostgresLayout) -> tuple[Reference, ...]:
    with closing(open_table(dsn, table, layout)) as store:
        return store.describe().references


def meant(dsn: str, table: str, *drags: str) -> dict[str, bool]:
    """Tell of each table that would be dragged along whether the layout means it."""
    return {one.table: one.is_meant for one in references(dsn, table, bare(*drags)) if one.drags}


@pytest.fixture
def events(application: Session, schema: str) -> str:
    """A table in a schema that is not on the search path."""
    application.execute(
        f"CREATE TABLE {schema}.events (idempotency_key text UNIQUE, created_at timestamptz)"
    )
    return f"{schema}.events"


@pytest.mark.parametrize("action", ACTIONS)
def test_what_a_deletion_would_drag_along_is_named_with_what_becomes_of_it(
    database: str, application: Session, schema: str, events: str, action: str
) -> None:
    application.execute(
        f"CREATE TABLE {schema}.payment"
        f" (k text REFERENCES {events} (idempotency_key) ON DELETE {action})"
    )
    [one] = references(database, events, bare())
    assert str(one) == f"{schema}.payment (payment_k_fkey, ON DELETE {action})"
    assert one.drags is (action in DRAGGING)
    assert not one.is_meant
    assert not one.is_own


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("payment", True),
        ("PAYMENT", True),
        ('"payment"', True),
        ("{schema}.payment", True),
        ('"{schema}"."payment"', True),
        ('"Payment"', False),
        ("public.payment", False),
        ("nowhere", False),
        ("nowhere.payment", False),
        ('"{schema}.payment"', False),
    ],
)
def test_a_name_is_read_as_postgres_reads_it_beside_the_table(
    database: str, application: Session, events: str, name: str, named: bool
) -> None:
    schema = events.partition(".")[0]
    application.execute(
        f"CREATE TABLE {schema}.payment"
        f" (k text REFERENCES {events} (idempotency_key) ON DELETE CASCADE)"
    )
    drags = name.format(schema=schema)
    assert meant(database, events, drags) == {f"{schema}.payment": named}


def test_a_name_in_quotes_may_hold_anything(
    database: str, application: Session, schema: str, events: str
) -> None:
    application.execute(
        f'CREATE TABLE {schema}."Pay.ment ""x"" %s"'
        f" (k text REFERENCES {events} (idempotency_key) ON DELETE SET NULL)"
    )
    name = '"Pay.ment ""x"" %s"'
    assert meant(database, events, name) == {f"{schema}.{name}": True}
    assert meant(database, events) == {f"{schema}.{name}": False}


def test_what_hangs_on_rows_that_go_along_is_found_and_has_to_be_named_too(
    database: str, application: Session, schema: str, events: str
) -> None:
    application.execute(
        f"CREATE TABLE {schema}.entry (id int PRIMARY KEY,"
        f"  k text REFERENCES {events} (idempotency_key) ON DELETE CASCADE);"
        f"CREATE TABLE {schema}.money (id int REFERENCES {schema}.entry ON DELETE CASCADE);"
        f"CREATE TABLE {schema}.memo (id int PRIMARY KEY,"
        f"  k text REFERENCES {events} (idempotency_key) ON DELETE SET NULL);"
        # A memo only loses its reference, so nothing becomes of what hangs on it.
        f"CREATE TABLE {schema}.safe (id int REFERENCES {schema}.memo ON DELETE CASCADE)"
    )
    assert meant(database, events, "entry", "memo") == {
        f"{schema}.entry": True, f"{schema}.memo": True, f"{schema}.money": False,
    }  # fmt: skip
    assert all(meant(database, events, "entry", "memo", "money").values())


def test_the_records_themselves_are_never_meant(
    database: str, application: Session, schema: str
) -> None:
    application.execute(
        f"CREATE TABLE {schema}.events (idempotency_key text UNIQUE, created_at timestamptz,"
        f" first_key text REFERENCES {schema}.events (idempotency_key) ON DELETE CASCADE);"
        f"CREATE TABLE {schema}.heir (UNIQUE (idempotency_key)) INHERITS ({schema}.events);"
        f"CREATE TABLE {schema}.payment"
        f" (k text REFERENCES {schema}.heir (idempotency_key) ON DELETE SET NULL)"
    )
    found = references(database, f"{schema}.events", bare("events", "payment"))
    assert [(one.table, one.is_meant, one.is_own) for one in found] == [
        (f"{schema}.events", False, True),
        (f"{schema}.payment", True, False),
    ]


def test_a_way_round_that_leads_back_to_the_records_is_not_meant(
    database: str, application: Session, schema: str
) -> None:
    application.execute(
        f"CREATE TABLE {schema}.events (idempotency_key text UNIQUE, created_at timestamptz,"
        f" entry int);"
        f"CREATE TABLE {schema}.entry (id int PRIMARY KEY,"
        f"  k text REFERENCES {schema}.events (idempotency_key) ON DELETE CASCADE);"
        f"ALTER TABLE {schema}.events ADD FOREIGN KEY (entry) REFERENCES {schema}.entry"
        f"  ON DELETE CASCADE"
    )
    assert meant(database, f"{schema}.events", "entry", "events") == {
        f"{schema}.entry": True, f"{schema}.events": False,
    }  # fmt: skip


def test_a_key_to_a_partition_counts_once_whichever_name_the_layout_has(
    database: str, application: Session, schema: str
) -> None:
    application.execute(
        f"CREATE TABLE {schema}.events (idempotency_key text PRIMARY KEY, created_at timestamptz)"
        "  PARTITION BY HASH (idempotency_key);"
        f"CREATE TABLE {schema}.part PARTITION OF {schema}.events"
        "  FOR VALUES WITH (MODULUS 1, REMAINDER 0);"
        f"CREATE TABLE {schema}.payment (k text REFERENCES {schema}.events ON DELETE CASCADE)"
        "  PARTITION BY HASH (k);"
        f"CREATE TABLE {schema}.payment_part PARTITION OF {schema}.payment"
        "  FOR VALUES WITH (MODULUS 1, REMAINDER 0)"
    )
    for table in ("events", "part"):
        assert meant(database, f"{schema}.{table}", "payment") == {f"{schema}.payment": True}


def test_an_index_that_begins_with_the_key_finds_its_rows(
    database: str, application: Session, schema: str, events: str
) -> None:
    application.execute(
        f"CREATE TABLE {schema}.payment (id int, k text"
        f" REFERENCES {events} (idempotency_key) ON DELETE CASCADE);"
        f"CREATE INDEX ON {schema}.payment (id, k); CREATE INDEX ON {schema}.payment (k)"
        " WHERE id > 3"
    )
    [one] = references(database, events, bare())
    assert (one.has_index, one.columns) == (False, "k")
    application.execute(f"CREATE INDEX ON {schema}.payment (k, id)")
    [one] = references(database, events, bare())
    assert one.has_index


def test_what_hangs_on_a_child_is_found_and_the_child_itself_is_not(
    database: str, application: Session
) -> None:
    workflow = LAYOUTS["workflow"]
    assert references(database, "public.workflow_runs", workflow) == ()
    application.execute(
        "CREATE TABLE note (run_id text, ordinal int, attempt int, FOREIGN KEY"
        " (run_id, ordinal, attempt) REFERENCES workflow_steps ON DELETE CASCADE)"
    )
    try:
        [one] = references(database, "public.workflow_runs", workflow)
    finally:
        application.execute("DROP TABLE note")
    assert (one.table, one.drags, one.columns) == ("public.note", True, "run_id, ordinal, attempt")


@pytest.mark.parametrize(("action", "left"), [("CASCADE", []), ("SET NULL", [(None,)])])
def test_what_the_layout_means_happens(
    database: str, application: Session, events: str, action: str, left: list[object]
) -> None:
    schema = events.partition(".")[0]
    application.execute(
        f"CREATE TABLE {schema}.payment"
        f" (k text REFERENCES {events} (idempotency_key) ON DELETE {action});"
        f"INSERT INTO {events} VALUES ('old', now() - interval '2 days'), ('new', now());"
        f"INSERT INTO {schema}.payment VALUES ('old'), ('new')"
    )
    with closing(open_table(database, events, bare("payment"))) as store:
        assert added(store.collect(promises(application, stored=False, ttl=DAY))).deleted == 1
    found = application.execute(f"SELECT k FROM {schema}.payment WHERE k IS DISTINCT FROM 'new'")
    assert found.fetchall() == left

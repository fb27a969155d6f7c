"""Records to which rows of other tables refer, by a key that does not let them go."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from idemctl.domain.retention import Verdict
from idemctl.stores.postgres import table as table_module
from tests.stores.cases import DAY
from tests.stores.contract import added, looked
from tests.stores.postgres.tables import open_table, promises
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from idemctl.domain.collection import Collection
    from tests.stores.postgres.conftest import Stranger
    from tests.stores.postgres.tables import Session

BARE = LAYOUTS["bare"]
ACTIONS = ["RESTRICT", "NO ACTION", "NO ACTION DEFERRABLE INITIALLY DEFERRED"]
MESSAGE = 'foreign key constraint "payment_idempotency_key_fkey" on table "payment"'


@pytest.fixture
def events(application: Session, schema: str) -> str:
    """Forty expired records, of which three are referred to, and one that is alive."""
    application.execute(
        f"CREATE TABLE {schema}.events (idempotency_key text PRIMARY KEY, created_at timestamptz);"
        f"INSERT INTO {schema}.events SELECT 'k-' || n, now() - interval '2 days'"
        "  FROM generate_series(1, 40) n;"
        f"INSERT INTO {schema}.events VALUES ('live', now());"
        # Of one name with the column that it refers to: each must be told by its table.
        f"CREATE TABLE {schema}.payment (idempotency_key text, created_at timestamptz)"
    )
    return f"{schema}.events"


def refer(session: Session, events: str, action: str, *, index: bool = True) -> None:
    schema = events.partition(".")[0]
    session.execute(
        f"INSERT INTO {schema}.payment SELECT 'k-' || n FROM generate_series(7, 9) n;"
        f"INSERT INTO {schema}.payment VALUES ('live'), (NULL);"
        f"ALTER TABLE {schema}.payment ADD FOREIGN KEY (idempotency_key) REFERENCES {events}"
        f" ON DELETE {action};"
        + (f"CREATE INDEX ON {schema}.payment (idempotency_key)" if index else "")
    )


def collected(dsn: str, events: str, session: Session) -> Collection:
    retention = promises(session, stored=False, ttl=DAY)
    with closing(open_table(dsn, events, BARE)) as store:
        return added(store.collect(retention))


def left(session: Session, events: str) -> set[str]:
    return {key for (key,) in session.execute(f"SELECT idempotency_key FROM {events}")}


KEPT = {"k-7", "k-8", "k-9", "live"}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.usefixtures("walk")
def test_what_rows_refer_to_stays_and_is_counted_and_nothing_is_refused(
    database: str, application: Session, events: str, action: str
) -> None:
    refer(application, events, action)
    retention = promises(application, stored=False, ttl=DAY)
    with closing(open_table(database, events, BARE)) as store:
        survey = looked(store.survey(retention))
        assert (survey.candidates, survey.count(Verdict.REFERRED_TO)) == (37, 3)
        total = added(store.collect(retention))
        assert store.oldest_expired(retention) is None
    assert (total.deleted, total.failed, total.troubles) == (37, 0, ())
    assert total.count(Verdict.REFERRED_TO) == total.protected == 3
    assert left(application, events) == KEPT


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.usefixtures("walk")
def test_without_an_index_the_database_refuses_each_and_says_what_refers_to_it(
    database: str, application: Session, events: str, action: str
) -> None:
    refer(application, events, action, index=False)
    total = collected(database, events, application)
    assert (total.deleted, total.failed) == (37, 3)
    assert any(MESSAGE in trouble for trouble in total.troubles)
    assert left(application, events) == KEPT


def test_without_the_look_the_same_rows_stay_one_failure_at_a_time(
    database: str, application: Session, events: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refer(application, events, "NO ACTION")
    monkeypatch.setattr(table_module, "find_pins", lambda *_: ())
    total = collected(database, events, application)
    assert (total.deleted, total.failed, total.count(Verdict.REFERRED_TO)) == (37, 3, 0)
    assert left(application, events) == KEPT


@pytest.mark.usefixtures("walk")
def test_who_may_not_read_what_refers_is_told_by_the_database(
    application: Session, stranger: Stranger, events: str
) -> None:
    refer(application, events, "RESTRICT")
    application.execute(
        f"GRANT USAGE ON SCHEMA {events.partition('.')[0]} TO {stranger.name};"
        f"GRANT SELECT, UPDATE, DELETE ON {events} TO {stranger.name}"
    )
    total = collected(stranger.dsn, events, application)
    assert (total.deleted, total.failed) == (37, 3)
    assert left(application, events) == KEPT


def test_a_key_of_several_columns_refers_by_all_of_them(
    database: str, application: Session, schema: str
) -> None:
    application.execute(
        f"CREATE TABLE {schema}.events (idempotency_key text, scope int, created_at timestamptz,"
        "  PRIMARY KEY (scope, idempotency_key));"
        f"INSERT INTO {schema}.events SELECT 'k', n, now() - interval '2 days'"
        "  FROM generate_series(1, 5) n;"
        f"CREATE TABLE {schema}.payment (k text, s int,"
        f"  FOREIGN KEY (k, s) REFERENCES {schema}.events (idempotency_key, scope));"
        f"CREATE INDEX ON {schema}.payment (s); INSERT INTO {schema}.payment VALUES ('k', 3)"
    )
    total = collected(database, f"{schema}.events", application)
    assert (total.deleted, total.failed) == (4, 0)
    rows = application.execute(f"SELECT scope FROM {schema}.events").fetchall()
    assert rows == [(3,)]


def test_rows_that_refer_to_each_other_in_one_table_are_left_to_the_database(
    database: str, application: Session, schema: str
) -> None:
    application.execute(
        f"CREATE TABLE {schema}.events (idempotency_key text PRIMARY KEY, created_at timestamptz,"
        f"  first_key text REFERENCES {schema}.events);"
        f"CREATE INDEX ON {schema}.events (first_key);"
        f"INSERT INTO {schema}.events VALUES ('a', now() - interval '2 days', 'a'),"
        "  ('b', now() - interval '2 days', 'a')"
    )
    total = collected(database, f"{schema}.events", application)
    assert (total.deleted, total.failed) == (2, 0)

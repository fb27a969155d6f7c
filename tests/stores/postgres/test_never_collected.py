"""Rows that a layout says are never collected: no walk of gc takes one."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from idemctl.domain.retention import Verdict
from idemctl.layouts.conditions import Condition
from idemctl.stores.postgres.conditions import Judgement
from tests.layouts.table_of_conditions import CASES
from tests.stores.contract import added, looked
from tests.stores.postgres.tables import REFERENCE, collect, fill, keys, names, open_table, promises

if TYPE_CHECKING:
    from idemctl.layouts.model import PostgresLayout
    from tests.stores.postgres.tables import Session

EVENTS = "public.processed_events"
LEDGER = {"field": "endpoint", "is": "POST /ledger"}
ADAPTER: TypeAdapter[Any] = TypeAdapter(Condition)


def keeping(condition: Any) -> PostgresLayout:
    return REFERENCE.model_copy(update={"never_collected": ADAPTER.validate_python(condition)})


def fill_ledger(session: Session) -> set[str]:
    """Insert expired rows of which every third is of the ledger, and one of nobody."""
    fill(
        session, expired=90, live=10, columns=", endpoint",
        values=", CASE WHEN n = 1 THEN NULL WHEN n % 3 = 0 THEN 'POST /ledger' ELSE 'GET /' END",
    )  # fmt: skip
    return {f"expired-{number}" for number in range(0, 90, 3)}


def test_both_walks_leave_what_stays_and_take_the_rest(
    database: str, application: Session, walk: str
) -> None:
    stays = fill_ledger(application)
    total = collect(database, promises(application), layout=keeping(LEDGER))
    assert (total.deleted, total.count(Verdict.EXPIRED), total.failed) == (60, 60, 0)
    assert keys(application) == stays | names("live", 10)
    if walk == "heap":
        # All of the ledger, live rows included: nothing of it will ever go.
        assert total.count(Verdict.KEPT_BY_LAYOUT) == len(stays) + 4


def test_without_the_condition_the_same_rows_go(
    database: str, application: Session, walk: str
) -> None:
    fill_ledger(application)
    assert collect(database, promises(application)).deleted == 90
    assert keys(application) == names("live", 10)


def test_rows_are_deleted_around_a_holder_and_what_stays_stays(
    database: str, application: Session, connection_to_database: Session, walk: str
) -> None:
    stays = fill_ledger(application)
    with connection_to_database.transaction():
        connection_to_database.execute(
            f"SELECT FROM {EVENTS} WHERE idempotency_key IN ('expired-0', 'expired-1') FOR UPDATE"
        )
        total = collect(database, promises(application), layout=keeping(LEDGER))
        assert (total.deleted, total.skipped_locked) == (59, 1)
        assert keys(application) == stays | names("live", 10) | {"expired-1"}


def test_a_row_that_came_to_stay_while_gc_waited_for_it_stays(
    database: str, application: Session, connection_to_database: Session
) -> None:
    fill(application, expired=3, live=0, columns=", endpoint", values=", 'GET /'")
    retention = promises(application)
    with closing(open_table(database, layout=keeping(LEDGER))) as store:
        with connection_to_database.transaction():
            connection_to_database.execute(
                f"UPDATE {EVENTS} SET endpoint = 'POST /ledger' WHERE idempotency_key = 'expired-1'"
            )
            steps = store.collect(retention)
            chunks = [next(steps)]
        chunks += steps
    assert added(chunks).deleted == 2
    assert keys(application) == {"expired-1"}


def test_a_look_a_scan_and_a_collection_agree_on_what_stays(
    database: str, application: Session
) -> None:
    stays = fill_ledger(application)
    retention = promises(application)
    with closing(open_table(database, layout=keeping(LEDGER))) as store:
        survey = looked(store.survey(retention))
        scanned = {
            key.decode()
            for batch in store.scan()
            for key, kept in zip(batch.keys, batch.never_collected.tolist(), strict=True)
            if kept
        }
        assert survey.candidates == added(store.collect(retention)).deleted == 60
        assert store.oldest_expired(retention) is None
    assert survey.count(Verdict.KEPT_BY_LAYOUT) == len(scanned)
    assert stays <= scanned
    assert scanned & names("expired", 90) == stays


def test_always_keeps_every_row(database: str, application: Session, walk: str) -> None:
    fill(application, expired=50, live=50)
    total = collect(database, promises(application), layout=keeping("always"))
    assert (total.deleted, total.candidates) == (0, 0)
    assert len(keys(application)) == 100


def test_the_condition_stands_in_the_predicate_of_every_deletion(application: Session) -> None:
    """Whatever the condition is: a deletion that does not say it could take what stays."""
    retention = promises(application)
    for condition, _, _ in CASES:
        plain = Judgement(REFERENCE, retention).expired.as_string(application)
        said = Judgement(keeping(condition), retention).expired.as_string(application)
        assert len(said) > len(plain)
        assert re.search(rf"THEN {int(Verdict.KEPT_BY_LAYOUT)}\b", said)

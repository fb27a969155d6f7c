"""Rows that are no records of a layout: they are as if they were not there."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from idemctl.domain.retention import Verdict
from idemctl.layouts.conditions import Condition
from idemctl.stores.memory import MemoryStore
from idemctl.stores.postgres.conditions import Judgement
from tests.layouts.table_of_conditions import CASES
from tests.stores.contract import added, looked
from tests.stores.postgres.tables import REFERENCE, collect, fill, keys, names, open_table, promises

if TYPE_CHECKING:
    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.ports import Store
    from tests.stores.postgres.tables import Session

EVENTS = "public.processed_events"
OURS = {"field": "endpoint", "is": "POST /ours"}
ADAPTER: TypeAdapter[Any] = TypeAdapter(Condition)


def only(condition: Any) -> PostgresLayout:
    return REFERENCE.model_copy(update={"only": ADAPTER.validate_python(condition)})


def fill_shared(session: Session) -> tuple[set[str], set[str]]:
    """Insert rows of which every third is ours; give the keys of ours, expired and live."""
    fill(
        session, expired=90, live=12, columns=", endpoint",
        values=", CASE WHEN n = 1 THEN NULL WHEN n % 3 = 0 THEN 'POST /ours' ELSE 'GET /' END",
    )  # fmt: skip
    ours = [f"{kind}-{number}" for kind in ("expired", "live") for number in range(0, 90, 3)]
    return set(ours[:30]), set(ours[30:34])


def scanned(store: Store) -> list[str]:
    return sorted(key.decode() for batch in store.scan() for key in batch.keys)


def test_both_walks_take_what_is_ours_and_leave_the_rest(
    database: str, application: Session, walk: str
) -> None:
    gone, live = fill_shared(application)
    total = collect(database, promises(application), layout=only(OURS))
    assert (total.deleted, total.failed) == (len(gone), 0)
    # The index leads to what is expired, the heap to all that is ours; neither to the others.
    assert total.count(Verdict.LIVE) == (len(live) if walk == "heap" else 0)
    assert keys(application) == (names("expired", 90) | names("live", 12)) - gone


def test_without_the_condition_all_of_them_go(
    database: str, application: Session, walk: str
) -> None:
    fill_shared(application)
    assert collect(database, promises(application)).deleted == 90


def test_a_row_that_became_somebody_else_s_while_gc_waited_for_it_stays(
    database: str, application: Session, connection_to_database: Session
) -> None:
    fill(application, expired=3, live=0, columns=", endpoint", values=", 'POST /ours'")
    retention = promises(application)
    with closing(open_table(database, layout=only(OURS))) as store:
        with connection_to_database.transaction():
            connection_to_database.execute(
                f"UPDATE {EVENTS} SET endpoint = 'GET /' WHERE idempotency_key = 'expired-1'"
            )
            steps = store.collect(retention)
            chunks = [next(steps)]
        chunks += steps
    assert added(chunks).deleted == 2
    assert keys(application) == {"expired-1"}


def test_every_way_to_read_shows_the_same_rows(database: str, application: Session) -> None:
    gone, live = fill_shared(application)
    retention = promises(application)
    wanted = sorted(names("expired", 90) | names("live", 12))
    asked = [key.encode() for key in wanted]
    with closing(open_table(database, layout=only(OURS))) as store:
        assert scanned(store) == sorted(gone | live)
        assert {key.decode() for batch in store.sample() for key in batch.keys} == gone | live
        assert looked(store.survey(retention)).candidates == len(gone)
        [found] = store.look_up([(asked, [b""] * len(asked))])
        assert {wanted[at] for at in found.at.tolist()} == gone | live
        assert store.oldest_expired(retention) is not None
        added(store.collect(retention))
        assert store.oldest_expired(retention) is None


def test_the_reference_adapter_reads_the_same(database: str, application: Session) -> None:
    gone, live = fill_shared(application)
    columns = ("idempotency_key", "scope", "endpoint", "status", "created_at", "expires_at")
    rows = application.execute(f"SELECT {', '.join(columns)} FROM {EVENTS}".encode()).fetchall()
    retention = promises(application)
    planted = [dict(zip(columns, row, strict=True)) for row in rows]
    store = MemoryStore(planted, only(OURS), lambda: retention.cutoff)
    assert scanned(store) == sorted(gone | live)
    assert added(store.collect(retention)).deleted == len(gone)
    assert len(store.rows) == 102 - len(gone)


def test_the_condition_stands_in_the_predicate_of_every_deletion(application: Session) -> None:
    """Whatever the condition is: a deletion that does not say it could take what is not ours."""
    retention = promises(application)
    for condition, _, _ in CASES:
        plain = Judgement(REFERENCE, retention).expired.as_string(application)
        said = Judgement(only(condition), retention).expired.as_string(application)
        assert len(said) > len(plain)


def test_a_walk_over_rows_that_are_somebody_else_s_can_rest_and_stop(
    database: str, application: Session
) -> None:
    """A million of them in silence would keep it from hearing a signal."""
    fill(application, expired=500, live=0, columns=", endpoint", values=", 'GET /'")
    with closing(open_table(database, layout=only(OURS))) as store:
        for batches in (list(store.scan()), list(store.sample())):
            assert batches
            assert not any(map(len, batches))

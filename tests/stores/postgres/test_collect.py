"""Collecting from Postgres: both walks, refusals, and tables of every form."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING

import psycopg
import pytest

from idemctl.domain.retention import Promise, Verdict
from idemctl.errors import Refused
from idemctl.layouts.model import Child
from idemctl.stores.answers import WHOLE, Shard
from idemctl.stores.postgres import collect as collect_module
from idemctl.stores.postgres import connect as connect_module
from idemctl.stores.postgres.collect import Collector
from idemctl.stores.postgres.conditions import Judgement
from idemctl.stores.postgres.connect import BatchFailed
from idemctl.stores.postgres.statements import Statements
from tests.stores.contract import added, looked
from tests.stores.postgres.tables import (
    REFERENCE,
    collect,
    fill,
    keys,
    make,
    names,
    open_table,
    opened,
    promises,
    walk_by,
)
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from idemctl.domain.collection import Collection
    from idemctl.domain.retention import Tally
    from tests.stores.postgres.tables import (
        Session,
    )

EVENTS = "public.processed_events"
EQUAL = "date_trunc('day', now()) - interval '1 day'"
HOUR = timedelta(hours=1)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a small table take many batches, as a large one would."""
    monkeypatch.setattr(collect_module, "_FIRST_PAGES", 1)
    monkeypatch.setattr(collect_module, "_MOST_PAGES", 2)
    monkeypatch.setattr(collect_module, "_FIRST_ROWS", 16)
    monkeypatch.setattr(collect_module, "_MOST_ROWS", 64)


def on_delete(session: Session, table: str, body: str) -> None:
    schema = table.split(".", maxsplit=1)[0]
    session.execute(
        f"CREATE FUNCTION {schema}.on_delete() RETURNS trigger LANGUAGE plpgsql AS $$"
        f" BEGIN {body} RETURN OLD; END $$"
    )
    session.execute(
        f"CREATE TRIGGER guard BEFORE DELETE ON {table}"
        f" FOR EACH ROW EXECUTE FUNCTION {schema}.on_delete()"
    )


# Both walks.


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("expires", [EQUAL, f"{EQUAL} - n * interval '1 s'", "'-infinity'"])
def test_both_walks_delete_what_is_expired_and_nothing_else(
    database: str, application: Session, walk: str, expires: str
) -> None:
    fill(application, expired=600, live=300, working=300, expires=expires)
    total = collect(database, promises(application))
    assert (total.deleted, total.skipped_locked, total.failed) == (600, 0, 0)
    assert total.count(Verdict.EXPIRED) == 600
    assert total.count(Verdict.IN_PROGRESS_PAST_EXPIRY) == 300
    assert total.troubles == ()
    assert total.batches > 5
    assert keys(application) == names("live", 300) | names("working", 300)


@pytest.mark.usefixtures("small_batches")
def test_both_walks_leave_held_rows_count_them_and_take_them_next_time(
    database: str, application: Session, connection_to_database: Session, walk: str
) -> None:
    fill(application, expired=200, live=100, expires=EQUAL)
    held = [f"expired-{number}" for number in range(0, 200, 10)]
    with connection_to_database.transaction():
        connection_to_database.execute(
            f"SELECT FROM {EVENTS} WHERE idempotency_key = ANY(%s) FOR UPDATE", [held]
        )
        total = collect(database, promises(application))
        assert (total.deleted, total.skipped_locked, total.failed) == (180, 20, 0)
        assert total.changed_meanwhile == 0
        assert total.troubles == ()
        assert keys(application) == names("live", 100) | set(held)
    again = collect(database, promises(application))
    assert (again.deleted, again.skipped_locked) == (20, 0)
    assert keys(application) == names("live", 100)


def test_a_second_pass_takes_what_was_freed_meanwhile(
    database: str, application: Session, connection_to_database: Session, walk: str
) -> None:
    fill(application, expired=60, live=60)
    with opened(database) as (collector, leaves):
        steps = collector.collect(leaves, promises(application), WHOLE)
        with connection_to_database.transaction():
            connection_to_database.execute(
                f"SELECT FROM {EVENTS} WHERE idempotency_key = 'expired-9' FOR KEY SHARE"
            )
            first = next(steps)
            assert first.deleted == 59
        total = added([first, *steps])
    assert (total.deleted, total.skipped_locked, total.changed_meanwhile) == (60, 0, 0)
    assert keys(application) == names("live", 60)


def test_a_second_pass_says_what_changed_meanwhile(
    database: str,
    application: Session,
    connection_to_database: Session,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    walk_by(monkeypatch, "heap")
    fill(application, expired=60, live=60)
    with opened(database) as (collector, leaves):
        steps = collector.collect(leaves, promises(application), WHOLE)
        with connection_to_database.transaction():
            connection_to_database.execute(
                f"UPDATE {EVENTS} SET expires_at = now() + interval '1 h'"
                " WHERE idempotency_key = 'expired-9'"
            )
            first = next(steps)
        total = added([first, *steps])
    assert (total.deleted, total.skipped_locked, total.changed_meanwhile) == (59, 0, 1)
    assert keys(application) == names("live", 60) | {"expired-9"}


def test_policies_decide_in_both_walks(database: str, application: Session, walk: str) -> None:
    fill(
        application,
        expired=40,
        columns=", endpoint, created_at",
        values=", CASE WHEN n % 2 = 0 THEN 'even' ELSE 'odd' END, now() - interval '2 days'",
    )
    policies = {"even": timedelta(days=30), "odd": timedelta(days=1, hours=23, minutes=59)}
    retention = promises(application, policies=policies)
    total = collect(database, retention)
    by_promise = {one.promise: one.count for one in total.tallies if one.verdict is Verdict.EXPIRED}
    assert total.deleted == 20
    assert by_promise == {Promise.POLICY: 20}
    assert keys(application) == names("live", 40) | {f"expired-{n}" for n in range(0, 40, 2)}


@pytest.mark.parametrize("endpoint", ["GET /50%", "GET /%s", "GET /%(after)s", "a'b\\c{}"])
def test_a_percent_sign_in_an_endpoint_is_no_placeholder(
    database: str, application: Session, walk: str, endpoint: str
) -> None:
    fill(application, expired=20, live=5)
    application.execute(
        f"UPDATE {EVENTS} SET endpoint = %s WHERE idempotency_key = 'expired-3'", [endpoint]
    )
    total = collect(database, promises(application, policies={endpoint: timedelta(days=30)}))
    assert total.deleted == 19
    assert "expired-3" in keys(application)


@pytest.mark.parametrize("kind", ["bare", "outbox"])
def test_both_walks_collect_where_only_a_ttl_speaks(
    database: str, application: Session, walk: str, kind: str
) -> None:
    layout = LAYOUTS[kind]
    if kind == "bare":
        application.execute(
            "INSERT INTO seen_events SELECT n, now() - n * interval '1 h'"
            " FROM generate_series(1, 100) n"
        )
    else:
        application.execute(
            "INSERT INTO outbox_events (key, aggregate, sequence, deadline_at, dispatched_at)"
            " SELECT n, 'a', n, now(), CASE WHEN n % 2 = 0 THEN now() - n * interval '1 h' END"
            " FROM generate_series(1, 100) n"
        )
    retention = promises(application, stored=False, ttl=HOUR * 50 + HOUR / 2)
    total = collect(database, retention, layout.table, layout)
    assert total.deleted == (50 if kind == "bare" else 25)
    row = application.execute(f"SELECT count(*) FROM {layout.table}").fetchone()
    assert row == (50 if kind == "bare" else 75,)


def test_a_small_table_and_a_shard_take_the_heap_walk_and_a_table_with_little_the_index(
    database: str, application: Session, schema: str
) -> None:
    table = f"{schema}.large"
    make(application, table, "WITH (fillfactor = 10)")
    fill(application, table, expired=10, live=5000)
    fill(application, expired=10, live=10)
    retention = promises(application)
    judgement = Judgement(REFERENCE, retention)
    with opened(database) as (collector, (leaf,)):
        assert collector._prefers_heap(leaf, judgement, WHOLE)
    with opened(database, table) as (collector, (leaf,)):
        assert leaf.has_index
        assert leaf.pages > 200
        assert not collector._prefers_heap(leaf, judgement, WHOLE)
        assert collector._prefers_heap(leaf, judgement, Shard(0, 2))
        # What is kept by a policy lies along the index as what goes does.
        application.execute(f"UPDATE {table} SET expires_at = now() - interval '1 h'")
        assert collector._prefers_heap(leaf, judgement, WHOLE)
        application.execute(f"DROP INDEX {schema}.large_expires_at_idx")
    with opened(database, table) as (_, (leaf,)):
        assert not leaf.has_index


# What stands in the way.


@pytest.mark.usefixtures("small_batches")
def test_one_row_that_a_trigger_refuses_keeps_no_other(
    database: str, application: Session, schema: str, walk: str
) -> None:
    table = f"{schema}.events"
    make(application, table)
    fill(application, table, expired=150, live=150)
    on_delete(
        application,
        table,
        "IF OLD.idempotency_key = 'expired-149' THEN RAISE EXCEPTION E'not\\n\\x1b[31mthis one';"
        " END IF;",
    )
    total = collect(database, promises(application), table)
    assert (total.deleted, total.failed, total.skipped_locked) == (149, 1, 0)
    assert total.count(Verdict.EXPIRED) == 150
    assert total.troubles == (rf"{table}: the database refused: not\x0a\x1b[31mthis one",)
    assert keys(application, table) == names("live", 150) | {"expired-149"}


@pytest.mark.usefixtures("small_batches")
def test_rows_that_a_trigger_keeps_in_silence_are_failures_and_no_endless_loop(
    database: str, application: Session, schema: str, walk: str
) -> None:
    table = f"{schema}.events"
    make(application, table)
    fill(application, table, expired=150, live=150, expires=EQUAL)
    on_delete(application, table, "IF OLD.idempotency_key LIKE '%7' THEN RETURN NULL; END IF;")
    total = collect(database, promises(application), table)
    assert (total.deleted, total.failed, total.skipped_locked) == (135, 15, 0)
    assert total.troubles == (f"{table}: a trigger keeps expired rows",)
    assert {key for key in keys(application, table) if key.startswith("expired")} == {
        f"expired-{n}" for n in range(7, 150, 10)
    }


def test_a_trigger_that_keeps_all_rows_is_no_endless_loop(
    database: str, application: Session, schema: str, walk: str
) -> None:
    table = f"{schema}.events"
    make(application, table)
    fill(application, table, expired=50, live=5)
    on_delete(application, table, "RETURN NULL;")
    total = collect(database, promises(application), table)
    assert (total.deleted, total.failed, total.candidates) == (0, 50, 50)


def test_a_row_that_others_refer_to_is_a_failure_and_keeps_no_other(
    database: str, application: Session, schema: str, walk: str
) -> None:
    table = f"{schema}.events"
    make(application, table)
    application.execute(
        f"CREATE TABLE {schema}.refers (scope text, key text,"
        f" FOREIGN KEY (scope, key) REFERENCES {table} (scope, idempotency_key))"
    )
    fill(application, table, expired=50, live=50)
    application.execute(f"INSERT INTO {schema}.refers VALUES ('', 'expired-5')")
    total = collect(database, promises(application), table)
    assert (total.deleted, total.failed) == (49, 1)
    assert any("violates foreign key" in trouble for trouble in total.troubles)
    assert keys(application, table) == names("live", 50) | {"expired-5"}


def test_a_row_that_takes_too_long_to_delete_keeps_no_other(
    database: str, application: Session, schema: str, walk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = f"{schema}.events"
    make(application, table)
    fill(application, table, expired=20, live=20)
    on_delete(
        application, table, "IF OLD.idempotency_key = 'expired-3' THEN PERFORM pg_sleep(9); END IF;"
    )
    limits = connect_module.transaction.__wrapped__.__kwdefaults__  # type: ignore[attr-defined]  # `contextmanager` keeps the function it wraps.
    monkeypatch.setitem(limits, "statement_timeout", timedelta(milliseconds=60))
    total = collect(database, promises(application), table)
    assert (total.deleted, total.failed) == (19, 1)
    assert total.troubles == (f"{table}: a statement reached its time limit",)
    assert keys(application, table) == names("live", 20) | {"expired-3"}


def test_a_table_locked_by_another_session_is_trouble_and_never_a_long_wait(
    database: str, application: Session, connection_to_database: Session, walk: str
) -> None:
    fill(application, expired=60, live=60)
    with closing(open_table(database)) as store:
        steps = iter(store.collect(promises(application)))
        seen = []
        with connection_to_database.transaction():
            connection_to_database.execute(f"LOCK TABLE {EVENTS} IN ACCESS EXCLUSIVE MODE")
            for _ in range(5):
                began = time.monotonic()
                seen.append(next(steps))
                assert time.monotonic() - began < 2
        assert {chunk.trouble for chunk in seen} == {
            f"postgres {EVENTS}: locked by another session"
        }
        total = added([*seen, *steps])
    assert (total.deleted, total.skipped_locked, total.failed) == (60, 0, 0)
    assert keys(application) == names("live", 60)


def test_a_table_locked_for_the_whole_walk_ends_it_with_its_rows_in_place(
    database: str, application: Session, connection_to_database: Session, walk: str
) -> None:
    fill(application, expired=5, live=5)
    with closing(open_table(database)) as store:
        steps = store.collect(promises(application))
        with connection_to_database.transaction():
            connection_to_database.execute(f"LOCK TABLE {EVENTS} IN ACCESS EXCLUSIVE MODE")
            total = added(steps)
    assert total.deleted == 0
    assert total.troubles == (f"postgres {EVENTS}: locked by another session",)
    assert len(keys(application)) == 10


def test_a_table_locked_from_the_start_cannot_be_looked_at(
    database: str, application: Session, connection_to_database: Session
) -> None:
    with closing(open_table(database)) as store, connection_to_database.transaction():
        connection_to_database.execute(f"LOCK TABLE {EVENTS} IN ACCESS EXCLUSIVE MODE")
        for look in (store.collect, store.survey):
            began = time.monotonic()
            with pytest.raises(BatchFailed, match="locked by another session"):
                look(promises(application))
            assert time.monotonic() - began < 2


def test_a_survey_of_a_locked_table_goes_on_when_it_is_free(
    database: str, application: Session, connection_to_database: Session
) -> None:
    fill(application, expired=60, live=60)
    with closing(open_table(database)) as store:
        steps = iter(store.survey(promises(application)))
        with connection_to_database.transaction():
            connection_to_database.execute(f"LOCK TABLE {EVENTS} IN ACCESS EXCLUSIVE MODE")
            chunk = next(steps)
            assert chunk.trouble == f"postgres {EVENTS}: locked by another session"
            assert (chunk.candidates, chunk.tallies) == (0, ())
        assert looked(steps).count(Verdict.EXPIRED) == 60


def test_what_was_deleted_is_counted_also_when_the_look_after_it_fails(
    database: str,
    application: Session,
    connection_to_database: Session,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def blind(*_: object) -> int:
        raise BatchFailed("a statement reached its time limit")

    walk_by(monkeypatch, "heap")
    monkeypatch.setattr(Statements, "count", blind)
    fill(application, expired=60, live=60)
    with opened(database) as (collector, leaves):
        steps = collector.collect(leaves, promises(application), WHOLE)
        with connection_to_database.transaction():
            connection_to_database.execute(
                f"SELECT FROM {EVENTS} WHERE idempotency_key LIKE 'expired-1%' FOR SHARE"
            )
            first = next(steps)
        total = added([first, *steps])
    assert total.deleted == 60
    assert total.troubles == ("a statement reached its time limit",)
    assert keys(application) == names("live", 60)


# Children.


def workflow(session: Session) -> None:
    session.execute(
        "INSERT INTO workflow_runs (run_id, key, status, finished_at)"
        " SELECT 'run-' || n, 'key-' || n, CASE WHEN n < 30 THEN 'completed' ELSE 'running' END,"
        "        CASE WHEN n < 20 THEN now() - interval '9 days' WHEN n < 30 THEN now() END"
        " FROM generate_series(0, 39) n"
    )
    session.execute(
        "INSERT INTO workflow_steps (run_id, step, ordinal, status)"
        " SELECT 'run-' || n, 'step', ordinal, 'completed'"
        " FROM generate_series(0, 39) n, generate_series(1, 3) ordinal"
    )


def collect_runs(dsn: str, session: Session) -> Collection:
    layout = LAYOUTS["workflow"]
    with closing(open_table(dsn, layout.table, layout)) as store:
        return added(store.collect(promises(session, stored=False, ttl=timedelta(days=7))))


def steps_left(session: Session) -> dict[str, int]:
    found = session.execute("SELECT run_id, count(*) FROM workflow_steps GROUP BY run_id")
    return dict(found.fetchall())


def test_steps_go_with_their_run_and_no_other(
    database: str, application: Session, walk: str
) -> None:
    workflow(application)
    total = collect_runs(database, application)
    assert (total.deleted, total.children_deleted, total.failed) == (20, 60, 0)
    assert steps_left(application) == {f"run-{n}": 3 for n in range(20, 40)}


def test_a_run_with_a_held_step_is_skipped_whole_and_keeps_no_other(
    database: str, application: Session, connection_to_database: Session, walk: str
) -> None:
    workflow(application)
    with connection_to_database.transaction():
        connection_to_database.execute(
            "SELECT FROM workflow_steps WHERE run_id = 'run-5' AND ordinal = 2 FOR UPDATE"
        )
        total = collect_runs(database, application)
        assert (total.deleted, total.children_deleted) == (19, 57)
        assert (total.skipped_locked, total.failed) == (1, 0)
    assert steps_left(application) == {f"run-{n}": 3 for n in (5, *range(20, 40))}


def test_a_run_that_gets_a_step_meanwhile_is_never_parted_from_it(
    database: str, application: Session, connection_to_database: Session, walk: str
) -> None:
    workflow(application)
    with connection_to_database.transaction():
        # Its foreign key holds the run while this is not committed.
        connection_to_database.execute(
            "INSERT INTO workflow_steps (run_id, step, ordinal, status)"
            " VALUES ('run-5', 'late', 4, 'running')"
        )
        total = collect_runs(database, application)
        assert (total.deleted, total.skipped_locked, total.failed) == (19, 1, 0)
    assert steps_left(application)["run-5"] == 4
    assert collect_runs(database, application).children_deleted == 4


@pytest.mark.parametrize("child", ["workflow_steps", "other.workflow_steps"])
def test_a_child_stands_beside_its_parent_and_that_of_another_schema_is_not_touched(
    database: str, application: Session, schema: str, walk: str, child: str
) -> None:
    workflow(application)
    table = f"{schema}.workflow_runs"
    beside = child.replace("other", schema)
    layout = LAYOUTS["workflow"].model_copy(update={"child": Child(table=beside, join="run_id")})
    for name in ("workflow_runs", "workflow_steps"):
        application.execute(
            f"CREATE TABLE {schema}.{name} (LIKE public.{name} INCLUDING ALL);"
            f"INSERT INTO {schema}.{name} SELECT * FROM public.{name}"
        )
    with closing(open_table(database, table, layout)) as store:
        names = {right.name for right in store.rights()}
        total = added(store.collect(promises(application, stored=False, ttl=timedelta(days=7))))
    assert f"DELETE on {schema}.workflow_steps" in names
    assert (total.deleted, total.children_deleted) == (20, 60)
    assert len(steps_left(application)) == 40


# What it leaves behind, and what it finds.


def test_rows_of_the_far_future_are_kept_and_stop_nothing(
    database: str, application: Session, walk: str
) -> None:
    fill(application, expired=10, live=10)
    application.execute(
        f"INSERT INTO {EVENTS} (idempotency_key, status, expires_at) VALUES"
        " ('far', 'completed', '294276-12-31 23:59:59+00'), ('never', 'completed', 'infinity'),"
        " ('long ago', 'completed', '4713-01-02 00:00:00+00 BC')"
    )
    with closing(open_table(database)) as store:
        retention = promises(application)
        assert sum(len(batch) for batch in store.scan()) == 23
        assert looked(store.survey(retention)).count(Verdict.EXPIRED) == 11
        assert added(store.collect(retention)).deleted == 11
    assert keys(application) == names("live", 10) | {"far", "never"}


@pytest.mark.parametrize("first", ["'-infinity'", "now() - interval '5 days'"])
def test_the_oldest_promise_is_that_which_ended_first_not_the_oldest_row(
    database: str, application: Session, first: str
) -> None:
    application.execute(
        f"INSERT INTO {EVENTS} (idempotency_key, status, endpoint, created_at, expires_at) VALUES"
        " ('long owed', 'completed', 'slow', now() - interval '11 d', now() - interval '10 d'),"
        f" ('first over', 'completed', 'quick', now() - interval '6 d', {first}),"
        " ('stuck', 'in_progress', 'quick', now() - interval '90 d', now() - interval '90 d')"
    )
    retention = promises(application, policies={"slow": timedelta(days=10)})
    with closing(open_table(database)) as store:
        oldest = store.oldest_expired(retention)
    assert oldest is not None
    if first == "'-infinity'":
        assert oldest.year == 1
    else:
        assert timedelta(days=5) <= retention.cutoff - oldest < timedelta(days=5, minutes=1)


def test_every_batch_is_committed_before_the_next(
    database: str, application: Session, walk: str, small_batches: None
) -> None:
    fill(application, expired=400, live=50)
    with (
        closing(open_table(database)) as store,
        closing(store.collect(promises(application))) as steps,
    ):
        deleted = 0
        for _ in range(2):
            deleted += next(steps).deleted
            # Seen from another session: a rollback to come would show here.
            assert len(keys(application)) == 450 - deleted
        assert 0 < deleted < 400


@pytest.mark.usefixtures("small_batches")
def test_no_batch_exceeds_its_size(
    database: str, application: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches_keep_to_their_size(database, application, monkeypatch)


def batches_keep_to_their_size(
    dsn: str, application: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk_by(monkeypatch, "index")
    fill(application, expired=300, live=10, expires=EQUAL)
    with closing(open_table(dsn)) as store:
        deleted = [chunk.deleted for chunk in store.collect(promises(application))]
    assert sum(deleted) == 300
    assert max(deleted) <= 64


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("held", [0, 5])
def test_a_limit_is_met_exactly_whatever_the_batches_are(
    database: str, application: Session, walk: str, held: int
) -> None:
    fill(application, expired=300, live=10, expires=EQUAL)
    with psycopg.connect(database) as holder, closing(open_table(database)) as store:
        over = f"SELECT FROM {EVENTS} WHERE expires_at < now()"
        holder.execute(f"{over} LIMIT {held} FOR UPDATE".encode())
        total = added(store.collect(promises(application), limit=101))
        assert (total.deleted, total.limited) == (101, True)
        assert len(keys(application)) == 209
        # What is held is come back to after all else, and still no more goes.
        rest = added(store.collect(promises(application), limit=199 - held))
        assert (rest.deleted, rest.limited) == (199 - held, True)
    assert len(keys(application)) == 10 + held


def test_a_limit_stops_between_what_was_held_in_the_first_pass(
    database: str, application: Session, walk: str
) -> None:
    fill(application, expired=30, live=10)
    with psycopg.connect(database) as holder, closing(open_table(database)) as store:
        over = f"SELECT FROM {EVENTS} WHERE expires_at < now()"
        holder.execute(f"{over} LIMIT 20 FOR UPDATE".encode())
        steps = store.collect(promises(application), limit=15)
        assert next(steps).deleted == 10
        holder.rollback()
        assert sum(chunk.deleted for chunk in steps) == 5
    assert len(keys(application)) == 25


def test_a_read_only_store_is_refused_by_the_server(
    database: str, application: Session, walk: str
) -> None:
    fill(application, expired=10, live=10)
    with closing(open_table(database, writable=False)) as store:
        with pytest.raises(Refused, match="in a read-only transaction"):
            list(store.collect(promises(application)))
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction), store._connection.transaction():
            store._connection.execute(f"DELETE FROM {EVENTS}")
    assert len(keys(application)) == 20


def test_the_collector_waits_for_a_row_no_longer_than_a_few_milliseconds() -> None:
    defaults = Collector.__init__.__kwdefaults__ or {}
    assert defaults["lock_patience"] <= timedelta(milliseconds=20)


def test_a_walk_that_is_left_early_still_makes_sure_that_its_batches_stay_gone(
    database: str, application: Session, small_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushes = []
    flush = Statements.flush

    def counted(statements: Statements) -> None:
        flushes.append(1)
        flush(statements)

    monkeypatch.setattr(Statements, "flush", counted)
    fill(application, expired=400, live=50)
    with closing(open_table(database)) as store:
        steps = store.collect(promises(application))
        assert next(steps).deleted
        steps.close()
        assert flushes == [1]


@pytest.mark.parametrize("state", ["45000", "22P02", "42501", "ZZ999"])
def test_a_row_that_a_trigger_refuses_in_any_words_keeps_no_other_from_going(
    database: str, application: Session, schema: str, walk: str, state: str
) -> None:
    table = f"{schema}.events"
    make(application, table)
    fill(application, table, expired=50, live=10)
    on_delete(
        application,
        table,
        "IF OLD.idempotency_key LIKE '%7' THEN"
        f" RAISE EXCEPTION 'kept' USING ERRCODE = '{state}'; END IF;",
    )
    total = collect(database, promises(application), table)
    assert (total.deleted, total.failed, total.blind) == (45, 5, False)


def test_a_record_from_the_end_of_time_stops_nothing(
    database: str, application: Session, schema: str, walk: str
) -> None:
    table = f"{schema}.bare"
    application.execute(f"CREATE TABLE {table} (idempotency_key text, created_at timestamptz)")
    application.execute(
        f"INSERT INTO {table} VALUES ('last', '294276-12-31'), ('old', now() - interval '9 d'),"
        " ('late', '293999-12-31')"
    )
    retention = promises(application, stored=False, ttl=7 * 24 * HOUR)
    with closing(open_table(database, table, LAYOUTS["bare"])) as store:
        counted = looked(store.survey(retention))
        assert [counted.count(one) for one in (Verdict.EXPIRED, Verdict.NEVER_EXPIRES)] == [1, 1]
        assert added(store.collect(retention)).deleted == 1


def test_what_could_not_be_looked_at_is_not_told_as_nothing(
    database: str, application: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(application, expired=40, live=10)
    walk_by(monkeypatch, "index")

    def blind(*_: object) -> list[Tally]:
        raise BatchFailed("no sight")

    monkeypatch.setattr(Statements, "tallies", blind)
    with closing(open_table(database)) as store:
        assert added(store.collect(promises(application))).blind

"""Somebody else is at work on the rows that gc has come for.

Every race has two real connections and a barrier: gc is seen to wait for a lock before the
other session goes on. The same races run against SQL with a planted bug, which must lose them.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql

from idemctl.domain.records import Status
from idemctl.domain.retention import Verdict
from idemctl.errors import IdemctlError
from idemctl.stores.postgres import collect as collect_module
from idemctl.stores.postgres import conditions, queries
from idemctl.stores.postgres.conditions import Judgement
from tests.stores import contract
from tests.stores.postgres import test_collect, test_leaves
from tests.stores.postgres.tables import (
    GC,
    LONG,
    InBackground,
    collect,
    fill,
    keys,
    mutated,
    names,
    open_table,
    promises,
    walk_by,
)
from tests.stores.worlds import LAYOUTS, PostgresWorld

if TYPE_CHECKING:
    from collections.abc import Callable

    from idemctl.domain.collection import Collection
    from tests.stores.postgres.tables import (
        Session,
    )

EVENTS = "public.processed_events"
KEY = "expired-7"
THAT_ROW = f"WHERE idempotency_key = '{KEY}'"

TAKEN_BACK = {
    "renewed": f"UPDATE {EVENTS} SET expires_at = now() + interval '1 hour' {THAT_ROW}",
    "in progress again": f"UPDATE {EVENTS} SET status = 'in_progress' {THAT_ROW}",
    "lease extended": (
        f"UPDATE {EVENTS} SET status = 'in_progress', lease_until = now() + interval '5 min',"
        f" expires_at = now() + interval '1 day', fence = fence + 1 {THAT_ROW}"
    ),
    "acquired again": (
        f"INSERT INTO {EVENTS} (idempotency_key, status, expires_at)"
        f" VALUES ('{KEY}', 'in_progress', now() + interval '1 day')"
        " ON CONFLICT (scope, idempotency_key) DO UPDATE"
        " SET status = excluded.status, expires_at = excluded.expires_at"
    ),
    "of a status unknown": f"UPDATE {EVENTS} SET status = 'disputed' {THAT_ROW}",
    "without end": f"UPDATE {EVENTS} SET expires_at = 'infinity' {THAT_ROW}",
    "without expiry": f"UPDATE {EVENTS} SET expires_at = NULL {THAT_ROW}",
}
"""What an application does to a row of its own while gc waits for it."""

DELETED_AND_INSERTED = (
    f"DELETE FROM {EVENTS} {THAT_ROW};"
    f"INSERT INTO {EVENTS} (idempotency_key, status, expires_at)"
    f" VALUES ('{KEY}', 'in_progress', now() + interval '1 day')"
)

NAIVE = (
    f"DELETE FROM {EVENTS} WHERE (scope, idempotency_key) IN (SELECT scope, idempotency_key"
    f" FROM {EVENTS} WHERE expires_at < now() AND status <> 'in_progress' LIMIT 1000)"
)


@dataclass(frozen=True, kw_only=True)
class Sessions:
    """The database, its application, and one more session of that."""

    dsn: str
    application: Session
    other: Session


@pytest.fixture
def sessions(
    database: str, application: Session, connection_to_database: Session, patient: None
) -> Sessions:
    return Sessions(dsn=database, application=application, other=connection_to_database)


Gc = Any
"""What deletes: a function of the sessions that gives what came of it."""


def by_heap(sessions: Sessions) -> Collection:
    with pytest.MonkeyPatch.context() as patch:
        walk_by(patch, "heap")
        return collect(sessions.dsn, promises(sessions.application), patience=LONG)


def naively(sessions: Sessions) -> None:
    with psycopg.connect(sessions.dsn, application_name=GC, autocommit=True) as connection:
        connection.execute(NAIVE)


def race(sessions: Sessions, gc: Gc, change: str) -> Any:
    """Let gc wait for a row that another session takes back; the row must survive."""
    fill(sessions.application)
    with sessions.other.transaction():
        for statement in change.split(";"):
            sessions.other.execute(statement)
        background = InBackground(lambda: gc(sessions), sessions.application)
        background.start()
        background.wait_until_blocked()
    result = background.finish()
    assert keys(sessions.application) == names("live", 40) | {KEY}
    return result


# A row that gc waits for.


@pytest.mark.parametrize(
    "change",
    [*TAKEN_BACK.values(), DELETED_AND_INSERTED],
    ids=[*TAKEN_BACK, "deleted and inserted"],
)
def test_a_row_taken_back_while_gc_waits_survives(sessions: Sessions, change: str) -> None:
    total = race(sessions, by_heap, change)
    assert (total.deleted, total.candidates, total.skipped_locked) == (39, 39, 0)
    assert total.failed == 0


@pytest.mark.parametrize("change", TAKEN_BACK.values(), ids=TAKEN_BACK)
def test_the_naive_form_deletes_that_row(sessions: Sessions, change: str) -> None:
    with pytest.raises(AssertionError):
        race(sessions, naively, change)
    assert KEY not in keys(sessions.application)


def test_a_row_that_was_only_touched_while_gc_waits_goes(sessions: Sessions) -> None:
    fill(sessions.application)
    with sessions.other.transaction():
        sessions.other.execute(f"UPDATE {EVENTS} SET hit_count = hit_count + 1 {THAT_ROW}")
        background = InBackground(lambda: by_heap(sessions), sessions.application)
        background.start()
        background.wait_until_blocked()
    total = background.finish()
    assert (total.deleted, total.skipped_locked, total.changed_meanwhile) == (40, 0, 0)
    assert keys(sessions.application) == names("live", 40)


def test_a_change_that_is_rolled_back_while_gc_waits_changes_nothing(sessions: Sessions) -> None:
    fill(sessions.application)
    with sessions.other.transaction(force_rollback=True):
        sessions.other.execute(TAKEN_BACK["renewed"])
        background = InBackground(lambda: by_heap(sessions), sessions.application)
        background.start()
        background.wait_until_blocked()
    assert background.finish().deleted == 40


def test_a_row_moved_to_another_partition_while_gc_waits_survives(
    sessions: Sessions, schema: str
) -> None:
    table = test_leaves.twins(sessions.application, schema)
    with sessions.other.transaction():
        sessions.other.execute(
            f"UPDATE {table} SET status = 'failed', expires_at = now() + interval '1 day'"
            " WHERE idempotency_key = 'completed-7'"
        )
        background = InBackground(
            lambda: collect(sessions.dsn, promises(sessions.application), table, patience=LONG),
            sessions.application,
        )
        background.start()
        background.wait_until_blocked()
    total = background.finish()
    assert (total.deleted, total.failed) == (49, 0)
    assert keys(sessions.application, table) == names("failed", 50) | {"completed-7"}


# A row that gc does not wait for.


@pytest.mark.parametrize("walk", ["heap", "index"])
@pytest.mark.parametrize("strength", ["UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"])
def test_a_row_under_any_lock_is_skipped_and_counted(
    sessions: Sessions,
    monkeypatch: pytest.MonkeyPatch,
    walk: str,
    strength: str,
) -> None:
    walk_by(monkeypatch, walk)
    held_rows_are_skipped(sessions, strength)


def held_rows_are_skipped(sessions: Sessions, strength: str = "UPDATE") -> Collection:
    fill(sessions.application)
    with sessions.other.transaction():
        sessions.other.execute(f"SELECT FROM {EVENTS} {THAT_ROW} FOR {strength}")
        total = collect(sessions.dsn, promises(sessions.application))
        assert keys(sessions.application) == names("live", 40) | {KEY}
    assert (total.deleted, total.skipped_locked, total.changed_meanwhile) == (39, 1, 0)
    assert (total.failed, total.troubles) == (0, ())
    return total


@pytest.mark.parametrize("walk", ["heap", "index"])
@pytest.mark.parametrize(
    "change",
    [*TAKEN_BACK.values(), DELETED_AND_INSERTED],
    ids=[*TAKEN_BACK, "deleted and inserted"],
)
def test_a_row_being_taken_back_is_left_to_who_takes_it(
    sessions: Sessions,
    monkeypatch: pytest.MonkeyPatch,
    walk: str,
    change: str,
) -> None:
    walk_by(monkeypatch, walk)
    fill(sessions.application)
    with sessions.other.transaction():
        for statement in change.split(";"):
            sessions.other.execute(statement)
        total = collect(sessions.dsn, promises(sessions.application))
    assert total.deleted == 39
    assert keys(sessions.application) == names("live", 40) | {KEY}


# The statements that lock first have two halves: the locks, and the condition once more.

LOCKING = "FOR UPDATE SKIP LOCKED"
SECOND_HALF = " AND {expired}\n    RETURNING"
BY_PLACE = {"delete_unlocked": "heap", "delete_oldest": "index"}


def every_deletion_says_the_condition() -> None:
    """Look at the text, for the server here would forgive it.

    A row that changed has another ctid, and from PostgreSQL 18.1 (17.7, 16.11, ...) on a
    TID scan is judged again after a wait. Older servers delete the new version.
    """
    deletions = [
        statement.split("RETURNING")[0]
        for block in queries._blocks().values()
        for statement in block.split("DELETE FROM ONLY {leaf}")[1:]
    ]
    assert len(deletions) == 4
    for deletion in deletions:
        assert "{expired}" in deletion


def test_every_deletion_says_the_condition_itself() -> None:
    every_deletion_says_the_condition()


@pytest.mark.parametrize("block", BY_PLACE)
def test_without_the_condition_beside_the_deletion_the_locks_keep_a_row(
    sessions: Sessions, block: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk_by(monkeypatch, BY_PLACE[block])
    fill(sessions.application)
    with mutated((block, SECOND_HALF, "\n    RETURNING")), sessions.other.transaction():
        sessions.other.execute(TAKEN_BACK["renewed"])
        collect(sessions.dsn, promises(sessions.application))
    assert keys(sessions.application) == names("live", 40) | {KEY}


# Mutations: each planted bug must be caught by at least one of the tests above or beside.


@dataclass(frozen=True, kw_only=True)
class Mutation:
    block: str
    old: str
    new: str
    caught_by: Callable[[Sessions, str], None]


def _contract(sessions: Sessions, schema: str) -> None:
    world = PostgresWorld("reference", sessions.dsn, sessions.application)
    contract.what_is_expired_goes_and_nothing_else(world)


def _held(walk: str) -> Callable[[Sessions, str], None]:
    def body(sessions: Sessions, schema: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            walk_by(patch, walk)
            total = held_rows_are_skipped(sessions)
        # An index walk never touches what is live; the heap walk counts it.
        assert total.count(Verdict.LIVE) == (0 if walk == "index" else 40)

    return body


def _text(sessions: Sessions, schema: str) -> None:
    every_deletion_says_the_condition()


def _heirs(walk: str, *, held: bool = True) -> Callable[[Sessions, str], None]:
    def body(sessions: Sessions, schema: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            walk_by(patch, walk)
            test_leaves.each_table_is_counted_as_itself(
                sessions.dsn, sessions.application, sessions.other if held else None, schema
            )

    return body


def _batches(sessions: Sessions, schema: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collect_module, "_FIRST_ROWS", 16)
        patch.setattr(collect_module, "_MOST_ROWS", 64)
        test_collect.batches_keep_to_their_size(sessions.dsn, sessions.application, patch)


def _steps(sessions: Sessions, schema: str) -> None:
    test_collect.test_steps_go_with_their_run_and_no_other(
        sessions.dsn, sessions.application, "heap"
    )


# A LIMIT inside `IN` is one only where the plan happens to run the subquery once.
PICKED = "ctid = ANY(ARRAY(SELECT ctid FROM picked))"
LIMIT_IN_A_SUBQUERY = (
    "ctid IN (SELECT ctid FROM ONLY {leaf} WHERE {expired} LIMIT {limit} FOR UPDATE SKIP LOCKED)"
)

MUTATIONS = {
    "range without condition": Mutation(
        block="delete_range", old="{range} AND {expired}", new="{range}", caught_by=_contract
    ),
    "unlocked, first half": Mutation(
        block="delete_unlocked",
        old="{range} AND {expired}\n     LIMIT",
        new="{range}\n     LIMIT",
        caught_by=_held("heap"),
    ),
    "unlocked, second half": Mutation(
        block="delete_unlocked",
        old=SECOND_HALF,
        new="\n    RETURNING",
        caught_by=_text,
    ),
    "unlocked, waits": Mutation(
        block="delete_unlocked", old=LOCKING, new="FOR UPDATE", caught_by=_held("heap")
    ),
    "unlocked, no lock": Mutation(
        block="delete_unlocked", old=LOCKING, new="", caught_by=_held("heap")
    ),
    "oldest, first half": Mutation(
        block="delete_oldest",
        old=">= {after} AND {expired}",
        new=">= {after}",
        caught_by=_held("index"),
    ),
    "oldest, second half": Mutation(
        block="delete_oldest",
        old=SECOND_HALF,
        new="\n    RETURNING",
        caught_by=_text,
    ),
    "oldest, waits": Mutation(
        block="delete_oldest", old=LOCKING, new="FOR UPDATE", caught_by=_held("index")
    ),
    "oldest, no limit": Mutation(
        block="delete_oldest", old="LIMIT {limit} ", new="", caught_by=_batches
    ),
    "oldest, past equals": Mutation(
        block="delete_oldest", old=">= {after}", new="> {after}", caught_by=_batches
    ),
    "scan, heirs": Mutation(
        block="scan", old="ONLY {leaf}", new="{leaf}", caught_by=_heirs("heap")
    ),
    "survey, heirs": Mutation(
        block="survey", old="ONLY {leaf}", new="{leaf}", caught_by=_heirs("heap")
    ),
    "range, heirs": Mutation(
        block="delete_range",
        old="ONLY {leaf}",
        new="{leaf}",
        caught_by=_heirs("heap", held=False),
    ),
    "unlocked, heirs": Mutation(
        block="delete_unlocked", old="ONLY {leaf}", new="{leaf}", caught_by=_heirs("heap")
    ),
    "count, heirs": Mutation(
        block="count_expired", old="ONLY {leaf}", new="{leaf}", caught_by=_heirs("heap")
    ),
    "oldest, heirs": Mutation(
        block="delete_oldest",
        old="ONLY {leaf}",
        new="{leaf}",
        caught_by=_heirs("index", held=False),
    ),
    "range with children, condition": Mutation(
        block="delete_range_telling",
        old="{range} AND {expired}",
        new="{range}",
        caught_by=_steps,
    ),
    "all children": Mutation(
        block="children", old="c.{join} = gone.id", new="c.{join} IS NOT NULL", caught_by=_steps
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_planted_bug_is_caught(sessions: Sessions, schema: str, name: str) -> None:
    mutation = MUTATIONS[name]
    with (
        mutated((mutation.block, mutation.old, mutation.new)),
        pytest.raises((AssertionError, IdemctlError)),
    ):
        mutation.caught_by(sessions, schema)


@pytest.mark.parametrize(
    "catches", {id(one.caught_by): one.caught_by for one in MUTATIONS.values()}.values()
)
def test_without_a_planted_bug_nothing_is_caught(
    sessions: Sessions, schema: str, catches: Callable[[Sessions, str], None]
) -> None:
    catches(sessions, schema)


def test_a_limit_inside_a_subquery_is_no_limit_and_is_caught(
    sessions: Sessions, schema: str, superuser: Session
) -> None:
    # The plan that PostgreSQL takes on some days, forced here.
    kinds = ("hashjoin", "mergejoin", "hashagg", "material", "sort", "memoize", "tidscan")
    for kind in kinds:
        superuser.execute(f"ALTER ROLE idemctl SET enable_{kind} = off")
    try:
        _batches(sessions, schema)
        sessions.application.execute(f"TRUNCATE {EVENTS}")
        with mutated(("delete_oldest", PICKED, LIMIT_IN_A_SUBQUERY)), pytest.raises(AssertionError):
            _batches(sessions, schema)
    finally:
        for kind in kinds:
            superuser.execute(f"ALTER ROLE idemctl RESET enable_{kind}")


def _judges_as_the_table_says(sessions: Sessions) -> None:
    world = PostgresWorld("reference", sessions.dsn, sessions.application)
    contract.a_survey_agrees_with_a_scan(world)


def test_a_lost_status_is_caught(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        conditions, "status_as_sql", lambda _layout: sql.Literal(int(Status.COMPLETED))
    )
    with pytest.raises(AssertionError):
        _judges_as_the_table_says(sessions)


def test_a_cutoff_that_takes_too_much_is_caught(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def later(self: Judgement) -> sql.Composable:
        cutoff = self.retention.cutoff + timedelta(microseconds=1)
        return sql.SQL("{}::timestamptz").format(sql.Literal(cutoff.isoformat()))

    monkeypatch.setattr(Judgement, "cutoff", property(later))
    with pytest.raises(AssertionError):
        _judges_as_the_table_says(sessions)


def test_a_forgotten_policy_is_caught(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Judgement, "_has_policies", property(lambda _: False))
    with pytest.raises(AssertionError):
        _judges_as_the_table_says(sessions)


def test_a_presence_taken_for_completion_is_caught(sessions: Sessions) -> None:
    world = PostgresWorld("presence", sessions.dsn, sessions.application)
    world.layout = LAYOUTS["bare"]
    with pytest.raises(AssertionError):
        contract.a_survey_agrees_with_a_scan(world)


# Two runs at once.


def test_two_walks_at_once_delete_each_row_once(
    database: str, application: Session, connection_to_database: Session
) -> None:
    fill(application, expired=2000, live=500)
    retention = promises(application)
    with closing(open_table(database)) as one, closing(open_table(database)) as two:
        first, second = iter(one.collect(retention)), iter(two.collect(retention))
        deleted = next(first).deleted + next(second).deleted
        deleted += sum(chunk.deleted for chunk in first) + sum(chunk.deleted for chunk in second)
    assert deleted == 2000
    assert keys(application) == names("live", 500)

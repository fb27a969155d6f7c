"""Rows that are held cannot be changed by anybody, and are given back at once."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from psycopg.pq import TransactionStatus

from idemctl.errors import Refused
from idemctl.stores.answers import Shard
from idemctl.stores.postgres import leaves as leaves_module
from idemctl.stores.postgres.connect import BatchFailed
from tests.stores.postgres.holding import (
    DAY,
    EVENTS,
    LONG_AGO,
    digest,
    first,
    held_keys,
    holding,
    is_free,
    locked_keys,
    reference,
    steps,
)
from tests.stores.postgres.tables import fill, make, mutated, names, open_table
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from tests.stores.postgres.tables import Session

LIVE = names("live", 40)
THAT_ROW = "WHERE idempotency_key = 'live-7'"
CHANGES = {
    "completed": f"UPDATE {EVENTS} SET status = 'completed', response_status = 200 {THAT_ROW}",
    "renewed": f"UPDATE {EVENTS} SET expires_at = now() + interval '9 days' {THAT_ROW}",
    "a hit": f"UPDATE {EVENTS} SET hit_count = hit_count + 1 {THAT_ROW}",
    "another key": f"UPDATE {EVENTS} SET idempotency_key = 'x' {THAT_ROW}",
    "released": f"DELETE FROM {EVENTS} {THAT_ROW}",
    "taken over": f"SELECT FROM {EVENTS} {THAT_ROW} FOR UPDATE",
    "claimed again": (
        f"INSERT INTO {EVENTS} (idempotency_key, status, expires_at)"
        " VALUES ('live-7', 'in_progress', now()) ON CONFLICT (scope, idempotency_key)"
        " DO UPDATE SET status = excluded.status"
    ),
}
HARMLESS = {
    "read": f"SELECT * FROM {EVENTS} {THAT_ROW}",
    "referred to": f"SELECT FROM {EVENTS} {THAT_ROW} FOR KEY SHARE",
    "a claim that meets it": (
        f"INSERT INTO {EVENTS} (idempotency_key, status, expires_at)"
        " VALUES ('live-7', 'in_progress', now()) ON CONFLICT DO NOTHING"
    ),
    "a new claim": (
        f"INSERT INTO {EVENTS} (idempotency_key, status, expires_at)"
        " VALUES ('new', 'in_progress', now())"
    ),
}


@pytest.fixture
def other(connection_to_database: Session, application: Session) -> Session:
    """Another session of an application with forty rows."""
    fill(application, expired=0, live=40)
    return connection_to_database


# While rows are held.


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_nobody_changes_a_row_that_is_held_and_anybody_can_afterwards(
    database: str, other: Session, change: str
) -> None:
    assert is_free(other, change)
    with holding(database) as held:
        assert held_keys(first(held)) == LIVE
        assert not is_free(other, change)
        assert next(held, None) is None
        assert is_free(other, change)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_without_the_lock_the_change_would_get_through(
    database: str, other: Session, change: str
) -> None:
    with mutated(("hold_range", "FOR SHARE SKIP LOCKED", "")), holding(database) as held:
        assert held_keys(first(held)) == LIVE
        assert is_free(other, change)


def test_a_weaker_lock_would_let_a_completion_through(database: str, other: Session) -> None:
    with mutated(("hold_range", "FOR SHARE", "FOR KEY SHARE")), holding(database) as held:
        next(held)
        assert not is_free(other, CHANGES["released"])
        assert is_free(other, CHANGES["completed"])


@pytest.mark.parametrize("work", HARMLESS.values(), ids=HARMLESS)
def test_who_changes_no_row_is_not_held_up(database: str, other: Session, work: str) -> None:
    with holding(database) as held:
        next(held)
        assert is_free(other, work)


def test_closing_gives_the_rows_back_and_leaves_the_connection_free(
    database: str, other: Session
) -> None:
    with closing(open_table(database)) as store:
        held = store.hold(reference(), written_after=LONG_AGO)
        next(held)
        assert locked_keys(other) == LIVE
        held.close()
        assert locked_keys(other) == set()
        assert store._connection.info.transaction_status is TransactionStatus.IDLE
        assert store.clock().tzinfo is not None


def test_an_error_meanwhile_gives_the_rows_back(database: str, other: Session) -> None:
    with holding(database) as held:
        next(held)
        with pytest.raises(ZeroDivisionError):
            held.throw(ZeroDivisionError())
        assert locked_keys(other) == set()


def test_the_rows_of_one_step_are_free_before_those_of_the_next_are_held(
    database: str, other: Session, application: Session
) -> None:
    fill(application, expired=2000, live=0)
    seen: set[str] = set()
    with holding(database) as held:
        for step in steps(held):
            mine = held_keys(step)
            assert not mine & seen
            assert locked_keys(other) == mine
            seen |= mine
    assert seen == LIVE | names("expired", 2000)


# Rows that somebody else has in hand.


def test_a_row_in_somebody_s_hands_is_left_out_and_not_waited_for(
    database: str, other: Session
) -> None:
    with other.transaction():
        other.execute(f"UPDATE {EVENTS} SET hit_count = 1 {THAT_ROW}")
        other.execute(f"DELETE FROM {EVENTS} WHERE idempotency_key = 'live-8'")
        with holding(database) as held:
            assert held_keys(first(held)) == LIVE - {"live-7", "live-8"}


def test_without_skipping_it_would_be_waited_for(database: str, other: Session) -> None:
    with other.transaction():
        other.execute(f"UPDATE {EVENTS} SET hit_count = 1 {THAT_ROW}")
        with (
            mutated(("hold_range", "SKIP LOCKED", "")),
            holding(database) as held,
            pytest.raises(BatchFailed, match="locked by another session"),
        ):
            next(held)


def test_who_only_shares_a_row_hides_it_from_nobody(database: str, other: Session) -> None:
    with other.transaction():
        other.execute(f"SELECT FROM {EVENTS} FOR SHARE")
        with holding(database) as held:
            assert held_keys(first(held)) == LIVE


def test_a_table_that_is_locked_is_an_error_and_the_connection_stays_usable(
    database: str, other: Session
) -> None:
    with closing(open_table(database)) as store:
        with other.transaction():
            other.execute(f"LOCK TABLE {EVENTS}")
            with pytest.raises(BatchFailed, match="locked by another session"):
                next(store.hold(reference(), written_after=LONG_AGO))
        (held,) = steps(store.hold(reference(), written_after=LONG_AGO))
        assert held_keys(held) == LIVE


def test_a_table_that_was_opened_for_reading_holds_nothing(database: str, other: Session) -> None:
    with (
        closing(open_table(database, writable=False)) as store,
        pytest.raises(Refused, match="read-only"),
    ):
        next(store.hold(reference(), written_after=LONG_AGO))
    assert locked_keys(other) == set()


# Only what Redis may owe.

AGES = """
INSERT INTO processed_events
       (idempotency_key, status, created_at, completed_at, lease_until, expires_at)
VALUES ('young', 'completed', now(), now(), NULL, now()),
       ('young claim', 'in_progress', now(), NULL, NULL, now()),
       ('completed lately', 'completed', now() - interval '9 days', now(), NULL, now()),
       ('under a lease', 'in_progress', now() - interval '9 days', NULL,
        now() + interval '1 hour', now()),
       ('in no time', 'completed', NULL, NULL, NULL, now()),
       ('old', 'completed', now() - interval '9 days', now() - interval '8 days', NULL, now()),
       ('old claim', 'in_progress', now() - interval '9 days', NULL, NULL, now()),
       ('lease over', 'in_progress', now() - interval '9 days', NULL, now(), now())
"""
OWED = {"young", "young claim", "completed lately", "under a lease", "in no time"}


def test_only_rows_that_redis_may_owe_are_locked(
    database: str, application: Session, connection_to_database: Session
) -> None:
    application.execute(AGES)
    lately = datetime.now(UTC) - DAY
    with holding(database, written_after=lately) as held:
        assert held_keys(first(held)) == OWED
        assert locked_keys(connection_to_database) == OWED


def test_where_a_layout_knows_no_time_of_writing_all_rows_may_be_owed(
    database: str, application: Session
) -> None:
    application.execute(AGES)
    timeless = LAYOUTS["reference"].model_copy(update={"counted_from": None, "completed": None})
    lately = datetime.now(UTC) - DAY
    with holding(database, layout=timeless, written_after=lately) as held:
        assert held_keys(first(held)) >= OWED | {"old"}


# The whole, and nothing but looked at.


@pytest.mark.parametrize("count", [1, 2, 7])
def test_shards_hold_every_row_once_between_them(
    database: str, application: Session, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(leaves_module, "_STRIPE", 2)
    fill(application, expired=1000, live=1000)
    found: list[bytes] = []
    with closing(open_table(database)) as store:
        for index in range(count):
            shard = Shard(index, count)
            for step in steps(store.hold(reference(), written_after=LONG_AGO, shard=shard)):
                found += step.batch.keys
    assert len(found) == 2000
    assert {key.decode() for key in found} == names("expired", 1000) | names("live", 1000)


def test_rows_are_held_in_every_partition(
    database: str, application: Session, connection_to_database: Session, schema: str
) -> None:
    parts = f"{schema}.parts"
    make(application, parts, "PARTITION BY HASH (scope, idempotency_key)")
    for number in range(3):
        application.execute(
            f"CREATE TABLE {schema}.p{number} PARTITION OF {parts}"
            f" FOR VALUES WITH (MODULUS 3, REMAINDER {number})"
        )
    fill(application, parts, expired=30, live=0)
    seen: set[str] = set()
    with holding(database, table=parts) as held:
        for step in steps(held):
            assert step.part in {f"{schema}.p{number}" for number in range(3)}
            assert locked_keys(connection_to_database, parts) == held_keys(step)
            seen |= held_keys(step)
    assert seen == names("expired", 30)


def test_holding_changes_nothing_in_the_table(database: str, application: Session) -> None:
    fill(application, expired=500, live=500, working=20)
    before = digest(application)
    with holding(database) as held:
        assert sum(len(step.batch) for step in steps(held)) == 1020
    assert digest(application) == before
    application.execute(f"UPDATE {EVENTS} SET hit_count = 1 WHERE idempotency_key = 'live-3'")
    assert digest(application) != before


def test_an_empty_table_has_nothing_to_hold(database: str) -> None:
    with holding(database) as held:
        assert list(held) == []


def test_no_step_waits_for_the_disk(database: str, application: Session) -> None:
    fill(application, expired=2000, live=0)
    with closing(open_table(database)) as store:
        held = store.hold(reference(), written_after=LONG_AGO)
        for step in steps(held):
            shown = store._connection.execute("SHOW synchronous_commit").fetchone()
            assert shown == ("off",), step.part

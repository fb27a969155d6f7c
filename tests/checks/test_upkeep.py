"""What is not cleared of a table, and who keeps it from being."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.checks.upkeep import HELD_FOR, HELD_TRANSACTIONS, MANY_DEAD, VACUUM_AFTER
from idemctl.domain.circumstances import Unseen
from idemctl.domain.upkeep import Cleared, Holder, Upkeep
from tests.checks.tables import CALM, told, unjudged

if TYPE_CHECKING:
    from idemctl.domain.circumstances import PostgresCircumstances

SECOND = timedelta(seconds=1)


def cleared(**more: Any) -> Cleared:
    plain: dict[str, Any] = {"name": "t", "live_count": 40_000, "dead_count": 0, "due_count": 8_050}
    return Cleared(**(plain | more))


def kept(*tables: Cleared, **more: Any) -> PostgresCircumstances:
    return replace(CALM, upkeep=Upkeep(tables=tables, **more))


@pytest.mark.parametrize(
    ("dead", "live", "is_found"),
    [
        (MANY_DEAD, MANY_DEAD, True),
        (MANY_DEAD, MANY_DEAD + 1, False),
        (MANY_DEAD - 1, 0, False),
        (MANY_DEAD, 0, True),
    ],
)
def test_dead_rows_count_where_they_are_many_and_the_larger_part(
    dead: int, live: int, *, is_found: bool
) -> None:
    table = kept(cleared(dead_count=dead, live_count=live, due_count=10**9))
    assert list(told(table)) == ["dead-rows"] * is_found


def test_of_several_tables_the_worst_is_named_with_its_size() -> None:
    table = kept(
        cleared(name="p0", dead_count=10_000, live_count=1, due_count=10**9),
        cleared(
            name="p1",
            dead_count=30_000,
            live_count=5_000,
            due_count=10**9,
            table_bytes=3 * 2**20,
            index_bytes=2**19,
        ),
        cleared(name="p2"),
    )
    said = told(table)["dead-rows"]
    assert said.count == 2
    assert said.evidence == (
        "p1: 30,000 dead rows beside 5,000, in a table of 3.0 MiB with 0.5 MiB of indexes; "
        "and 1 more"
    )


LATE = cleared(dead_count=MANY_DEAD, vacuumed_for=VACUUM_AFTER + SECOND)


@pytest.mark.parametrize(
    ("table", "is_found"),
    [
        (LATE, True),
        (replace(LATE, vacuumed_for=None), True),
        (replace(LATE, vacuumed_for=VACUUM_AFTER), False),
        (replace(LATE, dead_count=MANY_DEAD - 1), False),
        (replace(LATE, due_count=MANY_DEAD + 1), False),
        (replace(LATE, is_running=True), False),
    ],
)
def test_autovacuum_is_behind_where_it_is_due_and_did_not_come(
    table: Cleared, *, is_found: bool
) -> None:
    assert list(told(kept(table))) == ["autovacuum-behind"] * is_found


def test_the_evidence_says_when_it_came_last() -> None:
    earlier = replace(LATE, vacuumed_for=timedelta(hours=3))
    assert told(kept(earlier))["autovacuum-behind"].evidence == (
        "t: 10,000 dead rows, and a vacuum is due at 8,050; the last one was 3h ago"
    )
    never = told(kept(replace(LATE, vacuumed_for=None)))["autovacuum-behind"].evidence
    assert never.endswith("; none came yet")


def test_what_is_off_is_not_behind() -> None:
    off = told(kept(replace(LATE, is_automatic=False)))
    assert {code: one.evidence for code, one in off.items()} == {
        "autovacuum-off": "t: autovacuum_enabled is off; 10,000 dead rows"
    }
    everywhere = told(kept(LATE, is_automatic=False))
    assert {code: one.evidence for code, one in everywhere.items()} == {
        "autovacuum-off": "the server has autovacuum or track_counts off"
    }


def holder(held_for: timedelta | None, transactions: int = 5) -> Holder:
    return Holder(name="session 7 of app", held_for=held_for, transaction_count=transactions)


@pytest.mark.parametrize(
    ("one", "is_found"),
    [
        (holder(HELD_FOR + SECOND), True),
        (holder(HELD_FOR), False),
        (holder(HELD_FOR, HELD_TRANSACTIONS), False),
        (holder(None, HELD_TRANSACTIONS), True),
        (holder(None, HELD_TRANSACTIONS - 1), False),
    ],
)
def test_vacuum_is_held_back_by_who_looks_for_too_long(one: Holder, *, is_found: bool) -> None:
    assert list(told(kept(holders=(one,)))) == ["vacuum-held-back"] * is_found


def test_who_holds_it_back_most_is_named() -> None:
    slot = Holder(name="replication slot s", held_for=None, transaction_count=2_000_000)
    said = told(kept(holders=(holder(timedelta(hours=3)), slot)))["vacuum-held-back"]
    assert (said.count, said.evidence) == (
        2, "replication slot s and 2,000,000 transactions; and 1 more"
    )  # fmt: skip
    alone = told(kept(holders=(holder(timedelta(hours=3)),)))["vacuum-held-back"]
    assert alone.evidence == "session 7 of app, for 3h and 5 transactions"


def test_sessions_that_show_nothing_are_not_called_short() -> None:
    hidden = kept(hidden_session_count=2)
    assert told(hidden) == {}
    assert unjudged(hidden) == {
        "vacuum-held-back": "2 sessions show nothing to this user; GRANT pg_read_all_stats to it"
    }
    seen = kept(hidden_session_count=2, holders=(holder(HELD_FOR + SECOND),))
    assert list(told(seen)) == ["vacuum-held-back"]


def test_where_the_server_does_not_tell_nothing_is_judged() -> None:
    table = replace(CALM, upkeep=Unseen("this server is a standby"))
    assert told(table) == {}
    assert unjudged(table) == dict.fromkeys(
        ("dead-rows", "autovacuum-behind", "autovacuum-off", "vacuum-held-back"),
        "this server is a standby",
    )

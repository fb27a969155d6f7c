"""Copies of a server that are behind, and what is kept for them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.checks.standbys import BEHIND_BYTES, BEHIND_FOR
from idemctl.domain.circumstances import Unseen
from idemctl.domain.replication import Archiver, PostgresReplication, Recovery, Slot, Standby
from tests.checks.tables import CALM, told, unjudged

if TYPE_CHECKING:
    from idemctl.domain.circumstances import PostgresCircumstances

SECOND = timedelta(seconds=1)
LONG = BEHIND_FOR + SECOND
IDLE = Recovery(
    is_receiving=True, is_paused=False, has_replayed_all=True, replayed_for=timedelta(days=9)
)
NEAR = Standby(name="eu", sync_state="async", behind_bytes=0, behind_for=None)
SLOT = Slot(name="eu", is_active=True, wal_status="reserved", retained_bytes=0)


def followed(**more: Any) -> PostgresCircumstances:
    return replace(CALM, replication=PostgresReplication(**more))


def test_a_standby_says_that_it_is_one() -> None:
    said = told(followed(recovery=IDLE))
    assert list(said) == ["read-from-standby"]
    assert said["read-from-standby"].evidence == (
        "this server is a standby, and shows all that it received"
    )
    late = told(followed(recovery=replace(IDLE, has_replayed_all=False, replayed_for=SECOND)))
    assert late["read-from-standby"].evidence.endswith(
        "shows less than it received; its last transaction is 1s old"
    )


@pytest.mark.parametrize(
    ("recovery", "says"),
    [
        (replace(IDLE, has_replayed_all=False, replayed_for=BEHIND_FOR), None),
        (replace(IDLE, has_replayed_all=False, replayed_for=LONG), "later ones were received"),
        (
            replace(IDLE, has_replayed_all=False, replayed_for=LONG, is_paused=True),
            "replay is paused",
        ),
        (
            replace(IDLE, is_receiving=False, replayed_for=LONG),
            "nothing is received from the primary",
        ),
        (replace(IDLE, is_receiving=False, replayed_for=SECOND), None),
    ],
)
def test_an_old_transaction_is_a_lag_unless_the_primary_is_idle(
    recovery: Recovery, says: str | None
) -> None:
    said = told(followed(recovery=recovery)).get("standby-behind")
    assert (said is None) is (says is None)
    if said is not None and says is not None:
        assert said.evidence == f"the last transaction here is 1m1s old, and {says}"


def test_a_standby_that_has_replayed_nothing_cannot_tell_its_lag() -> None:
    silent = followed(recovery=replace(IDLE, is_receiving=False, replayed_for=None))
    assert list(told(silent)) == ["read-from-standby"]
    assert unjudged(silent) == {
        "standby-behind": "this standby has replayed no transaction since it started"
    }


@pytest.mark.parametrize(
    ("standby", "is_found"),
    [
        (NEAR, False),
        (replace(NEAR, behind_bytes=BEHIND_BYTES - 1, behind_for=BEHIND_FOR), False),
        (replace(NEAR, behind_bytes=BEHIND_BYTES), True),
        (replace(NEAR, behind_for=LONG), True),
        (replace(NEAR, behind_bytes=None), False),
    ],
)
def test_a_primary_knows_how_far_its_standbys_are(standby: Standby, *, is_found: bool) -> None:
    assert list(told(followed(standbys=(standby,)))) == ["standby-behind"] * is_found


def test_the_standby_that_is_furthest_behind_is_named() -> None:
    late = replace(NEAR, behind_bytes=3 * BEHIND_BYTES, behind_for=timedelta(minutes=5))
    other = replace(NEAR, name="us", behind_bytes=2 * BEHIND_BYTES)
    said = told(followed(standbys=(other, late, NEAR)))["standby-behind"]
    assert (said.count, said.evidence) == (
        2, "eu (async) is 192.0 MiB and 5m behind; and 1 more"
    )  # fmt: skip


def test_standbys_that_show_nothing_are_not_called_near() -> None:
    hidden = followed(hidden_standby_count=1)
    assert told(hidden) == {}
    assert unjudged(hidden) == {
        "standby-behind": "1 standbys show nothing to this user; GRANT pg_read_all_stats to it"
    }


@pytest.mark.parametrize(
    ("slot", "is_found"),
    [
        (SLOT, False),
        (replace(SLOT, retained_bytes=10 * BEHIND_BYTES), False),
        (replace(SLOT, is_active=False, retained_bytes=BEHIND_BYTES - 1), False),
        (replace(SLOT, is_active=False, retained_bytes=BEHIND_BYTES), True),
        (replace(SLOT, is_active=False, wal_status="lost"), True),
        (replace(SLOT, is_active=False, wal_status=""), False),
    ],
)
def test_a_slot_that_nobody_reads_keeps_what_it_keeps(slot: Slot, *, is_found: bool) -> None:
    said = told(followed(slots=(slot,)))
    assert list(said) == ["slot-retains-wal"] * is_found


def test_the_slot_that_keeps_most_is_named() -> None:
    idle = replace(SLOT, is_active=False, retained_bytes=BEHIND_BYTES, wal_status="extended")
    more = replace(idle, name="us", retained_bytes=2 * BEHIND_BYTES)
    said = told(followed(slots=(idle, more)))["slot-retains-wal"]
    assert (said.count, said.evidence) == (
        2, "nobody reads us: 128.0 MiB of WAL, extended; and 1 more"
    )  # fmt: skip


def test_the_archiver_fails_where_its_last_attempt_did() -> None:
    failing = Archiver(
        failed_count=1_200, failed_file="0001", is_failing=True, archived_for=timedelta(hours=5)
    )
    said = told(followed(archiver=failing))["archiver-failing"]
    assert said.evidence == (
        "archiving 0001 fails, 1,200 failures in all; the last one was archived 5h ago"
    )
    never = told(followed(archiver=replace(failing, archived_for=None)))["archiver-failing"]
    assert never.evidence.endswith("; none was archived yet")
    assert told(followed(archiver=replace(failing, is_failing=False))) == {}


def test_where_the_server_does_not_tell_no_copy_is_judged() -> None:
    table = replace(CALM, replication=Unseen("a statement reached its time limit"))
    assert told(table) == {}
    assert set(unjudged(table)) == {
        "read-from-standby", "standby-behind", "slot-retains-wal", "archiver-failing",
    }  # fmt: skip

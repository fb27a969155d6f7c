"""When gc waits: each strain where it must be told, and as near to it as it must not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from idemctl.domain.circumstances import Unseen
from idemctl.domain.replication import Archiver, PostgresReplication, Slot, Standby
from idemctl.domain.throttle import Limits, Load, Reason, Strain, reasons
from idemctl.domain.upkeep import Cleared, Holder, Upkeep

LIMITS = Limits(standby_count=1)
SECOND = timedelta(seconds=1)
NEAR = Standby(name="eu", sync_state="async", behind_bytes=64 * 2**20, behind_for=10 * SECOND)
SLOT = Slot(name="s", is_active=False, wal_status="extended", retained_bytes=2**30)
ARCHIVER = Archiver(
    failed_count=1, failed_file="00", is_failing=False, archived_for=None, queued_bytes=2**30
)
TABLE = Cleared(name="public.t", live_count=0, dead_count=9, due_count=1)
HOLDER = Holder(name="session 7", held_for=timedelta(hours=1), transaction_count=9)
WELL = Load(
    replication=PostgresReplication(standbys=(NEAR,), slots=(SLOT,), archiver=ARCHIVER),
    upkeep=Upkeep(tables=(TABLE,), holders=(HOLDER, replace(HOLDER, held_for=None))),
)
GRANT = "show nothing to this user; GRANT pg_read_all_stats to it"


def followed(**more: object) -> Load:
    assert isinstance(WELL.replication, PostgresReplication)
    return replace(WELL, replication=replace(WELL.replication, **more))  # type: ignore[arg-type]


def kept(**more: object) -> Load:
    assert isinstance(WELL.upkeep, Upkeep)
    return replace(WELL, upkeep=replace(WELL.upkeep, **more))  # type: ignore[arg-type]


CASES: dict[str, tuple[Load, list[tuple[Strain, str]]]] = {
    "too many bytes": (
        followed(standbys=(replace(NEAR, behind_bytes=65 * 2**20),)),
        [(Strain.STANDBYS, "standby eu is 65 MiB behind")],
    ),
    "too long": (
        followed(standbys=(replace(NEAR, behind_for=11 * SECOND),)),
        [(Strain.STANDBYS, "standby eu is 11s behind")],
    ),
    "too few": (followed(standbys=()), [(Strain.STANDBYS, "0 of 1 standbys are connected")]),
    "hidden": (followed(hidden_standby_count=2), [(Strain.STANDBYS, f"2 standbys {GRANT}")]),
    "untold": (
        replace(WELL, replication=Unseen("it took too long")),
        [
            (one, "nobody tells how far behind others are: it took too long")
            for one in (Strain.STANDBYS, Strain.WAL)
        ],
    ),
    "a slot": (
        followed(slots=(replace(SLOT, retained_bytes=2**30 + 2**20),)),
        [(Strain.WAL, "1,025 MiB of WAL are kept for slot s")],
    ),
    "a slot that is given up": (
        followed(slots=(replace(SLOT, wal_status="unreserved", retained_bytes=5 * 2**20),)),
        [(Strain.WAL, "5 MiB of WAL are kept for slot s")],
    ),
    "an archive that fails": (
        followed(archiver=replace(ARCHIVER, is_failing=True)),
        [(Strain.WAL, "WAL cannot be archived: 00 failed")],
    ),
    "an archive that is late": (
        followed(archiver=replace(ARCHIVER, queued_bytes=2**31)),
        [(Strain.WAL, "2,048 MiB of WAL wait to be archived")],
    ),
    "a vacuum": (
        kept(tables=(replace(TABLE, is_running=True),)),
        [(Strain.VACUUM, "a vacuum is at work on public.t")],
    ),
    "a snapshot": (
        kept(holders=(replace(HOLDER, held_for=timedelta(hours=1, seconds=1)),)),
        [(Strain.SNAPSHOTS, "session 7 keeps dead rows from going for 1h1s")],
    ),
    "sessions that are hidden": (
        kept(hidden_session_count=3),
        [(one, f"3 sessions {GRANT}") for one in (Strain.VACUUM, Strain.SNAPSHOTS)],
    ),
    "upkeep untold": (
        replace(WELL, upkeep=Unseen("it is a standby")),
        [
            (one, "nobody tells who vacuums: it is a standby")
            for one in (Strain.VACUUM, Strain.SNAPSHOTS)
        ],
    ),
    "the operator's query": (
        replace(WELL, asked=True), [(Strain.QUERY, "throttle.query says so")],
    ),
    "the operator's query in vain": (
        replace(WELL, asked=Unseen("no such table")),
        [(Strain.QUERY, "throttle.query does not answer: no such table")],
    ),
}  # fmt: skip


def test_at_its_limits_a_server_is_not_waited_for() -> None:
    assert reasons(WELL, LIMITS) == []


@pytest.mark.parametrize("case", CASES)
def test_each_strain_is_told(case: str) -> None:
    load, told = CASES[case]
    assert reasons(load, LIMITS) == [Reason(*one) for one in told]


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_heeded_is_not_waited_for_but_the_query_is(case: str) -> None:
    load, told = CASES[case]
    heeded = [Reason(*one) for one in told if one[0] is Strain.QUERY]
    assert reasons(load, replace(LIMITS, wait_for=frozenset())) == heeded

"""The brakes of gc at the command line: each refuses with its numbers, and lets go for once."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.places import LARGE_EXPIRED, LARGE_KEPT, PAYMENTS
from tests.stores.postgres.tables import mutated

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.pairs import Pairs
    from tests.cli.places import Database, Done, Place

ALL = LARGE_EXPIRED + LARGE_KEPT
APPLY = ("gc", "--apply", "--pace", "full", "--store", "payments", "-o", "json")
LOOK = ("gc", "--pace", "full", "--store", "payments", "-o", "json")
DAY = timedelta(days=1)


def ruling(done: Done, brake: str) -> dict[str, Any]:
    [found] = [
        one for it in done.summary["stores"] for one in it["brakes"] if one["brake"] == brake
    ]
    return dict(found)


def refused(done: Done, brake: str) -> None:
    assert done.status == 5, done.out
    assert ruling(done, brake)["ruling"] == "refuses"
    assert done.summary["why_stopped"] == "braked"
    assert done.summary["deleted"] == 0
    [error] = done.document["errors"]
    assert error["status"] == "refused"
    assert ruling(done, brake)["says"] in error["message"]
    assert f"--despite {brake} goes on for this once" in error["hint"]
    # One line says what, and one the way out.
    assert done.err.count("\n") == 2


def few(database: Database, count: int = 100) -> None:
    """Leave so many expired, which no brake of volume minds."""
    database.ask(
        "UPDATE processed_events SET expires_at = now() + interval '1 day' WHERE"
        f" idempotency_key IN (SELECT idempotency_key FROM processed_events"
        f" WHERE expires_at < now() AND status IN ('completed', 'failed') OFFSET {count})"
        " RETURNING 1"
    )
    database.observer.execute("ANALYZE processed_events")


def remembered(
    place: Place,
    change: Callable[[dict[str, Any]], None] = lambda _: None,
    *,
    ago: tuple[timedelta, ...] = (timedelta(minutes=5),),
) -> None:
    """Run gc once, and let it be remembered as several runs, changed."""
    done = place.main(*APPLY, "--limit", "1")
    assert done.status == 0, done.err
    file = place.state / "history.jsonl"
    entry = json.loads(file.read_text().splitlines()[-1])
    lines = []
    for since in ago:
        [told] = entry["summary"]["stores"]
        told["cutoff"] = (datetime.now(UTC) - since).isoformat()
        change(told)
        lines.append(json.dumps(entry))
    file.write_text("\n".join(lines) + "\n")


HOURLY = tuple(timedelta(hours=number) for number in range(30, 0, -1))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_more_than_half_of_a_table_is_refused_and_can_be_had_once(
    large: Database, place: Place, workers: str
) -> None:
    words = (*APPLY, "--workers", workers)
    look = place.main(*LOOK)
    assert look.status == 0
    assert ruling(look, "volume")["ruling"] == "refuses"
    refused(place.main(*words), "volume")
    assert ruling(place.main(*words), "volume")["most"] == ALL // 2
    assert large.count("processed_events") == ALL

    # A neglected table is caught up on a piece at a time.
    assert place.main(*words, "--limit", "1000").summary["deleted"] == 1_000
    refused(place.main(*words, "--despite", "skew"), "volume")

    done = place.main(*words, "--despite", "volume")
    assert (done.status, ruling(done, "volume")["ruling"]) == (0, "overridden")
    assert large.count("processed_events") == LARGE_KEPT
    # For once: the next time it holds again.
    large.observer.execute("UPDATE processed_events SET expires_at = now(), status = 'completed'")
    large.observer.execute("ANALYZE processed_events")
    refused(place.main(*words), "volume")
    assert large.count("processed_events") == LARGE_KEPT


def test_people_read_what_a_brake_would_do_and_did(large: Database, place: Place) -> None:
    words = ("gc", "--pace", "full", "--store", "payments")
    where = "payments (postgres public.processed_events)"
    look = place.main(*words)
    much = "more than 20,000 records have expired: more than half of the table (about 40,000 rows)"
    assert f"{where}: gc --apply would refuse by its brake volume: {much}\n" in look.out
    done = place.main(*words, "--apply")
    assert f"{where}: brake volume: {much}\n" in done.out
    assert done.out.splitlines()[-1].endswith(": a brake refused")
    assert f"{where}: nothing was collected: {much}" in done.err
    assert "--despite volume" in done.err
    assert "--limit N" in done.err
    assert large.count("processed_events") == ALL


def test_ten_times_what_is_usual_is_refused(large: Database, place: Place) -> None:
    few(large, 15_000)

    def usual(told: dict[str, Any]) -> None:
        told["deleted"] = 1_400

    # Without a history the fixed caps hold, and they let it go.
    assert ruling(place.main(*LOOK), "volume")["ruling"] == "cannot-judge"
    remembered(place, usual, ago=HOURLY)
    refused(place.main(*APPLY), "volume")
    assert "10 times the usual 1,400 a run" in place.main(*APPLY).err

    def more(told: dict[str, Any]) -> None:
        told["deleted"] = 1_500

    remembered(place, more, ago=HOURLY)
    done = place.main(*APPLY)
    assert (done.status, ruling(done, "volume")["ruling"]) == (0, "passes")
    assert done.summary["deleted"] == 15_000 - 2


LONG = "version: 1\nendpoints:\n  - {endpoint: POST /v1/charges, ttl: 30d}\n"
SHORT = "version: 1\nendpoints:\n  - {endpoint: POST /v1/charges, ttl: 1d}\n"
ANNOUNCED = SHORT.replace("1d}", "1d, previously: {ttl: 30d, until: 2026-01-01}}")


def test_a_policy_that_got_shorter_is_refused_unless_it_was_announced(
    large: Database, place: Place
) -> None:
    few(large)
    place.configure(PAYMENTS.replace("    ttl: 7d\n", "    ttl: 7d\n    policies: policies.yaml\n"))
    policies = place.folder / "policies.yaml"
    policies.write_text(LONG)
    assert place.main(*APPLY).status == 0
    policies.write_text(SHORT)
    refused(place.main(*APPLY), "shorter-promise")
    # A run that was refused has honoured nothing.
    refused(place.main(*APPLY), "shorter-promise")
    assert "policy POST /v1/charges 1d instead of 30d" in place.main(*APPLY).err
    policies.write_text(ANNOUNCED)
    assert ruling(place.main(*LOOK), "shorter-promise")["ruling"] == "passes"
    policies.write_text(SHORT)
    done = place.main(*APPLY, "--despite", "shorter-promise")
    assert (done.status, ruling(done, "shorter-promise")["ruling"]) == (0, "overridden")
    assert ruling(place.main(*APPLY), "shorter-promise")["ruling"] == "passes"


def test_a_clock_that_jumped_since_the_last_run_is_refused(large: Database, place: Place) -> None:
    few(large)

    def jumped(told: dict[str, Any]) -> None:
        told["clock_ahead_s"] -= 3600

    remembered(place, jumped)
    refused(place.main(*APPLY), "clock-jump")
    assert place.main(*APPLY, "--despite", "clock-jump").status == 0
    done = place.main(*APPLY)
    assert (done.status, ruling(done, "clock-jump")["ruling"]) == (0, "passes")


def test_a_pause_far_longer_than_usual_is_refused(large: Database, place: Place) -> None:
    few(large)
    remembered(place, ago=tuple(13 * timedelta(hours=1) + one for one in HOURLY))
    refused(place.main(*APPLY), "outage")
    assert "usually one runs every 1h" in place.main(*APPLY).err
    assert place.main(*APPLY, "--despite", "outage").status == 0
    done = place.main(*APPLY)
    assert (done.status, ruling(done, "outage")["ruling"]) == (0, "passes")


def test_clocks_of_a_pair_that_are_apart_are_refused(pairs: Pairs) -> None:
    place = pairs.place
    place.main(*APPLY)
    assert ruling(place.main(*APPLY), "skew")["ruling"] == "passes"
    ahead = "clock_timestamp() + interval '10 seconds'"
    with mutated(("clock", "clock_timestamp()", ahead)):
        refused(place.main(*APPLY), "skew")
        assert "clocks of Postgres and Redis are 10.0 s apart" in place.main(*APPLY).err
        assert place.main(*APPLY, "--despite", "skew").status == 0


def test_without_a_history_its_brakes_cannot_judge_and_say_so_in_a_line(
    large: Database, place: Place
) -> None:
    few(large)
    done = place.main("gc", "--apply", "--pace", "full", "--store", "payments")
    assert done.status == 0
    assert (
        "too few runs are remembered here, so these brakes cannot judge: volume, "
        "shorter-promise, clock-jump, outage; fixed caps hold\n"
    ) in done.out
    assert large.count("processed_events") == ALL - 100

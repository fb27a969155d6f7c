"""diagnose ranks failure modes by what samples, servers, witness and logs say now."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.pairs import PAYMENTS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.pairs import Pairs
    from tests.cli.places import Database, Place


def modes(document: dict[str, Any]) -> list[str]:
    return [one["failure_mode"] for one in document["summary"]["ranking"]]


def strand(pairs: Pairs, count: int) -> None:
    """Let an owner crash between key and response, a day ago."""
    pairs.connection.execute(
        "INSERT INTO processed_events (idempotency_key, endpoint, status, created_at,"
        " lease_until, expires_at) SELECT 'crashed-' || n, 'POST /v1/charges', 'in_progress',"
        " now() - interval '1 day', now() - interval '23 hours', now() + interval '1 day'"
        " FROM generate_series(1, %s) AS n",
        (count,),
    )


def write_log(folder: Path, *, clients: int, mismatches: int) -> None:
    """Write two weeks of a calm log, and a storm of mismatches in its last hour."""
    end = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=10)
    lines = []
    for number in range(15 * 24 * 12):
        at = end - timedelta(minutes=5 * number)
        lines += [
            {
                "at": at.isoformat(),
                "endpoint": "/a",
                "client": f"c{one}",
                "key": "k",
                "outcome": "created",
            }
            for one in range(8)
        ]
    for number in range(mismatches):
        at = end - timedelta(seconds=number * 5)
        client = f"x{number % clients}"
        lines.append(
            {
                "at": at.isoformat(),
                "endpoint": "/a",
                "client": client,
                "key": "k",
                "outcome": "mismatch",
            }
        )
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "hits.jsonl").write_text(text, "utf-8")


def test_a_healthy_store_has_no_failure_mode_and_says_what_was_not_looked_at(pairs: Pairs) -> None:
    document = pairs.diagnose()
    assert (document["exit"], modes(document), document["items"]) == (0, [], [])
    facts = document["summary"]
    assert (facts["stuck_in_progress"], facts["redis_unreachable"]) == (0, False)
    assert facts["witness"] == "unknown"
    assert any("the logs: " in one for one in facts["not_looked_at"])


def test_work_that_nobody_is_at_is_a_crash(pairs: Pairs) -> None:
    strand(pairs, 7)
    document = pairs.diagnose()
    assert document["exit"] == 3
    assert modes(document) == ["crash-mid-write"]
    [item] = document["items"]
    assert (item["code"], item["runbook"]) == ("crash-mid-write", None)
    assert item["evidence"] == {"stuck_in_progress": 7}
    assert item["next"] == "idemctl audit --check stuck-in-progress --store payments"
    table = pairs.place.main("diagnose", *PAYMENTS).out
    assert "no book yet" in table
    assert "stuck-in-progress: 7 of " in table


def test_a_flush_ranks_before_what_was_there_before(pairs: Pairs) -> None:
    strand(pairs, 7)
    assert pairs.place.main("store", "beat", "--apply", *PAYMENTS).status == 0
    pairs.client.flushall()
    document = pairs.diagnose()
    assert modes(document) == ["store-data-loss", "crash-mid-write"]
    assert document["summary"]["witness"] == "redis-flushed"
    assert document["summary"]["ranking"][0]["runbook"] == "store-data-loss"
    assert [one["code"] for one in document["items"]] == ["flushed", "crash-mid-write"]


def test_redis_that_is_down_is_a_diagnosis(pairs: Pairs) -> None:
    strand(pairs, 2)
    pairs.place.lead(REDIS_URL="redis://127.0.0.1:1/0")
    document = pairs.diagnose()
    assert document["exit"] == 10
    assert modes(document) == ["store-unavailable", "crash-mid-write"]
    assert document["items"][0]["why"] == "Redis does not answer"
    assert document["items"][0]["severity"] == "critical"


def test_postgres_that_went_back_is_a_loss_though_the_pair_agrees(pairs: Pairs) -> None:
    for _ in range(3):
        assert pairs.place.main("store", "beat", "--apply", *PAYMENTS).status == 0
    pairs.connection.execute(
        "UPDATE idemctl.idemctl_witness SET hb = 1, timeline_id = timeline_id;"
        "DELETE FROM processed_events WHERE status = 'completed' AND expires_at > now()"
        " AND fence %% 3 = 0".replace("%%", "%")
    )
    document = pairs.diagnose()
    assert document["exit"] == 3
    assert modes(document)[0] == "store-data-loss"
    assert document["summary"]["witness"] == "postgres-restored"
    item = document["items"][0]
    assert (item["code"], item["next"]) == (
        "store-data-loss",
        "idemctl store show --store payments",
    )


@pytest.mark.parametrize(("clients", "mode"), [(1, "malicious-reuse"), (60, "key-collision")])
def test_mismatches_of_one_client_or_of_many_are_two_modes(
    pairs: Pairs, clients: int, mode: str
) -> None:
    write_log(pairs.place.folder, clients=clients, mismatches=300)
    document = pairs.diagnose()
    assert document["exit"] == 3
    assert modes(document)[0] == mode
    assert document["summary"]["mismatches"] == 300


def test_a_store_alone_is_ranked_too(seeded: Database, place: Place) -> None:
    done = place.main("diagnose", "--store", "workflows", "-o", "json")
    assert done.status == 10
    assert modes(done.document) == ["crash-mid-write"]
    assert done.summary["ranking"][0]["facts"]["workflow_stuck"] > 0


def test_an_answer_comes_in_half_a_minute_and_changes_nothing(pairs: Pairs) -> None:
    before = pairs.dumps("*"), pairs.digests()
    began = time.monotonic()
    assert pairs.place.main("diagnose").status == 0
    assert time.monotonic() - began < 30
    assert (pairs.dumps("*"), pairs.digests()) == before

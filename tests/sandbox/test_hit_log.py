"""The log that the sandbox writes: believable, the same for one seed, and with one storm."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.sandbox.seed import Manifest, PlantedSpike, hit_log
from idemctl.sandbox.seed.hits import FEWEST_LINES, MOST_LINES, STORM_FOR, WEEKS
from idemctl.sandbox.seed.payments import CLIENTS, ENDPOINTS

if TYPE_CHECKING:
    from idemctl.sandbox.seed import DrawnLog

NOW = datetime(2026, 11, 29, 12, 3, 4, 567000, tzinfo=UTC)


def drawn(*, records: int = 1000, seed: int = 3, faults: bool = False) -> DrawnLog:
    return hit_log(records=records, seed=seed, now=NOW, faults=faults)


def lines_of(log: DrawnLog) -> list[dict[str, Any]]:
    return [
        line | {"at": datetime.fromisoformat(line["at"])}
        for line in map(json.loads, log.text.splitlines())
    ]


def test_every_line_is_a_keyed_request_of_the_last_four_weeks_in_order() -> None:
    lines = lines_of(drawn())

    assert all(set(line) == {"at", "endpoint", "client", "key", "outcome"} for line in lines)
    instants = [line["at"] for line in lines]
    assert instants == sorted(instants)
    assert NOW - timedelta(weeks=WEEKS) <= instants[0] < NOW - timedelta(weeks=WEEKS, hours=-6)
    assert NOW - timedelta(hours=6) < instants[-1] < NOW
    assert {line["endpoint"] for line in lines} == {one.label for one in ENDPOINTS}
    assert {line["client"] for line in lines} == set(CLIENTS)


def test_a_hit_sends_again_what_was_sent_before_by_the_same_client() -> None:
    known: dict[str, tuple[str, str]] = {}
    for line in lines_of(drawn(faults=True)):
        place = (line["endpoint"], line["client"])
        if line["outcome"] == "created":
            assert line["key"] not in known
            known[line["key"]] = place
        assert known[line["key"]] == place


def test_most_requests_are_new_and_each_kind_of_hit_is_there() -> None:
    lines = lines_of(drawn())
    shares = {name: n / len(lines) for name, n in Counter(x["outcome"] for x in lines).items()}

    assert 0.75 < shares["created"] < 0.9
    assert 0.1 < shares["replay"] < 0.25
    assert 0.005 < shares["conflict"] < 0.03
    assert 0.0005 < shares["mismatch"] < 0.005


def test_days_and_weeks_have_a_rhythm() -> None:
    lines = lines_of(drawn(records=30_000))
    of_day = Counter(line["at"].hour for line in lines)
    of_week = Counter(line["at"].weekday() for line in lines)

    assert of_day[14] > 2.5 * of_day[2]
    assert min(of_week[day] for day in range(5)) > 1.5 * max(of_week[5], of_week[6])


def test_the_number_of_lines_follows_that_of_records_between_two_bounds() -> None:
    assert drawn(records=100).line_count == FEWEST_LINES
    assert 60_000 <= drawn(records=100_000).line_count <= 120_000
    assert drawn(records=10**8).line_count == MOST_LINES


def test_one_seed_gives_one_log_and_another_one_another() -> None:
    assert drawn(faults=True) == drawn(faults=True)
    assert drawn(seed=4).text != drawn().text


@pytest.mark.parametrize("seed", range(5))
def test_the_storm_is_where_the_manifest_says(seed: int) -> None:
    log = drawn(seed=seed, faults=True)
    spike = log.spike
    assert spike is not None
    assert spike.ended_at - spike.started_at == STORM_FOR
    assert NOW - timedelta(days=1) < spike.started_at < spike.ended_at < NOW

    inside = [
        line
        for line in lines_of(log)
        if spike.started_at <= line["at"] < spike.ended_at
        and (line["endpoint"], line["client"]) == (spike.endpoint, spike.client)
    ]
    outcomes = Counter(line["outcome"] for line in inside)
    assert outcomes[spike.outcome] > 0.9 * len(inside) > 100
    assert min(line["at"] for line in inside) == spike.started_at
    assert spike.series == f"endpoint {spike.endpoint}, client {spike.client}"
    # One client in a loop: few keys, again and again.
    assert len({line["key"] for line in inside}) < 30


def test_without_faults_there_is_no_storm() -> None:
    assert drawn().spike is None


def test_a_manifest_carries_the_spike_there_and_back_and_an_old_one_has_none() -> None:
    spike = drawn(faults=True).spike
    assert isinstance(spike, PlantedSpike)
    manifest = Manifest(records=0, seed=1, seeded_at=NOW, stores={}, spike=spike)
    assert Manifest.from_json(manifest.to_json()) == manifest

    without = Manifest(records=0, seed=1, seeded_at=NOW, stores={})
    assert Manifest.from_json(without.to_json()) == without
    old = json.loads(without.to_json())
    del old["spike"]
    assert Manifest.from_json(json.dumps(old)) == without

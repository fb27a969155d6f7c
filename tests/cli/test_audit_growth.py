"""audit tells growth by what an earlier audit saw, and when a server is full if that goes on."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.domain.growth import Measure, Where
from idemctl.state.folder import StateFolder
from idemctl.state.measures import Measures
from tests.cli.alone import serve
from tests.stores.redis.servers import own_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.alone import Alone
    from tests.cli.places import Done, Place

LIMIT = 1_000_000_000


@pytest.fixture
def alone(place: Place) -> Iterator[Alone]:
    with own_folder() as home, ExitStack() as running:
        started = serve(place, home, running)
        started.client.config_set("maxmemory", LIMIT)
        yield started


def remember(alone: Alone, length: timedelta, *, grown: int, records: int | None = 0) -> None:
    """Make it look as if an audit had been there so long ago, and memory had grown since."""
    at = datetime.fromtimestamp(alone.client.time()[0], UTC) - length
    used = alone.info("used_memory")
    server = f"127.0.0.1:{alone.port}/0"
    Measures(StateFolder(alone.place.state)).add(
        Where(store="deliveries", place="redis body:*", server=server),
        Measure(at=at, records=records, size=0, memory=used - grown),
    )


def low(done: Done) -> list[str]:
    assert done.document["errors"] == []
    items = done.document["items"]
    return [item["evidence"] for item in items if item["code"] == "memory-running-low"]


def growth(done: Done) -> Any:
    [side] = done.summary["places"]
    return side["growth"]


def test_at_the_first_look_growth_is_unknown_and_not_zero(alone: Alone) -> None:
    assert growth(alone.audit()) is None
    # The second look comes too soon to say anything.
    assert growth(alone.audit()) is None
    told = alone.place.main("audit", "--pace", "full").out
    [row] = [line for line in told.splitlines() if line.startswith("body-hash")]
    assert row.split()[-4:] == ["unknown", "unknown", "none", "needed"]
    kept = (alone.place.state / "measures.jsonl").read_text()
    assert kept.count("\n") == 1


def test_growth_is_told_by_what_was_there_two_days_ago(alone: Alone) -> None:
    alone.client.mset({f"body:{number}:{'f' * 64}": "1" for number in range(101)})
    remember(alone, timedelta(days=2), grown=-1_000_000)
    done = alone.audit()
    seen = done.summary["places"][0]["seen"]
    grown = growth(done)
    assert grown["records"] == pytest.approx(seen / 2, abs=1)
    assert grown["memory_bytes"] < 0
    assert grown["full_in_days"] is None
    assert low(done) == []
    told = alone.place.main("audit", "--pace", "full").out
    [row] = [line for line in told.splitlines() if line.startswith("body-hash")]
    assert f"+{grown['records']}, +{seen // 2} B" in row
    assert "never" in row


def test_a_server_that_is_full_within_a_week_runs_low(alone: Alone) -> None:
    remember(alone, timedelta(days=1), grown=LIMIT // 5)
    done = alone.audit()
    [said] = low(done)
    assert said.startswith("0 % of maxmemory is in use: ")
    assert said.endswith("; as it grew in the last 1d, it is full in 4d23h")
    assert growth(done)["full_in_days"] == pytest.approx(4.9, abs=0.2)


@pytest.mark.parametrize(
    ("length", "grown"),
    [
        (timedelta(days=1), LIMIT // 8),
        (timedelta(hours=5), LIMIT // 5),
        (timedelta(days=9), 100 * LIMIT),
        (timedelta(days=1), -LIMIT),
    ],
)
def test_one_that_has_room_for_longer_or_was_seen_at_no_useful_time_does_not(
    alone: Alone, length: timedelta, grown: int
) -> None:
    remember(alone, length, grown=grown)
    assert low(alone.audit()) == []


def test_what_another_server_held_says_nothing_of_this_one(alone: Alone) -> None:
    remember(alone, timedelta(days=1), grown=LIMIT // 5)
    file = alone.place.state / "measures.jsonl"
    file.write_text(file.read_text().replace(f":{alone.port}/0", f":{alone.port}/1"))
    done = alone.audit()
    assert (low(done), growth(done)) == ([], None)


def test_a_sample_says_nothing_of_how_many_there_are(alone: Alone) -> None:
    alone.client.mset({f"body:{number}:{'f' * 64}": "1" for number in range(5_000)})
    remember(alone, timedelta(days=1), grown=100, records=0)
    grown = growth(alone.audit("--sample", "10"))
    assert (grown["records"], grown["bytes"]) == (None, None)
    assert grown["memory_bytes"] > 0


def test_measures_that_cannot_be_kept_cost_no_finding(alone: Alone) -> None:
    (alone.place.state / "measures.jsonl").mkdir(parents=True)
    alone.client.config_set("maxmemory-policy", "allkeys-lru")
    done = alone.audit("--check", "eviction-enabled")
    assert [item["code"] for item in done.document["items"]] == ["eviction-enabled"]
    assert done.document["errors"] == []
    assert "warning: growth cannot be told: state folder " in done.err

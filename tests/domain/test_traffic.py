"""Spikes are found by rate, named once, and where they are; growth is none."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from idemctl.domain.causes import Cause, Confidence, cause_of, confidence_of
from idemctl.domain.traffic import Hit, Series, find_spikes
from idemctl.domain.traffic.baseline import Basis, surprise
from tests.domain.traffic_worlds import (
    CLIENTS,
    DAY,
    ENDPOINTS,
    NOW,
    Growth,
    a_world,
)

if TYPE_CHECKING:
    from idemctl.domain.traffic import Spike, Traffic
    from tests.domain.traffic_worlds import World

ALL = [(endpoint, client) for endpoint in range(3) for client in range(4)]
BUCKET = timedelta(minutes=5)
FEW = settings(max_examples=8, deadline=None)


def spikes(world: World) -> tuple[Spike, ...]:
    return find_spikes(world.traffic()).spikes


def names_of(world: World) -> list[tuple[str | None, str | None]]:
    return [(one.series.endpoint, one.series.client) for one in spikes(world)]


def counts_alarm(traffic: Traffic) -> bool:
    """Hold each hour's hits against their mean and spread: what must not be done."""
    hits = sum(traffic.hits.values())
    hourly = np.bincount((traffic.bucket - traffic.bucket.min()) // 12, hits)
    return bool(((hourly - hourly.mean()) / hourly.std()).max() > 4)


@pytest.mark.parametrize("noise", [0.05, 0.3])
@pytest.mark.parametrize("a_bucket", [2, 20, 200])
def test_healthy_traffic_has_no_spike(a_bucket: float, noise: float) -> None:
    for seed in range(3):
        assert spikes(a_world(seed, a_bucket=a_bucket, noise=noise)) == ()


@pytest.mark.parametrize(
    "growth", [Growth(factor=4, ago=DAY), Growth(factor=10, ago=40, lasts=20)], ids=str
)
def test_growth_is_no_spike_though_a_count_would_call_it_one(growth: Growth) -> None:
    for seed in range(3):
        grown = a_world(seed, growth=growth)
        assert counts_alarm(grown.traffic())
        assert not counts_alarm(a_world(seed).traffic())
        assert spikes(grown) == ()


def test_growth_of_one_client_is_no_spike_though_it_raises_the_rate_of_the_whole() -> None:
    for seed in range(20):
        grown = a_world(seed, growth=Growth(factor=200, ago=DAY, endpoint=1, client=3))
        today = grown.hits[Hit.REPLAY][-DAY:].sum() / grown.requests[-DAY:].sum()
        before = grown.hits[Hit.REPLAY][:-DAY].sum() / grown.requests[:-DAY].sum()
        if today > 1.4 * before:
            assert spikes(grown) == ()
            return
    pytest.fail("no such client was drawn")


@FEW
@example(seed=0, where=(0, 2), ago=40, lasts=4, hit=Hit.MISMATCH)
@given(
    seed=st.integers(0, 1000),
    where=st.sampled_from(ALL),
    ago=st.integers(40, 20 * DAY),
    lasts=st.integers(4, 14),
    hit=st.sampled_from(Hit),
)
def test_a_storm_is_named_once_with_its_place_and_time(
    seed: int, where: tuple[int, int], ago: int, lasts: int, hit: Hit
) -> None:
    world = a_world(seed)
    started_at, ended_at = world.storm(300, ago=ago, lasts=lasts, where=[where], hit=hit)

    [spike] = spikes(world)

    assert spike.hit is hit
    assert spike.series == Series(endpoint=ENDPOINTS[where[0]], client=CLIENTS[where[1]])
    assert abs(spike.started_at - started_at) <= 2 * BUCKET
    assert abs(spike.ended_at - ended_at) <= 2 * BUCKET
    assert spike.observed_count > 1.5 * spike.expected_count
    assert cause_of(spike) is Cause.ONE_CLIENT


@FEW
@given(seed=st.integers(0, 1000), factor=st.floats(0.2, 20), ago=st.integers(1, 8 * DAY))
def test_no_growth_of_any_size_or_length_is_a_spike(seed: int, factor: float, ago: int) -> None:
    assert spikes(a_world(seed, a_bucket=8, growth=Growth(factor=factor, ago=ago))) == ()


@FEW
@given(seed=st.integers(0, 1000))
def test_neither_the_order_of_rows_nor_their_splitting_matters(seed: int) -> None:
    world = a_world(seed, a_bucket=8)
    world.storm(300, ago=200, lasts=8, where=[(0, 1)])
    traffic = world.traffic()
    order = np.random.default_rng(seed).permutation(len(traffic.bucket))
    order = np.concatenate((order, order))
    half = np.arange(len(order)) < len(order) // 2
    split = replace(
        traffic,
        bucket=traffic.bucket[order],
        endpoint=traffic.endpoint[order],
        client=traffic.client[order],
        requests=np.where(half, 1, traffic.requests[order] - 1),
        hits={hit: np.where(half, 0, column[order]) for hit, column in traffic.hits.items()},
    )

    once, twice = find_spikes(traffic), find_spikes(split)

    assert len(once.spikes) == 1
    for one, other in zip(once.spikes, twice.spikes, strict=True):
        assert other.expected_count == pytest.approx(one.expected_count)
        assert other.score == pytest.approx(one.score)
        same = {"expected_count": 0.0, "score": 0.0, "share": 0.0}
        assert replace(other, **same) == replace(one, **same)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("where", "names", "cause"),
    [
        ([(e, 3) for e in range(3)], [(None, "partner")], Cause.ONE_CLIENT),
        ([(1, c) for c in range(4)], [("POST /emails", None)], Cause.ONE_ENDPOINT),
        (ALL, [(None, None)], Cause.EVERYWHERE),
    ],
)
def test_of_a_total_and_its_parts_the_one_that_explains_all_is_named(
    where: list[tuple[int, int]], names: list[tuple[str | None, str | None]], cause: Cause
) -> None:
    for seed in range(4):
        world = a_world(seed)
        world.storm(100, ago=100, lasts=8, where=where)
        assert names_of(world) == names
        assert cause_of(spikes(world)[0]) is cause


def test_two_storms_at_once_are_two() -> None:
    world = a_world()
    world.storm(300, ago=100, lasts=8, where=[(0, 1), (1, 3)])

    assert set(names_of(world)) == {("POST /charges", "app"), ("POST /emails", "partner")}


def test_a_client_that_sends_nearly_everything_explains_nothing() -> None:
    world = a_world(growth=Growth(factor=100, ago=28 * DAY, client=0))
    for place in ALL:
        world.storm(4000 if place[1] == 0 else 40, ago=100, lasts=8, where=[place])

    assert names_of(world) == [(None, None)]


def test_a_spike_hides_neither_itself_nor_its_like_of_a_week_before() -> None:
    world = a_world()
    for ago in (100, 100 + 7 * DAY):
        world.storm(300, ago=ago, lasts=8, where=[(0, 1)])

    found = spikes(world)

    assert [(NOW - one.started_at) // BUCKET for one in found] == [100 + 7 * DAY, 100]


def test_a_storm_of_a_day_is_one_spike() -> None:
    world = a_world()
    started_at, ended_at = world.storm(3000, ago=400, lasts=300, where=[(0, 1)])

    [spike] = spikes(world)

    assert abs(spike.started_at - started_at) <= 4 * BUCKET
    assert abs(spike.ended_at - ended_at) <= 4 * BUCKET


def test_a_batch_of_every_week_is_no_spike_but_the_same_on_another_day_is() -> None:
    weekly = a_world(a_bucket=60)
    for week in range(4):
        weekly.storm(200, ago=100 + week * 7 * DAY, lasts=12, where=[(0, 0)])
    assert spikes(weekly) == ()

    weekly.storm(400, ago=100 + 2 * DAY, lasts=12, where=[(0, 0)])
    [spike] = spikes(weekly)
    assert abs(spike.started_at - (NOW - (100 + 2 * DAY) * BUCKET)) <= BUCKET


def test_a_log_too_short_for_a_baseline_cannot_be_judged() -> None:
    world = a_world(days=12)
    world.storm(300, ago=100, lasts=8, where=[(0, 1)])
    judged = find_spikes(world.traffic())
    assert (judged.long_enough, judged.spikes, judged.judged_count) == (False, (), 0)
    assert judged.unjudged_count > 0

    longer = a_world(days=14)
    longer.storm(300, ago=100, lasts=8, where=[(0, 1)])
    assert names_of(longer) == [("POST /charges", "app")]


def test_a_new_client_cannot_be_judged_by_itself_but_shows_in_the_whole() -> None:
    world = a_world()
    for table in (world.requests, *world.hits.values()):
        table[:-200, :, 3] = 0
    assert spikes(world) == ()

    world.storm(300, ago=100, lasts=8, where=[(0, 3)])
    judged = find_spikes(world.traffic())
    assert judged.unjudged_count > 0
    assert names_of(world) == [("POST /charges", "partner")]


def test_requests_without_a_name_are_part_of_the_whole_and_no_series() -> None:
    world = a_world()
    world.storm(600, ago=100, lasts=8, where=[(0, 3)])
    traffic = world.traffic()
    nameless = replace(traffic, client=np.where(traffic.client == 3, -1, traffic.client))

    [spike] = find_spikes(nameless).spikes

    assert spike.series == Series(endpoint="POST /charges")


@pytest.mark.parametrize("astray", [0, 10**7])
def test_one_line_with_a_broken_clock_costs_neither_memory_nor_the_verdict(astray: int) -> None:
    world = a_world()
    started_at, _ = world.storm(300, ago=100, lasts=8, where=[(0, 1)])
    traffic = world.traffic()
    traffic.bucket[5] = astray

    judged = find_spikes(traffic)

    assert judged.ended_at - judged.began_at <= timedelta(days=28, hours=1)
    assert [one.started_at for one in judged.spikes] == [started_at]


def test_surprise_is_a_bound_on_the_chance() -> None:
    rng = np.random.default_rng(1)
    mean, dispersion = 20.0, 3.0
    drawn = rng.negative_binomial(mean / (dispersion - 1), 1 / dispersion, 1_000_000)
    for seen in (25, 40, 60):
        [score] = surprise(np.array([float(seen)]), np.array([mean]), np.array([0.0]), dispersion)
        assert (drawn >= seen).mean() <= 10**-score


def test_confidence_is_low_for_what_is_faint_or_shared() -> None:
    world = a_world()
    world.storm(300, ago=100, lasts=8, where=[(0, 1)])
    [spike] = spikes(world)

    assert spike.basis in Basis
    assert confidence_of(spike) is Confidence.MEDIUM
    assert confidence_of(replace(spike, score=9.0)) is Confidence.LOW
    assert confidence_of(replace(spike, share=0.5)) is Confidence.LOW

"""Shares of a whole that was only sampled: how often the interval holds the truth."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from idemctl.domain.shares import Hits, Interval, Sampled, interval

if TYPE_CHECKING:
    from collections.abc import Callable

SPOTS, SIZE, TRUTH = 400, 50, 0.05


def estimate(spots: list[int]) -> Interval:
    """Estimate from some spots, each with so many hits among its records."""
    hits, sampled = Hits(), Sampled()
    for found in spots:
        sampled.add(SIZE)
        hits.add(found, SIZE)
    return interval(hits, sampled)


def coverage(population: Callable[[random.Random], list[int]], estimated: int) -> float:
    """Tell how often the truth lies in the interval, over many populations and samples."""
    holds = 0
    for seed in range(300):
        chance = random.Random(seed)
        spots = population(chance)
        truth = sum(spots) / (SPOTS * SIZE)
        got = estimate(chance.sample(spots, estimated))
        holds += got.low <= truth <= got.high
    return holds / 300


def scattered(chance: random.Random) -> list[int]:
    """Hits that fall anywhere."""
    return [sum(chance.random() < TRUTH for _ in range(SIZE)) for _ in range(SPOTS)]


def huddled(chance: random.Random) -> list[int]:
    """The same share, but of a spot all records or none: an outage of a minute."""
    return [SIZE if chance.random() < TRUTH else 0 for _ in range(SPOTS)]


@pytest.mark.parametrize(("population", "least"), [(scattered, 0.93), (huddled, 0.85)])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(
    population: Callable[[random.Random], list[int]], least: float
) -> None:
    assert coverage(population, 60) >= least


def test_an_interval_of_chance_alone_would_miss_it_where_neighbours_are_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("idemctl.domain.shares._FEWEST", 10**9)
    assert coverage(huddled, 60) < 0.5


def test_what_was_not_found_may_still_be_there() -> None:
    nothing = estimate([0] * 20)
    assert nothing.low == 0
    assert 0.002 < nothing.high < 0.005
    everything = estimate([SIZE] * 20)
    assert (everything.high, round(everything.low, 3)) == (1.0, 0.996)


def test_of_nothing_nothing_is_known() -> None:
    assert interval(Hits(), Sampled()) == Interval(0.0, 1.0)
    empty = Sampled()
    empty.add(0)
    assert empty == Sampled()

"""Periods: which ones come back evenly, and that names spread them."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from idemctl.domain.periods import Period

EVEN = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60, 120, 180, 240, 360, 480, 720, 1440]


def test_exactly_the_periods_that_come_back_evenly_are_taken() -> None:
    taken = []
    for minutes in range(1, 3000):
        try:
            taken.append(Period.of(timedelta(minutes=minutes)).minutes)
        except ValueError:
            continue
    assert taken == EVEN


@pytest.mark.parametrize("minutes", EVEN)
def test_every_run_is_over_before_the_next_one(minutes: int) -> None:
    period = Period(minutes)
    assert timedelta(0) < period.longest_run < period.length


def within(field: str, end: int) -> list[int]:
    """What a field of cron names."""
    if field == "*":
        return list(range(end))
    bounds, _, step = field.partition("/")
    first, _, last = bounds.partition("-")
    return list(range(int(first), int(last or first) + 1, int(step or 1)))


@pytest.mark.parametrize("minutes", EVEN)
@pytest.mark.parametrize("who", ["", "db-1 payments", "db-2 payments", "db-1 webhooks"])
def test_the_instants_of_a_day_are_a_period_apart(minutes: int, who: str) -> None:
    minute, hour, *rest = Period(minutes).cron(who).split()
    assert rest == ["*", "*", "*"]
    instants = [60 * h + m for h in within(hour, 24) for m in within(minute, 60)]
    assert len(instants) == 1440 // minutes
    assert {b - a for a, b in pairwise(instants)} <= {minutes}


def test_names_are_spread_over_the_minutes_and_keep_theirs() -> None:
    lines = [Period(5).cron(f"host-{number} payments") for number in range(200)]
    counts = {line: lines.count(line) for line in lines}
    assert len(counts) == 5
    assert min(counts.values()) > 20
    assert lines == [Period(5).cron(f"host-{number} payments") for number in range(200)]

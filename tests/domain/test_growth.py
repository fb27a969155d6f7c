"""Growth between two looks, and when a server is full if that goes on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from idemctl.domain.growth import Growth, Measure, Measured, Where, growth

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def ago(hours: float, records: int | None = 0, memory: int | None = None) -> Measure:
    return Measure(at=NOW - timedelta(hours=hours), records=records, size=None, memory=memory)


@pytest.mark.parametrize("hours", [None, 0.0, 5.9, 8 * 24 + 0.1, -1.0])
def test_without_a_look_some_hours_ago_nothing_is_known(hours: float | None) -> None:
    assert growth([] if hours is None else [ago(hours)], ago(0, 100)) is None


def test_the_oldest_look_of_a_week_counts() -> None:
    measures = [ago(9 * 24, 0), ago(48, 1_000), ago(12, 900), ago(1, 0)]
    assert growth(measures, ago(0, 3_000)) == Growth(
        since=NOW - timedelta(days=2), records=1_000.0, size=None, memory=None
    )


def test_what_was_not_seen_at_both_times_is_unknown_and_not_zero() -> None:
    known = growth([ago(24, None, 5)], ago(0, 10, None))
    assert known is not None
    assert (known.records, known.memory) == (None, None)


def measured(memory: int, limit: int | None, *, evicts: bool = False) -> timedelta | None:
    now = ago(0, 0, memory)
    return Measured(
        where=Where(store="s", place="p", server="h"),
        now=now,
        growth=growth([ago(24, 0, 400)], now),
        memory_limit=limit,
        evicts=evicts,
    ).full_in


def test_a_server_is_full_where_the_growth_meets_the_limit() -> None:
    assert measured(500, 1_000) == timedelta(days=5)
    assert measured(1_200, 1_000) == timedelta(0)


@pytest.mark.parametrize(
    ("memory", "limit", "evicts"),
    [
        (400, 1_000, False),
        (300, 1_000, False),
        (500, 0, False),
        (500, None, False),
        (500, 900, True),
    ],
)
def test_a_server_that_does_not_grow_or_has_no_limit_is_never_full(
    memory: int, limit: int | None, *, evicts: bool
) -> None:
    assert measured(memory, limit, evicts=evicts) is None

"""What a retry window asks of a ttl."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.durations import LONGEST
from idemctl.domain.horizons import Certainty, Provider, requirement

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
WINDOWS = st.integers(1, int(LONGEST.total_seconds() // 2)).map(lambda s: timedelta(seconds=s))


def provider(*windows: timedelta) -> Provider:
    return Provider(
        name="acme",
        product="Acme webhooks",
        windows=windows,
        source="https://acme.example/retries",
        checked_on=date(2026, 11, 1),
        certainty=Certainty.HIGH,
    )


@pytest.mark.parametrize(
    ("window", "margin", "ttl"),
    [
        (timedelta(seconds=15), HOUR, 2 * HOUR),
        (HOUR, HOUR, 2 * HOUR),
        (10 * HOUR, HOUR, 11 * HOUR),
        (3 * DAY, timedelta(hours=7, minutes=12), 80 * HOUR),
        (7 * DAY, timedelta(hours=16, minutes=48), 185 * HOUR),
        (30 * DAY, 3 * DAY, 33 * DAY),
        (timedelta(hours=27, minutes=35, seconds=5), timedelta(seconds=9931), 31 * HOUR),
    ],
)
def test_the_margin_is_an_hour_or_a_tenth_and_the_sum_is_in_whole_hours(
    window: timedelta, margin: timedelta, ttl: timedelta
) -> None:
    needed = requirement(window)
    assert (needed.window, needed.margin, needed.ttl) == (window, margin, ttl)


@given(WINDOWS)
def test_what_is_required_outlasts_the_window_by_its_margin_and_no_hour_more(
    window: timedelta,
) -> None:
    needed = requirement(window)
    assert needed.margin >= max(HOUR, window / 10)
    assert not needed.margin.microseconds
    assert not needed.ttl % HOUR
    assert timedelta(0) <= needed.ttl - (window + needed.margin) < HOUR


def test_of_several_windows_the_longest_counts() -> None:
    assert provider(4 * HOUR, 48 * HOUR).window == 48 * HOUR


def test_an_unknown_window_is_not_zero() -> None:
    assert provider().window is None

"""Durations as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.durations import LONGEST, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds", "canonical"),
    [
        ("1s", 1, "1s"),
        ("90s", 90, "1m30s"),
        ("1h30m", 5_400, "1h30m"),
        ("01h05m", 3_900, "1h5m"),
        ("24h", 86_400, "1d"),
        ("7d", 604_800, "7d"),
        ("1w", 604_800, "7d"),
        ("2w1d1h1m1s", 1_299_661, "15d1h1m1s"),
        ("0d5m", 300, "5m"),
        ("0000000000001s", 1, "1s"),
        ("36500d", 3_153_600_000, "36500d"),
    ],
)
def test_a_duration_is_read_and_written_in_its_canonical_form(
    text: str, seconds: int, canonical: str
) -> None:
    duration = parse_duration(text)
    assert duration == timedelta(seconds=seconds)
    assert format_duration(duration) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "", "24", "h", "24 h", " 24h", "24h ", "24h\n", "-1h", "+1h", "1.5h", "1e3s", "1_000s",
        "30m1h", "1h1h", "1H", "1y", "1ms", "P1D", "PT1H", "\uff11h", "\u0661h", "1h30", "\u00b2s",
    ],
)  # fmt: skip
def test_what_is_no_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration; write whole numbers") as refusal:
        parse_duration(text)
    assert str(refusal.value) == (
        f"{text!r} is not a duration; write whole numbers with their units, "
        "such as 90s, 24h, 7d or 1h30m"
    )


@pytest.mark.parametrize("text", ["0s", "0h", "000d", "0w0d0h0m0s"])
def test_zero_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is a duration of zero; the shortest is 1s"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["36500d1s", "5215w", "99999999999s", "9" * 1_000_000 + "s"])
def test_more_than_a_hundred_years_is_refused_in_a_short_message(text: str) -> None:
    with pytest.raises(ValueError, match="is longer than a hundred years") as refusal:
        parse_duration(text)
    assert len(str(refusal.value)) < 120


@pytest.mark.parametrize(
    "duration",
    [
        timedelta(0),
        timedelta(seconds=-1),
        timedelta(seconds=1.5),
        LONGEST + timedelta(seconds=1),
    ],
)
def test_what_cannot_be_read_back_is_not_written(duration: timedelta) -> None:
    with pytest.raises(ValueError, match="is not a duration of whole seconds"):
        format_duration(duration)


@given(st.integers(min_value=1, max_value=int(LONGEST.total_seconds())))
def test_every_duration_survives_the_round_trip(seconds: int) -> None:
    duration = timedelta(seconds=seconds)
    assert parse_duration(format_duration(duration)) == duration


@given(st.text(alphabet="0123456789wdhms \uff11-"))
def test_reading_raises_nothing_but_value_error(text: str) -> None:
    try:
        duration = parse_duration(text)
    except ValueError:
        return
    assert timedelta(0) < duration <= LONGEST

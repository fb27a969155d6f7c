"""Instants as whole microseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.instants import FOREVER, LONG_PAST, MISSING, from_micros, to_micros


@given(st.datetimes(timezones=st.just(UTC)))
def test_every_datetime_survives_the_way_there_and_back(at: datetime) -> None:
    assert from_micros(to_micros(at)) == at


@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
def test_order_is_kept_to_the_microsecond(one: datetime, other: datetime) -> None:
    assert (to_micros(one) < to_micros(other)) == (one < other)


def test_one_microsecond_is_one() -> None:
    at = datetime(9999, 12, 31, 23, 59, 59, 999_998, tzinfo=UTC)
    assert to_micros(at + timedelta(microseconds=1)) - to_micros(at) == 1


def test_the_zone_of_a_datetime_does_not_matter() -> None:
    here = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert to_micros(here) == to_micros(here.astimezone(UTC))


def test_a_naive_datetime_is_an_error_and_no_guess() -> None:
    with pytest.raises(TypeError):
        to_micros(datetime(2026, 1, 1))  # noqa: DTZ001 (that is what is tested)


@pytest.mark.parametrize(
    "micros", [MISSING, FOREVER, FOREVER - 1, MISSING + 1, 568_971_820_800_000_000]
)
def test_what_no_datetime_holds_is_none(micros: int) -> None:
    assert from_micros(micros) is None


def test_the_long_past_is_the_first_instant_of_all() -> None:
    assert from_micros(LONG_PAST) == datetime(1, 1, 1, tzinfo=UTC)
    assert MISSING < LONG_PAST < 0 < FOREVER

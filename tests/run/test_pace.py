"""Pace: how long a run rests."""

from __future__ import annotations

from datetime import timedelta

import pytest

from idemctl.run.pace import Pace, PaceName


def ms(number: float) -> timedelta:
    return timedelta(milliseconds=number)


@pytest.fixture
def gentle() -> Pace:
    return Pace(name=PaceName.GENTLE)


def test_gentle_takes_a_quarter_of_the_time(gentle: Pace) -> None:
    assert [gentle.rest_after(ms(10)) for _ in range(3)] == [0.03, 0.03, 0.03]


def test_full_never_rests() -> None:
    pace = Pace(name=PaceName.FULL)
    assert [pace.rest_after(ms(took)) for took in (10, 1000, 0)] == [0.0, 0.0, 0.0]


def test_a_step_twice_as_slow_as_usual_halves_the_share(gentle: Pace) -> None:
    gentle.rest_after(ms(10))
    assert gentle.rest_after(ms(19)) == 0.057
    assert gentle.rest_after(ms(25)) == 0.175


def test_it_is_itself_again_when_steps_are(gentle: Pace) -> None:
    gentle.rest_after(ms(10))
    gentle.rest_after(ms(50))
    assert gentle.rest_after(ms(10)) == 0.03


def test_what_is_slow_for_long_becomes_usual(gentle: Pace) -> None:
    gentle.rest_after(ms(10))
    rests = [gentle.rest_after(ms(30)) for _ in range(60)]
    assert rests[0] == 0.21
    assert rests[-1] == 0.09


def test_no_rest_is_longer_than_five_seconds(gentle: Pace) -> None:
    assert gentle.rest_after(timedelta(seconds=10)) == 5.0


def test_a_step_of_no_time_needs_no_rest(gentle: Pace) -> None:
    assert gentle.rest_after(ms(0)) == 0.0
    assert gentle.rest_after(ms(10)) == 0.03

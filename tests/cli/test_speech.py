"""What is said on stderr while a long walk goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from idemctl.cli import speech
from idemctl.cli.speech import Speech

if TYPE_CHECKING:
    from collections.abc import Callable

    Tell = Callable[[float, float, int], str]

WHAT = "payments redis idem:*"
CLEAR = "\r\x1b[K"


@pytest.fixture
def tell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tell:
    """Report at a time which share is done and how many records were seen; give what is said."""
    spoken = Speech(quiet=False, verbose=False, command="audit")

    def tell(at: float, done: float, seen: int) -> str:
        monkeypatch.setattr("idemctl.cli.speech.time.monotonic", lambda: 1_000 + at)
        spoken.at(WHAT, done, {"records": seen})
        return capsys.readouterr().err

    return tell


def test_a_long_walk_is_foretold_by_its_size_and_its_pace(tell: Tell) -> None:
    assert tell(0, 0.0, 0) == ""
    assert tell(1.9, 0.009, 9_500) == ""
    assert tell(2, 0.01, 10_000) == (
        f"idemctl audit: {WHAT}: about 1,000,000 records, about 3 min more at this pace; "
        "--max-duration limits it\n"
    )
    assert tell(4, 0.02, 20_000) == ""


def test_of_a_walk_whose_end_nobody_knows_that_is_said(tell: Tell) -> None:
    assert tell(0, 0.0, 0) == ""
    assert tell(2, 0.0, 10_000) == (
        f"idemctl audit: {WHAT}: how long this takes cannot be told yet\n"
    )


def test_of_a_short_walk_nothing_is_foretold(tell: Tell) -> None:
    assert tell(0, 0.0, 0) + tell(2, 0.5, 10_000) + tell(4, 1.0, 20_000) == ""


def test_a_terminal_sees_rate_and_remaining_time(
    tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speech, "_can_write_over", lambda: True)
    # What was counted before this walk began, of another one, is no part of its pace.
    assert tell(0, 0.0, 5_000) == f"{CLEAR}{WHAT}    0 %  5,000 records"
    assert tell(0.1, 0.1, 6_000) == ""
    assert tell(10, 0.25, 25_000) == (
        f"{CLEAR}{WHAT}   25 %  25,000 records  2,000/s  about 30 s left"
    )

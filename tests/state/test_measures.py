"""Measures on disk."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from idemctl.domain.growth import Measure, Where
from idemctl.state.folder import StateFolder
from idemctl.state.measures import Measures

if TYPE_CHECKING:
    from pathlib import Path

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
WHERE = Where(store="payments", place="redis idem:*", server="cache:6379/0")
MEASURE = Measure(at=AT, records=5, size=None, memory=1_000)


def test_what_was_measured_of_a_place_is_found_again_and_of_no_other(tmp_path: Path) -> None:
    kept = Measures(StateFolder(tmp_path / "state"))
    assert kept.of(WHERE) == []
    kept.add(WHERE, MEASURE)
    later = replace(MEASURE, at=AT + timedelta(hours=1), records=None)
    kept.add(WHERE, later)
    assert kept.of(WHERE) == [MEASURE, later]
    for other in (
        replace(WHERE, server="cache:6380/0"),
        replace(WHERE, place="redis x:*"),
        replace(WHERE, store="orders"),
    ):
        assert kept.of(other) == []


def test_within_an_hour_one_look_is_enough(tmp_path: Path) -> None:
    kept = Measures(StateFolder(tmp_path / "state"))
    for minutes in range(0, 120, 5):
        kept.add(WHERE, replace(MEASURE, at=AT + timedelta(minutes=minutes)))
    assert [one.at for one in kept.of(WHERE)] == [AT, AT + timedelta(hours=1)]


def test_what_a_crash_left_of_a_line_says_nothing(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "state")
    kept = Measures(folder)
    kept.add(WHERE, MEASURE)
    for line in (b"{", b"[]", b"null", b'{"where":{},"measure":{}}', b"\xff"):
        folder.append("measures.jsonl", line)
    assert kept.of(WHERE) == [MEASURE]

"""The journal of a run, and the history of all."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.domain.outcomes import WhyStopped
from idemctl.state.folder import StateFolder
from idemctl.state.history import History
from idemctl.state.journal import FileJournal

if TYPE_CHECKING:
    from pathlib import Path


def test_each_event_is_a_line_with_its_time(tmp_path: Path) -> None:
    journal = FileJournal(StateFolder(tmp_path), "run-1")
    before = datetime.now(UTC)
    journal.write("batch", {"store": "payments", "deleted": 3, "why": WhyStopped.DEADLINE})
    journal.write("end", {"took": timedelta(seconds=1)})
    first, second = (
        json.loads(line) for line in (tmp_path / "journals/run-1.jsonl").read_text().splitlines()
    )
    at = datetime.fromisoformat(first.pop("at"))
    assert before <= at <= datetime.now(UTC)
    assert first == {"event": "batch", "store": "payments", "deleted": 3, "why": "deadline"}
    assert second["event"] == "end"


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(StateFolder(tmp_path))


def entry(run_id: str, *, exit: int = 0, verb: str = "gc", stores: Any = ("payments",)) -> Any:  # noqa: A002 (the entry's word)
    return {"run_id": run_id, "verb": verb, "stores": list(stores), "exit": exit}


def test_the_last_good_run_is_the_newest_that_ended_well(history: History) -> None:
    assert history.last("gc", "payments") is None
    history.add(entry("1"))
    history.add(entry("2", stores=["payments", "webhooks"]))
    history.add(entry("3", exit=4))
    history.add(entry("4", verb="audit"))
    history.add(entry("5", stores=["webhooks"]))
    for verb, store, run_id in (
        ("gc", "payments", "2"),
        ("gc", "webhooks", "5"),
        ("audit", "payments", "4"),
    ):
        found = history.last(verb, store)
        assert found is not None
        assert found["run_id"] == run_id
    assert history.last("gc", "pay") is None


def test_what_a_crash_left_of_a_line_is_skipped(history: History, tmp_path: Path) -> None:
    history.add(entry("1"))
    with (tmp_path / "history.jsonl").open("ab") as file:
        file.write(b'{"run_id": "2", "verb"')
    found = history.last("gc", "payments")
    assert found is not None
    assert found["run_id"] == "1"
    history.add(entry("3", stores=["webhooks"]))
    found = history.last("gc", "payments")
    assert found is not None
    assert found["run_id"] == "1"
    found = history.last("gc", "webhooks")
    assert found is not None
    assert found["run_id"] == "3"

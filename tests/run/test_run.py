"""A run: where it stops, and only there."""

from __future__ import annotations

import re
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from idemctl.domain.outcomes import WhyStopped
from idemctl.run.pace import PaceName
from idemctl.run.run import Run, Stopped, new_run_id
from idemctl.run.stop import Stop


class Lock:
    """A lock that can be lost."""

    def __init__(self) -> None:
        self.held = True
        self.asked = 0
        self.released = 0

    def is_held(self) -> bool:
        self.asked += 1
        return self.held

    def release(self) -> None:
        self.released += 1


def stopped(run: Run, took: timedelta = timedelta(0)) -> WhyStopped:
    with pytest.raises(Stopped) as caught:
        run.checkpoint(took)
    return caught.value.why


def test_names_of_runs_sort_by_time() -> None:
    at = datetime(2026, 11, 29, 17, 45, tzinfo=UTC)
    name = new_run_id(at)
    assert re.fullmatch(r"20261129T174500-[0-9a-f]{6}", name)
    assert new_run_id(at + timedelta(seconds=1)) > name
    assert new_run_id(at) != name


def test_a_checkpoint_rests_as_the_pace_says() -> None:
    run = Run(verb="gc")
    started = time.monotonic()
    run.checkpoint(timedelta(milliseconds=20))
    assert time.monotonic() - started >= 0.06
    run = Run(verb="gc", pace_name=PaceName.FULL)
    started = time.monotonic()
    run.checkpoint(timedelta(seconds=20))
    assert time.monotonic() - started < 5


def test_whoever_asked_is_answered_before_any_rest() -> None:
    run = Run(verb="gc")
    run.stop.ask(WhyStopped.INTERRUPTED)
    started = time.monotonic()
    assert stopped(run, timedelta(seconds=10)) is WhyStopped.INTERRUPTED
    assert time.monotonic() - started < 2


class Watched(Stop):
    """Tells when somebody begins to rest."""

    def __init__(self) -> None:
        super().__init__()
        self.begins = threading.Barrier(2)

    def wait(self, seconds: float) -> bool:
        self.begins.wait(5)
        return super().wait(seconds)


def test_a_stop_during_a_rest_is_answered_at_once() -> None:
    stop = Watched()
    run = Run(verb="gc", stop=stop)
    answers: list[WhyStopped] = []
    worker = threading.Thread(
        target=lambda: answers.append(stopped(run, timedelta(seconds=10))), daemon=True
    )
    worker.start()
    stop.begins.wait(5)
    started = time.monotonic()
    stop.ask(WhyStopped.TERMINATED)
    worker.join(5)
    assert answers == [WhyStopped.TERMINATED]
    # The rest would have been five seconds.
    assert time.monotonic() - started < 2


def test_the_deadline_ends_a_rest_and_the_run() -> None:
    run = Run(verb="gc", max_duration=timedelta(milliseconds=100))
    run.checkpoint()
    started = time.monotonic()
    assert stopped(run, timedelta(seconds=10)) is WhyStopped.DEADLINE
    assert time.monotonic() - started < 2
    assert stopped(run) is WhyStopped.DEADLINE


def test_a_signal_counts_before_a_deadline() -> None:
    run = Run(verb="gc", max_duration=timedelta(0))
    run.stop.ask(WhyStopped.TERMINATED)
    assert stopped(run) is WhyStopped.TERMINATED


def test_a_lost_lock_stops_the_run_and_is_given_back() -> None:
    run, lock = Run(verb="gc"), Lock()
    with run.holding(lock):
        run.checkpoint()
        # The store is not asked at every step.
        assert lock.asked == 0
        run._lock_seen -= 1
        run.checkpoint()
        assert lock.asked == 1
        lock.held = False
        run._lock_seen -= 1
        assert stopped(run) is WhyStopped.LOCK_LOST
    assert lock.released == 1


def test_a_lock_is_given_back_whatever_happens_and_then_forgotten() -> None:
    run, lock = Run(verb="gc"), Lock()
    with pytest.raises(ZeroDivisionError), run.holding(lock):
        raise ZeroDivisionError
    assert lock.released == 1
    lock.held = False
    run._lock_seen -= 1
    run.checkpoint()


def test_nobody_need_follow_a_run() -> None:
    run = Run(verb="gc")
    run.progress.at("payments", 0.5, {"deleted": 1})
    run.journal.write("batch", {})

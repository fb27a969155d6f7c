"""A run that waits for a server: for as long as it must, and no longer than it may."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.throttle import Load, Strain
from idemctl.errors import ExitStatus, Unreachable
from idemctl.operations.gc import Options, gc
from idemctl.run import run as room
from idemctl.run.run import Stopped
from idemctl.run.throttle import Throttle, Throttling
from tests.operations.tables import DAY, Follower, a_run, some_rows, target

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from idemctl.run.run import Run
    from idemctl.run.target import Target
    from tests.operations.tables import Table

STRAINED = Load(asked=True)
MOMENT = timedelta(milliseconds=60)
APPLY = Options(apply=True)


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the server at every checkpoint."""
    monkeypatch.setattr(room, "_LOOK_SECONDS", 0.005)


@dataclass
class Server:
    """Says what a test wants, look after look; the last answer stands."""

    answers: list[Load | Exception]
    looks: int = 0

    def load(self, query: str | None = None) -> Load:
        assert query is None
        answer = self.answers[min(self.looks, len(self.answers) - 1)]
        self.looks += 1
        if isinstance(answer, Exception):
            raise answer
        return answer


@dataclass
class Hands:
    """Workers that remember what they were told."""

    heard: list[str] = field(default_factory=list)

    def hold(self) -> None:
        self.heard.append("hold")

    def go_on(self) -> None:
        self.heard.append("go on")


@contextmanager
def waiting(run: Run, *answers: Load | Exception, **more: Any) -> Iterator[Throttle]:
    server: Any = Server(list(answers))
    throttle = Throttle(Throttling(**more), server)
    with run.throttled(throttle):
        yield throttle


def why(run: Run) -> WhyStopped:
    with pytest.raises(Stopped) as caught:
        run.await_calm()
    return caught.value.why


def test_a_run_goes_on_as_soon_as_the_server_has_time() -> None:
    follower, hands = Follower(), Hands()
    run = a_run(journal=follower, progress=follower)
    with waiting(run, STRAINED, STRAINED, Load()) as throttle, run.leading(hands):
        run.await_calm()
    assert follower.waited == ["throttle.query says so"]
    assert follower.heard == [("wait", {"strain": "query", "says": "throttle.query says so"})]
    assert hands.heard == ["hold", "go on"]
    assert throttle.waited.reasons == {Strain.QUERY: "throttle.query says so"}
    assert throttle.waited.total >= timedelta(milliseconds=10)


def test_who_has_nothing_to_wait_for_says_nothing_and_holds_nobody() -> None:
    follower, hands = Follower(), Hands()
    run = a_run(progress=follower)
    with waiting(run, Load()) as throttle, run.leading(hands):
        run.await_calm()
        run.checkpoint()
    assert (follower.waited, hands.heard, throttle.waited.reasons) == ([], [], {})


def test_a_wait_ends_the_run_when_it_takes_too_long() -> None:
    run, hands = a_run(), Hands()
    with waiting(run, STRAINED, longest_wait=MOMENT) as throttle, run.leading(hands):
        assert why(run) is WhyStopped.THROTTLED
    assert MOMENT <= throttle.waited.total < 20 * MOMENT
    assert hands.heard == ["hold", "go on"]


def test_waits_are_bounded_one_by_one_not_all_together() -> None:
    run = a_run()
    with waiting(run, *[STRAINED, Load()] * 40, longest_wait=MOMENT) as throttle:
        while throttle.waited.total < 2 * MOMENT:
            run.checkpoint()


@pytest.mark.parametrize("given", ["signal", "deadline"])
def test_a_wait_heeds_signals_and_the_deadline(given: str) -> None:
    run = a_run(max_duration=MOMENT if given == "deadline" else None)
    asks = threading.Timer(0.03, run.stop.ask, [WhyStopped.TERMINATED])
    with waiting(run, STRAINED) as throttle:
        if given == "signal":
            asks.start()
        told = why(run)
    asks.cancel()
    assert told is {"signal": WhyStopped.TERMINATED, "deadline": WhyStopped.DEADLINE}[given]
    assert throttle.waited.total < timedelta(seconds=5)


def test_a_server_that_does_not_answer_is_waited_for() -> None:
    run = a_run()
    gone = Unreachable("postgres public.t: cannot reach Postgres")
    with waiting(run, gone, longest_wait=MOMENT) as throttle:
        assert why(run) is WhyStopped.THROTTLED
    assert throttle.waited.reasons == {
        Strain.QUERY: "the server does not tell: postgres public.t: cannot reach Postgres"
    }


def test_a_pause_file_holds_a_run_until_it_is_gone(tmp_path: Path) -> None:
    run, file = a_run(), tmp_path / "pause"
    file.touch()
    threading.Timer(0.03, file.unlink).start()
    with waiting(run, Load(), pause_file=file) as throttle:
        run.await_calm()
    assert throttle.waited.reasons == {Strain.PAUSE_FILE: f"{file} is there"}
    assert not file.exists()


def test_a_stop_file_ends_a_run_also_while_it_waits(tmp_path: Path) -> None:
    run, file = a_run(), tmp_path / "stop"
    threading.Timer(0.03, file.touch).start()
    with waiting(run, STRAINED, stop_file=file):
        assert why(run) is WhyStopped.STOP_FILE


def test_a_file_that_nobody_can_look_for_counts_as_there(tmp_path: Path) -> None:
    (tmp_path / "no-folder").touch()
    hidden = tmp_path / "no-folder" / "stop"
    run = a_run()
    with waiting(run, Load(), stop_file=hidden):
        assert why(run) is WhyStopped.STOP_FILE


def throttled(**more: Any) -> tuple[Target, Table]:
    aim, table = target(rows=some_rows(expired=3))
    return replace(aim, throttling=Throttling(longest_wait=MOMENT, **more)), table


def test_gc_deletes_nothing_while_the_server_has_no_time_and_says_for_what_it_waited() -> None:
    aim, table = throttled()
    table.strain = STRAINED
    outcome = gc([aim], APPLY, a_run())
    [one] = outcome.targets
    assert (one.collection.deleted, one.why_stopped) == (0, WhyStopped.THROTTLED)
    assert one.waited.reasons == {Strain.QUERY: "throttle.query says so"}
    assert len(table.keys) == 5
    # What is left is young: the next run takes it, and nobody is woken.
    assert outcome.status is ExitStatus.OK
    old = replace(APPLY, backlog_after=timedelta(minutes=1))
    assert gc([aim], old, a_run()).status is ExitStatus.PARTIAL


def test_a_look_waits_for_nobody() -> None:
    aim, table = throttled()
    table.strain = STRAINED
    [one] = gc([aim], Options(), a_run()).targets
    assert (one.why_stopped, one.waited.reasons) == (WhyStopped.DONE, {})


def test_without_strain_gc_is_as_it_was() -> None:
    aim, table = throttled()
    [one] = gc([aim], APPLY, a_run()).targets
    assert (one.collection.deleted, one.why_stopped) == (3, WhyStopped.DONE)
    assert table.modes == [True, False]
    assert DAY > one.waited.total == timedelta(0)


def test_when_a_deadline_is_over_a_calm_server_still_gets_a_batch() -> None:
    aim, _ = throttled()
    [one] = gc([aim], APPLY, a_run(max_duration=timedelta(microseconds=1))).targets
    assert one.why_stopped is WhyStopped.DEADLINE
    assert one.collection.deleted == 1


def test_nothing_is_waited_for_after_the_block() -> None:
    run = a_run()
    with ExitStack() as stack:
        stack.enter_context(waiting(run, STRAINED, longest_wait=MOMENT))
    run.checkpoint()

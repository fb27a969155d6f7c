"""Worker processes: what they do arrives, and none outlives its parent's wish."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from idemctl.errors import Denied, ExitStatus, IdemctlError
from idemctl.run.pace import PaceName
from idemctl.run.shards import ShardedWalk
from tests.run.walks import Count, Crash, Endless, Fail, Silent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def no_child_is_left() -> Iterator[None]:
    yield
    assert multiprocessing.active_children() == []


def never() -> None:
    """Watch for nothing."""


def test_every_step_of_every_shard_arrives_once_and_in_its_order() -> None:
    seen = list(ShardedWalk(Count(50), 2, PaceName.FULL, watch=never))
    assert Counter(chunk.part for chunk in seen) == {"0/2": 50, "1/2": 50}
    for part in ("0/2", "1/2"):
        assert [one.deleted for one in seen if one.part == part] == list(range(50))


def test_shards_that_are_asked_to_stop_tell_all_they_did(tmp_path: Path) -> None:
    walk = ShardedWalk(Endless(str(tmp_path)), 2, PaceName.FULL, watch=never)
    told: Counter[str] = Counter()
    for chunk in walk:
        told[chunk.part] += 1
        if len(told) == 2:
            break
    walk.ask_to_stop()
    for chunk in walk:
        told[chunk.part] += 1
    done = {f"{one.name}/2": len(one.read_text()) for one in tmp_path.iterdir()}
    assert told == done


def test_one_failure_stops_the_others_and_is_raised_whole(tmp_path: Path) -> None:
    with pytest.raises(Denied) as caught:
        list(ShardedWalk(Fail(str(tmp_path)), 2, PaceName.FULL, watch=never))
    assert (caught.value.message, caught.value.hint) == ("no right", "GRANT it")


def test_a_crash_is_told_without_traceback_or_secret(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(IdemctlError) as caught:
        list(ShardedWalk(Crash("c4n4ry"), 1, PaceName.FULL, watch=never))
    assert caught.value.message == "unexpected ZeroDivisionError in a worker process"
    printed = capfd.readouterr()
    assert "Traceback" not in printed.err
    assert "c4n4ry" not in printed.err


def test_a_worker_that_is_killed_is_no_success(tmp_path: Path) -> None:
    walk = iter(ShardedWalk(Endless(str(tmp_path)), 2, PaceName.FULL, watch=never))
    next(walk)
    for child in multiprocessing.active_children():
        child.kill()
    with pytest.raises(IdemctlError, match="ended unexpectedly") as caught:
        list(walk)
    assert caught.value.status is ExitStatus.PARTIAL


def test_workers_do_not_hear_signals_not_even_while_they_start(tmp_path: Path) -> None:
    walk = ShardedWalk(Endless(str(tmp_path)), 2, PaceName.FULL, watch=never)
    # They have hardly begun to import what they need.
    for child in multiprocessing.active_children():
        for number in (signal.SIGINT, signal.SIGTERM):
            assert child.pid is not None
            os.kill(child.pid, number)
    told = set()
    for chunk in walk:
        told.add(chunk.part)
        if len(told) == 2:
            walk.ask_to_stop()
    assert told == {"0/2", "1/2"}


def test_the_parent_still_hears_signals_afterwards(tmp_path: Path) -> None:
    walk = ShardedWalk(Count(1), 1, PaceName.FULL, watch=never)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()
    list(walk)


class Deadline(Exception):
    """Whoever watches has seen enough."""


def test_who_watches_is_asked_while_the_children_are_silent_and_can_hear_the_rest() -> None:
    asked = []

    def watch() -> None:
        asked.append(1)
        raise Deadline

    walk = ShardedWalk(Silent(), 1, PaceName.FULL, watch=watch)
    with pytest.raises(Deadline):
        list(walk)
    walk.ask_to_stop()
    assert [one.part for one in walk] == ["late"]
    assert asked == [1]


def test_closing_a_walk_leaves_no_child_though_nobody_heard_it_to_its_end(tmp_path: Path) -> None:
    walk = ShardedWalk(Endless(str(tmp_path)), 2, PaceName.FULL, watch=never)
    next(iter(walk))
    walk.close()
    assert multiprocessing.active_children() == []


def test_workers_that_are_held_do_nothing_until_they_may_go_on(tmp_path: Path) -> None:
    walk = ShardedWalk(Endless(str(tmp_path)), 2, PaceName.FULL, watch=never)
    steps = iter(walk)
    while len(list(tmp_path.iterdir())) < 2:
        next(steps)

    def done() -> list[int]:
        return [len(one.read_text()) for one in sorted(tmp_path.iterdir())]

    walk.hold()
    before: list[int] = []
    held = done()
    while held != before:  # The word travels, and a step ends.
        time.sleep(0.2)
        held, before = done(), held
    walk.go_on()
    deadline = time.monotonic() + 10
    while any(now <= then for now, then in zip(done(), held, strict=True)):
        assert time.monotonic() < deadline
        next(steps)
    walk.hold()
    # Who is held still hears that it is over.
    walk.ask_to_stop()
    assert sum(1 for _ in walk) < 10_000

"""Whether to go on: one answer, also when a signal asks at the worst of moments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from idemctl.domain.outcomes import WhyStopped
from idemctl.run.stop import Stop

# A signal's handler asks to stop again and again, mostly while somebody is about to wait.
_STORM = """
import faulthandler, random, signal, threading
from idemctl.domain.outcomes import WhyStopped
from idemctl.run.stop import Stop

class ByEvent:
    def __init__(self):
        self.event = threading.Event()
    def ask(self, why):
        self.event.set()
    def wait(self, seconds):
        return self.event.wait(seconds)

faulthandler.dump_traceback_later({patience}, exit=True)
signal.signal(signal.SIGALRM, lambda *_: stop.ask(WhyStopped.TERMINATED))
draw = random.Random(1)
for _ in range(1000):
    stop = {kind}()
    signal.setitimer(signal.ITIMER_REAL, draw.random() * 2e-4 + 1e-6)
    while not stop.wait(0.00002):
        pass
"""


def storm(kind: str, patience: float) -> int:
    code = _STORM.format(kind=kind, patience=patience)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode


def test_a_signal_at_any_moment_of_a_rest_is_heard() -> None:
    assert storm("Stop", 20) == 0


def test_the_same_storm_hangs_an_event() -> None:
    assert storm("ByEvent", 2) == 1


def test_nobody_asked_is_no_stop() -> None:
    stop = Stop()
    assert not stop.wait(0)
    assert not stop.wait(0.001)
    assert stop.why is None


def test_the_first_reason_stays() -> None:
    stop = Stop()
    stop.ask(WhyStopped.INTERRUPTED)
    stop.ask(WhyStopped.TERMINATED)
    assert stop.why is WhyStopped.INTERRUPTED
    assert stop.wait(0)
    assert stop.wait(1000)


def test_a_rest_ends_when_somebody_asks() -> None:
    stop = Stop()
    rests = threading.Barrier(2)
    woke: list[bool] = []

    def rest() -> None:
        rests.wait(5)
        woke.append(stop.wait(60))

    thread = threading.Thread(target=rest)
    thread.start()
    rests.wait(5)
    started = time.monotonic()
    stop.ask(WhyStopped.TERMINATED)
    thread.join(5)
    assert woke == [True]
    assert time.monotonic() - started < 5


def test_many_who_ask_at_once_are_one() -> None:
    for _ in range(50):
        stop = Stop()
        begin = threading.Barrier(4)

        def ask(stop: Stop = stop, begin: threading.Barrier = begin) -> None:
            begin.wait(5)
            stop.ask(WhyStopped.TERMINATED)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert stop.wait(0)
        assert stop.wait(0)


@pytest.mark.parametrize(
    ("number", "why"),
    [(signal.SIGINT, WhyStopped.INTERRUPTED), (signal.SIGTERM, WhyStopped.TERMINATED)],
)
def test_signals_ask_within_the_block_and_are_as_before_after_it(
    number: signal.Signals, why: WhyStopped
) -> None:
    before = signal.getsignal(number)
    stop = Stop()
    with stop.heeding_signals():
        os.kill(os.getpid(), number)
        assert stop.wait(5)
        assert stop.why is why
    assert signal.getsignal(number) is before

"""One answer to "go on?": signals, and whoever else wants a run to end, ask here.

A signal only sets a flag: KeyboardInterrupt inside a driver would leave a connection in
the middle of its protocol. Statements are short by their own limits, so the flag is seen
soon.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from idemctl.domain.outcomes import WhyStopped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_SIGNALS = {
    signal.SIGINT: WhyStopped.INTERRUPTED,
    signal.SIGTERM: WhyStopped.TERMINATED,
}


class Stop:
    """Whether to stop, and why; the first reason stays."""

    def __init__(self) -> None:
        # No Event: a signal's handler interrupts whoever waits, and both would want the
        # lock inside it. Opening a lock needs no other.
        self._barred = threading.Lock()
        self._barred.acquire()
        self.why: WhyStopped | None = None

    def ask(self, why: WhyStopped) -> None:
        """Ask the run to stop at its next checkpoint."""
        if self.why is None:
            self.why = why
            with suppress(RuntimeError):  # Somebody else asked in this very moment.
                self._barred.release()

    def wait(self, seconds: float) -> bool:
        """Rest, but no longer than until somebody asks to stop; tell whether one did."""
        if not self._barred.acquire(timeout=seconds):
            return False
        self._barred.release()
        return True

    @contextmanager
    def heeding_signals(self) -> Iterator[None]:
        """Turn SIGINT and SIGTERM into a stop for the length of the block."""

        def on_signal(number: int, _frame: FrameType | None) -> None:
            self.ask(_SIGNALS[signal.Signals(number)])

        before = {number: signal.signal(number, on_signal) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def held_signals() -> Iterator[None]:
    """Hold SIGINT and SIGTERM back; a process that is started in the block never hears them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

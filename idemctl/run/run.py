"""A run: one execution of one verb, and the only place where it can be stopped."""

from __future__ import annotations

import secrets
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from idemctl.domain.outcomes import WhyStopped
from idemctl.errors import Frozen
from idemctl.run.pace import Pace, PaceName
from idemctl.run.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from idemctl.domain.throttle import Reason
    from idemctl.run.keeper import Keeper
    from idemctl.run.throttle import Throttle
    from idemctl.stores.locking import Lock

_LOCK_CHECK_SECONDS = 0.2
_FREEZE_CHECK_SECONDS = 1.0
_LOOK_SECONDS = 1.0
"""Between two looks whether the server has too much to do."""


class Stopped(Exception):
    """Raised by `Run.checkpoint`: finish tidily, and report how far it came."""

    def __init__(self, why: WhyStopped) -> None:
        super().__init__(why.value)
        self.why = why


class Freezes(Protocol):
    """Somebody who knows whether a store is frozen."""

    def refuse_frozen(self, *, midway: bool = False) -> None:
        """Raise `Frozen` where it is."""
        ...


class Progress(Protocol):
    """Somebody who wants to know how far a run is; silent by default."""

    def at(self, what: str, done: float, counts: Mapping[str, int]) -> None:
        """Hear that the share `done` of `what` lies behind; 0 where nobody knows.

        The first of the counts is of what is walked over; by it the rate is told.
        """
        ...

    def waits(self, why: str) -> None:
        """Hear that a run waits, and what for."""
        ...


class Workers(Protocol):
    """Those who share the work of a run."""

    def hold(self) -> None:
        """Let them do nothing after the step at which they are."""
        ...

    def go_on(self) -> None:
        """Let them."""
        ...


class Journal(Protocol):
    """Somebody who writes down what a run did."""

    def write(self, event: str, facts: Mapping[str, object]) -> None:
        """Keep one event."""
        ...


class Unheard:
    """Progress and journal of a run that nobody follows."""

    def at(self, what: str, done: float, counts: Mapping[str, int]) -> None:
        """See `Progress.at`."""

    def waits(self, why: str) -> None:
        """See `Progress.waits`."""

    def write(self, event: str, facts: Mapping[str, object]) -> None:
        """See `Journal.write`."""


def new_run_id(started_at: datetime) -> str:
    """Name a run so that names sort by time: `20261129T174500-3f9a0c`."""
    return f"{started_at:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


@dataclass(kw_only=True)
class Run:
    """What a verb is handed."""

    verb: str
    pace_name: PaceName = PaceName.GENTLE
    max_duration: timedelta | None = None
    stop: Stop = field(default_factory=Stop)
    progress: Progress = field(default_factory=Unheard)
    journal: Journal = field(default_factory=Unheard)
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    id: str = ""
    keepers: Mapping[str, Keeper] = field(default_factory=dict)
    """Of the stores that this run may write to, by name."""
    frozen: Frozen | None = field(default=None, init=False)
    """Why the store at hand was frozen meanwhile."""

    def __post_init__(self) -> None:
        self.id = self.id or new_run_id(self.started_at)
        self._pace = Pace(name=self.pace_name)
        self._began = time.monotonic()
        self._lock: Lock | None = None
        self._lock_seen = 0.0
        self._freezes: Freezes | None = None
        self._freezes_seen = 0.0
        self._throttle: Throttle | None = None
        self._looked = 0.0
        self._workers: Workers | None = None

    @property
    def application(self) -> str:
        """What the servers' administrators see."""
        return f"idemctl {self.verb} {self.id}"

    def checkpoint(self, took: timedelta = timedelta(0), units: int = 1) -> None:
        """Rest for as long as the pace asks after a step that took so long.

        Args:
            took: the step.
            units: pages or records in it, by which steps of different size compare.

        Raises:
            Stopped: on a signal, at the deadline, when the lock was lost or the store frozen, and
                when its server had too much to do for too long.
            IdemctlError: whether it is frozen can be told by no store any more.
        """
        self._answer()
        self.await_calm()
        rest = self._pace.rest_after(took, units)
        left = self._left()
        if left is not None:
            rest = min(rest, max(left, 0.0))
        # Also without a rest: whoever asked meanwhile is heard before the next step.
        self.stop.wait(rest)
        self._answer()

    def rest(self, length: timedelta) -> None:
        """Wait for something that takes its time, whatever the pace.

        Raises:
            Stopped: as `checkpoint` does.
        """
        self._answer()
        left = self._left()
        seconds = length.total_seconds()
        self.stop.wait(seconds if left is None else max(min(seconds, left), 0.0))
        self._answer()

    def await_calm(self) -> None:
        """Wait while the server has too much to do; also before the first step of all.

        Raises:
            Stopped: as `checkpoint` does, but not at a deadline where nothing is to be waited for.
        """
        throttle = self._throttle
        if throttle is None or time.monotonic() - self._looked < _LOOK_SECONDS:
            return
        why = self._look(throttle)
        if not why:
            return
        began = time.monotonic()
        told: set[str] = set()
        if self._workers is not None:
            self._workers.hold()
        try:
            while why:
                self._tell(why, told)
                left = began + throttle.settings.longest_wait.total_seconds() - time.monotonic()
                if left <= 0:
                    raise Stopped(WhyStopped.THROTTLED)
                self.stop.wait(min(left, self._left() or _LOOK_SECONDS, _LOOK_SECONDS))
                self._answer()
                why = self._look(throttle)
        finally:
            throttle.waited.total += timedelta(seconds=time.monotonic() - began)
            if self._workers is not None:
                self._workers.go_on()

    @contextmanager
    def throttled(self, throttle: Throttle) -> Iterator[None]:
        """Wait for the server at every checkpoint of the block, where it asks for that."""
        self._throttle, self._looked = throttle, 0.0
        try:
            yield
        finally:
            self._throttle = None

    @contextmanager
    def leading(self, workers: Workers) -> Iterator[None]:
        """Let others wait with this run, for the length of the block."""
        self._workers = workers
        try:
            yield
        finally:
            self._workers = None

    @contextmanager
    def holding(self, lock: Lock) -> Iterator[None]:
        """Watch a lock for the length of the block, and give it back at its end."""
        self._lock, self._lock_seen = lock, time.monotonic()
        try:
            yield
        finally:
            self._lock = None
            lock.release()

    @contextmanager
    def heeding(self, freezes: Freezes) -> Iterator[None]:
        """Stop when the store is frozen during the block."""
        self._freezes, self._freezes_seen, self.frozen = freezes, time.monotonic(), None
        try:
            yield
        finally:
            self._freezes = None

    def _answer(self) -> None:
        if self.stop.why is not None:
            raise Stopped(self.stop.why)
        left = self._left()
        if left is not None and left <= 0:
            raise Stopped(WhyStopped.DEADLINE)
        if self._lock is not None and time.monotonic() - self._lock_seen > _LOCK_CHECK_SECONDS:
            self._lock_seen = time.monotonic()
            if not self._lock.is_held():
                raise Stopped(WhyStopped.LOCK_LOST)
        self._heed()

    def _look(self, throttle: Throttle) -> list[Reason]:
        why_stop = throttle.why_stop()
        if why_stop is not None:
            raise Stopped(why_stop)
        why = throttle.look()
        self._looked = time.monotonic()
        throttle.waited.heard(why)
        return why

    def _tell(self, why: list[Reason], told: set[str]) -> None:
        """Say what is waited for, each kind of reason once: its numbers change all the time."""
        for one in why:
            if one.strain not in told:
                told.add(one.strain)
                self.progress.waits(one.says)
                self.journal.write("wait", {"strain": one.strain.value, "says": one.says})

    def _heed(self) -> None:
        now = time.monotonic()
        if self._freezes is None or now - self._freezes_seen <= _FREEZE_CHECK_SECONDS:
            return
        self._freezes_seen = now
        try:
            self._freezes.refuse_frozen(midway=True)
        except Frozen as frozen:
            self.frozen = frozen
            raise Stopped(WhyStopped.FROZEN) from None

    def _left(self) -> float | None:
        if self.max_duration is None:
            return None
        return self.max_duration.total_seconds() - (time.monotonic() - self._began)

"""Shards as processes: each works one part of a store with connections of its own.

Children never hear signals. They stop before their next step when the parent says so, or when
the parent is gone: its end of the pipe closes. What they did comes up the pipe step by
step, so that the parent's sums are the effects, whenever it ends.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from idemctl.domain.outcomes import WhyStopped
from idemctl.errors import ExitStatus, IdemctlError
from idemctl.run.collector import collect_rarely
from idemctl.run.run import Run, Stopped
from idemctl.run.stop import held_signals
from idemctl.stores.answers import Shard

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from datetime import timedelta

    from idemctl.run.pace import PaceName

_WATCH_SECONDS = 0.5
_PATIENCE_SECONDS = 5.0
_STOP, _HOLD, _GO_ON = "stop", "hold", "go on"


class Step(Protocol):
    """What a worker tells of one step."""

    @property
    def took(self) -> timedelta:
        """How long it took."""
        ...

    @property
    def units(self) -> int:
        """How much was done, by which steps of different size compare."""
        ...


Done_co = TypeVar("Done_co", bound=Step, covariant=True)


class Task(Protocol[Done_co]):
    """Work on one shard; must survive pickling, for it is carried to another process."""

    def steps(self, shard: Shard) -> Generator[Done_co]:
        """Open what is needed and do the work, a step at a time."""
        ...


class WorkerLost(IdemctlError):
    """A worker was killed: what it did last is done, and untold."""

    status = ExitStatus.PARTIAL


class ShardedWalk(Generic[Done_co]):
    """The steps of all shards, in the order in which they were done."""

    def __init__(
        self, task: Task[Done_co], count: int, pace: PaceName, *, watch: Callable[[], None]
    ) -> None:
        """Start the children.

        Args:
            task: what each of them does.
            count: how many.
            pace: theirs, each for itself.
            watch: called while nobody has anything to tell; may raise, and the walk can be
                gone through again to hear the rest.
        """
        self._watch: Callable[[], None] | None = watch
        context = multiprocessing.get_context("spawn")
        self._pipes: list[Connection] = []
        self._children = []
        # It would start with the first child, and let signals through again.
        resource_tracker.ensure_running()
        with held_signals():
            for index in range(count):
                ours, theirs = context.Pipe()
                child = context.Process(
                    target=_work, args=(task, Shard(index, count), pace, theirs), daemon=True
                )
                child.start()
                theirs.close()
                self._pipes.append(ours)
                self._children.append(child)

    def __iter__(self) -> Iterator[Done_co]:
        """Yield steps until every child has ended.

        Raises:
            IdemctlError: what the first failing child met; the others were stopped.
        """
        failure: IdemctlError | None = None
        while self._pipes:
            ready = wait(self._pipes, timeout=_WATCH_SECONDS)
            if not ready and self._watch is not None:
                self._watch()
            for pipe in ready:
                assert isinstance(pipe, Connection)
                try:
                    message = pipe.recv()
                except (EOFError, ConnectionResetError):
                    self._pipes.remove(pipe)
                    continue
                if isinstance(message, IdemctlError):
                    failure = failure or message
                    self.ask_to_stop()
                else:
                    yield message
        for child in self._children:
            child.join()
        if failure is not None:
            raise failure
        if any(child.exitcode for child in self._children):
            raise WorkerLost("a worker process ended unexpectedly", hint="run again; it is safe")

    def ask_to_stop(self) -> None:
        """Let every child finish its step; go on reading until they have ended."""
        self._watch = None
        self._say(_STOP)

    def hold(self) -> None:
        """See `Workers.hold`."""
        self._say(_HOLD)

    def go_on(self) -> None:
        """See `Workers.go_on`."""
        self._say(_GO_ON)

    def _say(self, word: str) -> None:
        for pipe in self._pipes:
            try:
                pipe.send(word)
            except OSError:
                continue

    def close(self) -> None:
        """Leave no child behind, whatever happened; harmless after the end."""
        self.ask_to_stop()
        for pipe in self._pipes:
            pipe.close()
        for child in self._children:
            child.join(_PATIENCE_SECONDS)
            if child.exitcode is None:
                # It heard neither the word nor the end of the pipe.
                child.kill()
                child.join()


def _work(task: Task[Step], shard: Shard, pace: PaceName, pipe: Connection) -> None:
    collect_rarely()
    run = Run(verb="shard", pace_name=pace)
    may_go_on = threading.Event()
    may_go_on.set()
    threading.Thread(target=_listen, args=(pipe, run, may_go_on), daemon=True).start()
    try:
        with contextlib.closing(task.steps(shard)) as steps:
            for chunk in steps:
                pipe.send(chunk)
                may_go_on.wait()
                run.checkpoint(chunk.took, chunk.units)
    except IdemctlError as error:
        pipe.send(error)
    except (Stopped, BrokenPipeError):
        pass
    except Exception as error:  # noqa: BLE001 (its traceback could show what no one may see)
        unexpected = f"unexpected {type(error).__name__} in a worker process"
        pipe.send(IdemctlError(unexpected, hint="this is a bug: please report what you ran"))
    pipe.close()


def _listen(pipe: Connection, run: Run, may_go_on: threading.Event) -> None:
    with contextlib.suppress(EOFError, OSError):
        while (word := pipe.recv()) != _STOP:
            (may_go_on.clear if word == _HOLD else may_go_on.set)()
    run.stop.ask(WhyStopped.TERMINATED)
    may_go_on.set()

"""Going through the steps of a walk until its end, or until the run must stop."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from idemctl.domain.outcomes import WhyStopped
from idemctl.run.run import Stopped
from idemctl.run.shards import ShardedWalk, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from idemctl.run.run import Run

S = TypeVar("S", bound=Step)


def go_through(
    steps: ShardedWalk[S] | Generator[S], run: Run, hear: Callable[[S], None]
) -> WhyStopped:
    """Hear every step that was done, also of workers that are asked to stop.

    Workers keep a pace of their own, so the run rests only where it walks itself.

    Raises:
        IdemctlError: what a step met; all steps before it were heard.
    """
    sharded = isinstance(steps, ShardedWalk)
    with closing(steps):
        try:
            for step in steps:
                hear(step)
                run.checkpoint(timedelta(0) if sharded else step.took, step.units)
        except Stopped as stopped:
            if isinstance(steps, ShardedWalk):
                steps.ask_to_stop()
                for step in steps:
                    hear(step)
            return stopped.why
    return WhyStopped.DONE

"""The brakes of gc on one table: reads what they need, and lets the domain decide."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from idemctl.domain import brakes
from idemctl.domain.brakes import Brake, Ruling
from idemctl.domain.outcomes import WhyStopped
from idemctl.errors import ExitStatus, IdemctlError, Refused
from idemctl.run.run import Stopped
from idemctl.stores.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from idemctl.domain.allowance import Allowance
    from idemctl.domain.brakes import Cap, Decision
    from idemctl.domain.past_runs import PastRun
    from idemctl.domain.retention import Retention
    from idemctl.domain.skew import Skew
    from idemctl.run.run import Run
    from idemctl.run.target import Target
    from idemctl.stores.ports import Store


Past = Callable[[str, str], "Sequence[PastRun] | None"]
"""Tells earlier runs by store and place, oldest first; `None` where no history is kept."""


def no_history(_store: str, _place: str) -> None:
    """Keep none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What there is beside a table."""

    twin: Target | None
    """The Redis side of the same store."""
    past: Past


@dataclass(frozen=True, slots=True, kw_only=True)
class Braked:
    """What the brakes did."""

    decisions: tuple[Decision, ...] = ()
    why: WhyStopped | None = None
    """Why nothing may go; `None` where all is well."""
    refusal: Refused | None = None


@dataclass(frozen=True, kw_only=True)
class Braking:
    """What the brakes go by."""

    target: Target
    place: str
    store: Store
    retention: Retention
    row_count: int | None
    """About how many rows there are."""
    beside: Beside
    clock_ahead: timedelta
    """How far the store's clock is ahead of this host's."""
    despite: frozenset[Brake] = field(default_factory=frozenset)
    limit: int | None = None

    @cached_property
    def past(self) -> Sequence[PastRun] | None:
        """Earlier runs on this table."""
        return self.beside.past(self.target.store, self.place)

    @cached_property
    def cap(self) -> Cap:
        """How many records may have expired."""
        return brakes.cap_of(self.row_count, self.past)

    def brake(self, run: Run, allowance: Allowance) -> Braked:
        """Decide whether anything may go; of what cannot be counted no more than the cap."""
        try:
            count = self._counted(run)
        except Stopped as stopped:
            return Braked(why=stopped.why)
        if count is None:
            allowance.left = self.cap.count
        decisions = self.decisions(count)
        refusal = self._refusal(decisions)
        why = None if refusal is None else WhyStopped.BRAKED
        return Braked(decisions=decisions, why=why, refusal=refusal)

    def decisions(self, count: int | None) -> tuple[Decision, ...]:
        """Let every brake decide.

        Args:
            count: how many records have expired; `None` where that is not known.
        """
        promises = brakes.Promises.of(self.retention, self.target.policies)
        made = [
            brakes.NOT_COUNTED
            if Brake.VOLUME in self.despite
            else brakes.judge_volume(count, self.cap, self.past, limit=self.limit),
            brakes.judge_promises(promises, self.past),
            brakes.judge_jump(self.clock_ahead, self.past),
            brakes.judge_pause(self.retention.cutoff, self.past),
        ]
        if self.beside.twin is not None:
            made.append(brakes.judge_skew(self._redis_ahead(self.beside.twin)))
        return tuple(one.despite(self.despite) for one in made)

    def _counted(self, run: Run) -> int | None:
        """Count what has expired, until it is too much; `None` where that failed.

        Raises:
            Stopped: as `Run.checkpoint` does.
        """
        if self.limit is not None or Brake.VOLUME in self.despite:
            # Nothing is left to decide, so nothing is read for it.
            return 0
        count, before = 0, None
        steps = self.store.count_expired(self.retention, self.cap.count)
        with closing(steps):
            try:
                for chunk in steps:
                    count += chunk.candidates
                    # Between steps only: a deadline that is over already still lets a small
                    # table have its batch.
                    if before is not None:
                        run.checkpoint(before.took, before.units)
                    before = chunk
            except IdemctlError as error:
                if error.status is not ExitStatus.PARTIAL:
                    raise
                # A lock or a time limit was in the way.
                return None
        return count

    def _redis_ahead(self, twin: Target) -> Skew | str:
        try:
            with closing(twin.opens.open(writable=False)) as redis:
                return Clock.measured(self.store, redis, self.target.store).redis_ahead
        except IdemctlError as error:
            return f"how far the clock of Redis is: {error.message}"

    def _refusal(self, decisions: Sequence[Decision]) -> Refused | None:
        refusing = [one for one in decisions if one.ruling is Ruling.REFUSES]
        if not refusing:
            return None
        said = "; ".join(one.says for one in refusing)
        flags = " ".join(one.flag for one in refusing)
        ways = [f"if that is right, {flags} goes on for this once"]
        if any(one.brake is Brake.VOLUME for one in refusing):
            ways.append("--limit N takes a piece at a time")
        return Refused(
            f"{self.target.store} ({self.place}): nothing was collected: {said}",
            hint="; ".join(ways),
        )

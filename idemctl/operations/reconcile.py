"""reconcile: Redis against Postgres, both ways.

Gather and decide are the comparison: what the two disagree on, seen twice. With `apply`,
what Redis owes and has not is written while its row in Postgres is held; after a flush that
is done for the whole table first, so that the application is helped before the accounts are.
Everything else is reported for a person.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.differences import Difference
from idemctl.domain.incident import blind_window
from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.sweeps import Totals
from idemctl.errors import ExitStatus, IdemctlError, Refused, worst
from idemctl.run.comparison import compare
from idemctl.run.evidence import gather
from idemctl.run.fitness import refuse_void
from idemctl.run.pairing import Sweep, SweepTask, opened, transcript_of
from idemctl.run.run import Stopped
from idemctl.run.walking import go_through
from idemctl.run.writing import writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from idemctl.domain.incident import BlindWindow, Evidence
    from idemctl.domain.sweeps import Suspects, Swept
    from idemctl.domain.verdicts import Judgement
    from idemctl.run.comparison import Comparison
    from idemctl.run.run import Run
    from idemctl.run.target import Pair
    from idemctl.run.writing import Door
    from idemctl.state.suspects import SuspectsFile
    from idemctl.stores.pair import OpenPair

_SAMPLE_FOR = timedelta(seconds=5)
"""How long rows are read at most before the sweeps, to tell a flush from the usual gaps."""
_MOSTLY = 0.5
"""A share of missing records from which on the whole table is filled at once. Wrong either
way it costs time only: every write is judged by itself."""
_ENDS_THE_RUN = {WhyStopped.INTERRUPTED, WhyStopped.TERMINATED, WhyStopped.LOCK_LOST}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the operator decided."""

    apply: bool = False
    workers: int = 1


@dataclass(kw_only=True)
class Reconciled:
    """What came of one pair."""

    pair: Pair
    evidence: Evidence | None = None
    """What a sample said before; `None` where the run ended in it."""
    comparison: Comparison | None = None
    """`None` until it began: then nothing is known of differences."""
    refill: Totals = field(default_factory=Totals)
    """What was written in one walk through the whole table."""
    filled_count: int = 0
    """What was written of differences seen twice."""
    filled_unknown_count: int = 0
    """What of them may be written, for all that is known."""
    settled_count: int = 0
    """Those of them that are none any more: filled, by whomever, or owed no more."""
    skipped_count: int = 0
    """What was missing and could not be held when its turn came: gone, or in other hands."""
    longest_hold_ms: float = 0.0
    witness: Judgement | None = None
    """What the witness says of the pair; `None` where there is none, or nothing was changed."""
    why_stopped: WhyStopped = WhyStopped.DONE
    failure: IdemctlError | None = None

    @property
    def missing_count(self) -> int | None:
        """What Redis owed and had not; `None` while nobody has looked at everything."""
        if self.comparison is None or not self.comparison.is_over:
            return None
        return self.refill.filled + self.comparison.counts[Difference.MISSING]

    @property
    def applied_count(self) -> int:
        """What was written."""
        return self.refill.filled + self.filled_count

    @property
    def unknown_count(self) -> int:
        """Twins of which nobody can tell whether they were written."""
        return self.refill.unknown + self.filled_unknown_count

    @property
    def left_count(self) -> int:
        """Differences that are known to be left for a person, or for the next run."""
        if self.comparison is None:
            return 0
        return self.comparison.counts.total() - self.settled_count - self.skipped_count

    @property
    def lacks_count(self) -> int:
        """What Redis owes and has not, after all that was written."""
        counts = self.comparison.counts if self.comparison is not None else {}
        return counts.get(Difference.MISSING, 0) - self.settled_count - self.skipped_count

    @property
    def is_whole(self) -> bool:
        """Whether all of it was compared, and nothing slipped away meanwhile."""
        compared = self.comparison is not None and self.comparison.is_whole
        return compared and not self.skipped_count

    @property
    def window(self) -> BlindWindow | None:
        """For how long nobody could tell a retry from a new request."""
        if self.evidence is None:
            return None
        pair = self.pair
        return blind_window(
            self.evidence, write_order=pair.write_order, on_redis_miss=pair.on_redis_miss
        )

    @property
    def status(self) -> ExitStatus:
        """Grade one pair."""
        statuses = [self.why_stopped.status]
        if self.left_count:
            statuses.append(ExitStatus.FINDINGS)
        if not self.is_whole and self.why_stopped in {WhyStopped.DONE, WhyStopped.DEADLINE}:
            statuses.append(ExitStatus.PARTIAL)
        if self.failure is not None:
            statuses.append(self.failure.status)
        return worst(statuses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a run of reconcile."""

    options: Options
    pairs: tuple[Reconciled, ...]
    failures: tuple[IdemctlError, ...] = ()
    """What kept pairs from being compared, or from being compared to their end."""

    @property
    def status(self) -> ExitStatus:
        """The exit status of the whole."""
        statuses = [one.status for one in self.pairs]
        return worst([*statuses, *(failure.status for failure in self.failures)])


def reconcile(
    pairs: Iterable[Pair], options: Options, run: Run, suspects: Callable[[], SuspectsFile]
) -> Outcome:
    """Compare each pair in turn, and with `apply` fill what Redis has not.

    Errors are part of the outcome, for each pair its own: what was written is there and must
    be told, and who does not answer is named.
    """
    done: list[Reconciled] = []
    failures: list[IdemctlError] = []
    for pair in pairs:
        one = Reconciled(pair=pair)
        try:
            with suspects() as file:
                _reconcile(one, options, run, file)
        except IdemctlError as error:
            one.failure = error
            one.why_stopped = WhyStopped.FAILED
        if one.failure is not None:
            failures.append(one.failure)
        if one.why_stopped is not WhyStopped.FAILED or one.applied_count or one.unknown_count:
            done.append(one)
        if one.why_stopped in _ENDS_THE_RUN:
            break
    return Outcome(options=options, pairs=tuple(done), failures=tuple(failures))


def _reconcile(one: Reconciled, options: Options, run: Run, suspects: SuspectsFile) -> None:
    with ExitStack() as stack:
        both = stack.enter_context(opened(one.pair, writable=options.apply))
        fill = door = None
        if options.apply:
            refuse_unsafe(one.pair)
            door = stack.enter_context(writing(one.pair.store, both.postgres, run))
        try:
            one.evidence = gather(both, one.pair.store, _SAMPLE_FOR, run).evidence
            refuse_void(both.redis, one.evidence, run)
        except Stopped as stopped:
            one.why_stopped, one.failure = stopped.why, run.frozen
            return
        if options.apply:
            filler = _Filler(one, both, run)
            fill = filler.fill
            if (one.evidence.missing_share or 0.0) > _MOSTLY:
                filler.refill(options.workers)
        if one.why_stopped is WhyStopped.DONE:
            one.comparison = compare(
                one.pair, both, run, suspects, workers=options.workers, on_stable=fill
            )
            one.why_stopped = one.comparison.why_stopped
        if door is not None:
            _end(one, door)


def _end(one: Reconciled, door: Door) -> None:
    """Raise the witness, once Redis has all that it owes; or say who froze the store."""
    one.failure = door.run.frozen
    if one.is_whole and not one.lacks_count:
        one.failure = door.end_well(after_filling=True)
    one.witness = door.judgement


def refuse_unsafe(pair: Pair) -> None:
    """Refuse to write where holding the row in Postgres would hold nobody back.

    Raises:
        Refused: the application writes Redis first, or nobody says that it does not.
        Unsupported: twins cannot be written without loss.
    """
    if pair.write_order != "postgres-first":
        known = pair.write_order == "redis-first"
        says = "writes Redis first" if known else "may write Redis first"
        raise Refused(
            f"{pair.store}: the application {says}, and then no lock in Postgres keeps a "
            "twin from being written over a newer state",
            hint="let its next requests fill Redis again"
            if known
            else "where it commits in Postgres first, say write_order: postgres-first",
        )
    transcript_of(pair)


class _Filler:
    """Writes what is missing, and keeps the count."""

    def __init__(self, one: Reconciled, both: OpenPair, run: Run) -> None:
        self._one = one
        self._both = both
        self._run = run

    def refill(self, workers: int) -> None:
        """Go through the whole table and write every twin that is owed and absent."""
        one, run = self._one, self._run
        walk = SweepTask(one.pair, Sweep.REFILL).walk(self._both, run, workers)
        one.why_stopped = go_through(walk, run, self._hear)

    def fill(self, stable: Suspects) -> None:
        """Write the missing ones of a portion of differences that were seen twice."""
        missing = stable.take(np.flatnonzero(stable.difference == Difference.MISSING))
        if not len(missing):
            return
        one = self._one
        filling = self._both.fill(transcript_of(one.pair), missing)
        one.filled_count += filling.filled_count
        one.filled_unknown_count += filling.unknown_count
        one.settled_count += filling.held_count
        one.skipped_count += len(missing) - filling.held_count
        self._note("keys", filling.filled_count, filling.held_for, filling.unknown_count)
        if filling.failure is not None:
            raise filling.failure

    def _hear(self, step: Swept) -> None:
        one = self._one
        one.refill = one.refill.plus(step)
        counts = {"filled": one.refill.filled}
        self._run.progress.at(f"{one.pair.store} refill", step.done, counts)
        self._note(step.part, step.filled, step.held_for, step.unknown)

    def _note(self, part: str, filled: int, held_for: timedelta, unknown: int) -> None:
        held_ms = held_for.total_seconds() * 1000
        self._one.longest_hold_ms = max(self._one.longest_hold_ms, held_ms)
        if filled or unknown:
            facts = {"store": self._one.pair.store, "part": part, "filled": filled}
            more = {"held_ms": round(held_ms, 3)} | ({"unknown": unknown} if unknown else {})
            self._run.journal.write("fill", facts | more)

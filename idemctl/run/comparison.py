"""Comparing a pair: both sweeps, and a second look at everything they suspect.

Between two commits of a live application every row is "missing" once. So what a sweep saw
goes to a file, and counts as a difference only when the same versions are seen again, a
while later.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.differences import Difference
from idemctl.domain.keys import is_text
from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.roll import KEY_BYTES, Roll
from idemctl.domain.shares import Hits, Sampled, interval
from idemctl.domain.sweeps import Totals
from idemctl.run.pairing import Sweep, SweepTask
from idemctl.run.run import Stopped
from idemctl.run.walking import go_through

if TYPE_CHECKING:
    from collections.abc import Callable

    from idemctl.domain.shares import Interval
    from idemctl.domain.sweeps import Suspects, Swept
    from idemctl.run.run import Run
    from idemctl.run.target import Pair
    from idemctl.state.suspects import SuspectsFile
    from idemctl.stores.asking import Reading
    from idemctl.stores.pair import OpenPair

_SETTLE = timedelta(seconds=2)
"""How long a difference has to stand still: longer than an application takes from one store
to the other."""
_MOST_KEPT = 1_001
"""Differences of a kind that are kept for the report, which shows a thousand."""


@dataclass(kw_only=True)
class Comparison:
    """What is known of one pair so far."""

    totals: Totals = field(default_factory=Totals)
    counts: Counter[Difference] = field(default_factory=Counter)
    """Differences that were seen twice."""
    textless_orphan_count: int = 0
    """Orphans among them whose keys are not text, so that no row can be theirs."""
    kept: dict[Difference, list[tuple[bytes, bytes]]] = field(default_factory=dict)
    """Key and scope of the first of each kind."""
    moving_count: int = 0
    """Suspects that were others, or none, at the second look: the application is at work."""
    unproven_count: int = 0
    """Suspects that could not be looked at again: too many, or the run ended before."""
    why_stopped: WhyStopped = WhyStopped.DONE
    _hits: dict[Difference, Hits] = field(default_factory=dict)
    _sampled: dict[str, Sampled] = field(default_factory=dict)

    def weigh(self, step: Swept) -> None:
        """Remember of a step of a sample how many of its records are suspects of each kind."""
        size = step.postgres_scanned + step.redis_scanned
        self._sampled.setdefault(step.part, Sampled()).add(size)
        for difference, count in Totals().plus(step).seen.items():
            self._hits.setdefault(difference, Hits()).add(count, size)

    def share(self, difference: Difference) -> Interval | None:
        """Estimate which share of a side's records a difference has; None where all were read.

        What is missing is a part of the rows, and everything else of the keys in Redis.
        """
        side = "postgres" if difference is Difference.MISSING else "redis"
        if side not in self._sampled:
            return None
        hits = self._hits.get(difference, Hits()).scaled(self.counts[difference])
        return interval(hits, self._sampled[side])

    @property
    def is_over(self) -> bool:
        """Whether it came to its end."""
        return self.why_stopped is WhyStopped.DONE

    @property
    def is_whole(self) -> bool:
        """Whether everything was looked at, and every suspect twice."""
        return self.is_over and not self.unproven_count


def compare(
    pair: Pair,
    both: OpenPair,
    run: Run,
    suspects: SuspectsFile,
    *,
    workers: int = 1,
    read: Reading | None = None,
    is_sample: bool = False,
    on_stable: Callable[[Suspects], None] | None = None,
) -> Comparison:
    """Sweep both ways, wait, and look again; changes nothing itself.

    Args:
        pair: for the workers.
        both: its stores, opened.
        run: asked between steps whether to go on.
        suspects: where they are kept in between.
        workers: processes that share the sweeps.
        read: reads both sides for others, too, in this process.
        is_sample: whether that gives only some of the records, which stand for all.
        on_stable: told what was seen twice, portion by portion; who repairs does it there.

    Raises:
        IdemctlError: a store could not be read to its end.
    """
    comparison = Comparison()

    def hear(step: Swept) -> None:
        comparison.totals = comparison.totals.plus(step)
        if is_sample:
            comparison.weigh(step)
        for some in step.suspects:
            suspects.add(some)
        totals = comparison.totals
        run.progress.at(
            f"{pair.store} from {step.part}",
            _done(totals, step, both.row_estimate),
            {"records": totals.postgres_scanned + totals.redis_scanned, "equal": totals.equal},
        )

    if read is None:
        comparison.why_stopped = _sweep(pair, both, run, workers, hear)
    else:
        comparison.why_stopped = go_through(both.both_ways(read), run, hear)
    has_lost = comparison.totals.has_lost and not is_sample
    if comparison.why_stopped is WhyStopped.DONE and has_lost:
        comparison.totals = replace(comparison.totals, postgres_scanned=0, equal=0)
        walk = SweepTask(pair, Sweep.FROM_POSTGRES).walk(both, run, workers)
        comparison.why_stopped = go_through(walk, run, hear)
    looked_at = _look_again(comparison, both, run, suspects, on_stable)
    comparison.unproven_count = suspects.count - looked_at
    return comparison


def _sweep(
    pair: Pair, both: OpenPair, run: Run, workers: int, hear: Callable[[Swept], None]
) -> WhyStopped:
    """Call the roll, and look from Redis only at what was not called, or did not answer."""
    roll, key = Roll(), secrets.token_bytes(KEY_BYTES)

    def hear_roll(step: Swept) -> None:
        if step.judged is not None:
            roll.judged(step.judged)
        if step.listed is not None:
            roll.listed(step.listed)
        hear(step)

    task = SweepTask(pair, Sweep.CALL_ROLL, key=key)
    why_stopped = go_through(task.walk(both, run, workers), run, hear_roll)
    uneven = roll.uneven(key)
    if why_stopped is not WhyStopped.DONE or uneven is None:
        return why_stopped
    task = SweepTask(pair, Sweep.FROM_REDIS, among=uneven)
    # Their names were counted as they were listed.
    return go_through(
        task.walk(both, run, workers), run, lambda step: hear(replace(step, redis_scanned=0))
    )


def _done(totals: Totals, step: Swept, row_estimate: int | None) -> float:
    """Estimate which share of a sweep lies behind: Redis holds about what it owes."""
    if step.part == "postgres":
        scanned, of = totals.postgres_scanned, row_estimate or 0
    else:
        missing = totals.seen.get(Difference.MISSING, 0)
        scanned, of = totals.redis_scanned, totals.equal + sum(totals.seen.values()) - missing
    return min(0.99, scanned / of) if of else 0.0


def _look_again(
    comparison: Comparison,
    both: OpenPair,
    run: Run,
    suspects: SuspectsFile,
    on_stable: Callable[[Suspects], None] | None,
) -> int:
    """Look at every suspect once more; give how many that were."""
    looked_at = 0
    if comparison.why_stopped is not WhyStopped.DONE or not comparison.totals.seen:
        return looked_at
    try:
        run.rest(_SETTLE)
        for portion in suspects.portions():
            started = time.perf_counter()
            again = both.look_again(portion)
            stands = (again.difference == portion.difference) & (again.versions == portion.versions)
            stable = portion.take(np.flatnonzero(stands))
            _keep(comparison, stable)
            comparison.moving_count += len(portion) - len(stable)
            looked_at += len(portion)
            if on_stable is not None and len(stable):
                on_stable(stable)
            run.checkpoint(timedelta(seconds=time.perf_counter() - started), len(portion))
    except Stopped as stopped:
        comparison.why_stopped = stopped.why
    return looked_at


def _keep(comparison: Comparison, stable: Suspects) -> None:
    for key, scope, number in zip(
        stable.keys, stable.scopes, stable.difference.tolist(), strict=True
    ):
        difference = Difference(number)
        comparison.counts[difference] += 1
        if difference is Difference.ORPHAN and not is_text(key):
            comparison.textless_orphan_count += 1
        kept = comparison.kept.setdefault(difference, [])
        if len(kept) < _MOST_KEPT:
            kept.append((key, scope))

"""Looking at one place with all checks at once: its records, then what lies beside them."""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from idemctl.checks.check import Source
from idemctl.checks.registry import CHECKS
from idemctl.domain.circumstances import KEEPS_ALL, RedisCircumstances
from idemctl.domain.credentials import Exposure
from idemctl.domain.differences import Difference
from idemctl.domain.growth import Measure, Measured, Where, growth
from idemctl.domain.inspections import Inspection
from idemctl.domain.instants import to_micros
from idemctl.domain.keys import is_text
from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.sight import Engine
from idemctl.errors import ExitStatus, IdemctlError, Unreachable, Unsupported
from idemctl.run.examinations import examination_of
from idemctl.run.fitness import refuse_blindness, refuse_primary
from idemctl.run.locks import Locks
from idemctl.run.pairing import skew_of
from idemctl.run.run import Stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from idemctl.checks.check import Check
    from idemctl.domain.batch import Batch
    from idemctl.domain.circumstances import Circumstances
    from idemctl.run.comparison import Comparison
    from idemctl.run.run import Run
    from idemctl.run.target import Pair, Target
    from idemctl.state.repeats import Repeats
    from idemctl.stores.ports import Store

STOPPED_BEFORE = "the run was stopped before"
_SAMPLED = "only some records were looked at"
_NO_KEY = "no key has this prefix; is it the right one?"
_ENOUGH_HEADERS = 1_000
"""Records whose headers are looked at: who keeps them keeps them in most records."""
_BY_ITSELF = {ExitStatus.PARTIAL, ExitStatus.REFUSED}
"""How a look fails that says nothing of the store as a whole."""


class Look:
    """A look at one place, whose store is open."""

    def __init__(
        self,
        target: Target,
        store: Store,
        repeats: Repeats,
        locks: Repeats,
        *,
        is_paired: bool,
        backlog_after: timedelta,
        checks: Iterable[Check] = CHECKS,
        measured: Callable[[Where], Sequence[Measure]] = lambda _where: (),
    ) -> None:
        """Ask the store what it is, and what time it is there.

        Raises:
            IdemctlError: it does not answer, or hides some of its records.
        """
        description = store.describe()
        refuse_blindness(description)
        refuse_primary(target, description)
        clock = store.clock()
        self.target = target
        self.place = target.named(description.place)
        self.row_estimate = description.row_estimate
        self._where = Where(store=target.store, place=self.place, server=description.server)
        self.examination = examination_of(
            target,
            store.pattern,
            clock,
            is_paired=is_paired,
            backlog_after=backlog_after,
            checks=checks,
            # What was only found may have been called otherwise, or something else, before.
            measured=measured(self._where) if target.is_configured else (),
        )
        self._circumstances: Circumstances | None = None
        self._store = store
        self._repeats = repeats
        self._locks = Locks(locks)
        self._asks_for_locks = bool(self.examination.makes(Source.LOCKS))
        self._group = self.examination.group
        # A scan may take hours, and a key that was written meanwhile may live its time.
        self._clock, self._began = to_micros(clock), time.monotonic()

    def see(self, batch: Batch) -> None:
        """Make every check on one batch."""
        self.examination.see(batch, self._clock + round((time.monotonic() - self._began) * 1e6))
        if self._group is not None:
            self._repeats.add(batch.keys, self._group(batch))
        if self._asks_for_locks:
            self._locks.see(batch)

    def scan(self, run: Run, sample: int | None = None) -> WhyStopped:
        """Read and look; see `read`."""
        return self._go_through(self.read(sample), run, most=sample)

    def read(self, sample: int | None = None) -> Iterator[Batch]:
        """Give every record after a look at it; or so many from all over the place, for all."""
        for batch in self._store.scan() if sample is None else self._some(sample):
            self.see(batch)
            yield batch

    def _some(self, sample: int) -> Iterator[Batch]:
        for batch in self._store.sample():
            if self.examination.overview.seen_count >= sample:
                self.examination.is_sample = True
                return
            yield batch

    def look_beyond(self, run: Run, why: WhyStopped) -> WhyStopped:
        """Look at what the records alone do not tell; what there is no time for is not judged."""
        steps: dict[Source, Callable[[str, Run], WhyStopped]] = {
            Source.CHILD: partial(self._inspect, Inspection.REPEATED_STEPS),
            Source.ORDER: partial(self._inspect, Inspection.OVERTAKEN),
            Source.LOCKS: self._count_locks,
            Source.HEADERS: self._show_headers,
        }
        for source, step in steps.items():
            for code in self.examination.makes(source):
                if why is WhyStopped.DONE:
                    why = step(code, run)
                else:
                    self.examination.give_up(code, STOPPED_BEFORE)
        return why

    def _inspect(self, what: Inspection, code: str, run: Run) -> WhyStopped:
        """Look at records beside other rows, where the layout says which those are."""

        def add(batch: Batch) -> None:
            self.examination.add(code, len(batch), zip(batch.keys, batch.scopes, strict=True))

        try:
            return self._go_through(self._store.inspect(what), run, add)
        except IdemctlError as error:
            if error.status not in _BY_ITSELF:
                raise
            self.examination.give_up(code, error.message)
        return WhyStopped.DONE

    def consider(self) -> None:
        """Look at what the server says of the place."""
        try:
            self._circumstances = self._store.circumstances()
            self.examination.consider(self._circumstances)
        except IdemctlError as error:
            for code in self.examination.makes(Source.CIRCUMSTANCES):
                self.examination.give_up(code, error.message)

    def measured(self, *, is_whole: bool) -> Measured | None:
        """Say how much there is: of records only where all were seen."""
        if not self.target.is_configured:
            return None
        facts, overview = self.examination.facts, self.examination.overview
        server = self._circumstances
        # Of a cluster each server fills by itself: there is no one number.
        known = server if isinstance(server, RedisCircumstances) and not server.server else None
        memory, limit = (known.memory_used, known.memory_limit) if known else (None, None)
        is_whole = is_whole and not self.examination.is_sample
        now = Measure(
            at=facts.retention.cutoff,
            records=overview.seen_count if is_whole else None,
            size=overview.size if is_whole else None,
            memory=memory if isinstance(memory, int) else None,
        )
        return Measured(
            where=self._where,
            now=now,
            growth=growth(facts.measured, now),
            memory_limit=limit if isinstance(limit, int) else None,
            evicts=known is not None and known.eviction_policy != KEEPS_ALL,
        )

    def _show_headers(self, _code: str, run: Run) -> WhyStopped:
        """Look for credentials among the headers of some records."""
        exposure = Exposure()
        why = self._go_through(self._some_headers(exposure), run, exposure.see)
        self.examination.consider(exposure, Source.HEADERS)
        return why

    def _some_headers(self, exposure: Exposure) -> Iterator[Batch]:
        for batch in self._store.headers():
            if exposure.seen_count >= _ENOUGH_HEADERS:
                return
            yield batch

    def compare_clocks(self, pair: Pair) -> None:
        """Look at how far the clocks of both sides are apart."""
        for code in self.examination.makes(Source.CLOCKS):
            try:
                self.examination.consider(skew_of(pair), Source.CLOCKS)
            except IdemctlError as error:
                self.examination.give_up(code, error.message)

    def _count_locks(self, code: str, run: Run) -> WhyStopped:
        """Look again at the locks that were seen beside their records."""
        why_unseen = _SAMPLED if self.examination.is_sample else self._locks.why_incomplete
        if why_unseen is not None:
            self.examination.give_up(code, why_unseen)
            return WhyStopped.DONE
        try:
            forgotten = self._locks.forgotten(self._store, run)
        except Unsupported as error:
            self.examination.give_up(code, error.message)
            return WhyStopped.DONE
        except Stopped as stopped:
            self.examination.give_up(code, STOPPED_BEFORE)
            return stopped.why
        self.examination.add(code, len(forgotten), forgotten)
        return WhyStopped.DONE

    def count_repeats(self) -> None:
        """Look at the keys that several records have."""
        for code in self.examination.makes(Source.REPEATS):
            if self.examination.is_sample:
                self.examination.give_up(code, _SAMPLED)
                continue
            for key in self._repeats.found():
                self.examination.add(code, 1, [(key, b"")])
            if self._repeats.why_incomplete is not None:
                self.examination.give_up(code, self._repeats.why_incomplete)

    def count_twins(self, comparison: Comparison, rows: Look) -> Unreachable | None:
        """Take over the differences that were seen twice.

        Args:
            comparison: of both sides.
            rows: the look at the other side.

        Returns:
            Why nothing can be said, where Redis shows nothing of what Postgres expects there.
        """
        counts, examination = comparison.counts, self.examination
        for difference in Difference:
            code = difference.label
            count, kept = counts[difference], comparison.kept.get(difference, [])
            if difference is Difference.ORPHAN:
                # No row of such a key was lost: there can be none. It has a check of its own.
                count -= comparison.textless_orphan_count
                kept = [(key, scope) for key, scope in kept if is_text(key)]
            if comparison.why_stopped is not WhyStopped.DONE:
                examination.give_up(code, "the run was stopped before the second look")
            elif not count and comparison.unproven_count:
                seen_once = f"{comparison.unproven_count:,} differences were seen only once"
                examination.give_up(code, seen_once)
            else:
                look = rows if difference is Difference.MISSING else self
                is_sample = look.examination.is_sample
                share = comparison.share(difference) if is_sample else None
                examination.add(code, count, kept, share)
        owed = counts[Difference.MISSING]
        if examination.overview.seen_count or not owed:
            return None
        return Unreachable(
            f"{self.place}: cannot judge: no key has this prefix, and Postgres expects {owed:,}",
            hint="if url and prefix are right, idemctl diagnose tells what happened",
        )

    def give_up_if_empty(self) -> None:
        """Say that nothing was judged where no key has the prefix: it may be a wrong one."""
        if self.target.engine is Engine.REDIS and not self.examination.overview.seen_count:
            nothing = "no key is read through this layout" if self.target.is_shared else _NO_KEY
            self.examination.give_up_all(nothing)

    def _go_through(
        self,
        batches: Iterator[Batch],
        run: Run,
        hear: Callable[[Batch], None] = lambda _: None,
        most: int | None = None,
    ) -> WhyStopped:
        started = time.perf_counter()
        try:
            for batch in batches:
                took = timedelta(seconds=time.perf_counter() - started)
                hear(batch)
                what = f"{self.target.store} {self.place}"
                counts = {"records": self.examination.overview.seen_count}
                run.progress.at(what, self._done(most), counts)
                run.checkpoint(took, max(len(batch), 1))
                started = time.perf_counter()
        except Stopped as stopped:
            return stopped.why
        return WhyStopped.DONE

    def _done(self, most: int | None) -> float:
        """Estimate which share of a walk lies behind that ends after `most` records."""
        seen_count = self.examination.overview.seen_count
        shares = (seen_count / of for of in (self.row_estimate, most) if of)
        return min(max(self._store.done, *shares, 0.0), 1.0)

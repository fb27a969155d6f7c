"""audit: what is wrong, in every place of every store.

Each record is read once, and every check looks at it; of a pair the sweeps of the comparison
are that reading. Nothing is changed. What could not be looked at, and what the layout does not
show, is said: it is never taken for nothing.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from idemctl.checks.check import Source
from idemctl.checks.registry import BY_CODE
from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.sight import Engine, FailureMode, Sight, view
from idemctl.errors import IdemctlError
from idemctl.run.audited import Audited, Outcome, Past, StoreSight, Surroundings
from idemctl.run.comparison import compare
from idemctl.run.examinations import examination_of, hear
from idemctl.run.examining import STOPPED_BEFORE, Look
from idemctl.run.pairing import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from idemctl.checks.examination import Examination
    from idemctl.domain.findings import Finding
    from idemctl.domain.growth import Measured
    from idemctl.run.audited import Options
    from idemctl.run.run import Run
    from idemctl.run.target import Pair, Target
    from idemctl.state.repeats import Repeats
    from idemctl.state.suspects import SuspectsFile
    from idemctl.stores.ports import Store

_MIXED = "not compared: a side has several layouts, and only twins of one are compared"


def audit(
    targets: Iterable[Target],
    pairs: Iterable[Pair],
    options: Options,
    run: Run,
    *,
    repeats: Callable[[], Repeats],
    suspects: Callable[[], SuspectsFile],
    past: Past | None = None,
    surroundings: Surroundings | None = None,
) -> Outcome:
    """Look at each store in turn; a failure is a part of the outcome.

    Args:
        targets: the sides of all stores.
        pairs: those of them that belong together.
        options: what the operator decided.
        run: asked between batches whether to go on.
        repeats: makes room for keys that several records have.
        suspects: opens a file for differences that were seen once.
        past: knows what earlier runs left behind.
        surroundings: what there is beside the targets, where those were only found.
    """
    beside = surroundings or Surroundings()
    stores: dict[str, list[Target]] = {}
    for target in targets:
        stores.setdefault(target.store, []).append(target)
    paired = {pair.store: pair for pair in pairs}
    auditor = _Auditor(options, run, repeats, suspects, past or Past())
    twinned = {store for store, sides in stores.items() if store in paired or _are_mixed(sides)}
    for store, sides in stores.items():
        if auditor.why_stopped is not WhyStopped.DONE:
            auditor.leave(sides, is_paired=store in twinned, why=STOPPED_BEFORE)
        elif not (store in paired and options.compares and auditor.look_at_pair(paired[store])):
            auditor.look_at_each(sides, paired.get(store), is_paired=store in twinned)
    return Outcome(
        options=options,
        sights=tuple(_sight(store, sides, store in paired) for store, sides in stores.items()),
        places=tuple(auditor.places),
        on=run.started_at.date(),
        failures=(*beside.failures, *auditor.failures),
        surroundings=beside,
    )


class _Auditor:
    """Goes from store to store, and keeps what was found."""

    def __init__(
        self,
        options: Options,
        run: Run,
        repeats: Callable[[], Repeats],
        suspects: Callable[[], SuspectsFile],
        past: Past,
    ) -> None:
        self.places: list[Audited] = []
        self.failures: list[IdemctlError] = []
        self.why_stopped = WhyStopped.DONE
        self._options = options
        self._run = run
        self._repeats = repeats
        self._suspects = suspects
        self._past = past
        self._told: set[tuple[str, Engine, str, str]] = set()
        self._incomparable = options.incomparable or "not compared"
        """Why the sides of the store at hand were not compared."""

    def look_at_pair(self, pair: Pair) -> bool:
        """Compare both sides while looking at them; false where that could not be done."""
        kept_count = len(self.places)
        try:
            with ExitStack() as stack:
                both = stack.enter_context(opened(pair, writable=False))
                suspects = stack.enter_context(self._suspects())
                looks = {
                    target.engine.value: self._look(
                        target,
                        store,
                        stack.enter_context(self._repeats()),
                        stack.enter_context(self._repeats()),
                        is_paired=True,
                    )
                    for target, store in ((pair.postgres, both.postgres), (pair.redis, both.redis))
                }
                comparison = compare(
                    pair,
                    both,
                    self._run,
                    suspects,
                    read=lambda side: looks[side].read(self._options.sample),
                    is_sample=self._options.sample is not None,
                )
                self.why_stopped = comparison.why_stopped
                unseen = looks[Engine.REDIS].count_twins(comparison, looks[Engine.POSTGRES])
                for look in looks.values():
                    self._finish(look, pair)
        except IdemctlError as error:
            # Each side is looked at by itself; whoever does not answer is found out there.
            self._incomparable = f"not compared: {error.message}"
            del self.places[kept_count:]
            return False
        self.failures += [unseen] if unseen is not None else []
        return True

    def look_at_each(self, sides: Sequence[Target], pair: Pair | None, *, is_paired: bool) -> None:
        """Look at sides one after the other."""
        for target in sides:
            if self.why_stopped is not WhyStopped.DONE:
                self.leave([target], is_paired=is_paired, why=STOPPED_BEFORE)
                continue
            try:
                with (
                    closing(target.opens.open(writable=False)) as store,
                    self._repeats() as repeats,
                    self._repeats() as locks,
                ):
                    look = self._look(target, store, repeats, locks, is_paired=is_paired)
                    why = _MIXED if _are_mixed(sides) else self._incomparable
                    for code in look.examination.makes(Source.TWINS):
                        look.examination.give_up(code, why)
                    if self._options.reads_records:
                        self.why_stopped = look.scan(self._run, self._options.sample)
                    self._finish(look, pair)
            except IdemctlError as error:
                self.failures.append(error)
                self.leave([target], is_paired=is_paired, why=error.message)

    def leave(self, sides: Iterable[Target], *, is_paired: bool, why: str) -> None:
        """Say of sides that nothing of them was judged."""
        for target in sides:
            # The layout alone knows the pattern; nothing is connected for it.
            with closing(target.opens.open(writable=False)) as store:
                pattern = store.pattern
            examination = examination_of(
                target,
                pattern,
                self._run.started_at,
                is_paired=is_paired,
                backlog_after=self._options.backlog_after,
                checks=self._options.checks,
            )
            examination.give_up_all(why)
            self._keep(target, examination, place=target.engine.value, row_estimate=None)

    def _look(
        self, target: Target, store: Store, repeats: Repeats, locks: Repeats, *, is_paired: bool
    ) -> Look:
        return Look(
            target,
            store,
            repeats,
            locks,
            is_paired=is_paired,
            backlog_after=self._options.backlog_after,
            checks=self._options.checks,
            measured=self._past.measured,
        )

    def _finish(self, look: Look, pair: Pair | None) -> None:
        """Do what comes after the records, and keep what was found."""
        if self.why_stopped is WhyStopped.DONE and self._options.reads_records:
            look.give_up_if_empty()
        self.why_stopped = look.look_beyond(self._run, self.why_stopped)
        look.count_repeats()
        look.consider()
        if look.examination.makes(Source.WITNESS):
            hear(look.examination, self._past.witness(look.target.store))
        if pair is not None:
            look.compare_clocks(pair)
        is_whole = self._options.reads_records and self.why_stopped is WhyStopped.DONE
        measured = look.measured(is_whole=is_whole)
        self._keep(look.target, look.examination, look.place, look.row_estimate, measured)

    def _is_news(self, finding: Finding) -> bool:
        """Whether what a server says of a place was not said when its last layout was looked at."""
        if BY_CODE[finding.code].source is not Source.CIRCUMSTANCES:
            return True
        said = (finding.store, finding.engine, finding.code, finding.evidence)
        is_news = said not in self._told
        self._told.add(said)
        return is_news

    def _keep(
        self,
        target: Target,
        examination: Examination,
        place: str,
        row_estimate: int | None,
        measured: Measured | None = None,
    ) -> None:
        findings = examination.findings(target.store, place)
        if target.is_shared:
            findings = [one for one in findings if self._is_news(one)]
        self.places.append(
            Audited(
                target=target,
                pattern=examination.facts.pattern,
                place=place,
                overview=examination.overview if self._options.reads_records else None,
                is_sample=examination.is_sample,
                row_estimate=row_estimate,
                measured=measured,
                last_gc=self._past.last_gc(target.store),
                findings=findings,
                checked=examination.checked,
                cannot_judge=examination.cannot_judge,
                why_stopped=self.why_stopped,
            )
        )


def _are_mixed(sides: Iterable[Target]) -> bool:
    """Whether these are two sides of which one has several layouts."""
    return len({one.engine for one in sides}) > 1 and any(one.is_shared for one in sides)


def _sight(store: str, sides: Sequence[Target], is_paired: bool) -> StoreSight:
    seen = frozenset[Sight]().union(*(target.sight for target in sides))
    seen |= {Sight.TWIN} if is_paired else set()
    return StoreSight(
        store=store,
        engine=min((target.engine for target in sides), default=Engine.POSTGRES),
        views=tuple(view(mode, seen) for mode in FailureMode),
    )

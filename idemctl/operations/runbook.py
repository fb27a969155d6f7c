"""runbook: a book walked through, step by step, with an operator who decides.

The diagnosis comes first: a book that does not apply to what is the matter is not begun.
Before an action its verb's own dry run shows what it would do. Verbs, and the person who is
asked, are handed in; every step is written down when it begins and when it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from idemctl.domain.outcomes import Report, WhyStopped
from idemctl.domain.runbooks import Kind, State, Taken, Walk
from idemctl.errors import ExitStatus, IdemctlError
from idemctl.run.run import Stopped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from idemctl.domain.runbooks import Book, Step
    from idemctl.run.run import Run

Verb = Callable[[Sequence[str]], Report]
"""Runs a verb with these words behind its name."""

DIAGNOSE = "diagnose"
_APPLY = "--apply"
_ANSWERS = {ExitStatus.OK, ExitStatus.FINDINGS, ExitStatus.PARTIAL}
"""What a verb ends with when it could do its work; whether that was enough, a check says."""


class Choice(StrEnum):
    """What an operator may decide before a step."""

    GO_ON = "continue"
    SKIP = "skip"
    ABORT = "abort"
    PARK = "park"
    """Nobody is there to do what only a person can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """An operator's answer."""

    choice: Choice
    reason: str = ""
    """Why a step is skipped."""


class Operator(Protocol):
    """Whoever walks along: a person on a terminal, or nobody."""

    def hears_of(self, step: Step, number: int, count: int) -> None:
        """See a step before it is taken."""
        ...

    def decides(self, step: Step, plan: Report | None) -> Decision:
        """Say whether to take an action, of which `plan` is the dry run, or a manual step."""
        ...

    def sees(self, taken: Taken, result: Report | None) -> None:
        """See what came of a step."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a walk."""

    book: Book
    store: str
    diagnosis: Report
    applies: bool
    walk: Walk
    why_stopped: WhyStopped = WhyStopped.DONE
    failure: IdemctlError | None = None
    """What a step met."""

    @property
    def status(self) -> ExitStatus:
        """The exit status of the whole."""
        if self.why_stopped is not WhyStopped.DONE:
            return max(self.why_stopped.status, ExitStatus.PARTIAL)
        if self.diagnosis.status not in _ANSWERS:
            return self.diagnosis.status
        return self.walk.status


def run_book(
    book: Book, store: str, verbs: Mapping[str, Verb], operator: Operator, run: Run
) -> Outcome:
    """Diagnose, and walk through the book where it applies.

    Raises:
        IdemctlError: the diagnosis could not be made; no step was taken.
    """
    diagnosis = verbs[DIAGNOSE](())
    facts = facts_in(diagnosis)
    applies = diagnosis.status in _ANSWERS and book.applies(facts)
    walker = _Walker(verbs, operator, run, Walk(book=book, facts=facts))
    run.journal.write("diagnosis", {"store": store, "applies": applies, "facts": facts})
    why = WhyStopped.DONE
    if applies:
        try:
            walker.go()
        except Stopped as stopped:
            why = stopped.why
    return Outcome(
        book=book,
        store=store,
        diagnosis=diagnosis,
        applies=applies,
        walk=walker.walk,
        why_stopped=why,
        failure=walker.failure,
    )


def facts_in(report: Report) -> dict[str, object]:
    """Take the flat facts out of a report's summary: what conditions can be about."""
    return {
        name: value
        for name, value in report.summary.items()
        if isinstance(value, str | int | float)
    }


class _Walker:
    """Takes one step after another; the walk is the state, and it is never behind."""

    def __init__(self, verbs: Mapping[str, Verb], operator: Operator, run: Run, walk: Walk) -> None:
        self.walk = walk
        self.failure: IdemctlError | None = None
        self._verbs = verbs
        self._operator = operator
        self._run = run

    def go(self) -> None:
        while (step := self.walk.step) is not None:
            self._run.checkpoint()
            if not self.walk.selects(step):
                self.walk = self.walk.after(Taken(step=step, state=State.NOT_SELECTED))
                continue
            book = self.walk.book
            self._run.journal.write("step-start", {"step": step.id, "kind": step.kind})
            self._operator.hears_of(step, len(self.walk.behind) + 1, len(book.steps))
            taken, result = self._take(step)
            self.walk = self.walk.after(taken)
            self._run.journal.write("step-end", _noted(taken, result))
            self._operator.sees(taken, result)

    def _take(self, step: Step) -> tuple[Taken, Report | None]:
        try:
            match step.kind:
                case Kind.NOTE:
                    return Taken(step=step, state=State.DONE), None
                case Kind.MANUAL:
                    return self._decided(step, None) or Taken(step=step, state=State.DONE), None
                case Kind.CHECK:
                    return self._check(step)
                case Kind.ACTION:
                    return self._act(step)
        except IdemctlError as error:
            self.failure = error
            return _failed(step, error.status, error.message), None

    def _check(self, step: Step) -> tuple[Taken, Report]:
        seen = self._call(step.words)
        if seen.status not in {*_ANSWERS, *step.statuses}:
            return _failed(step, seen.status, seen.headline), seen
        unmet = step.unmet(seen.status, facts_in(seen))
        if unmet is not None:
            return _failed(step, ExitStatus.OK, unmet), seen
        return Taken(step=step, state=State.DONE, said=seen.headline), seen

    def _act(self, step: Step) -> tuple[Taken, Report | None]:
        plan = self._call([word for word in step.words if word != _APPLY])
        if plan.status not in _ANSWERS:
            return _failed(step, plan.status, plan.headline), plan
        kept_from = self._decided(step, plan)
        if kept_from is not None:
            return kept_from, None
        done = self._call(step.words)
        if done.status not in _ANSWERS:
            return _failed(step, done.status, done.headline), done
        return Taken(step=step, state=State.DONE, said=done.headline), done

    def _decided(self, step: Step, plan: Report | None) -> Taken | None:
        """Ask the operator; give what became of the step if it is not to be taken."""
        decision = self._operator.decides(step, plan)
        self._run.journal.write(
            "decision",
            {
                "step": step.id,
                "choice": decision.choice,
                "reason": decision.reason,
                "plan": None if plan is None else plan.headline,
            },
        )
        match decision.choice:
            case Choice.GO_ON:
                return None
            case Choice.SKIP:
                return Taken(step=step, state=State.SKIPPED, said=decision.reason)
            case Choice.ABORT:
                return Taken(step=step, state=State.DECLINED)
            case Choice.PARK:
                return Taken(step=step, state=State.PARKED, said="waits for a person")

    def _call(self, words: Sequence[str]) -> Report:
        verb, *rest = words
        return self._verbs[verb](rest)


def _failed(step: Step, status: ExitStatus, said: str) -> Taken:
    return Taken(step=step, state=State.FAILED, status=status, said=said)


def _noted(taken: Taken, result: Report | None) -> dict[str, object]:
    """Say what came of a step, and which run of its verb did it."""
    facts: dict[str, object] = {"step": taken.step.id, "state": taken.state, "said": taken.said}
    if result is not None:
        facts |= {"run_id": result.run_id, "exit": int(result.status), "facts": facts_in(result)}
    return facts

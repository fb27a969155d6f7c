"""Runbooks: when one applies, which step comes next, and what became of the walk. No I/O."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from idemctl.errors import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Value = str | int | float | bool


def _compared(compare: Callable[[object, object], bool]) -> Callable[[object, object], bool]:
    """Make a comparison total: what cannot be compared does not hold."""

    def compared(known: object, value: object) -> bool:
        if isinstance(known, str) is not isinstance(value, str):
            return False
        return compare(known, value)

    return compared


def _is_among(known: object, values: object) -> bool:
    assert isinstance(values, tuple)
    return known in values


OPERATORS: Mapping[str, Callable[[object, object], bool]] = {
    **{name: _compared(getattr(operator, name)) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "in": _is_among,
}
"""The comparisons that a runbook knows, and all it knows: there are no expressions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One flat comparison of a fact with a value."""

    fact: str
    comparison: str
    """A name in `OPERATORS`."""
    value: Value | tuple[Value, ...]

    def holds(self, facts: Mapping[str, object]) -> bool:
        """Compare; with a fact that is not known, or of another kind, nothing holds."""
        known = facts.get(self.fact)
        return known is not None and OPERATORS[self.comparison](known, self.value)

    def __str__(self) -> str:
        """Give it as a person writes it: `missing_share gt 0.01`."""
        value = self.value
        shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        return f"{self.fact} {self.comparison} {shown}"


class Kind(StrEnum):
    """What a step is."""

    NOTE = "note"
    """Something to know."""
    CHECK = "check"
    """A verb that reads, and what is expected of it."""
    ACTION = "action"
    """A verb that changes something; its dry run comes first."""
    MANUAL = "manual"
    """Something that only a person can do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a book."""

    id: str
    """Stable: it stays when steps are moved."""
    title: str
    kind: Kind
    why: str
    words: tuple[str, ...] = ()
    """Of a check or an action: the verb and its options."""
    text: str = ""
    """Of a note or a manual step: what to know or to do."""
    statuses: tuple[ExitStatus, ...] = (ExitStatus.OK,)
    """Those that a check expects."""
    expects: tuple[Condition, ...] = ()
    """What a check expects of the verb's summary."""
    when: tuple[Condition, ...] = ()
    """The step is for those of whom the diagnosis says so; for all, where it is empty."""

    def unmet(self, status: ExitStatus, facts: Mapping[str, object]) -> str | None:
        """Say what a check expected and did not see; `None` where all is as expected."""
        if status not in self.statuses:
            expected = " or ".join(one.label for one in self.statuses)
            return f"ended with {status.label}, expected {expected}"
        for one in self.expects:
            if not one.holds(facts):
                return f"expected {one}, saw {facts.get(one.fact, 'nothing of it')}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """A runbook: documented recovery from one failure mode."""

    id: str
    title: str
    failure_mode: str
    meaning: str
    impact: str
    applies_when: tuple[Condition, ...]
    """Over the facts of a diagnosis; all of them must hold."""
    steps: tuple[Step, ...]

    def applies(self, facts: Mapping[str, object]) -> bool:
        """Say whether this is the book for what a diagnosis found."""
        return all(one.holds(facts) for one in self.applies_when)


class State(StrEnum):
    """What became of a step."""

    DONE = "done"
    """Told, done, or found as expected."""
    NOT_SELECTED = "not-selected"
    """It is for another case."""
    SKIPPED = "skipped"
    """The operator left it out, and said why."""
    FAILED = "failed"
    DECLINED = "declined"
    """The operator ended the walk here."""
    PARKED = "parked"
    """It waits for a person, and there is none."""

    @property
    def goes_on(self) -> bool:
        """Whether the next step may be taken."""
        return self in {State.DONE, State.NOT_SELECTED, State.SKIPPED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A step that lies behind."""

    step: Step
    state: State
    status: ExitStatus = ExitStatus.OK
    """What the verb of a step that failed ended with, where that was no answer."""
    said: str = ""
    """What came of it, or why it was skipped, in a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """A book on its way: what lies behind decides what comes next."""

    book: Book
    facts: Mapping[str, object]
    """What the diagnosis at the beginning said."""
    behind: tuple[Taken, ...] = ()

    @property
    def step(self) -> Step | None:
        """The step that is due; `None` when the walk is over."""
        if self.behind and not self.behind[-1].state.goes_on:
            return None
        steps = self.book.steps
        return steps[len(self.behind)] if len(self.behind) < len(steps) else None

    def selects(self, step: Step) -> bool:
        """Say whether a step is for this case."""
        return all(one.holds(self.facts) for one in step.when)

    def after(self, taken: Taken) -> Walk:
        """Give the walk with one more step behind."""
        return replace(self, behind=(*self.behind, taken))

    @property
    def status(self) -> ExitStatus:
        """What the walk comes to so far."""
        if not self.behind:
            return ExitStatus.OK
        last = self.behind[-1]
        match last.state:
            case State.DECLINED:
                return ExitStatus.DECLINED
            case State.PARKED:
                return ExitStatus.WAITING
            case State.FAILED if last.status is ExitStatus.OK:
                # Before anything was to be changed a check is a guard; after it, the proof.
                return ExitStatus.NOT_RECOVERED if self._acted else ExitStatus.REFUSED
            case State.FAILED:
                return last.status
            case _:
                return ExitStatus.OK

    @property
    def _acted(self) -> bool:
        return any(
            one.step.kind is Kind.ACTION and one.state is not State.NOT_SELECTED
            for one in self.behind
        )

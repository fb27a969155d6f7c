"""Runbooks: comparisons, which step comes next, what a walk comes to."""

from __future__ import annotations

from typing import Any

import pytest

from idemctl.domain.runbooks import Book, Condition, Kind, State, Step, Taken, Walk
from idemctl.errors import ExitStatus

FACTS = {"share": 0.5, "calls": 0, "verdict": "flushed", "loading": False, "unknown": None}


@pytest.mark.parametrize(
    ("fact", "comparison", "value", "holds"),
    [
        ("share", "gt", 0.1, True),
        ("share", "gt", 0.5, False),
        ("share", "ge", 0.5, True),
        ("share", "lt", 1, True),
        ("share", "le", 0.4, False),
        ("calls", "eq", 0, True),
        ("calls", "ne", 0, False),
        ("loading", "eq", False, True),
        ("verdict", "eq", "flushed", True),
        ("verdict", "ne", "normal", True),
        ("verdict", "in", ("flushed", "suspected"), True),
        ("verdict", "in", ("normal",), False),
        # Total: with what is not known, or is of another kind, nothing holds.
        ("unknown", "eq", 0, False),
        ("unknown", "ne", 0, False),
        ("absent", "ne", "x", False),
        ("verdict", "gt", 1, False),
        ("verdict", "ne", 1, False),
        ("calls", "lt", "x", False),
    ],
)
def test_a_comparison_is_flat_and_total(
    fact: str, comparison: str, value: Any, holds: bool
) -> None:
    assert Condition(fact=fact, comparison=comparison, value=value).holds(FACTS) is holds


def test_a_condition_reads_as_it_is_written() -> None:
    assert str(Condition(fact="share", comparison="gt", value=0.01)) == "share gt 0.01"
    among = Condition(fact="verdict", comparison="in", value=("flushed", "suspected"))
    assert str(among) == "verdict in flushed, suspected"


def step(name: str, kind: Kind, **more: Any) -> Step:
    return Step(id=name, title=name, kind=kind, why="because", **more)


NOTE = step("note", Kind.NOTE)
GUARD = step("guard", Kind.CHECK)
ACTION = step("action", Kind.ACTION)
PROOF = step("proof", Kind.CHECK)
ONLY_FOR_OTHERS = (Condition(fact="calls", comparison="gt", value=0),)


def walk(*states: State, status: ExitStatus = ExitStatus.OK) -> Walk:
    book = Book(
        id="book",
        title="title",
        failure_mode="mode",
        meaning="m",
        impact="i",
        applies_when=(Condition(fact="share", comparison="gt", value=0.1),),
        steps=(NOTE, GUARD, ACTION, PROOF),
    )
    begun = Walk(book=book, facts=FACTS)
    for at, state in enumerate(states):
        begun = begun.after(Taken(step=book.steps[at], state=state, status=status))
    return begun


DONE, SKIPPED, FAILED = State.DONE, State.SKIPPED, State.FAILED


@pytest.mark.parametrize(
    ("begun", "due", "status"),
    [
        (walk(), NOTE, ExitStatus.OK),
        (walk(DONE), GUARD, ExitStatus.OK),
        (walk(DONE, DONE), ACTION, ExitStatus.OK),
        (walk(DONE, DONE, SKIPPED), PROOF, ExitStatus.OK),
        (walk(DONE, DONE, State.NOT_SELECTED), PROOF, ExitStatus.OK),
        (walk(DONE, DONE, DONE, DONE), None, ExitStatus.OK),
        (walk(DONE, FAILED), None, ExitStatus.REFUSED),
        (walk(DONE, DONE, DONE, FAILED), None, ExitStatus.NOT_RECOVERED),
        (walk(DONE, DONE, SKIPPED, FAILED), None, ExitStatus.NOT_RECOVERED),
        (walk(DONE, DONE, State.NOT_SELECTED, FAILED), None, ExitStatus.REFUSED),
        (walk(DONE, DONE, State.DECLINED), None, ExitStatus.DECLINED),
        (walk(DONE, DONE, State.PARKED), None, ExitStatus.WAITING),
    ],
)
def test_what_lies_behind_decides_what_comes_next(
    begun: Walk, due: Step | None, status: ExitStatus
) -> None:
    assert begun.step == due
    assert begun.status is status


def test_a_store_that_did_not_answer_is_no_verification_that_failed() -> None:
    begun = walk(DONE, DONE, DONE, FAILED, status=ExitStatus.UNREACHABLE)
    assert begun.status is ExitStatus.UNREACHABLE


def test_a_step_for_others_is_not_selected() -> None:
    begun = walk()
    assert begun.selects(NOTE)
    assert not begun.selects(step("other", Kind.NOTE, when=ONLY_FOR_OTHERS))


def test_a_book_applies_when_all_of_its_conditions_hold() -> None:
    book = walk().book
    assert book.applies({"share": 0.2})
    assert not book.applies({"share": 0.1})
    assert not book.applies({})


def test_a_check_says_what_it_did_not_see() -> None:
    check = step(
        "proof",
        Kind.CHECK,
        statuses=(ExitStatus.OK, ExitStatus.FINDINGS),
        expects=(Condition(fact="missing", comparison="eq", value=0),),
    )
    assert check.unmet(ExitStatus.FINDINGS, {"missing": 0}) is None
    assert check.unmet(ExitStatus.OK, {"missing": 3}) == "expected missing eq 0, saw 3"
    assert check.unmet(ExitStatus.OK, {}) == "expected missing eq 0, saw nothing of it"
    assert check.unmet(ExitStatus.PARTIAL, {}) == "ended with partial, expected ok or findings"

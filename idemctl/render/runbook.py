"""Runbooks and what came of walks through them, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.outcomes import Report, Sheet, WhyStopped
from idemctl.domain.runbooks import Kind, State
from idemctl.errors import ExitStatus
from idemctl.render.envelope import failure
from idemctl.render.figures import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from idemctl.domain.runbooks import Book, Step, Taken
    from idemctl.operations.runbook import Outcome
    from idemctl.run.run import Run


def list_report(books: Sequence[Book], run: Run, finished_at: datetime) -> Report:
    """Make the report of what books there are."""
    return Report(
        command="runbook-list",
        status=ExitStatus.OK,
        store=None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={"books": len(books)},
        items=[
            {
                "code": "runbook",
                "id": book.id,
                "title": book.title,
                "failure_mode": book.failure_mode,
                "steps": len(book.steps),
            }
            for book in books
        ],
        sheets=[
            Sheet(
                headings=("runbook", "failure mode", "steps", "title"),
                rows=[
                    (book.id, book.failure_mode, count(len(book.steps)), book.title)
                    for book in books
                ],
            )
        ],
        headline=count(len(books), "runbook"),
    )


def show_report(book: Book, run: Run, finished_at: datetime) -> Report:
    """Make the report of what stands in a book."""
    conditions = [str(one) for one in book.applies_when]
    return Report(
        command="runbook-show",
        status=ExitStatus.OK,
        store=None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={
            "id": book.id,
            "title": book.title,
            "failure_mode": book.failure_mode,
            "meaning": book.meaning,
            "impact": book.impact,
            "applies_when": conditions,
        },
        items=[_item(step) for step in book.steps],
        sheets=[
            Sheet(
                title=f"{book.id}: {book.title}",
                lines=[
                    f"meaning: {book.meaning}",
                    f"impact: {book.impact}",
                    f"applies when: {' and '.join(conditions)}, as diagnose says",
                ],
            ),
            *(_step_sheet(step, number) for number, step in enumerate(book.steps, start=1)),
        ],
        headline=f"{book.id}: {count(len(book.steps), 'step')}",
    )


def _item(step: Step) -> dict[str, Any]:
    return {
        "code": step.kind.value,
        "id": step.id,
        "title": step.title,
        "does": what(step),
        "when": [str(one) for one in step.when],
        "expects": list(_expectations(step)),
        "why": step.why,
    }


def _step_sheet(step: Step, number: int) -> Sheet:
    lines = [what(step), f"why: {step.why}"]
    lines += [f"expects: {one}" for one in _expectations(step)]
    lines += [f"only when: {one}" for one in step.when]
    return Sheet(title=f"{number}. {step.id} ({step.kind}): {step.title}", lines=lines)


def what(step: Step) -> str:
    """Say what a step does, or asks a person to do."""
    return f"idemctl {' '.join(step.words)}" if step.words else step.text


def _expectations(step: Step) -> Iterator[str]:
    if step.kind is Kind.CHECK:
        yield "status in " + ", ".join(one.label for one in step.statuses)
        yield from map(str, step.expects)


def run_report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of a walk."""
    headline = _headline(outcome)
    return Report(
        command="runbook-run",
        status=outcome.status,
        store=outcome.store,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={
            "book": outcome.book.id,
            "failure_mode": outcome.book.failure_mode,
            "applies": outcome.applies,
            "verdict": outcome.walk.facts.get("verdict"),
            "steps": len(outcome.book.steps),
            "taken": len(outcome.walk.behind),
            "why_stopped": outcome.why_stopped,
            "next": _next(outcome),
        },
        items=[_taken_item(taken, outcome.store) for taken in outcome.walk.behind],
        errors=[
            *outcome.diagnosis.errors,
            *([] if outcome.failure is None else [failure(outcome.failure)]),
        ],
        sheets=[
            Sheet(
                title=f"{outcome.book.id} for {outcome.store}",
                headings=("step", "kind", "what became of it", "which said"),
                rows=[
                    (taken.step.id, taken.step.kind.value, taken.state.value, taken.said)
                    for taken in outcome.walk.behind
                ],
                lines=[*([f"next: {_next(outcome)}"] if _next(outcome) else []), headline],
            )
        ],
        headline=headline,
    )


def _taken_item(taken: Taken, store: str) -> dict[str, Any]:
    return {
        "code": taken.state.value,
        "store": store,
        "step": taken.step.id,
        "kind": taken.step.kind.value,
        "does": what(taken.step),
        "said": taken.said,
    }


def _next(outcome: Outcome) -> str | None:
    """Name the command to go on with; a walk that is begun anew finds what is done."""
    if outcome.status is ExitStatus.OK:
        return None
    return f"idemctl runbook run {outcome.book.id} --store {outcome.store}"


def _headline(outcome: Outcome) -> str:
    book, walk = outcome.book, outcome.walk
    if outcome.status is ExitStatus.OK and not outcome.applies:
        verdict = walk.facts.get("verdict")
        return f"{book.id} does not apply to {outcome.store} ({verdict}): nothing was done"
    if not outcome.applies:
        return f"cannot judge whether {book.id} applies to {outcome.store}: nothing was done"
    if outcome.why_stopped is not WhyStopped.DONE:
        return f"stopped early ({outcome.why_stopped}) after {count(len(walk.behind), 'step')}"
    if outcome.status is ExitStatus.OK:
        skipped = sum(taken.state is State.SKIPPED for taken in walk.behind)
        left_out = f", {count(skipped, 'step')} of it skipped" if skipped else ""
        return f"{outcome.store} is recovered: {book.id} was walked to its end{left_out}"
    last = walk.behind[-1]
    match last.state:
        case State.PARKED:
            return f"{last.step.id} is for a person: {last.step.text}"
        case State.DECLINED:
            return f"ended by the operator at {last.step.id}"
        case _:
            return f"{last.step.id} failed: {last.said}"

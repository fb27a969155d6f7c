"""What a check of layouts found, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.outcomes import Report, Sheet
from idemctl.domain.proofs import GOOD_FOR
from idemctl.domain.records import Status
from idemctl.domain.sight import blindness, remedy
from idemctl.render.envelope import failure
from idemctl.render.figures import count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from idemctl.documents import Problem
    from idemctl.layouts.model import Layout
    from idemctl.operations.layout_check import Checked, Outcome, SideSight, Tried
    from idemctl.run.run import Run

_HEADINGS = ("failure mode", "is", "for want of", "what would help")


def report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of a check."""
    problems = [problem for one in outcome.files for problem in one.problems]
    looked_at = count(len(outcome.files), "file")
    off = sum(one.fit.is_off for checked in outcome.files for one in checked.tried)
    found = [count(len(problems), "error")] if problems else []
    found += [f"{count(off, 'store')} not read right"] if off else []
    headline = f"{looked_at}: {', '.join(found) or 'valid'}"
    return Report(
        command="layout-check",
        status=outcome.status,
        store=None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={
            "files": len(outcome.files),
            "unreadable": len(outcome.failures),
            "error": len(problems),
            "layouts": [_layout(one) for one in outcome.files if one.layout],
            "tried": [
                _fit(one, checked.layout)
                for checked in outcome.files
                if checked.layout is not None
                for one in checked.tried
            ],
        },
        items=[_item(one) for one in problems],
        errors=[failure(error) for error in outcome.failures],
        sheets=[
            *(sheet for one in outcome.files for sheet in _sheets(one)),
            _last(problems, headline),
        ],
        headline=headline,
    )


def _layout(one: Checked) -> dict[str, Any]:
    assert one.layout is not None
    return {
        "file": str(one.file),
        "layout": one.layout.layout,
        "proven": one.layout.proven,
        "sides": [
            {
                "engine": side.engine.value,
                "sees": sorted(sight.value for sight in side.sight),
                "modes": {view.mode.value: view.extent.label for view in side.views},
            }
            for side in one.sides
        ],
    }


def _fit(one: Tried, layout: Layout) -> dict[str, Any]:
    fit = one.fit
    why_not = _why_not(one, layout)
    return {
        "store": one.store,
        "place": one.place,
        "records": fit.seen,
        "by_status": {status.label: fit.by_status[status] for status in Status},
        "by_flaw": {flaw.label: number for flaw, number in fit.by_flaw.items()},
        "never": [status.label for status in one.never],
        "filled": fit.filled,
        "absurd": {name: number for name, number in fit.absurd.items() if number},
        "may_write": why_not is None,
        "why_not": why_not,
    }


def _item(problem: Problem) -> dict[str, Any]:
    return {
        "code": "layout-invalid",
        "severity": "error",
        "file": problem.place.file,
        "line": problem.place.line,
        "column": problem.place.column,
        "message": problem.message,
    }


def _sheets(one: Checked) -> Iterator[Sheet]:
    for side in one.sides:
        yield Sheet(
            title=f"{one.file}: what its {side.engine.value} side shows",
            headings=_HEADINGS,
            rows=list(_rows(side)),
        )
    for tried in one.tried:
        assert one.layout is not None, "only what was understood is tried"
        yield Sheet(
            title=f"{one.file}: how it reads {tried.store}, {tried.place}",
            headings=("of what", "records", "which means"),
            rows=[*_read(tried), ("writing", "", _unlocked(tried, one.layout))],
        )


def _why_not(one: Tried, layout: Layout) -> str | None:
    if layout.proven == "live":
        return None
    if one.unremembered is None:
        return one.doubt
    # An earlier result counts until this one is kept.
    forgotten = f"that could not be remembered: {one.unremembered.message}"
    return f"{one.doubt or 'it passed'}, and {forgotten}"


def _unlocked(one: Tried, layout: Layout) -> str:
    if layout.proven == "live":
        return "it says proven: live, so idemctl may write through it anywhere"
    why_not = _why_not(one, layout)
    if why_not is not None:
        return f"idemctl may not write through it to {one.store}: {why_not}"
    return f"idemctl may now write through it to {one.store}, for {GOOD_FOR.days} days"


def _read(one: Tried) -> Iterator[tuple[str, ...]]:
    fit = one.fit
    yield "all", count(fit.seen), "" if fit.seen else "nothing was there to be read"
    for status in Status:
        number = fit.by_status[status]
        if status is Status.MALFORMED and number:
            flaws = ", ".join(f"{flaw.label} {count(n)}" for flaw, n in fit.by_flaw.items())
            yield status.label, count(number), f"they fit no status: {flaws}"
        elif status in one.never:
            yield status.label, "0", "its condition never held in the sample"
        elif number:
            yield status.label, count(number), ""
    for name, number in fit.filled.items():
        absurd = fit.absurd.get(name, 0)
        wrong = f"{count(absurd)} lie a century away: another unit?" if absurd else ""
        if number:
            yield name, count(number), wrong


def _rows(side: SideSight) -> Iterator[tuple[str, ...]]:
    for one in side.views:
        why = blindness(one.lacks, side.engine) if one.lacks else ""
        yield one.mode.value, one.extent.label, why, remedy(one.lacks) if one.lacks else ""


def _last(problems: list[Problem], headline: str) -> Sheet:
    # Editors and CI find the place at the start of a line, as a compiler's.
    lines = [f"{one.place}: error: {one.message} [layout-invalid]" for one in problems]
    return Sheet(lines=[*lines, headline])

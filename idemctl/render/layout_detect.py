"""Who writes where, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.outcomes import Report, Sheet
from idemctl.layouts.detect import Verdict
from idemctl.render.envelope import failure
from idemctl.render.figures import count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from idemctl.layouts.detect import Candidate, Mismatch, Place
    from idemctl.operations.layout_detect import Outcome
    from idemctl.run.run import Run

_HEADINGS = ("place", "is", "layout", "reads", "sure", "evidence")
_NEXT = {
    Verdict.FOUND: "idemctl layout check {layout} --live",
    Verdict.AMBIGUOUS: "idemctl layout check {layout} --live, for each that fits; name the right "
    "one in idemctl.yaml",
    Verdict.SHARED: "give each library a prefix of its own, in its own settings; until then list "
    "them in idemctl.yaml, the strictest first: layout: [{layouts}]",
}


def report(outcome: Outcome, run: Run, finished_at: datetime, *, written: str | None) -> Report:
    """Make the report; `written` names the file that was written, if one was."""
    by_verdict = {
        verdict: sum(place.verdict is verdict for place in outcome.places) for verdict in Verdict
    }
    headline = _headline(outcome, by_verdict)
    return Report(
        command="layout-detect",
        status=outcome.status,
        store=None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={
            "tables": outcome.table_count,
            "keys": outcome.key_count,
            **{verdict.value: number for verdict, number in by_verdict.items()},
            "mismatches": len(outcome.mismatches),
            "written": written,
            "why_stopped": outcome.why_stopped.value,
        },
        items=[*map(_item, outcome.places), *map(_mismatch, outcome.mismatches)],
        errors=[failure(error) for error in outcome.failures],
        sheets=[
            Sheet(headings=_HEADINGS, rows=[row for one in outcome.places for row in _rows(one)]),
            Sheet(lines=[*_advice(outcome), *_wrote(written), headline]),
        ],
        headline=headline,
    )


def _item(place: Place) -> dict[str, Any]:
    return {
        "code": place.verdict.value,
        "engine": place.engine.value,
        "place": place.place,
        "candidates": [_candidate(one) for one in place.candidates],
        "next": _next(place),
    }


def _candidate(one: Candidate) -> dict[str, Any]:
    return {
        "layout": one.layout.layout,
        "proven": one.layout.proven,
        "reads": one.read_count,
        "of": one.seen_count,
        "sure": round(one.sure, 3),
        "evidence": list(one.evidence),
    }


def _mismatch(one: Mismatch) -> dict[str, Any]:
    return {
        "code": "mismatch",
        "store": one.configured.store,
        "engine": one.engine.value,
        "layout": one.configured.layout,
        "place": one.configured.place,
        "why": one.why,
        "suggests": [
            {"place": place.place, "layouts": [c.layout.layout for c in place.candidates]}
            for place in one.suggests
        ],
    }


def _rows(place: Place) -> Iterator[tuple[str, ...]]:
    where = str(place)
    for one in place.candidates:
        reads = f"{count(one.read_count)} of {count(one.seen_count)}"
        if not one.seen_count:
            reads = "nothing is there"
        sure = f"{one.sure:.0%}"
        yield where, place.verdict.value, one.layout.layout, reads, sure, ", ".join(one.evidence)
        where = ""


def _advice(outcome: Outcome) -> Iterator[str]:
    for place in outcome.places:
        if place.verdict is not Verdict.FOUND:
            yield f"{place} is {place.verdict.value}: {_next(place)}"
    for one in outcome.mismatches:
        found = "; ".join(
            f"{place} ({' or '.join(c.layout.layout for c in place.candidates)})"
            for place in one.suggests
        )
        yield f"{one.configured.store}: {one.why}{f'; there is {found}' if found else ''}"


def _wrote(written: str | None) -> Iterator[str]:
    if written:
        yield f"{written} is written; idemctl doctor tells whether it works"


def _next(place: Place) -> str:
    layouts = [one.layout.layout for one in place.candidates]
    return _NEXT[place.verdict].format(layout=layouts[0], layouts=", ".join(layouts))


def _headline(outcome: Outcome, by_verdict: dict[Verdict, int]) -> str:
    looked_at = f"{count(outcome.table_count, 'table')} and {count(outcome.key_count, 'key')}"
    said = [f"{number} {verdict.value}" for verdict, number in by_verdict.items() if number]
    said += [f"{count(len(outcome.mismatches))} configured otherwise"] if outcome.mismatches else []
    return f"{looked_at} looked at: {', '.join(said) or 'no layout fits'}"

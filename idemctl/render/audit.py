"""What audit found, for people and for machines."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from idemctl.domain.findings import Severity
from idemctl.domain.outcomes import Report, Sheet, WhyStopped
from idemctl.domain.shares import Hits, interval
from idemctl.domain.sight import blindness, remedy
from idemctl.render.audited_places import most, place_item, places, records, seen_in
from idemctl.render.envelope import failure
from idemctl.render.figures import count, percent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from idemctl.domain.findings import Finding
    from idemctl.run.audited import Audited, Outcome, StoreSight
    from idemctl.run.run import Run


def report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of an audit."""
    stores = [one.store for one in outcome.sights]
    return Report(
        command="audit",
        status=outcome.status,
        store=stores[0] if len(stores) == 1 else None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary=_summary(outcome),
        items=[_item(finding, outcome) for finding in outcome.findings],
        errors=[failure(error) for error in outcome.failures],
        sheets=[places(outcome), *most(outcome), _sight(outcome), _found(outcome)],
        headline=_headline(outcome),
    )


def _summary(outcome: Outcome) -> dict[str, Any]:
    return {
        "findings": len(outcome.open_findings),
        "accepted": len(outcome.findings) - len(outcome.open_findings),
        **{severity.label: _severe(outcome, severity) for severity in reversed(Severity)},
        "checked": sum(len(one.checked) for one in outcome.places),
        "cannot_judge": sum(len(one.cannot_judge) for one in outcome.places),
        "seen": _seen(outcome),
        "whole": outcome.is_whole,
        "why_stopped": outcome.ends[0] if outcome.ends else WhyStopped.DONE,
        "records": records(outcome),
        "sight": {one.store: _views(one) for one in outcome.sights},
        "places": [place_item(one) for one in outcome.places],
        "left_out": [
            {"place": place, "why": why} for place, why in outcome.surroundings.left_out.items()
        ],
        "baseline": [
            {"code": one.code, "store": one.store, "owner": one.owner, "useless": why}
            for one, why in outcome.useless_acceptances
        ],
    }


def _views(one: StoreSight) -> dict[str, Any]:
    return {
        view.mode.value: {
            "sight": view.extent.label,
            "why": blindness(view.lacks, one.engine) or None,
            "add": remedy(view.lacks) or None,
        }
        for view in one.views
    }


def _item(finding: Finding, outcome: Outcome) -> dict[str, Any]:
    acceptance = outcome.acceptance_of(finding)
    return {
        "code": finding.code,
        "severity": finding.severity.label,
        "store": finding.store,
        "side": finding.engine.value,
        "pattern": finding.pattern.label,
        "place": finding.place,
        "count": finding.count,
        "share": None
        if finding.share is None
        else {"low": round(finding.share.low, 6), "high": round(finding.share.high, 6)},
        "sample": [dict(key) for key in finding.sample],
        "evidence": finding.evidence,
        "why": finding.why,
        "next": finding.next,
        "accepted": None
        if acceptance is None
        else {
            "owner": acceptance.owner,
            "reason": acceptance.reason,
            "until": acceptance.until.isoformat(),
        },
    }


def _sight(outcome: Outcome) -> Sheet:
    return Sheet(
        title="what the records show",
        headings=("store", "failure modes", "sight", "because", "to see or cure more, add"),
        rows=[row for one in outcome.sights for row in _sight_rows(one)],
    )


def _sight_rows(one: StoreSight) -> Iterator[tuple[str, ...]]:
    """Put the modes of one store together that are seen alike."""
    ordered = sorted(one.views, key=lambda view: (-view.extent, view.lacks))
    for (extent, lacks), views in groupby(ordered, lambda view: (view.extent, view.lacks)):
        modes = ", ".join(view.mode.value for view in views)
        yield one.store, modes, extent.label, blindness(lacks, one.engine), remedy(lacks)


def _found(outcome: Outcome) -> Sheet:
    return Sheet(
        title="audit (nothing was changed)",
        headings=("severity", "finding", "store", "where", "records", "evidence", "such as"),
        rows=[_row(finding, outcome) for finding in outcome.findings],
        lines=list(_lines(outcome)),
    )


def _row(finding: Finding, outcome: Outcome) -> tuple[str, ...]:
    first = finding.sample[0]["key"] if finding.sample else ""
    is_accepted = outcome.acceptance_of(finding) is not None
    return (
        "accepted" if is_accepted else finding.severity.label,
        finding.code,
        finding.store,
        finding.place,
        _count(finding),
        finding.evidence,
        first if len(first) <= _LONGEST_SHOWN else f"{first[:_LONGEST_SHOWN]}…",
    )


def _count(finding: Finding) -> str:
    if finding.share is None:
        return count(finding.count)
    return f"{count(finding.count)} seen: {percent(finding.share)}"


_LONGEST_SHOWN = 48
"""Of a key, in the table; `-o json` shows it whole."""


def _lines(outcome: Outcome) -> Iterator[str]:
    said: set[str] = set()
    for finding in outcome.open_findings:
        line = f"{finding.code}: {finding.why} Next: {finding.next}"
        if line not in said:
            said.add(line)
            yield line
    for finding in outcome.findings:
        acceptance = outcome.acceptance_of(finding)
        if acceptance is not None:
            yield (
                f"{finding.code} ({finding.store}) is accepted until {acceptance.until} by "
                f"{acceptance.owner}: {acceptance.reason}"
            )
    for unused, why in outcome.useless_acceptances:
        yield f"baseline: {unused.code} ({unused.store}, {unused.owner}): {why}"
    for place in outcome.places:
        yield from _place_lines(place)
    for left, why in outcome.surroundings.left_out.items():
        yield f"{left} {why}; nothing of it was looked at"
    yield _headline(outcome)


def _place_lines(place: Audited) -> Iterator[str]:
    name = f"{place.target.store} ({place.place})"
    if place.cannot_judge:
        yield f"{name}: cannot judge {_reasons(place)}"
    if place.is_sample:
        limit = percent(interval(Hits(), place.overview.sampled)) if place.overview else ""
        yield f"{name}: sampled; of what was not found there may be {limit}"
    if place.why_stopped is not WhyStopped.DONE:
        of_all = f" of about {place.row_estimate:,}" if place.row_estimate else ""
        seen = f"{count(seen_in(place), 'record')}{of_all}"
        yield f"{name}: stopped early ({place.why_stopped}) after {seen}"


def _reasons(place: Audited) -> str:
    ordered = sorted(place.cannot_judge, key=lambda check: check.why)
    return "; ".join(
        f"{', '.join(check.code for check in checks)}: {why}"
        for why, checks in groupby(ordered, lambda check: check.why)
    )


def _headline(outcome: Outcome) -> str:
    checked = sum(len(one.checked) for one in outcome.places)
    blind = sum(len(one.cannot_judge) for one in outcome.places)
    # Of what was not looked at nothing is known, least of all that there is nothing.
    part = "" if outcome.was_all_looked_at else ", in the part that was looked at"
    looked = f"{count(checked, 'check')} on {count(_seen(outcome), 'record')}{part}"
    left = f"; {count(blind, 'check')} cannot be judged" if blind else ""
    accepted = len(outcome.findings) - len(outcome.open_findings)
    left += f"; {count(accepted, 'finding')} accepted" if accepted else ""
    if not outcome.open_findings:
        return f"nothing found by {looked}{left}"
    severities = ", ".join(
        f"{number} {severity.label}"
        for severity in reversed(Severity)
        if (number := _severe(outcome, severity))
    )
    return f"{count(len(outcome.open_findings), 'finding')} ({severities}) by {looked}{left}"


def _severe(outcome: Outcome, severity: Severity) -> int:
    return sum(finding.severity is severity for finding in outcome.open_findings)


def _seen(outcome: Outcome) -> int:
    return sum(map(seen_in, outcome.places))

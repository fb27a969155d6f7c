"""What diagnose found out, for people and for machines."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from idemctl.domain.findings import Severity
from idemctl.domain.incident import Sign, Verdict
from idemctl.domain.outcomes import Report, Sheet
from idemctl.errors import ExitStatus
from idemctl.render.envelope import failure, instant
from idemctl.render.figures import count, span, when
from idemctl.render.suspects import others, place, ranking, suspect_item

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from idemctl.domain.incident import Border
    from idemctl.operations.diagnose import Diagnosed, Outcome
    from idemctl.run.run import Run

_HEADINGS = ("store", "verdict", "missing of sampled", "the pair", "the server")
_CANNOT_JUDGE = "cannot judge"
_PERCENT = 100
_AN_INSTANT = timedelta(seconds=1)
_SEVERITIES = {
    Verdict.FLUSHED: Severity.CRITICAL,
    Verdict.SUSPECTED: Severity.ERROR,
    Verdict.EVICTED: Severity.ERROR,
    Verdict.INCOMPLETE: Severity.WARNING,
}
_GRAVEST_FIRST = (*_SEVERITIES, Verdict.UNKNOWN, Verdict.NORMAL)
_NOT_LOOKED_AT = (
    "records beyond the sample",
    "whether what is there is right, and what only Redis holds: idemctl reconcile compares that",
    "whether a retry came after its record had ended: no log tells that",
)


def report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of a diagnosis."""
    stores = [one.pair.store for one in outcome.diagnosed]
    return Report(
        command="diagnose",
        status=outcome.status,
        store=stores[0] if len(stores) == 1 else None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary=_summary(outcome),
        items=[
            *(_item(one) for one in outcome.diagnosed if _happened(one)),
            *(suspect_item(one) for one in others(outcome)),
        ],
        errors=[failure(error) for error in outcome.failures],
        sheets=[_sheet(outcome), *ranking(outcome)],
        headline=_headline(outcome),
    )


def _happened(one: Diagnosed) -> bool:
    return one.evidence.verdict in _SEVERITIES


def _summary(outcome: Outcome) -> dict[str, Any]:
    """Give the facts of every pair, and flat those of the one that is worst off."""
    gravest = sorted(outcome.diagnosed, key=lambda one: _GRAVEST_FIRST.index(one.evidence.verdict))
    unknown = [one for one in outcome.diagnosed if one.evidence.verdict is Verdict.UNKNOWN]
    return {
        **(gravest[0].facts if gravest else {}),
        "cannot_judge": len(unknown) + len(outcome.alone) + len(outcome.failures),
        "not_looked_at": _not_looked_at(outcome),
        "ranking": [place(one) for one in outcome.suspects],
        "stores": [
            *(
                one.facts | _reach(one) | {"blind_window": _window(one)}
                for one in outcome.diagnosed
            ),
            *(
                {"store": name, "verdict": Verdict.UNKNOWN.value, "why": _alone(side)}
                for name, side in outcome.alone.items()
            ),
        ],
    }


def _not_looked_at(outcome: Outcome) -> list[str]:
    said = [f"{name}: {why}" for name, one in outcome.symptoms.items() for why in one.not_looked_at]
    return [*_NOT_LOOKED_AT, *said]


def _reach(one: Diagnosed) -> dict[str, Any]:
    return {
        "expected": one.expected,
        "rows_read": one.rows_read,
        "row_estimate": one.row_estimate,
    }


def _window(one: Diagnosed) -> dict[str, Any] | None:
    window = one.window
    if window is None:
        return None
    return {"opened_at": instant(window.opened_at), "closed_at": instant(window.closed_at)}


def _item(one: Diagnosed) -> dict[str, Any]:
    verdict, book = one.evidence.verdict, one.book
    return {
        "code": verdict.value,
        "severity": _SEVERITIES[verdict].label,
        "store": one.pair.store,
        "failure_mode": None if book is None else book.failure_mode,
        "evidence": one.facts | _reach(one),
        "blind_window": _window(one),
        "why": _why(one),
        "runbook": None if book is None else book.id,
        "next": _next(one),
    }


def _next(one: Diagnosed) -> str:
    store = one.pair.store
    if one.book is not None:
        return f"idemctl runbook run {one.book.id} --store {store}"
    return f"idemctl reconcile --store {store}"


def _why(one: Diagnosed) -> str:
    evidence = one.evidence
    match evidence.verdict:
        case Verdict.NORMAL:
            return "what Redis is expected to have is there"
        case Verdict.FLUSHED:
            return "both signs: records are missing by age, and the server tells of it"
        case Verdict.SUSPECTED if Sign.PAIR in evidence.signs:
            return "one sign, the pair: records are missing by age; the server tells of no flush"
        case Verdict.SUSPECTED:
            return (
                "one sign, the server: it was flushed; what is missing is not missing by age, "
                "so a part may have come back"
            )
        case Verdict.EVICTED:
            return "the server evicts keys, and tells of no flush that would explain it"
        case Verdict.INCOMPLETE:
            return "records are missing here and there; no flush and no eviction explains it"
        case Verdict.UNKNOWN if evidence.account.is_loading:
            return "the server is loading its data"
        case Verdict.UNKNOWN:
            return (
                f"only {count(evidence.sampled, 'record')} that Redis is expected to have among "
                f"{count(one.rows_read, 'row')}: too few to judge by"
            )


def _alone(side: str) -> str:
    if not side:
        return "a side has several layouts, and only twins of one are compared"
    return f"kept in {side} alone: there is no other store to judge it by"


def _sheet(outcome: Outcome) -> Sheet:
    return Sheet(
        title="what happened",
        headings=_HEADINGS,
        rows=[
            *(_row(one) for one in outcome.diagnosed),
            *((name, _CANNOT_JUDGE, "-", "-", "-") for name in outcome.alone),
        ],
        lines=list(_lines(outcome)),
    )


def _row(one: Diagnosed) -> tuple[str, ...]:
    evidence = one.evidence
    unknown = evidence.verdict is Verdict.UNKNOWN
    share = evidence.missing_share
    return (
        one.pair.store,
        _CANNOT_JUDGE if unknown else evidence.verdict.value,
        f"{count(evidence.missing)} of {count(evidence.sampled)}"
        + ("" if share is None else f" ({share * _PERCENT:.1f} %)"),
        _pair_says(evidence.border, evidence.missing),
        _server_says(one),
    )


def _pair_says(border: Border | None, missing: int) -> str:
    if border is None:
        return "lost here and there" if missing else "nothing lost"
    if border.lost_before is None:
        return f"lost after {when(border.lost_after)}"
    if border.lost_before - border.lost_after <= _AN_INSTANT:
        return f"lost at {when(border.lost_before)}"
    return f"lost between {when(border.lost_after)} and {when(border.lost_before)}"


def _server_says(one: Diagnosed) -> str:
    account = one.evidence.account
    said = []
    if account.flush_calls is not None:
        flushes = "flush" if account.flush_calls == 1 else "flushes"
        said.append(f"{count(account.flush_calls)} {flushes}")
    if account.evicted_keys is not None:
        said.append(f"{count(account.evicted_keys, 'key')} evicted")
    if account.uptime is not None:
        said.append(f"up for {span(account.uptime)}")
    return ", ".join(said) or "does not say"


def _lines(outcome: Outcome) -> Iterator[str]:
    for one in outcome.diagnosed:
        name = one.pair.store
        table = "" if one.row_estimate is None else f" of about {one.row_estimate:,}"
        yield (
            f"{name}: read {count(one.rows_read, 'row')}{table}; Redis is expected to have "
            f"{one.expected:,} of them, and was asked for {one.evidence.sampled:,}"
        )
        if one.evidence.verdict is not Verdict.NORMAL:
            yield f"{name}: {_why(one)}"
        if _happened(one):
            yield f"{name}: blind window: {_window_said(one)}"
            yield f"{name}: next: {_next(one)}"
    for name, side in outcome.alone.items():
        yield f"{name}: {_alone(side)}"
    yield f"not looked at: {'; '.join(_not_looked_at(outcome))}"
    yield _headline(outcome)


def _window_said(one: Diagnosed) -> str:
    window = one.window
    if window is None:
        return "none, for the application writes Postgres first and looks there on a miss"
    if window.opened_at is None:
        return "nobody can tell since when; it lasts until Redis has its records again"
    length = span(window.closed_at - window.opened_at)
    return (
        f"from {when(window.opened_at)} until now, {length}; it lasts until Redis has its "
        "records again"
    )


def _headline(outcome: Outcome) -> str:
    happened = [one for one in outcome.diagnosed if _happened(one)]
    besides = others(outcome)
    if happened or besides:
        said = [
            f"{one.pair.store}: {one.evidence.verdict.value}"
            + ("" if one.book is None else f", {one.book.failure_mode}")
            for one in happened
        ]
        said += [f"{one.store}: {one.ranked.mode.value}" for one in besides]
        return f"something happened: {'; '.join(said)}"
    judged = [one for one in outcome.diagnosed if one.evidence.verdict is Verdict.NORMAL]
    if outcome.status is not ExitStatus.OK or not judged:
        return "cannot judge what happened"
    return f"nothing happened to {', '.join(one.pair.store for one in judged)}"

"""Policies with what their ways back ask of them, for people and for machines."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from idemctl.domain.durations import format_duration
from idemctl.domain.outcomes import Report, Sheet
from idemctl.domain.records import Pattern
from idemctl.render.figures import count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from idemctl.domain.horizons import ReplayPath
    from idemctl.domain.policies import EndpointPolicy
    from idemctl.operations.policy_show import Outcome, Shown
    from idemctl.run.run import Run

_HEADINGS = ("endpoint", "ttl", "required", "longest way back", "owner")


def report(outcome: Outcome, run: Run, finished_at: datetime, *, explain: bool = False) -> Report:
    """Make the list; with the arithmetic where that is asked for."""
    total = count(len(outcome.shown), "endpoint")
    short = sum(_missing(one.policy) is not None for one in outcome.shown)
    headline = f"{total}, {short} with a ttl that is too short" if short else total
    if explain:
        sheets = [
            Sheet(title=f"{one.policy.endpoint}  ({one.place})", lines=list(_arithmetic(one)))
            for one in outcome.shown
        ]
    else:
        sheets = [Sheet(headings=_HEADINGS, rows=[_row(one.policy) for one in outcome.shown])]
    return Report(
        command="policy-show",
        status=outcome.status,
        store=None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={"endpoints": len(outcome.shown), "too_short": short},
        items=[_item(one) for one in outcome.shown],
        sheets=[*sheets, Sheet(lines=[headline])],
        headline=headline,
    )


def _item(one: Shown) -> dict[str, Any]:
    policy, needed = one.policy, one.policy.required
    return {
        "code": "policy",
        "endpoint": policy.endpoint,
        "file": one.place.file,
        "line": one.place.line,
        "column": one.place.column,
        "ttl": format_duration(policy.ttl),
        "required": needed and format_duration(needed.ttl),
        "margin": needed and format_duration(needed.margin),
        "missing": _missing(policy),
        "ways_back": [_way(path) for path in policy.replay],
        "pattern": None if policy.pattern is None else policy.pattern.label,
        "made_by": policy.made_by,
        "scope": list(policy.scope),
        "class": policy.stakes.value,
        "effect": policy.effect,
        "reads": policy.reads,
        "owner": policy.owner,
    }


def _way(path: ReplayPath) -> dict[str, Any]:
    return {
        "known": _length(path.at_least),
        "is_whole": not path.unknown,
        "hops": [
            {
                "way": hop.way.value,
                "provider": hop.provider and hop.provider.name,
                "length": hop.length and format_duration(hop.length),
            }
            for hop in path.hops
        ],
    }


def _row(policy: EndpointPolicy) -> tuple[str, ...]:
    needed, longest = policy.required, policy.longest
    return (
        policy.endpoint,
        format_duration(policy.ttl),
        "" if needed is None else format_duration(needed.ttl),
        "" if longest is None else f"{longest.label}: {_sum(longest)}",
        policy.owner or "",
    )


def _arithmetic(one: Shown) -> Iterator[str]:
    policy, needed = one.policy, one.policy.required
    yield f"  ttl         {format_duration(policy.ttl)}"
    for path in policy.replay:
        counts = "   the longest" if path is policy.longest and len(policy.replay) > 1 else ""
        yield f"  way back    {_sum(path)}   {path.label}{counts}"
    if policy.pattern is Pattern.BODY_HASH:
        yield "  required    nothing: a hash of the body promises no more than the hour"
    elif needed is None:
        yield "  required    nothing is known of any way back"
    else:
        yield f"  margin      {format_duration(needed.margin)}   an hour, or a tenth of it"
        total = f"{format_duration(needed.window)} + {format_duration(needed.margin)}"
        yield f"  required    {format_duration(needed.ttl)}   {total}, in whole hours"
        missing = needed.window - policy.ttl
        if missing > timedelta():
            yield f"  missing     {format_duration(missing)}, and the margin"
        elif policy.ttl < needed.ttl:
            yield f"  missing     {format_duration(needed.ttl - policy.ttl)} of the margin"


def _sum(path: ReplayPath) -> str:
    parts = ["unknown" if hop.length is None else format_duration(hop.length) for hop in path.hops]
    if len(parts) == 1:
        return parts[0]
    at_least = "at least " if path.unknown else ""
    return f"{' + '.join(parts)} = {at_least}{_length(path.at_least) or 'unknown'}"


def _length(length: timedelta) -> str | None:
    return format_duration(length) if length else None


def _missing(policy: EndpointPolicy) -> str | None:
    needed = policy.required
    if needed is None or policy.ttl >= needed.ttl:
        return None
    return format_duration(needed.ttl - policy.ttl)

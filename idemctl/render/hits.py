"""Hits and their spikes, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.causes import Cause, cause_of, confidence_of
from idemctl.domain.keys import escape
from idemctl.domain.outcomes import Report, Sheet
from idemctl.domain.traffic import Basis, Fault, Hit
from idemctl.errors import ExitStatus
from idemctl.render.envelope import failure, instant
from idemctl.render.figures import count, span, when

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from idemctl.domain.traffic import Sample, Series, Spike
    from idemctl.operations.hits import Looked, Outcome
    from idemctl.run.run import Run

_DIGITS = 6
_SMALL = 0.01
_NEEDED = "a baseline takes two weeks"
_FAULTS = {
    Fault.NOT_JSON: "no JSON object with any of the fields",
    Fault.NO_INSTANT: "no time with an offset",
    Fault.UNKNOWN_OUTCOME: "an outcome that is none of created, replay, conflict, mismatch",
}
_BASES = {
    Basis.HOUR_OF_WEEK: "the same hour of the other weeks",
    Basis.HOUR_OF_DAY: "the same hour of other days, since that of the week holds too few hits",
    Basis.ALL: "all other days, since the hours hold too few hits",
}


def report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of a look at logs."""
    stores = {one.store for one in outcome.logs}
    return Report(
        command="hits",
        status=outcome.status,
        store=stores.pop() if len(stores) == 1 else None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary=_summary(outcome),
        items=[_item(one, spike) for one, spike in _spikes(outcome)],
        errors=[failure(error) for error in outcome.failures],
        sheets=[_counts_sheet(outcome), *_spikes_sheet(outcome)],
        headline=_headline(outcome),
    )


def label(series: Series) -> str:
    """Name a series: `endpoint POST /v1/charges, client web`.

    >>> from idemctl.domain.traffic import Series
    >>> label(Series()), label(Series(client="web"))
    ('all requests', 'client web')
    """
    parts = (("endpoint", series.endpoint), ("client", series.client))
    named = [f"{what} {_shown(name)}" for what, name in parts if name is not None]
    return ", ".join(named) or "all requests"


def _spikes(outcome: Outcome) -> Iterator[tuple[Looked, Spike]]:
    for one in outcome.logs:
        if one.judged is not None:
            yield from ((one, spike) for spike in one.judged.spikes)


def _summary(outcome: Outcome) -> dict[str, Any]:
    sides = [_figures(one) for one in outcome.logs]
    total = {
        name: sum(one[name] for one in sides)
        for name in ("lines", "unreadable", "unkeyed", "keyed_requests")
    }
    hits = {hit.value: sum(one["hits"][hit] for one in sides) for hit in Hit}
    return {
        **total,
        "hits": hits,
        "hit_rate": _rate(sum(hits.values()), total["keyed_requests"]),
        "spikes": sum(one["spikes"] for one in sides),
        "judged": sum(one["judged"] for one in sides),
        "cannot_judge": sum(one["cannot_judge"] for one in sides),
        "from": min((one["from"] for one in sides if one["from"]), default=None),
        "to": max((one["to"] for one in sides if one["to"]), default=None),
        "stores": sides,
    }


def _figures(one: Looked) -> dict[str, Any]:
    reading, judged = one.reading, one.judged
    hits = {hit: reading.traffic.hit_count(hit) for hit in Hit}
    return {
        "store": one.store,
        "lines": reading.line_count,
        "unreadable": reading.unreadable_count,
        "unreadable_by_fault": {str(fault): found for fault, found in reading.unreadable.items()},
        "sample": [_sample(sample) for sample in reading.samples],
        "unkeyed": reading.unkeyed_count,
        "keyed_requests": reading.traffic.request_count,
        "hits": hits,
        "hit_rate": _rate(sum(hits.values()), reading.traffic.request_count),
        "spikes": len(judged.spikes) if judged else 0,
        "judged": judged.judged_count if judged else 0,
        "cannot_judge": judged.unjudged_count if judged else 0,
        "long_enough": judged is not None and judged.long_enough,
        "from": instant(judged.began_at) if judged else None,
        "to": instant(judged.ended_at) if judged else None,
    }


def _item(one: Looked, spike: Spike) -> dict[str, Any]:
    return {
        "code": f"{spike.hit}-spike",
        "store": one.store,
        "series": label(spike.series),
        "endpoint": None if spike.series.endpoint is None else _shown(spike.series.endpoint),
        "client": None if spike.series.client is None else _shown(spike.series.client),
        "started_at": instant(spike.started_at),
        "ended_at": instant(spike.ended_at),
        "requests": spike.request_count,
        "hits": spike.observed_count,
        "baseline": _rate(spike.expected_count, spike.request_count),
        "observed": _rate(spike.observed_count, spike.request_count),
        "score": round(spike.score, 1),
        "cause": cause_of(spike),
        "confidence": confidence_of(spike),
        "evidence": list(_evidence(spike)),
        "next": "idemctl audit" + (f" --store {one.store}" if one.store else ""),
    }


def _evidence(spike: Spike) -> Iterator[str]:
    yield (
        f"{count(spike.observed_count)} of {count(spike.request_count, 'request')} ended as "
        f"{spike.hit}, where about {count(round(spike.expected_count))} were to be expected"
    )
    yield f"expected by {_BASES[spike.basis]}"
    yield f"by chance less than once in 10^{int(spike.score)} such looks"
    if cause_of(spike) is Cause.EVERYWHERE:
        yield "no client and no endpoint stands out"
    else:
        share = min(spike.share, 1.0)
        yield f"this series carries {share:.0%} of all hits too many at that time"


def _counts_sheet(outcome: Outcome) -> Sheet:
    return Sheet(
        title="hits",
        headings=("store", "keyed requests", "replays", "conflicts", "mismatches", "hit rate"),
        rows=[
            (
                one.store or "files",
                count(one.reading.traffic.request_count),
                *(_with_rate(one, hit) for hit in Hit),
                _percent(_figures(one)["hit_rate"]),
            )
            for one in outcome.logs
        ],
        lines=[
            *(line for one in outcome.logs for line in _remarks(one)),
            *([] if any(_spikes(outcome)) else [_headline(outcome)]),
        ],
    )


def _with_rate(one: Looked, hit: Hit) -> str:
    found, asked = one.reading.traffic.hit_count(hit), one.reading.traffic.request_count
    return f"{count(found)} ({_percent(_rate(found, asked))})"


def _remarks(one: Looked) -> Iterator[str]:
    reading, judged = one.reading, one.judged
    name = one.store or "files"
    for fault, found in reading.unreadable.items():
        yield f"{name}: {count(found, 'line')} not read: {_FAULTS[fault]}"
        for sample in reading.samples:
            if sample.fault is fault:
                yield f"  such as {escape(sample.seen)}"
    if reading.unkeyed_count:
        yield f"{name}: {count(reading.unkeyed_count, 'line')} without a key, left out"
    if judged is None:
        yield f"{name}: cannot judge: no line tells of a keyed request"
    elif not judged.long_enough:
        length = span(judged.ended_at - judged.began_at)
        yield f"{name}: cannot judge: the log covers {length}, and {_NEEDED}"
    elif judged.unjudged_count:
        yield (
            f"{name}: cannot judge {count(judged.unjudged_count)} of "
            f"{count(judged.unjudged_count + judged.judged_count)} series: "
            "too few requests in the other weeks"
        )


def _spikes_sheet(outcome: Outcome) -> Iterator[Sheet]:
    spikes = list(_spikes(outcome))
    if not spikes:
        return
    items = [_item(one, spike) for one, spike in spikes]
    yield Sheet(
        title="spikes",
        headings=("store", "what", "began", "for", "usual", "now", "whose", "cause", "confidence"),
        rows=[
            (
                one.store or "files",
                item["code"],
                when(spike.started_at),
                span(spike.ended_at - spike.started_at),
                _percent(item["baseline"]),
                _percent(item["observed"]),
                item["series"],
                item["cause"],
                item["confidence"],
            )
            for (one, spike), item in zip(spikes, items, strict=True)
        ],
        lines=[
            *(line for item in items for line in _reasons(item)),
            *dict.fromkeys(f"next: {item['next']}" for item in items),
            _headline(outcome),
        ],
    )


def _reasons(item: dict[str, Any]) -> Iterator[str]:
    yield f"{item['code']}, {item['series']}:"
    yield from (f"  {reason}" for reason in item["evidence"])


def _headline(outcome: Outcome) -> str:
    spikes = [spike for _, spike in _spikes(outcome)]
    if spikes:
        worst_one = max(spikes, key=lambda spike: spike.score)
        others = f", and {count(len(spikes) - 1, 'other spike')}" if len(spikes) > 1 else ""
        return (
            f"{worst_one.hit} spike from {when(worst_one.started_at)}: "
            f"{label(worst_one.series)}{others}"
        )
    if outcome.status is ExitStatus.UNREACHABLE:
        return "cannot judge: no line of the logs could be read"
    judged = [one.judged for one in outcome.logs if one.judged and one.judged.long_enough]
    if not judged:
        return f"cannot judge: {_NEEDED}"
    hits = sum(one.reading.traffic.hit_count(hit) for one in outcome.logs for hit in Hit)
    asked = sum(one.reading.traffic.request_count for one in outcome.logs)
    return f"no spike: {_percent(_rate(hits, asked))} of {count(asked, 'keyed request')} were hits"


def _rate(part: float, whole: int) -> float | None:
    return round(part / whole, _DIGITS) if whole else None


def _percent(rate: float | None) -> str:
    if rate is None:
        return "-"
    return f"{rate:.1%}" if rate >= _SMALL else f"{rate:.2%}"


def _shown(name: str) -> str:
    return escape(name.encode("utf-8", errors="surrogatepass"))


def _sample(sample: Sample) -> dict[str, str]:
    return {"fault": sample.fault, "seen": escape(sample.seen)}

"""The places that an audit looked at: how many records, how old, how large, and what is late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.keys import escape
from idemctl.domain.outcomes import Sheet
from idemctl.domain.records import Pattern, Status
from idemctl.domain.sight import Engine
from idemctl.render.envelope import instant
from idemctl.render.figures import count, size, span, when

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.domain.frequent import Frequent
    from idemctl.run.audited import Audited, Outcome

_HEADINGS = (
    "pattern", "store", "where", "records", "in progress", "completed", "failed", "unknown",
    "malformed", "oldest", "newest", "to collect", "size", "growth a day", "full in",
    "last good gc",
)  # fmt: skip
_SHOWN_NAMES, _NAMES = 3, 10
"""Names of scopes and endpoints: in the table, and in JSON."""
_LONGEST_NAME = 48
_SHOWN = (Status.IN_PROGRESS, Status.COMPLETED, Status.FAILED, Status.UNKNOWN, Status.MALFORMED)


def places(outcome: Outcome) -> Sheet:
    """Write the first table: a row for each place, and one for each pattern that has none."""
    rows = [
        row
        for pattern in Pattern
        for row in _rows_of(pattern, [one for one in outcome.places if one.pattern is pattern])
    ]
    return Sheet(title="what is kept where", headings=_HEADINGS, rows=rows)


def _rows_of(pattern: Pattern, kept: list[Audited]) -> Iterator[tuple[str, ...]]:
    if not kept:
        yield pattern.label, "none configured", *[""] * (len(_HEADINGS) - 2)
    for one in kept:
        yield pattern.label, one.target.store, one.place, *_figures(one)


def _figures(one: Audited) -> Iterator[str]:
    overview = one.overview
    if overview is None:
        yield from ("not read", *[""] * (len(_HEADINGS) - 4))
        return
    yield f"{count(overview.seen_count)} sampled" if one.is_sample else count(overview.seen_count)
    yield from (_in_status(one, overview.by_status[status], status) for status in _SHOWN)
    yield when(overview.oldest)
    yield when(overview.newest)
    yield "by Redis" if one.target.expires_by_itself else count(overview.expired_count)
    yield size(overview.size)
    yield _growth(one)
    yield _full_in(one)
    yield _last_gc(one)


def _in_status(one: Audited, number: int, status: Status) -> str:
    """Give a number; where nobody could see such records, none is no zero."""
    return count(number) if number or status in one.target.statuses else "-"


def _growth(one: Audited) -> str:
    grown = one.measured.growth if one.measured else None
    if grown is None or grown.records is None or grown.size is None:
        return "unknown"
    sign = "-" if grown.size < 0 else "+"
    return f"{grown.records:+,.0f}, {sign}{size(abs(round(grown.size)))}"


def _full_in(one: Audited) -> str:
    """Say for how long a server has room; of Postgres nobody sees the disk."""
    measured = one.measured
    if measured is None or measured.memory_limit is None:
        return "unknown"
    if measured.evicts or not measured.memory_limit:
        return "evicts" if measured.evicts else "no limit"
    if measured.growth is None or measured.growth.memory is None:
        return "unknown"
    return "never" if measured.full_in is None else span(measured.full_in)


def _last_gc(one: Audited) -> str:
    if one.target.engine is Engine.REDIS:
        return "none needed"
    return str(one.last_gc.get("finished_at")) if one.last_gc else "none known"


def most(outcome: Outcome) -> Iterator[Sheet]:
    """Write whose records most are; nothing where no layout names a scope or an endpoint."""
    rows = [
        (one.target.store, one.place, kind, _cut(escape(name)), number, share)
        for one in outcome.places
        for kind, frequent in _frequent(one)
        for name, number, share in _shares(frequent)
    ]
    if rows:
        headings = ("store", "where", "by", "whose", "records", "share")
        yield Sheet(title="who has the most records", headings=headings, rows=rows)


def _frequent(one: Audited) -> Iterator[tuple[str, Frequent]]:
    if one.overview is not None:
        yield "scope", one.overview.scopes
        yield "endpoint", one.overview.endpoints


def _shares(frequent: Frequent) -> Iterator[tuple[bytes, str, str]]:
    for name, number in frequent.most(_SHOWN_NAMES):
        at_least = "at least " if frequent.missed else ""
        yield name, f"{at_least}{count(number)}", f"{at_least}{number / frequent.named:.0%}"


def _most_item(one: Audited) -> dict[str, Any]:
    return {
        kind: {
            "records": frequent.named,
            "exact": not frequent.missed,
            "most": [
                {"name": escape(name), "records": number} for name, number in frequent.most(_NAMES)
            ],
        }
        for kind, frequent in _frequent(one)
        if frequent.named
    }


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def records(outcome: Outcome) -> dict[str, dict[str, dict[str, int]]]:
    """Count by store, pattern and status."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for one in outcome.places:
        statuses = counts.setdefault(one.target.store, {}).setdefault(one.pattern.label, {})
        for status, number in one.overview.by_status.items() if one.overview else ():
            if number:
                statuses[status.label] = statuses.get(status.label, 0) + number
    return counts


def seen_in(one: Audited) -> int:
    """Count the records that were looked at in one place."""
    return one.overview.seen_count if one.overview else 0


def place_item(one: Audited) -> dict[str, Any]:
    """Give one place as JSON has it."""
    overview = one.overview
    return {
        "store": one.target.store,
        "side": one.target.engine.value,
        "pattern": one.pattern.label,
        "place": one.place,
        "layout": one.target.layout,
        "seen": overview.seen_count if overview else None,
        "sampled": one.is_sample,
        "oldest": instant(overview.oldest) if overview else None,
        "newest": instant(overview.newest) if overview else None,
        "expired": None
        if overview is None or one.target.expires_by_itself
        else overview.expired_count,
        "bytes": overview.size if overview else None,
        "most": _most_item(one),
        "growth": _growth_item(one),
        "last_gc_at": one.last_gc.get("finished_at") if one.last_gc else None,
        "row_estimate": one.row_estimate,
        "why_stopped": one.why_stopped,
        "checked": list(one.checked),
        "cannot_judge": [{"code": check.code, "why": check.why} for check in one.cannot_judge],
    }


def _growth_item(one: Audited) -> dict[str, Any] | None:
    """Give the growth a day; null where nothing was measured before, and what is not known."""
    measured = one.measured
    if measured is None or measured.growth is None:
        return None
    grown, left = measured.growth, measured.full_in
    return {
        "since": instant(grown.since),
        "records": None if grown.records is None else round(grown.records),
        "bytes": None if grown.size is None else round(grown.size),
        "memory_bytes": None if grown.memory is None else round(grown.memory),
        "full_in_days": None if left is None else round(left.total_seconds() / 86_400, 1),
    }

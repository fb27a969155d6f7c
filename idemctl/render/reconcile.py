"""What reconcile found and did, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.differences import Difference
from idemctl.domain.keys import escape, key_fields
from idemctl.domain.outcomes import Report, Sheet, WhyStopped
from idemctl.render.envelope import failure, instant
from idemctl.render.figures import count, when
from idemctl.render.witness import judgement_fields, witness_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from idemctl.operations.reconcile import Outcome, Reconciled
    from idemctl.run.comparison import Comparison
    from idemctl.run.run import Run

_SHOWN = 5
"""Keys of a kind that a person sees; `-o json` carries up to a thousand, ndjson too."""
_FOUND = [one for one in Difference if one is not Difference.EQUAL]
_MEANINGS = {
    Difference.MISSING: "Redis owes it and has not; a retry costs a look into Postgres",
    Difference.ORPHAN: "only in Redis; kept until its TTL ends, for it may be the only proof",
    Difference.STALE: "older than its row; the application's next write brings it up to date",
    Difference.DIVERGENT: "contradicts its row: two requests or two responses under one key",
    Difference.LEAKED: "has no TTL, so it outlives every promise",
    Difference.TTL_DIFFERS: "outlives what its row promises",
    Difference.MALFORMED: "one of the two cannot be read: look with idemctl audit",
}


def report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of a run of reconcile."""
    stores = [one.pair.store for one in outcome.pairs]
    return Report(
        command="reconcile",
        status=outcome.status,
        store=stores[0] if len(stores) == 1 else None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary=_summary(outcome),
        items=[item for one in outcome.pairs for item in _items(one)],
        errors=[failure(error) for error in outcome.failures],
        sheets=[_sheet(outcome)],
        headline=_headline(outcome),
    )


def _summary(outcome: Outcome) -> dict[str, Any]:
    each = [_counts(one) for one in outcome.pairs]
    total = {
        name: _sum([one[name] for one in each])
        for name in (each[0] if each else {})
        if name != "longest_hold_ms"
    }
    alone = outcome.pairs[0] if len(outcome.pairs) == 1 else None
    ends = [one.why_stopped for one in outcome.pairs if one.why_stopped is not WhyStopped.DONE]
    return {
        "apply": outcome.options.apply,
        # Of several pairs each has its own, below.
        "verdict": alone.evidence.verdict if alone and alone.evidence else None,
        "blind_window": _window(alone) if alone else None,
        **total,
        "longest_hold_ms": max((one["longest_hold_ms"] for one in each), default=0.0),
        "why_stopped": ends[0] if ends else WhyStopped.DONE,
        "stores": [
            {
                "store": one.pair.store,
                "verdict": one.evidence.verdict if one.evidence else None,
                "blind_window": _window(one),
                **counts,
                "why_stopped": one.why_stopped,
                "witness": judgement_fields(one.witness),
            }
            for one, counts in zip(outcome.pairs, each, strict=True)
        ],
    }


def _sum(counts: Sequence[int | None]) -> int | None:
    """Add up; with an unknown the sum is unknown."""
    known = [one for one in counts if one is not None]
    return sum(known) if len(known) == len(counts) else None


def _counts(one: Reconciled) -> dict[str, Any]:
    compared: dict[str, int | None] = dict.fromkeys(_COMPARED)
    if one.comparison is not None and not one.comparison.is_over:
        totals = one.comparison.totals
        compared |= {
            "postgres_scanned": totals.postgres_scanned,
            "redis_scanned": totals.redis_scanned,
            "unproven": one.comparison.unproven_count,
        }
    elif one.comparison is not None:
        comparison, totals = one.comparison, one.comparison.totals
        compared = {
            "postgres_scanned": totals.postgres_scanned,
            "redis_scanned": totals.redis_scanned,
            "equal": totals.equal,
            **{_name(kind): comparison.counts[kind] for kind in _FOUND},
            "held": comparison.counts[Difference.ORPHAN],
            "unreadable": totals.unreadable,
            "moving": comparison.moving_count,
            "unproven": comparison.unproven_count,
            "duplicates_suspected": comparison.counts[Difference.DIVERGENT],
        }
    return compared | {
        "missing": one.missing_count,
        "applied": one.applied_count,
        "applied_unknown": one.unknown_count,
        "skipped_changed": one.skipped_count,
        "longest_hold_ms": round(one.longest_hold_ms, 1),
    }


def _window(one: Reconciled) -> dict[str, str | None] | None:
    window = one.window
    if window is None:
        return None
    return {"opened_at": instant(window.opened_at), "closed_at": instant(window.closed_at)}


def _name(kind: Difference) -> str:
    return kind.label.replace("-", "_")


_COMPARED = (
    "postgres_scanned", "redis_scanned", "equal", *map(_name, _FOUND),
    "held", "unreadable", "moving", "unproven", "duplicates_suspected",
)  # fmt: skip
"""What only a comparison tells."""


def _items(one: Reconciled) -> Iterator[dict[str, Any]]:
    kept = one.comparison.kept if one.comparison else {}
    for kind, keys in sorted(kept.items()):
        for key, scope in keys:
            yield {
                "code": kind.label,
                "store": one.pair.store,
                **key_fields(key),
                "scope": escape(scope),
                "why": _MEANINGS[kind],
                "next": _next(kind, one.pair.store),
            }


def _next(kind: Difference, store: str) -> str:
    if kind is Difference.MISSING:
        return f"idemctl reconcile --apply --store {store}"
    return f"idemctl audit --store {store}"


def _sheet(outcome: Outcome) -> Sheet:
    return Sheet(
        title="reconcile"
        if outcome.options.apply
        else "reconcile would compare and fill (nothing was changed)",
        headings=("store", "difference", "records", "of them", "what it means"),
        rows=[row for one in outcome.pairs for row in _rows(one)],
        lines=list(_lines(outcome)),
    )


def _rows(one: Reconciled) -> Iterator[tuple[str, ...]]:
    store, comparison = one.pair.store, one.comparison
    if comparison is None:
        done = f"{count(one.applied_count)} filled" if one.applied_count else ""
        yield store, "unknown", "", done, "was not compared"
        return
    yield store, "none", count(comparison.totals.equal), "", "equal in both stores"
    for kind in _FOUND:
        records = one.missing_count if kind is Difference.MISSING else comparison.counts[kind]
        if records:
            filled = kind is Difference.MISSING and one.applied_count
            done = f"{count(one.applied_count)} filled" if filled else _sample(comparison, kind)
            yield store, kind.label, count(records), done, _MEANINGS[kind]


def _sample(comparison: Comparison, kind: Difference) -> str:
    keys = comparison.kept.get(kind, [])
    more = ", …" if comparison.counts[kind] > _SHOWN else ""
    return ", ".join(escape(key) for key, _ in keys[:_SHOWN]) + more


def _lines(outcome: Outcome) -> Iterator[str]:
    for one in outcome.pairs:
        name, comparison = one.pair.store, one.comparison
        if one.window is not None:
            opened = when(one.window.opened_at)
            yield f"{name}: blind window from {opened} to {when(one.window.closed_at)}"
        others = one.evidence.account.key_count if one.evidence and one.evidence.is_void else None
        if others:
            held = count(others, "key")
            yield f"{name}: nothing had its prefix, and the server held {held} of others"
        if comparison and comparison.moving_count:
            moving = count(comparison.moving_count, "record")
            yield f"{name}: {moving} moved between two looks, and are no differences"
        if comparison and comparison.totals.unreadable:
            unreadable = count(comparison.totals.unreadable, "record")
            yield f"{name}: {unreadable} in Redis cannot be read, and may be anybody's: see audit"
        if comparison and comparison.unproven_count:
            unproven = count(comparison.unproven_count, "difference")
            yield f"{name}: {unproven} were seen once only, and are not counted"
        if one.unknown_count:
            unknown = count(one.unknown_count, "record")
            yield f"{name}: {unknown} may be filled or not: Redis fell silent meanwhile"
        if one.skipped_count:
            skipped = count(one.skipped_count, "record")
            yield f"{name}: {skipped} changed or were in somebody's hands; run again"
        yield from witness_lines(name, one.witness)
        if one.why_stopped is not WhyStopped.DONE:
            yield f"{name}: stopped early ({one.why_stopped}); run again to go on"
    yield _headline(outcome)


def _headline(outcome: Outcome) -> str:
    if not outcome.pairs:
        return "nothing could be compared"
    applied = sum(one.applied_count for one in outcome.pairs)
    left = sum(one.left_count for one in outcome.pairs)
    whole = not outcome.failures and all(one.is_whole for one in outcome.pairs)
    if outcome.options.apply and applied:
        missing = _sum([one.missing_count for one in outcome.pairs])
        longest = max(one.longest_hold_ms for one in outcome.pairs)
        of_them = "" if missing is None or not whole else f" of {count(missing)} missing"
        rest = f"{count(left, 'difference')} left" if left else "nothing is left"
        if not whole:
            rest = "not everything was compared: run again to go on"
        filled = f"filled {count(applied, 'record')}{of_them}"
        return f"{filled}, rows held {longest:.0f} ms at most; {rest}"
    compared = [one.comparison for one in outcome.pairs if one.comparison is not None]
    if not compared:
        return "nothing was compared: run again"
    part = "" if whole else " in the part that was looked at"
    if not left:
        totals = [one.totals for one in compared]
        scanned = sum(one.postgres_scanned + one.redis_scanned for one in totals)
        return f"no difference{part}: {count(scanned, 'record')} scanned"
    is_missing = any(one.counts[Difference.MISSING] for one in compared)
    to_do = "; reconcile --apply fills what is missing" if is_missing and whole else ""
    return f"{count(left, 'difference')}{part}{to_do}"

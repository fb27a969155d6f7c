"""What gc found and did, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.brakes import Ruling
from idemctl.domain.collection import add_collections
from idemctl.domain.instants import from_micros
from idemctl.domain.outcomes import Report, Sheet, WhyStopped
from idemctl.domain.past_runs import promises_told
from idemctl.domain.references import OnDelete
from idemctl.domain.retention import Promise, Verdict
from idemctl.render.envelope import failure, instant
from idemctl.render.figures import count, span, when
from idemctl.render.gc_promises import explanation
from idemctl.render.partitions import partition_fields, partition_lines
from idemctl.render.waits import waited_fields, waited_lines
from idemctl.render.witness import judgement_fields, witness_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from idemctl.domain.brakes import Decision
    from idemctl.domain.references import Reference
    from idemctl.domain.retention import Tally
    from idemctl.operations.gc import Collected, Outcome
    from idemctl.run.run import Run

_LEFT = "left to Redis"
_HEADINGS = ("store", "where", "records", "what becomes of them", "why")


def report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of a run of gc."""
    stores = sorted(
        {one.target.store for one in outcome.targets} | {one.store for one in outcome.left}
    )
    return Report(
        command="gc",
        status=outcome.status,
        store=stores[0] if len(stores) == 1 else None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary=_summary(outcome),
        items=[_item(one, group) for one in outcome.targets for group in one.collection.tallies],
        errors=[failure(error) for error in outcome.failures],
        sheets=[_sheet(outcome), *([explanation(outcome)] if outcome.options.explain else [])],
        headline=_headline(outcome),
    )


def _summary(outcome: Outcome) -> dict[str, Any]:
    total = add_collections(one.collection for one in outcome.targets)
    cutoffs = [one.cutoff for one in outcome.targets]
    ends = [one.why_stopped for one in outcome.targets if one.why_stopped is not WhyStopped.DONE]
    return {
        "apply": outcome.options.apply,
        "cutoff": instant(min(cutoffs, default=None)),
        **_counts(total),
        "why_stopped": ends[0]
        if ends
        else WhyStopped.LOCKED_OUT
        if outcome.left
        else WhyStopped.DONE,
        "left_to_another_gc": [{"store": one.store, "says": one.says} for one in outcome.left],
        "stores": [
            {
                "store": one.target.store,
                "pattern": one.pattern.label,
                "place": one.place,
                "cutoff": instant(one.cutoff),
                "clock_ahead_s": round(one.clock_ahead.total_seconds(), 3),
                "promises": None if one.retention is None else promises_told(one.retention),
                "expires_by_itself": one.target.expires_by_itself,
                **_counts(one.collection),
                "oldest_left_at": instant(one.oldest_left_at),
                "why_stopped": one.why_stopped,
                **waited_fields(one.waited),
                "brakes": [_brake(decision) for decision in one.brakes],
                "troubles": list(one.collection.troubles),
                "references": [_reference(reference) for reference in one.references],
                "partitions": [partition_fields(partition) for partition in one.partitions],
                "witness": judgement_fields(one.witness),
            }
            for one in outcome.targets
        ],
    }


def _brake(decision: Decision) -> dict[str, Any]:
    return {
        "brake": decision.brake.value,
        "ruling": decision.ruling.value,
        "seen": decision.seen,
        "most": decision.most,
        "says": decision.says,
        "override": decision.flag,
    }


def _reference(reference: Reference) -> dict[str, Any]:
    return {
        "table": reference.table,
        "key": reference.key,
        "on_delete": reference.on_delete.value,
        "is_meant": reference.is_meant,
        "has_index": reference.has_index,
    }


def _counts(total: Any) -> dict[str, Any]:
    return {
        "candidates": total.candidates,
        "protected": total.protected,
        "kept_by_layout": total.count(Verdict.KEPT_BY_LAYOUT),
        "deleted": total.deleted,
        "children_deleted": total.children_deleted,
        "skipped_locked": total.skipped_locked,
        "changed_meanwhile": total.changed_meanwhile,
        "failed": total.failed,
        "batches": total.batches,
        "longest_batch_ms": round(total.longest_batch_ms, 1),
    }


def _item(one: Collected, group: Tally) -> dict[str, Any]:
    return {
        "code": group.verdict.label,
        "store": one.target.store,
        "pattern": one.pattern.label,
        "place": one.place,
        "count": group.count,
        "promise": group.promise.label,
        "oldest_end_at": instant(from_micros(group.oldest)),
        "newest_end_at": instant(from_micros(group.newest)),
        "why": _why(one, group),
    }


def _sheet(outcome: Outcome) -> Sheet:
    return Sheet(
        title="gc" if outcome.options.apply else "gc would collect (nothing was changed)",
        headings=_HEADINGS,
        rows=[row for one in outcome.targets for row in _rows(one, outcome)],
        lines=list(_lines(outcome)),
    )


def _rows(one: Collected, outcome: Outcome) -> Iterator[tuple[str, ...]]:
    name, place = one.target.store, one.place
    if one.target.expires_by_itself and not one.collection.tallies:
        why = "no key has this prefix; is it the right one?"
        if one.target.is_shared:
            why = "no key is read through this layout"
        yield name, place, "0", "cannot judge", why
    for group in one.collection.tallies:
        yield name, place, count(group.count), _fate(one, group, outcome), _why(one, group)


def _fate(one: Collected, group: Tally, outcome: Outcome) -> str:
    if one.target.expires_by_itself:
        # Redis removes a key when its TTL ends, whatever else is wrong with it.
        return "kept" if group.promise is Promise.NONE else _LEFT
    if group.verdict is not Verdict.EXPIRED:
        return "kept"
    if not outcome.options.apply:
        return "to collect"
    if one.collection.deleted >= one.collection.count(Verdict.EXPIRED):
        return "collected"
    return "collected in part" if one.collection.deleted else "not collected"


def _why(one: Collected, group: Tally) -> str:
    oldest, newest = from_micros(group.oldest), from_micros(group.newest)
    past = f"its promise ({group.promise.label}) ended"
    match group.verdict:
        case Verdict.EXPIRED:
            since = f", the oldest {span(one.cutoff - oldest)} ago" if oldest else ""
            return f"{past}{since}"
        case Verdict.LIVE:
            last = f", the last for {span(newest - one.cutoff)}" if newest else ""
            return f"promised for longer ({group.promise.label}){last}"
        case Verdict.IN_PROGRESS:
            return f"{one.target.in_progress_means}: belongs to its owner"
        case Verdict.IN_PROGRESS_PAST_EXPIRY:
            return f"{one.target.in_progress_means} though past its expiry: needs a person"
        case Verdict.NEVER_EXPIRES:
            endless = group.promise is Promise.NONE
            return "nothing says when it expires" if endless else "its expiry never comes"
        case Verdict.PRESENCE_ONLY:
            return "only its presence is known, so it may be in progress"
        case Verdict.MALFORMED:
            return "fits no status of its layout: left alone"
        case Verdict.REFERRED_TO:
            return "rows of another table refer to it, by a foreign key that keeps it"
        case Verdict.KEPT_BY_LAYOUT:
            return "kept by the layout, which says that such records are never collected"


def _lines(outcome: Outcome) -> Iterator[str]:
    for one in outcome.targets:
        total, name = one.collection, f"{one.target.store} ({one.place})"
        yield from (f"{name}: {line}" for line in _hanging(one, outcome))
        yield from (f"{name}: {line}" for line in _braking(one, outcome))
        if total.children_deleted:
            yield f"{name}: {count(total.children_deleted, 'child row')} went with their parents"
        if total.skipped_locked:
            left = f", the oldest since {when(one.oldest_left_at)}" if one.oldest_left_at else ""
            yield f"{name}: {count(total.skipped_locked, 'row')} locked by other sessions{left}"
        if total.changed_meanwhile:
            yield f"{name}: {count(total.changed_meanwhile, 'record')} changed meanwhile and stayed"
        if total.failed:
            yield f"{name}: {count(total.failed, 'record')} that the database would not delete"
        if one.left_unknown:
            yield f"{name}: something is left that could not be looked at in a second"
        for partition in one.partitions:
            yield from (f"{name}: {line}" for line in partition_lines(partition))
        yield from total.troubles
        yield from waited_lines(name, one.waited)
        yield from witness_lines(name, one.witness)
        if one.why_stopped is WhyStopped.LIMIT:
            left = f"; the oldest left expired {when(one.oldest_left_at)}"
            yield (
                f"{name}: stopped at the limit of {count(outcome.options.limit or 0, 'record')}"
                + (left if one.oldest_left_at else "")
            )
        elif one.why_stopped not in {WhyStopped.DONE, WhyStopped.BRAKED}:
            yield f"{name}: stopped early ({one.why_stopped}); run again to go on"
    yield from (f"{one.store}: left to the other: {one.says}" for one in outcome.left)
    yield _headline(outcome)


def _braking(collected: Collected, outcome: Outcome) -> Iterator[str]:
    """Say what a brake did, or would do; that all pass is no news."""
    young = [one.brake.value for one in collected.brakes if one.lacks_history]
    if young and outcome.options.apply:
        yield (
            f"too few runs are remembered here, so these brakes cannot judge: {', '.join(young)}; "
            "fixed caps hold"
        )
    for one in collected.brakes:
        match one.ruling:
            case Ruling.REFUSES if outcome.options.apply:
                yield f"brake {one.brake}: {one.says}"
            case Ruling.REFUSES:
                yield f"gc --apply would refuse by its brake {one.brake}: {one.says}"
            case Ruling.OVERRIDDEN:
                yield f"brake {one.brake} was overridden: {one.says}"
            case Ruling.CANNOT_JUDGE if not one.lacks_history:
                yield f"brake {one.brake} cannot judge: {one.says}"


def _hanging(collected: Collected, outcome: Outcome) -> Iterator[str]:
    """Say what becomes of rows that hang on records; Postgres counts none of them for us."""
    apply = outcome.options.apply
    for one in collected.references:
        if not one.drags:
            yield f"records to which rows of {one} refer stay"
        elif not one.is_meant:
            yield f"gc --apply refuses, for it would also delete or change rows of {one}"
        elif collected.collection.deleted or not apply:
            if one.on_delete is OnDelete.CASCADE:
                change = "went with their records" if apply else "would go with their records"
            else:
                change = "lost their reference" if apply else "would lose their reference"
            yield f"rows of {one} {change}; they were not counted"
        if not one.has_index:
            yield f"no index on {one.table} ({one.columns}): each deletion reads that whole table"


def _headline(outcome: Outcome) -> str:
    if outcome.left and not outcome.targets:
        return "nothing was looked at: it is left to another gc"
    if not outcome.targets:
        return "nothing to collect: Redis removes its own expired keys"
    total = add_collections(one.collection for one in outcome.targets)
    cutoff = when(min((one.cutoff for one in outcome.targets), default=None))
    whole = not (outcome.failures or outcome.left) and all(
        one.why_stopped is WhyStopped.DONE for one in outcome.targets
    )
    # Of what was not looked at nothing is known, least of all that there is nothing.
    part = "" if whole else " in the part that was looked at"
    if not outcome.options.apply:
        to_do = "gc --apply collects them" if total.candidates else "nothing to do"
        found = f"{count(total.candidates, 'record')} expired before {cutoff}"
        return found + (f"; {to_do}" if whole else part)
    if all(one.why_stopped is WhyStopped.BRAKED for one in outcome.targets):
        return f"nothing was collected of what had expired before {cutoff}: a brake refused"
    if not total.candidates:
        return f"nothing had expired before {cutoff}{part}"
    return (
        f"collected {count(total.deleted, 'record')} that had expired before {cutoff}{part}, "
        f"in {total.batches:,} {'batch' if total.batches == 1 else 'batches'}, "
        f"the longest {total.longest_batch_ms:.0f} ms"
    )

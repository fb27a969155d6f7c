"""What a store is, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.outcomes import Report, Sheet
from idemctl.render.envelope import failure, instant
from idemctl.render.figures import count, when
from idemctl.render.witness import (
    copy_fields,
    copy_row,
    judgement_fields,
    verdict_said,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from idemctl.operations.store_show import Outcome, Side, Watched
    from idemctl.run.run import Run

_HEADINGS = ("store", "pattern", "where", "server", "records", "its clock", "last good gc")
_COPIES = ("store", "copy in", "witness", "epoch", "fence", "frozen")


def report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of a look at stores."""
    return Report(
        command="store-show",
        status=outcome.status,
        store=None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={
            "sides": len(outcome.sides),
            "frozen": [one.keeper.store for one in outcome.watched if one.looked.freeze],
        },
        items=[
            *(_item(side) for side in outcome.sides),
            *(_witness_item(one) for one in outcome.watched),
        ],
        errors=[failure(error) for error in outcome.failures],
        sheets=[
            Sheet(headings=_HEADINGS, rows=[_row(side) for side in outcome.sides]),
            *([_witnesses(outcome)] if outcome.watched else []),
        ],
        headline=_headline(outcome),
    )


def _witnesses(outcome: Outcome) -> Sheet:
    return Sheet(
        title="witness and freeze",
        headings=_COPIES,
        rows=[
            copy_row(one.keeper.store, copy)
            for one in outcome.watched
            for copy in one.looked.copies
        ],
        lines=[line for one in outcome.watched for line in _lines(one)],
    )


def _headline(outcome: Outcome) -> str:
    answer = f"{count(len(outcome.sides), 'side')} of stores answer"
    frozen = [one.keeper.store for one in outcome.watched if one.looked.freeze]
    unanswered = f", {count(len(outcome.failures))} not" if outcome.failures else ""
    return answer + unanswered + (f"; frozen: {', '.join(frozen)}" if frozen else "")


def _item(side: Side) -> dict[str, Any]:
    said = side.description
    return {
        "code": "store",
        "store": side.target.store,
        "pattern": side.pattern.label,
        "place": side.target.named(said.place),
        "layout": side.target.layout,
        "product": said.product,
        "version": said.version,
        "is_replica": said.is_replica,
        "row_estimate": said.row_estimate,
        "clock": instant(side.clock),
        "last_gc_at": side.last_gc.get("finished_at") if side.last_gc else None,
        "last_gc_run": side.last_gc.get("run_id") if side.last_gc else None,
    }


def _row(side: Side) -> tuple[str, ...]:
    said = side.description
    return (
        side.target.store,
        side.pattern.label,
        side.target.named(said.place),
        f"{said.product} {said.version}" + (" (replica)" if said.is_replica else ""),
        "not counted" if said.row_estimate is None else f"about {count(said.row_estimate)}",
        when(side.clock),
        str(side.last_gc.get("finished_at")) if side.last_gc else "none known",
    )


def _witness_item(one: Watched) -> dict[str, Any]:
    generation = one.looked.generation
    return {
        "code": "witness",
        "store": one.keeper.store,
        "witness": judgement_fields(one.judgement),
        "why_no_witness": one.keeper.why_no_witness or None,
        "epoch": generation.epoch if generation else None,
        "fence": generation.fence if generation else None,
        "frozen": one.looked.freeze is not None,
        "copies": [copy_fields(copy) for copy in one.looked.copies],
    }


def _lines(one: Watched) -> Iterator[str]:
    name = one.keeper.store
    if one.judgement is not None:
        yield f"{name}: {verdict_said(one.judgement)}"
    elif one.keeper.why_no_witness:
        yield f"{name}: no witness: {one.keeper.why_no_witness}"
    else:
        yield f"{name}: cannot judge: a copy cannot be read"
    generation = one.looked.generation
    if generation is not None and generation.epoch is not None:
        yield f"{name}: epoch {generation.epoch} for what is written now"
    if generation is not None and generation.sequence is not None:
        yield f"{name}: fences come from {generation.sequence}, the last was {generation.fence:,}"
    if one.looked.freeze is not None:
        frozen, place = one.looked.freeze
        yield frozen.refusal(place).message
        yield f"{name}: next: idemctl store thaw --store {name} --apply"

"""What a store is, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.outcomes import Report, Sheet
from idemctl.render.envelope import instant
from idemctl.render.figures import count, when

if TYPE_CHECKING:
    from datetime import datetime

    from idemctl.operations.store_show import Outcome, Side
    from idemctl.run.run import Run

_HEADINGS = ("store", "pattern", "where", "server", "records", "its clock", "last good gc")


def report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of a look at stores."""
    return Report(
        command="store-show",
        status=outcome.status,
        store=None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={"sides": len(outcome.sides)},
        items=[_item(side) for side in outcome.sides],
        sheets=[Sheet(headings=_HEADINGS, rows=[_row(side) for side in outcome.sides])],
        headline=f"{count(len(outcome.sides), 'side')} of stores answer",
    )


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

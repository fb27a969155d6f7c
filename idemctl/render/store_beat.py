"""What became of a beat, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.outcomes import Report, Sheet
from idemctl.render.witness import judgement_fields, verdict_said, witness_fields

if TYPE_CHECKING:
    from datetime import datetime

    from idemctl.operations.store_beat import Beaten, Outcome
    from idemctl.run.run import Run


def report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of a beat."""
    stores = [one.store for one in outcome.beaten]
    beaten = sum(one.witness is not None for one in outcome.beaten)
    return Report(
        command="store-beat",
        status=outcome.status,
        store=stores[0] if len(stores) == 1 else None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={"apply": outcome.apply, "beaten": beaten},
        items=[_item(one) for one in outcome.beaten],
        sheets=[
            Sheet(
                title="witness" if outcome.apply else "witness (nothing was changed)",
                headings=("store", "verdict", "beat"),
                rows=[_row(one, outcome) for one in outcome.beaten],
                lines=[
                    *(
                        f"{one.store}: next: {_next(one)}"
                        for one in outcome.beaten
                        if not one.judgement.may_beat
                    ),
                    _headline(outcome),
                ],
            )
        ],
        headline=_headline(outcome),
    )


def _item(one: Beaten) -> dict[str, Any]:
    return {
        "code": "beat",
        "store": one.store,
        **(judgement_fields(one.judgement) or {}),
        "witness": witness_fields(one.witness),
        "next": None if one.judgement.may_beat else _next(one),
    }


def _row(one: Beaten, outcome: Outcome) -> tuple[str, ...]:
    if one.witness is not None:
        fate = f"beat {one.witness.beats:,}"
    elif not one.judgement.may_beat:
        fate = "none: it would hide what the copies tell"
    else:
        fate = "raised" if outcome.apply else "would be raised"
    said = "the first beat" if one.is_first else verdict_said(one.judgement)
    return one.store, said, fate


def _next(one: Beaten) -> str:
    if one.judgement.is_mended_by_filling:
        return f"idemctl reconcile --apply --store {one.store}"
    return f"idemctl store accept --store {one.store}"


def _headline(outcome: Outcome) -> str:
    held = [one.store for one in outcome.beaten if not one.judgement.may_beat]
    if held:
        return f"no beat for {', '.join(held)}: it would hide what the copies tell"
    names = ", ".join(one.store for one in outcome.beaten)
    return f"witness of {names} {'raised' if outcome.apply else 'would be raised'}"

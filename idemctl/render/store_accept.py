"""What accepting a restore does, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.outcomes import Report, Sheet
from idemctl.render.envelope import failure
from idemctl.render.figures import count
from idemctl.render.witness import copy_fields, judgement_fields, verdict_said, witness_fields

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from idemctl.operations.store_accept import Outcome, Plan
    from idemctl.run.run import Run


def report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of an acceptance, or of its plan."""
    plan = outcome.plan
    failures = [one.failure for one in outcome.thawed if one.failure is not None]
    return Report(
        command="store-accept",
        status=outcome.status,
        store=plan.store,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={"apply": outcome.applied, "epoch": plan.epoch, "fence": plan.fence},
        items=[_item(plan)],
        errors=[failure(error) for error in failures],
        sheets=[
            Sheet(
                title="accepted" if outcome.applied else "accept would (nothing was changed)",
                lines=[*plan_lines(plan), *_unthawed(outcome), _headline(outcome)],
            )
        ],
        headline=_headline(outcome),
    )


def plan_lines(plan: Plan) -> Iterator[str]:
    """Say what accepting does, before anybody agrees to it."""
    name, seen = plan.store, plan.highest
    yield f"{name}: {verdict_said(plan.judgement)}"
    yield f"{name}: {count(seen.record_count, 'record')} and every copy of the witness were read"
    if plan.epoch is None:
        yield f"{name}: no epoch: nothing tells records of before from those that come after"
    else:
        yield f"{name}: epoch {plan.generation.epoch} becomes {plan.epoch}, past the largest seen"
    if plan.fence is None:
        yield f"{name}: no fence that comes from a sequence: nothing to move"
    elif plan.moves_fence:
        yield (
            f"{name}: {plan.generation.sequence} is at {plan.generation.fence:,} and goes past "
            f"{plan.fence:,}, the highest fence seen"
        )
    else:
        yield f"{name}: {plan.generation.sequence} is past the highest fence seen, {plan.fence:,}"
    yield f"{name}: the witness begins anew with beat {plan.witness.beats:,}"
    for copy in plan.frozen:
        yield f"{name}: frozen in {copy.place}, and thawed then"


def _item(plan: Plan) -> dict[str, Any]:
    return {
        "code": "accept",
        "store": plan.store,
        **(judgement_fields(plan.judgement) or {}),
        "epoch_before": plan.generation.epoch,
        "epoch": plan.epoch,
        "sequence": plan.generation.sequence,
        "fence_before": plan.generation.fence,
        "highest_fence": plan.highest.fence,
        "records": plan.highest.record_count,
        "witness": witness_fields(plan.witness),
        "frozen": [copy_fields(copy) for copy in plan.frozen],
    }


def _unthawed(outcome: Outcome) -> Iterator[str]:
    for one in outcome.thawed:
        if one.failure is not None:
            yield f"{outcome.plan.store}: not thawed in {one.place}: {one.failure.message}"


def _headline(outcome: Outcome) -> str:
    name = outcome.plan.store
    if not outcome.applied:
        return f"{name}: nothing was changed; --apply does it"
    return f"{name}: the restore is acknowledged"

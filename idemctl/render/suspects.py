"""Failure modes by the evidence for them, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.failures import BACK_IN_TIME
from idemctl.domain.outcomes import Sheet
from idemctl.domain.sight import FailureMode
from idemctl.errors import ExitStatus

if TYPE_CHECKING:
    from idemctl.operations.diagnose import Outcome, Suspect


def others(outcome: Outcome) -> list[Suspect]:
    """Leave out the loss of a store where the verdict on the pair tells of it already."""
    lost = {one.pair.store for one in outcome.diagnosed if one.status is ExitStatus.FINDINGS}
    return [
        one
        for one in outcome.suspects
        if one.ranked.mode is not FailureMode.STORE_DATA_LOSS
        or one.store not in lost
        or one.facts.get("witness") in BACK_IN_TIME
    ]


def place(one: Suspect) -> dict[str, Any]:
    """Give the place of a mode in the ranking."""
    return {
        "store": one.store,
        "failure_mode": one.ranked.mode.value,
        "severity": one.ranked.severity.label,
        "evidence": list(one.ranked.evidence),
        "facts": dict(one.facts),
        "runbook": None if one.book is None else one.book.id,
    }


def suspect_item(one: Suspect) -> dict[str, Any]:
    """Give a mode as something that happened."""
    return {
        "code": one.ranked.mode.value,
        "severity": one.ranked.severity.label,
        "store": one.store,
        "failure_mode": one.ranked.mode.value,
        "evidence": dict(one.facts),
        "why": "; ".join(one.ranked.evidence),
        "runbook": None if one.book is None else one.book.id,
        "next": _next(one),
    }


def _next(one: Suspect) -> str:
    name, ranked = one.store, one.ranked
    if one.book is not None:
        return f"idemctl runbook run {one.book.id} --store {name}"
    if ranked.codes:
        return f"idemctl audit --check {ranked.codes[0]} --store {name}"
    match ranked.mode:
        case FailureMode.STORE_DATA_LOSS:
            return f"idemctl store show --store {name}"
        case FailureMode.STORE_UNAVAILABLE:
            return f"idemctl doctor --store {name}"
        case _:
            return f"idemctl hits --store {name}"


def ranking(outcome: Outcome) -> list[Sheet]:
    """Show all modes for which something speaks; nothing where there is none."""
    if not outcome.suspects:
        return []
    return [
        Sheet(
            title="failure modes, by evidence",
            headings=("", "store", "failure mode", "evidence", "runbook"),
            rows=[
                (
                    str(number),
                    one.store,
                    one.ranked.mode.value,
                    "; ".join(one.ranked.evidence),
                    "no book yet" if one.book is None else one.book.id,
                )
                for number, one in enumerate(outcome.suspects, 1)
            ],
            lines=[f"{one.store}: next: {_next(one)}" for one in others(outcome)],
        )
    ]

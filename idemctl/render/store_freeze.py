"""What became of a freeze or a thaw, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.keys import escape
from idemctl.domain.outcomes import Report, Sheet
from idemctl.render.envelope import failure
from idemctl.render.figures import when
from idemctl.render.witness import copy_fields, freeze_fields

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from idemctl.operations.store_freeze import Changed, Outcome
    from idemctl.run.copies import Copy
    from idemctl.run.run import Run

_HEADINGS = ("store", "copy in", "place", "says")


def report(what: str, outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of a `freeze` or a `thaw`."""
    stores = [one.keeper.store for one in outcome.changed]
    failures = [copy.failure for one in outcome.changed for copy in one.copies if copy.failure]
    return Report(
        command=f"store-{what}",
        status=outcome.status,
        store=stores[0] if len(stores) == 1 else None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={"apply": outcome.apply, "stores": stores, "unreached": len(failures)},
        items=[_item(what, one) for one in outcome.changed],
        errors=[failure(error) for error in failures],
        sheets=[
            Sheet(
                title=what if outcome.apply else f"{what} (nothing was changed)",
                headings=_HEADINGS,
                rows=[
                    (one.keeper.store, copy.name, copy.place, _says(what, copy, outcome))
                    for one in outcome.changed
                    for copy in one.copies
                ],
                lines=[
                    *(line for one in outcome.changed for line in _lines(what, one, outcome)),
                    _headline(what, outcome),
                ],
            )
        ],
        headline=_headline(what, outcome),
    )


def _item(what: str, one: Changed) -> dict[str, Any]:
    return {
        "code": what,
        "store": one.keeper.store,
        "freeze": freeze_fields(one.freeze),
        "is_for_every_host": one.is_for_every_host,
        "copies": [copy_fields(copy) for copy in one.copies],
    }


def _says(what: str, copy: Copy, outcome: Outcome) -> str:
    if copy.failure is not None:
        return f"not reached: {copy.failure.message}"
    if outcome.apply:
        return "frozen" if what == "freeze" else "thawed"
    return "not frozen" if copy.freeze is None else f"frozen until {when(copy.freeze.until)}"


def _lines(what: str, one: Changed, outcome: Outcome) -> Iterator[str]:
    name = one.keeper.store
    if one.freeze is not None:
        until, reason = when(one.freeze.until), _shown(one.freeze.reason)
        yield f"{name}: nothing is written until {until}: {reason}"
        yield f"{name}: sooner: idemctl store thaw --store {name} --apply"
    if not one.is_for_every_host:
        yield f"{name}: only this host reads its state folder: {one.keeper.why_no_witness}"
    unreached = [copy.place for copy in one.copies if copy.failure is not None]
    if unreached and outcome.apply:
        left = "has no copy" if what == "freeze" else "may still hold one, which stops everybody"
        yield f"{name}: {', '.join(unreached)} {left}; run again when it answers"


def _shown(reason: str) -> str:
    return escape(reason.encode(errors="surrogatepass"))


def _headline(what: str, outcome: Outcome) -> str:
    names = ", ".join(one.keeper.store for one in outcome.changed)
    done = {"freeze": "frozen", "thaw": "thawed"}[what]
    if not outcome.apply:
        return f"{names} would be {done}; --apply does it"
    whole = all(not copy.failure for one in outcome.changed for copy in one.copies)
    return f"{names} {done}" + ("" if whole else ", but not everywhere")

"""What an archive holds and what of it is back, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.archived import Restored
from idemctl.domain.outcomes import Report, Sheet, WhyStopped
from idemctl.errors import ExitStatus
from idemctl.render.envelope import failure
from idemctl.render.figures import count
from idemctl.render.runs import shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from idemctl.operations.runs_undo import Archived, Outcome, Undone
    from idemctl.run.run import Run

_HEADINGS = ("store", "archived", "absent", "there as they were", "there anew", "refused")
_RESTORED = ("store", "archived", "came back", "there as they were", "there anew", "refused")


def report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of a check, of a look before an undo, or of an undo."""
    stores = [one.store for one in outcome.undone]
    return Report(
        command="runs-check" if outcome.is_check else "runs-undo",
        status=outcome.status,
        store=stores[0] if len(stores) == 1 else None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={"apply": outcome.apply, "of_run": outcome.past.run_id, **_sums(outcome)},
        items=[_item(one) for one in outcome.undone],
        errors=[failure(error) for error in outcome.failures],
        sheets=[
            Sheet(
                title=_title(outcome),
                headings=_RESTORED if outcome.apply else _HEADINGS,
                rows=[_row(one) for one in outcome.undone],
                lines=[*lines(outcome), _headline(outcome)],
            )
        ],
        headline=_headline(outcome),
    )


def lines(outcome: Outcome) -> Iterator[str]:
    """Say what is to be known before anybody agrees, and after."""
    for one in outcome.undone:
        yield from (f"{shown(one.store)}: {line}" for line in _of_store(one, outcome))


def _title(outcome: Outcome) -> str:
    if outcome.is_check:
        return f"archive of {outcome.past.run_id}"
    return "undo" if outcome.apply else "undo would restore (nothing was changed)"


def _of_store(one: Undone, outcome: Outcome) -> Iterator[str]:
    found = one.found
    for file in one.files:
        yield from _of_file(file)
    if one.sums.records != one.journal.records or one.sums.children != one.journal.children:
        reason = ""
        if one.agrees:
            reason = ": the run was cut off before it wrote down its last batch"
        yield (
            f"the archive holds {count(one.sums.records, 'record')} and the journal tells of "
            f"{count(one.journal.records)}{reason}"
        )
    if found.children:
        verb = "came back" if outcome.apply else "would come back"
        yield f"{count(found.children, 'child row')} {verb} with their parents"
    if found.renewed:
        yield f"{count(found.renewed, 'key')} have a record again, which stays as it is"
    if found.same and not outcome.apply:
        yield f"{count(found.same, 'record')} never went, or came back already"
    if found.altered:
        yield f"{count(found.altered, 'record')} came back changed, by a trigger of the table"
    yield from map(shown, found.troubles)
    if found.restored and not outcome.is_check:
        yield "they are expired, and the next gc --apply takes them again: change what it goes by"
    if one.why_stopped is not WhyStopped.DONE:
        yield f"stopped early ({one.why_stopped}); run again to go on"


def _of_file(one: Archived) -> Iterator[str]:
    name = shown(one.file.name)
    if one.damaged:
        yield f"{name}: {count(one.damaged, 'part')} damaged, and lost to undo"
    elif one.is_torn:
        yield f"{name}: its last batch was cut off, and never committed"
    elif not one.has_end:
        yield f"{name}: the run did not close it; all that it holds is whole"
    else:
        yield f"{name}: whole"


def _row(one: Undone) -> tuple[str, ...]:
    found = one.found
    return (
        shown(one.store),
        count(one.sums.records),
        count(found.restored),
        count(found.same),
        count(found.renewed),
        count(found.refused),
    )


def _sums(outcome: Outcome) -> dict[str, Any]:
    found = sum((one.found for one in outcome.undone), start=Restored())
    return {
        "archived": sum(one.sums.records for one in outcome.undone),
        "archived_children": sum(one.sums.children for one in outcome.undone),
        "damaged": sum(one.damaged for one in outcome.undone),
        **_found(found, apply=outcome.apply),
    }


def _found(found: Restored, *, apply: bool) -> dict[str, Any]:
    return {
        "restored" if apply else "absent": found.restored,
        "children_restored" if apply else "children_absent": found.children,
        "same": found.same,
        "renewed": found.renewed,
        "refused": found.refused,
        "altered": found.altered,
    }


def _item(one: Undone) -> dict[str, Any]:
    return {
        "code": "archive",
        "store": one.store,
        "archived": one.sums.records,
        "archived_children": one.sums.children,
        "journal_deleted": one.journal.records,
        "journal_children_deleted": one.journal.children,
        "agrees": one.agrees,
        "restored": one.found.restored,
        "same": one.found.same,
        "renewed": one.found.renewed,
        "refused": one.found.refused,
        "why_stopped": one.why_stopped,
        "files": [
            {
                "file": str(file.file),
                "batches": file.sums.batches,
                "records": file.sums.records,
                "children": file.sums.children,
                "has_end": file.has_end,
                "is_torn": file.is_torn,
                "damaged": file.damaged,
            }
            for file in one.files
        ],
    }


def _headline(outcome: Outcome) -> str:
    found = sum((one.found for one in outcome.undone), start=Restored())
    if outcome.is_check:
        whole = outcome.status is ExitStatus.OK
        state = "the archive is whole" if whole else "the archive is not as it should be"
        return f"{state}; {count(found.restored, 'record')} of it are absent"
    if outcome.apply:
        return f"{count(found.restored, 'record')} restored"
    if not found.restored:
        return "nothing to restore"
    again = f"idemctl runs undo {outcome.past.run_id} --apply"
    return f"{count(found.restored, 'record')} would come back; {again} restores them"

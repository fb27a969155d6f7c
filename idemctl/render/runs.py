"""Runs that were, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.keys import escape
from idemctl.domain.outcomes import Report, Sheet
from idemctl.errors import ExitStatus
from idemctl.render.envelope import instant
from idemctl.render.figures import count, span, when

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from idemctl.domain.told_runs import Part, PastRun
    from idemctl.operations.runs import Shown
    from idemctl.run.run import Run

_HEADINGS = ("run", "started", "verb", "stores", "outcome", "took")
_PARTS = ("store", "where", "batches", "deleted", "child rows", "longest batch", "troubles")


def list_report(runs: Sequence[PastRun], run: Run, finished_at: datetime) -> Report:
    """Make the report of `runs list`."""
    headline = count(len(runs), "run") if runs else "no run is remembered in this state folder"
    return Report(
        command="runs-list",
        status=ExitStatus.OK,
        store=None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={"runs": len(runs)},
        items=[{"code": "run", **_fields(one)} for one in runs],
        sheets=[Sheet(headings=_HEADINGS, rows=[_row(one) for one in runs], lines=[headline])],
        headline=headline,
    )


def show_report(shown: Shown, files: Sequence[Path], run: Run, finished_at: datetime) -> Report:
    """Make the report of `runs show`."""
    past = shown.past
    return Report(
        command="runs-show",
        status=ExitStatus.OK,
        store=past.stores[0] if len(past.stores) == 1 else None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary={
            **_fields(past),
            "deleted": sum(one.deleted for one in shown.parts),
            "children_deleted": sum(one.children for one in shown.parts),
            "batches": sum(one.batches for one in shown.parts),
            "events": shown.events,
            "archive_files": [str(file) for file in files],
        },
        items=[_part(one) for one in shown.parts],
        sheets=[
            Sheet(title=past.run_id, headings=_HEADINGS, rows=[_row(past)]),
            Sheet(
                headings=_PARTS,
                rows=[_part_row(one) for one in shown.parts],
                lines=[*_lines(shown, files), _headline(shown)],
            ),
        ],
        headline=_headline(shown),
    )


def _fields(past: PastRun) -> dict[str, Any]:
    return {
        "id": past.run_id,
        "verb": past.verb,
        "stores": list(past.stores),
        "began_at": instant(past.started_at),
        "ended_at": instant(past.finished_at),
        "ended_with": past.exit,
        "outcome": _outcome(past),
        "error": past.error or None,
        "archives": [{"store": store, "folder": folder} for store, folder in past.archives],
    }


def _outcome(past: PastRun) -> str:
    if past.exit is None:
        return "no end: at work, or killed"
    try:
        return f"{past.exit} {ExitStatus(past.exit).label}"
    except ValueError:
        return str(past.exit)


def _row(past: PastRun) -> tuple[str, ...]:
    took = "-"
    if past.started_at is not None and past.finished_at is not None:
        took = span(past.finished_at - past.started_at)
    return (
        shown(past.run_id),
        when(past.started_at),
        shown(past.verb),
        shown(", ".join(past.stores)),
        _outcome(past),
        took,
    )


def _part(one: Part) -> dict[str, Any]:
    return {
        "code": "part",
        "store": one.store,
        "part": one.part,
        "batches": one.batches,
        "deleted": one.deleted,
        "children_deleted": one.children,
        "longest_batch_ms": one.longest_ms,
        "troubles": one.troubles,
    }


def _part_row(one: Part) -> tuple[str, ...]:
    return (
        shown(one.store),
        shown(one.part),
        count(one.batches),
        count(one.deleted),
        count(one.children),
        f"{one.longest_ms:.0f} ms",
        count(one.troubles),
    )


def _lines(shown_: Shown, files: Sequence[Path]) -> Iterator[str]:
    past = shown_.past
    if past.error:
        yield f"ended by an error: {shown(past.error)}"
    if not shown_.events:
        yield "its journal is not in this state folder"
    yield from (f"archive: {shown(str(file))}" for file in files)
    if files:
        yield f"is it whole, and what of it is back: idemctl runs check {past.run_id}"


def _headline(shown_: Shown) -> str:
    deleted = sum(one.deleted for one in shown_.parts)
    return (
        f"{shown_.past.verb or 'run'} {_outcome(shown_.past)}; {count(deleted, 'record')} deleted"
    )


def shown(text: str) -> str:
    """Make a stranger's text inert."""
    return escape(text.encode(errors="surrogatepass"))

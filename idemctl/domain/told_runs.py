"""Runs that were: what history and journal tell of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Event = dict[str, Any]
"""A line of a journal, or of the history: written by some version of idemctl."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """One run, as far as it is remembered."""

    run_id: str
    verb: str = ""
    stores: tuple[str, ...] = ()
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit: int | None = None
    """`None` where it did not say that it ended: it runs, or was killed."""
    error: str = ""
    archives: tuple[tuple[str, str], ...] = ()
    """The folders that it archived to, by store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What a run did in one place."""

    store: str
    part: str
    batches: int = 0
    deleted: int = 0
    children: int = 0
    longest_ms: float = 0.0
    troubles: int = 0


def from_history(entry: Mapping[str, Any]) -> PastRun | None:
    """Read an entry of the history; `None` where it is none."""
    run_id, stores = entry.get("run_id"), entry.get("stores")
    if not isinstance(run_id, str):
        return None
    return PastRun(
        run_id=run_id,
        verb=_text(entry.get("verb")),
        stores=tuple(map(str, stores)) if isinstance(stores, list) else (),
        started_at=_instant(entry.get("started_at")),
        finished_at=_instant(entry.get("finished_at")),
        exit=_exit(entry.get("exit")),
    )


def from_journal(run_id: str, events: Iterable[Event]) -> PastRun:
    """Read a journal; one that was cut off says less."""
    verb, error = "", ""
    exit_: int | None = None
    started_at = finished_at = None
    stores: dict[str, None] = {}
    archives: dict[tuple[str, str], None] = {}
    for event in events:
        at, name = _instant(event.get("at")), event.get("event")
        started_at = started_at or at
        if isinstance(event.get("store"), str):
            stores[event["store"]] = None
        if name == "start":
            verb = _text(event.get("verb"))
        elif name == "end":
            finished_at, exit_ = at, _exit(event.get("exit"))
            error = _text(event.get("error"))
        elif name == "archive":
            archives[_text(event.get("store")), _text(event.get("folder"))] = None
    return PastRun(
        run_id=run_id,
        verb=verb,
        stores=tuple(stores),
        started_at=started_at,
        finished_at=finished_at,
        exit=exit_,
        error=error,
        archives=tuple(archives),
    )


def add_parts(events: Iterable[Event]) -> list[Part]:
    """Add up the batches of a journal, place by place."""
    found: dict[tuple[str, str], Part] = {}
    for event in events:
        if event.get("event") != "batch":
            continue
        place = _text(event.get("store")), _text(event.get("part"))
        one = found.get(place, Part(store=place[0], part=place[1]))
        deleted = _number(event.get("deleted"))
        found[place] = Part(
            store=one.store,
            part=one.part,
            batches=one.batches + bool(deleted),
            deleted=one.deleted + int(deleted),
            children=one.children + int(_number(event.get("children_deleted"))),
            longest_ms=max(one.longest_ms, _number(event.get("took_ms"))),
            troubles=one.troubles + bool(event.get("trouble")),
        )
    return list(found.values())


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else 0


def _exit(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _instant(value: object) -> datetime | None:
    try:
        at = datetime.fromisoformat(_text(value))
    except ValueError:
        return None
    return at if at.tzinfo else None

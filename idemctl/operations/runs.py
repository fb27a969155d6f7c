"""runs list and runs show: what was done, by what the state folder remembers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.domain.told_runs import add_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from idemctl.domain.told_runs import Event, Part, PastRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One run, and what its journal adds up to."""

    past: PastRun
    parts: Sequence[Part]
    events: dict[str, int]
    """How many there are of each kind."""


def show(past: PastRun, events: Sequence[Event]) -> Shown:
    """Add up the journal of a run."""
    kinds: dict[str, int] = {}
    for event in events:
        name = str(event.get("event"))
        kinds[name] = kinds.get(name, 0) + 1
    return Shown(past=past, parts=add_parts(events), events=kinds)

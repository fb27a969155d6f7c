"""What the state folder knows of runs that were."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from idemctl.domain.told_runs import from_history, from_journal
from idemctl.state.history import HISTORY
from idemctl.state.journal import JOURNALS, journal_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from idemctl.domain.told_runs import Event, PastRun
    from idemctl.state.folder import StateFolder


class PastRuns:
    """Finds runs by history and journals: a run that was killed has only a journal."""

    def __init__(self, folder: StateFolder) -> None:
        self._folder = folder

    def newest(self, count: int, stores: Iterable[str] = ()) -> list[PastRun]:
        """List the newest runs, newest first; of some stores only, where there are any named."""
        wanted = set(stores)
        told = {run.run_id: run for run in self._told()}
        found: list[PastRun] = []
        # Names of runs sort by time.
        for run_id in sorted({*told, *self._journals()}, reverse=True):
            run = told.get(run_id) or from_journal(run_id, self.events(run_id) or [])
            if not wanted or wanted & set(run.stores):
                found.append(run)
            if len(found) == count:
                break
        return found

    def find(self, run_id: str) -> PastRun | None:
        """Find one run, by all that is known of it."""
        told = next((one for one in self._told() if one.run_id == run_id), None)
        events = self.events(run_id)
        if events is None:
            return told
        run = from_journal(run_id, events)
        return run if told is None else replace(told, archives=run.archives, error=run.error)

    def events(self, run_id: str) -> list[Event] | None:
        """Read a journal; `None` where there is none."""
        name = journal_of(run_id)
        return None if self._folder.content(name) is None else self._decoded(name)

    def _told(self) -> list[PastRun]:
        entries = map(from_history, self._decoded(HISTORY))
        return [run for run in entries if run is not None]

    def _journals(self) -> list[str]:
        return [one.stem for one in (self._folder.root / JOURNALS).glob("*.jsonl")]

    def _decoded(self, name: str) -> list[Event]:
        events = []
        for line in self._folder.lines(name):
            try:
                event = msgspec.json.decode(line)
            except (ValueError, RecursionError):
                # What a crash or a stranger left of a line says nothing.
                continue
            events += [event] if isinstance(event, dict) else []
        return events

"""The journal: what one run did, step by step, append-only."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from idemctl.state.folder import StateFolder


JOURNALS = "journals"


def journal_of(run_id: str) -> str:
    """Name the journal of a run, within the state folder."""
    return f"{JOURNALS}/{run_id}.jsonl"


class FileJournal:
    """Writes each event as a line of JSON. See `run.Journal`."""

    def __init__(self, folder: StateFolder, run_id: str) -> None:
        self._folder = folder
        self._name = journal_of(run_id)

    def write(self, event: str, facts: Mapping[str, object]) -> None:
        """See `Journal.write`."""
        line = {"at": datetime.now(UTC), "event": event, **facts}
        self._folder.append(self._name, msgspec.json.encode(line, enc_hook=str))

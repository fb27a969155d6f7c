"""The history: one line for every run that changed something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from idemctl.state.folder import StateFolder

_FILE = "history.jsonl"


class History:
    """Keeps and finds finished runs."""

    def __init__(self, folder: StateFolder) -> None:
        self._folder = folder

    def add(self, entry: dict[str, Any]) -> None:
        """Keep a finished run: its id, verb, store, times, status and summary."""
        self._folder.append(_FILE, msgspec.json.encode(entry, enc_hook=str))

    def last(self, verb: str, store: str) -> dict[str, Any] | None:
        """Find the newest run of `verb` on `store` that ended well."""
        for line in reversed(self._folder.lines(_FILE)):
            try:
                entry: dict[str, Any] = msgspec.json.decode(line)
                if entry["verb"] == verb and store in entry["stores"] and entry["exit"] == 0:
                    return entry
            except (ValueError, TypeError, KeyError):
                # What a crash or a stranger left of a line says nothing.
                continue
        return None

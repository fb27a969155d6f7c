"""The history: one line for every run that changed something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from idemctl.state.folder import StateFolder

HISTORY = "history.jsonl"
_LATELY = 2**20
"""Bytes: hundreds of runs, also where gc runs every few minutes for years."""


class History:
    """Keeps and finds finished runs."""

    def __init__(self, folder: StateFolder) -> None:
        self._folder = folder

    def add(self, entry: dict[str, Any]) -> None:
        """Keep a finished run: its id, verb, store, times, status and summary."""
        self._folder.append(HISTORY, msgspec.json.encode(entry, enc_hook=str))

    def last(self, verb: str, store: str) -> dict[str, Any] | None:
        """Find the newest run of `verb` on `store` that ended well."""
        for entry in _entries(reversed(self._folder.lines(HISTORY)), verb):
            if store in entry["stores"] and entry["exit"] == 0:
                return entry
        return None

    def lately(self, verb: str) -> list[dict[str, Any]]:
        """List the newest runs of `verb`, however they ended, oldest first."""
        return list(_entries(self._folder.tail(HISTORY, _LATELY), verb))


def _entries(lines: Iterable[bytes], verb: str) -> Iterator[dict[str, Any]]:
    """Read lines; what a crash or a stranger left of one says nothing."""
    for line in lines:
        try:
            entry: dict[str, Any] = msgspec.json.decode(line)
            if entry["verb"] == verb and isinstance(entry["stores"], list) and "exit" in entry:
                yield entry
        except (ValueError, TypeError, KeyError):
            continue

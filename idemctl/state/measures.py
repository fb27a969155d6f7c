"""Measures on disk: how much was kept in each place, and when that was seen."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec

from idemctl.domain.growth import Measure, Where  # noqa: TC001 (msgspec looks at the annotations)

if TYPE_CHECKING:
    from idemctl.state.folder import StateFolder

_FILE = "measures.jsonl"
_OFTEN = timedelta(hours=1)
"""Growth is told by hours: a look every minute adds no line every minute."""


class _Line(msgspec.Struct, frozen=True):
    where: Where
    measure: Measure


class Measures:
    """Keeps measures, a line each, and finds those of one place."""

    def __init__(self, folder: StateFolder) -> None:
        self._folder = folder

    def add(self, where: Where, measure: Measure) -> None:
        """Keep a measure, unless there is one of that place that is less than an hour old.

        Raises:
            ConfigError: the folder cannot be written.
        """
        if not any(abs(measure.at - one.at) < _OFTEN for one in self.of(where)):
            self._folder.append(_FILE, msgspec.json.encode(_Line(where, measure)))

    def of(self, where: Where) -> list[Measure]:
        """List the measures of one place, the oldest first.

        Raises:
            ConfigError: the file is there, and cannot be read.
        """
        found = []
        for line in self._folder.lines(_FILE):
            try:
                kept = msgspec.json.decode(line, type=_Line)
            except (ValueError, RecursionError):
                # What a crash or a stranger left of a line says nothing.
                continue
            # An instant without its zone cannot be compared.
            if kept.where == where and kept.measure.at.tzinfo is not None:
                found.append(kept.measure)
        return found

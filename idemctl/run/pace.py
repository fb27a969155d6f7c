"""Pace: the store serves its users first.

After each step a run rests, so that it takes a share of the time only. When its own steps
slow down, somebody else needs the store, and it takes less.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

_DUTY = 0.25
_SLOWED = 2.0
_LONGEST_REST_SECONDS = 5.0
_FORGETTING = 0.05


class PaceName(StrEnum):
    """The paces that a user can choose."""

    GENTLE = "gentle"
    """A quarter of the time."""
    FULL = "full"
    """All of it: in an incident, on a replica, for a benchmark."""


@dataclass(slots=True, kw_only=True)
class Pace:
    """How long to rest after a step."""

    name: PaceName
    _usual: float = 0.0
    """Seconds that a unit takes when nothing is in its way, slowly forgotten."""

    def rest_after(self, took: timedelta, units: int = 1) -> float:
        """Give the seconds to rest after a step of so many units that took so long.

        >>> from datetime import timedelta
        >>> Pace(name=PaceName.GENTLE).rest_after(timedelta(milliseconds=10))
        0.03
        >>> Pace(name=PaceName.FULL).rest_after(timedelta(milliseconds=10))
        0.0
        """
        if self.name is PaceName.FULL:
            return 0.0
        seconds = took.total_seconds()
        a_unit = seconds / max(units, 1)
        slowed = self._usual > 0 and a_unit > _SLOWED * self._usual
        self._learn(a_unit)
        duty = _DUTY / 2 if slowed else _DUTY
        return round(min(seconds * (1 / duty - 1), _LONGEST_REST_SECONDS), 6)

    def _learn(self, a_unit: float) -> None:
        if not self._usual or a_unit < self._usual:
            self._usual = a_unit
        else:
            self._usual += _FORGETTING * (a_unit - self._usual)

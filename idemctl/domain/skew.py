"""How far one clock is ahead of another, as far as asking them in turn can tell."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Self

_NOTHING = timedelta(0)
_MS = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Skew:
    """By how much a clock is ahead of another: at the least, and at the most.

    >>> from datetime import UTC, datetime
    >>> noon = datetime(2026, 11, 29, 12, tzinfo=UTC)
    >>> skew = Skew.between(noon, noon + timedelta(seconds=4), noon + timedelta(seconds=2))
    >>> skew.seen_from("here"), skew.size
    ('+3000.0 ms from here, give or take 1000.0 ms', datetime.timedelta(seconds=2))
    """

    least: timedelta = _NOTHING
    most: timedelta = _NOTHING

    @classmethod
    def between(cls, before: datetime, other: datetime, after: datetime) -> Self:
        """Measure by three readings: of one clock, of the other, of the first one again."""
        return cls(other - after, other - before)

    @property
    def size(self) -> timedelta:
        """How far the clocks are apart, at the least."""
        return max(self.least, -self.most, _NOTHING)

    def seen_from(self, place: str) -> str:
        """Tell it in milliseconds, as far as it was measured."""
        middle, margin = (self.least + self.most) / 2, (self.most - self.least) / 2
        return f"{middle / _MS:+.1f} ms from {place}, give or take {margin / _MS:.1f} ms"

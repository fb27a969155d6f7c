"""Growth: what a place held at two times, and when its server is full if that goes on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta  # noqa: TC003 (msgspec looks at the annotations)
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHORTEST = timedelta(hours=6)
"""Over less, the hour of the day says more than the growth."""
_LONGEST = timedelta(days=8)
"""What was longer ago says nothing of next week; a week has all its days in it."""
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """A place that can be measured again: the same store on another server is another one."""

    store: str
    place: str
    server: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """How much there was; `None` where that was not seen."""

    at: datetime
    """By the store's own clock."""
    records: int | None = None
    size: int | None = None
    """Bytes of values, or of rows as they are stored."""
    memory: int | None = None
    """Bytes of all that the server keeps in memory, whoever wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How much more there is a day, or less; `None` where nobody knows."""

    since: datetime
    records: float | None
    size: float | None
    memory: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A place that was measured now, beside what was known of it."""

    where: Where
    now: Measure
    growth: Growth | None = None
    memory_limit: int | None = None
    """Of the server; 0 where it has none, `None` where that is not seen."""
    evicts: bool = False
    """Whether the server makes room by itself when it is full."""

    @property
    def full_in(self) -> timedelta | None:
        """For how long there is room in memory; `None` where nobody knows, or for good."""
        a_day = self.growth.memory if self.growth else None
        if a_day is None or self.now.memory is None or not self.memory_limit or self.evicts:
            return None
        return full_in(self.now.memory, self.memory_limit, a_day)


def growth(measures: Iterable[Measure], now: Measure) -> Growth | None:
    """Compare what is there now with the oldest measure of the last week.

    Returns:
        `None` where there is none that is some hours old: unknown is not zero.
    """
    useful = [one for one in measures if _SHORTEST <= now.at - one.at <= _LONGEST]
    if not useful:
        return None
    before = min(useful, key=lambda one: one.at)
    days = (now.at - before.at) / _DAY
    return Growth(
        since=before.at,
        records=_a_day(before.records, now.records, days),
        size=_a_day(before.size, now.size, days),
        memory=_a_day(before.memory, now.memory, days),
    )


def _a_day(before: int | None, now: int | None, days: float) -> float | None:
    return None if before is None or now is None else (now - before) / days


def full_in(used: int, limit: int, a_day: float) -> timedelta | None:
    """Say for how long there is room; `None` where it is for good, or for more than a century.

    >>> full_in(400, 1_000, 200.0), full_in(400, 1_000, -1.0), full_in(1_001, 1_000, 5.0)
    (datetime.timedelta(days=3), None, datetime.timedelta(0))
    """
    if a_day <= 0 or (limit - used) / a_day > _CENTURY_DAYS:
        return None
    return max((limit - used) / a_day, 0.0) * _DAY


_CENTURY_DAYS = 36_525

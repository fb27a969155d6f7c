"""How often a run comes back, in the two ways in which schedulers count.

They count within an hour or within a day, so that only a period which divides one of these
comes back evenly; any other would have a short one at the end of each.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta

_HOUR = 60
_DAY = 24 * _HOUR
_SHARE = 0.8
"""How much of a period a run may take; the rest is for its end, and for a scheduler's delay."""


@dataclass(frozen=True, slots=True)
class Period:
    """A whole number of minutes that divides an hour, or of hours that divides a day."""

    minutes: int

    @classmethod
    def of(cls, length: timedelta) -> Period:
        """Take a duration.

        Raises:
            ValueError: it does not come back evenly.
        """
        minutes, rest = divmod(length, timedelta(minutes=1))
        if rest or minutes < 1 or (_HOUR % minutes and (minutes % _HOUR or _DAY % minutes)):
            raise ValueError(
                "they count minutes of an hour and hours of a day: write a part of one of these, "
                "such as 1m, 5m, 15m, 1h, 6h or 1d"
            )
        return cls(minutes)

    @property
    def length(self) -> timedelta:
        """The same as a duration."""
        return timedelta(minutes=self.minutes)

    @property
    def is_within_an_hour(self) -> bool:
        """Whether no hours are named: then it is the same in every time zone."""
        return self.minutes <= _HOUR

    @property
    def longest_run(self) -> timedelta:
        """How long a run may take, so that it is over before the next one."""
        return timedelta(seconds=int(self.length.total_seconds() * _SHARE))

    def cron(self, who: str) -> str:
        """Write the five fields of cron, moved by what a name comes to.

        Who is named otherwise comes at another minute, and the same one always at its own.

        >>> Period(5).cron("db-1 payments"), Period(1).cron(""), Period(360).cron("db-1 payments")
        ('0-59/5 * * * *', '* * * * *', '5 2-23/6 * * *')
        """
        digest = hashlib.sha256(who.encode("utf-8", "surrogateescape")).digest()
        hour, minute = divmod(int.from_bytes(digest) % self.minutes, _HOUR)
        if self.is_within_an_hour:
            return f"{_every(minute, self.minutes, _HOUR)} * * * *"
        return f"{minute} {_every(hour, self.minutes // _HOUR, _DAY // _HOUR)} * * *"

    @property
    def calendar(self) -> str:
        """Write it as systemd's OnCalendar takes it.

        >>> Period(5).calendar, Period(60).calendar, Period(360).calendar, Period(1440).calendar
        ('*:0/5 UTC', '*:00 UTC', '0/6:00 UTC', '00:00 UTC')
        """
        if self.minutes < _HOUR:
            return f"*:0/{self.minutes} UTC"
        hours = self.minutes // _HOUR
        return {_HOUR: "*:00 UTC", _DAY: "00:00 UTC"}.get(self.minutes, f"0/{hours}:00 UTC")


def _every(first: int, step: int, end: int) -> str:
    if step == 1:
        return "*"
    return str(first) if step == end else f"{first}-{end - 1}/{step}"

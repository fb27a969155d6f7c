"""Durations as people write them: `90s`, `24h`, `7d`, `1h30m`.

A duration has whole seconds; a day is 86,400 of them and a week seven days, whatever
a calendar does. `format_duration` writes the one canonical form: days, hours, minutes
and seconds, largest first, parts that are zero left out (`24h` and `1d` are both
written `1d`; weeks are read but never written, so seven days stay `7d`).
"""

from __future__ import annotations

import re
from datetime import timedelta

LONGEST = timedelta(days=36_500)
"""The longest duration taken: a hundred years of 365 days."""

_PARTS = re.compile(
    r"(?:([0-9]+)w)?(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?", re.ASCII
)
_SECONDS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DIGIT_LIMIT = 10
_SHOWN_LENGTH = 40


def parse_duration(text: str) -> timedelta:
    """Read a duration such as `24h` or `1h30m`.

    Units are w, d, h, m and s, each at most once, the larger before the smaller.

    Raises:
        ValueError: it has another form, is zero, or is longer than `LONGEST`.
    """
    parts = _PARTS.fullmatch(text)
    if not text or parts is None:
        raise ValueError(
            f"{_shown(text)} is not a duration; write whole numbers with their units, "
            "such as 90s, 24h, 7d or 1h30m"
        )
    digits = [part.lstrip("0") if part else "" for part in parts.groups()]
    # Digits are counted before they are read: a number of a million digits costs nothing.
    seconds = (
        sum(int(part or "0") * unit for part, unit in zip(digits, _SECONDS.values(), strict=True))
        if all(len(part) <= _DIGIT_LIMIT for part in digits)
        else None
    )
    if seconds == 0:
        raise ValueError(f"{_shown(text)} is a duration of zero; the shortest is 1s")
    if seconds is None or seconds > LONGEST.total_seconds():
        raise ValueError(f"{_shown(text)} is longer than a hundred years, the longest duration")
    return timedelta(seconds=seconds)


def format_duration(duration: timedelta) -> str:
    """Write a duration in its canonical form, which `parse_duration` reads back.

    >>> format_duration(timedelta(hours=25, seconds=1))
    '1d1h1s'

    Raises:
        ValueError: it is not positive, has a fraction of a second, or exceeds `LONGEST`.
    """
    if not timedelta(0) < duration <= LONGEST or duration.microseconds:
        raise ValueError(
            f"{duration!r} is not a duration of whole seconds from 1s to a hundred years"
        )
    left = duration.days * 86_400 + duration.seconds
    written = ""
    for unit in "dhms":
        count, left = divmod(left, _SECONDS[unit])
        written += f"{count}{unit}" if count else ""
    return written


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH] + "…")

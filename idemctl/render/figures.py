"""Numbers and times for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from idemctl.domain.shares import Interval

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_LONG = 2
_TEN, _THOUSAND = 10, 1000


def count(number: int, noun: str = "") -> str:
    """Write a count with its noun: `1 record`, `12,345 records`.

    >>> count(1, "record"), count(12345, "record"), count(7)
    ('1 record', '12,345 records', '7')
    """
    plural = "s" if noun and number != 1 else ""
    return f"{number:,} {noun}{plural}".rstrip()


def span(length: timedelta) -> str:
    """Write a length of time, roughly: `3 d`, `26 min`, `0 s`.

    >>> from datetime import timedelta
    >>> span(timedelta(hours=50)), span(timedelta(hours=47)), span(timedelta(0))
    ('2 d', '47 h', '0 s')
    """
    seconds = abs(length.total_seconds())
    for unit, size in _UNITS:
        if seconds >= _LONG * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def when(at: datetime | None) -> str:
    """Write an instant to the second, in UTC; a dash where there is none."""
    return "-" if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"


def size(count: int) -> str:
    """Write a number of bytes, roughly: `512 B`, `1.4 MB`.

    >>> size(512), size(1_400_000), size(36_000_000_000)
    ('512 B', '1.4 MB', '36 GB')
    """
    if count < _THOUSAND:
        return f"{count} B"
    number = float(count)
    for unit in ("kB", "MB", "GB", "TB"):
        number /= _THOUSAND
        if number < _THOUSAND or unit == "TB":
            break
    return f"{number:.1f} {unit}" if number < _TEN else f"{number:,.0f} {unit}"


def percent(share: Interval) -> str:
    """Write the limits of a share: `1.2 to 1.5 %`; below a ten-thousandth more exactly.

    >>> from idemctl.domain.shares import Interval
    >>> percent(Interval(0.012, 0.0149)), percent(Interval(0.0, 0.00004))
    ('1.2 to 1.5 %', '0 to 0.004 %')
    """
    low, high = (f"{100 * one:.2g}" for one in (share.low, share.high))
    return f"{low} to {high} %"

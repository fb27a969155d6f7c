"""Instants as columns: whole microseconds since 1970 in UTC, as `int64`.

Two values are no instants. `MISSING` is SQL's NULL, Redis's key without TTL, an absent
field; `FOREVER` is `infinity` and everything that no `datetime` can hold.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

MISSING = -(2**63)
FOREVER = 2**63 - 1
LAST_COUNTED = 9_215_576_668_800_000_000
"""294000-01-01: from here on, adding a ttl could leave what Postgres can hold."""
LONG_PAST = -62_135_596_800_000_000
"""0001-01-01: what `-infinity` becomes, since both are in the past of everything."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(at: datetime) -> int:
    """Turn an aware `datetime` into microseconds, exactly.

    >>> to_micros(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    return (at - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime | None:
    """Turn microseconds into an aware `datetime`; `None` for what is no such instant.

    >>> from_micros(FOREVER) is None, from_micros(0).isoformat()
    (True, '1970-01-01T00:00:00+00:00')
    """
    if micros in (MISSING, FOREVER):
        return None
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None

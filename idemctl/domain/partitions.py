"""Partitions: which of them lie wholly in the past, so that detaching one does what gc would."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.instants import to_micros

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from idemctl.domain.retention import Retention

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A physical table of records by the instant of which they come to expire."""

    name: str
    """With its schema, and quoted as SQL needs it."""
    until: datetime
    """Its upper bound: the stored expiry of each of its records lies before it; where records
    have none, the instant that promises count from."""
    row_estimate: int | None
    """The planner's; `None` before the first vacuum or analyze."""
    detach: str
    """The statement that takes it out of its table."""
    is_concurrent: bool
    """Whether that lets the application go on meanwhile."""
    count_kept: str
    """The query that counts its rows that gc never collects, however old they are."""


def past_partitions(partitions: Iterable[Partition], retention: Retention) -> tuple[Partition, ...]:
    """Choose those in which no promise holds any more, whatever records lie there."""
    longest = _longest_promise(retention)
    if longest is None:
        return ()
    micros = longest // _MICROSECOND
    return tuple(
        one for one in partitions if to_micros(one.until) + micros <= retention.cutoff_micros
    )


def _longest_promise(retention: Retention) -> timedelta | None:
    """Tell how long after its instant a promise can end; `None` where no bound is known."""
    if retention.has_stored_expiry:
        # A policy counts from another instant, of which the bounds say nothing.
        return None if retention.policy_ttls else timedelta(0)
    if retention.ttl is None:
        # What no policy speaks for never expires.
        return None
    return max([retention.ttl, *retention.policy_ttls.values()])

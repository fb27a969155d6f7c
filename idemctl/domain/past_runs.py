"""What a run of gc leaves behind for the brakes of the next one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from idemctl.domain.retention import Retention


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """What is remembered of a run of gc on one table."""

    cutoff: datetime
    """By the database's clock, when it began."""
    deleted: int
    clock_ahead: timedelta | None = None
    """How far that clock was ahead of this host's."""
    ttl: timedelta | None = None
    policy_ttls: Mapping[str, timedelta] | None = None
    """What was owed by endpoint; `None` where the run did not say."""


def past_runs(entries: Iterable[Mapping[str, Any]], store: str, place: str) -> list[PastRun]:
    """Find what a history says of one table, oldest first; what it does not, is left out."""
    found = []
    for entry in entries:
        for told in entry.get("summary", {}).get("stores", ()):
            is_it = told.get("store") == store and told.get("place") == place
            if is_it and told.get("why_stopped") != "braked" and told.get("cutoff"):
                found.append(_past_run(told))
    return found


def promises_told(retention: Retention) -> dict[str, Any]:
    """Write down what a run honours, for the next one; lengths are in seconds."""
    return {
        "ttl": None if retention.ttl is None else retention.ttl.total_seconds(),
        "policies": {
            name.decode("utf-8", "replace"): ttl.total_seconds()
            for name, ttl in retention.policy_ttls.items()
        },
    }


def _past_run(told: Mapping[str, Any]) -> PastRun:
    promises, ahead = told.get("promises"), told.get("clock_ahead_s")
    policies = None if promises is None else promises["policies"]
    ttl = None if promises is None else promises["ttl"]
    return PastRun(
        cutoff=datetime.fromisoformat(told["cutoff"]),
        deleted=told["deleted"],
        clock_ahead=None if ahead is None else timedelta(seconds=ahead),
        ttl=None if ttl is None else timedelta(seconds=ttl),
        policy_ttls=None
        if policies is None
        else {name: timedelta(seconds=length) for name, length in policies.items()},
    )

"""Which promise spoke for each group of records that gc looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.domain.durations import format_duration
from idemctl.domain.outcomes import Sheet
from idemctl.domain.retention import Promise, Verdict
from idemctl.render.figures import count

if TYPE_CHECKING:
    from idemctl.domain.retention import Tally
    from idemctl.operations.gc import Collected, Outcome

_KEPT_WHATEVER = "{}, whatever was promised"


def explanation(outcome: Outcome) -> Sheet:
    """Make the table that `--explain` adds to the report."""
    return Sheet(
        title="which promise spoke",
        headings=("store", "where", "records", "they are", "by"),
        rows=[
            (one.target.store, one.place, count(group.count), group.verdict.label, _by(one, group))
            for one in outcome.targets
            for group in one.collection.tallies
        ],
    )


def _by(one: Collected, group: Tally) -> str:
    match group.verdict:
        case Verdict.KEPT_BY_LAYOUT:
            return _KEPT_WHATEVER.format(f"never_collected of layout {one.target.layout}".rstrip())
        case Verdict.IN_PROGRESS | Verdict.MALFORMED:
            return _KEPT_WHATEVER.format("status")
    match group.promise:
        case Promise.STORED_EXPIRY:
            return "TTL of the key" if one.target.expires_by_itself else "stored expiry"
        case Promise.POLICY:
            return f"policy: {_policies(one)}"
        case Promise.STORE_TTL:
            ttl = one.target.ttl
            return "ttl of the store" + ("" if ttl is None else f": {format_duration(ttl)}")
    return "none: never expires"


def _policies(one: Collected) -> str:
    owed = {} if one.retention is None else one.retention.policy_ttls
    return ", ".join(
        f"{endpoint.decode('utf-8', 'replace')} {format_duration(ttl)}"
        for endpoint, ttl in owed.items()
    )

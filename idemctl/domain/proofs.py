"""Proofs: what a try of a layout on the records of a store says about writing through it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta  # noqa: TC003 (msgspec looks at the annotations)
from typing import TYPE_CHECKING

from idemctl.domain.records import Status

if TYPE_CHECKING:
    from collections.abc import Collection

    from idemctl.domain.fit import Fit

# Libraries are released every few months, and the next release may write otherwise.
GOOD_FOR = timedelta(days=90)
"""For how long a proof counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """That one layout reads one side of a store rightly."""

    store: str
    engine: str
    where: str
    """The table or the prefix, as configuration or layout name it."""
    digest: str
    """SHA-256 of the layout file, in hex."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What came of one try of a claim; the newest try is the one that counts."""

    claim: Claim
    place: str
    """The table or the keys, as the store itself names them."""
    at: datetime
    records: int
    """How many were read."""
    holds: bool

    def why_void(self, now: datetime) -> str | None:
        """Say why nothing may be written on the strength of it; None where it may."""
        tried = f"was tried on {self.place} on {self.at:%Y-%m-%d}"
        age = now - self.at
        if not self.holds:
            return f"did not pass when it {tried}"
        if age > GOOD_FOR:
            return f"{tried}, more than {GOOD_FOR.days} days ago"
        if age < timedelta(0):
            return f"{tried}, which has not come yet"
        return None


def doubt(fit: Fit, never: Collection[Status]) -> str | None:
    """Say why a sample proves nothing; None where it is proof enough to write.

    Args:
        fit: how the layout reads it.
        never: statuses that the layout tells apart, and no record of the sample has.
    """
    if not fit.seen:
        return "no record was there to be read"
    if fit.is_off:
        return "not all is read right"
    # What never held may never hold; but what is deleted and copied are completed records.
    if never and not fit.by_status[Status.COMPLETED]:
        return "no completed record was seen"
    return None

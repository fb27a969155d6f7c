"""How well a layout fits the records that it was made to read: counts of a sample, and verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.instants import LAST_COUNTED, MISSING, to_micros
from idemctl.domain.records import Flaw, Status

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from numpy.typing import NDArray

    from idemctl.domain.batch import Batch

_CENTURY = timedelta(days=36_525)
"""An instant farther from now counts other units than the layout says."""
_INSTANTS = ("counted_from", "completed_at", "expires_at", "lease_until", "due_at")


@dataclass(slots=True)
class Fit:
    """What a sample of records looks like through a layout."""

    now: datetime
    seen: int = 0
    by_status: dict[Status, int] = field(default_factory=lambda: dict.fromkeys(Status, 0))
    by_flaw: dict[Flaw, int] = field(default_factory=dict)
    filled: dict[str, int] = field(default_factory=dict)
    """In how many records each part has a value."""
    absurd: dict[str, int] = field(default_factory=dict)
    """In how many each instant lies a century away."""

    def see(self, batch: Batch) -> None:
        """Add some records."""
        self.seen += len(batch)
        for number, count in _counts(batch.status):
            self.by_status[Status(number)] += count
        for number, count in _counts(batch.flaw):
            if number:
                self.by_flaw[Flaw(number)] = self.by_flaw.get(Flaw(number), 0) + count
        now, far = to_micros(self.now), _CENTURY // timedelta(microseconds=1)
        for name in _INSTANTS:
            column = getattr(batch, name)
            known = column != MISSING
            self._add(self.filled, name, known)
            counted = known & (column < LAST_COUNTED) & (column > -LAST_COUNTED)
            self._add(
                self.absurd, name, counted & (abs(np.where(counted, column, now) - now) > far)
            )
        for name in ("fence", "epoch", "response_status"):
            self._add(self.filled, name, getattr(batch, name) != MISSING)
        self._add(self.filled, "never_collected", batch.never_collected)
        for name in ("scopes", "endpoints", "fingerprints"):
            count = sum(map(bool, getattr(batch, name)))
            self.filled[name] = self.filled.get(name, 0) + count

    def never(self, known: Collection[Status]) -> list[Status]:
        """List the statuses that the layout knows, and no record of the sample has."""
        return [status for status in known if not self.by_status[status]]

    @property
    def is_off(self) -> bool:
        """Whether something is read wrong: some fit no status, or an instant makes no sense."""
        return bool(self.by_status[Status.MALFORMED] or any(self.absurd.values()) or not self.seen)

    def _add(
        self, counts: dict[str, int], name: str, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]
    ) -> None:
        counts[name] = counts.get(name, 0) + int(np.count_nonzero(mask))


def _counts(column: NDArray[np.uint8]) -> list[tuple[int, int]]:
    numbers, counts = np.unique(column, return_counts=True)
    return list(zip(numbers.tolist(), counts.tolist(), strict=True))

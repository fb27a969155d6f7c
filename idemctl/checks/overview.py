"""An overview of a place: its records by status, how old they are, and how large."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.frequent import Frequent
from idemctl.domain.instants import FOREVER, MISSING, from_micros
from idemctl.domain.records import Status
from idemctl.domain.retention import Verdict
from idemctl.domain.shares import Sampled

if TYPE_CHECKING:
    from datetime import datetime

    from idemctl.checks.check import Looked


@dataclass(slots=True)
class Overview:
    """Adds up batch by batch; whatever was not looked at is not in it."""

    sampled: Sampled = field(default_factory=Sampled)
    """How many records were seen, and in how many batches."""
    by_status: dict[Status, int] = field(default_factory=lambda: dict.fromkeys(Status, 0))
    expired_count: int = 0
    """Records that gc would collect."""
    size: int = 0
    """Bytes, of values or rows as they are stored."""
    scopes: Frequent = field(default_factory=Frequent)
    endpoints: Frequent = field(default_factory=Frequent)
    _oldest: int = FOREVER
    _newest: int = MISSING

    def see(self, looked: Looked) -> None:
        """Add one batch."""
        batch = looked.batch
        self.sampled.add(len(batch))
        numbers = np.bincount(batch.status, minlength=len(Status)).tolist()
        for status in Status:
            self.by_status[status] += numbers[status]
        self.expired_count += int(np.count_nonzero(looked.judged[0] == Verdict.EXPIRED))
        self.size += int(batch.size.sum())
        self.scopes.add(batch.scopes)
        self.endpoints.add(batch.endpoints)
        written = batch.written_at
        known = written[(written != MISSING) & (written < FOREVER)]
        if len(known):
            self._oldest = min(self._oldest, int(known.min()))
            self._newest = max(self._newest, int(known.max()))

    @property
    def seen_count(self) -> int:
        """How many records were looked at."""
        return self.sampled.records

    @property
    def oldest(self) -> datetime | None:
        """When the record was written that was written first; `None` where none says."""
        return from_micros(self._oldest) if self._newest != MISSING else None

    @property
    def newest(self) -> datetime | None:
        """When the record was written that was written last; `None` where none says."""
        return from_micros(self._newest)

"""The names that most records have, found in one pass and in bounded memory.

The summary of Misra and Gries (1982), merged batch by batch as Agarwal et al. do (Mergeable
Summaries, 2012): when there are too many names, what the rarest of those that stay had is taken
from all, and names that came once in a batch are left out. So a count is never too high, and
too low by no more than `missed`.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEPT = 1_024
_MOST = 4 * _KEPT
"""Names at once; more are thinned out rarely enough to cost nothing."""
_LONGEST = 512
"""Bytes of a name; longer ones are nobody's tenants, and count among the rest."""


@dataclass(slots=True)
class Frequent:
    """Counts records by name; those without a name count for nothing."""

    named: int = 0
    """How many records have a name."""
    missed: int = 0
    """By so much a count may be too low; 0 where all are exact."""
    _counts: dict[bytes, int] = field(default_factory=dict)

    def add(self, names: Sequence[bytes]) -> None:
        """Count one batch."""
        if not any(names):
            return
        some: dict[bytes, int] = Counter(names)
        self.named += len(names) - some.pop(b"", 0)
        if len(self._counts) + len(some) > _MOST:
            # Who has many records has several in many batches; the others only take time.
            self.missed += 1
            some = {name: count for name, count in some.items() if count > 1}
        counts = self._counts
        for name, count in some.items():
            if len(name) <= _LONGEST:
                counts[name] = counts.get(name, 0) + count
        if len(counts) > _MOST:
            self._thin_out()

    def most(self, count: int) -> list[tuple[bytes, int]]:
        """Give the names of most records, those with the most first.

        >>> frequent = Frequent()
        >>> frequent.add([b"acme", b"", b"b", b"acme"])
        >>> frequent.most(1), frequent.named, frequent.missed
        ([(b'acme', 2)], 3, 0)
        """
        return heapq.nsmallest(count, self._counts.items(), key=lambda one: (-one[1], one[0]))

    def _thin_out(self) -> None:
        taken = heapq.nlargest(_KEPT + 1, self._counts.values())[-1]
        self.missed += taken
        counts = self._counts.items()
        self._counts = {name: count - taken for name, count in counts if count > taken}

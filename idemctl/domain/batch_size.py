"""How large the next batch is: grow slowly, halve at trouble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

_GROWTH = 1.5
_CAUTIOUS_GROWTH = 1.1


@dataclass(slots=True, kw_only=True)
class BatchSize:
    """A number of rows or pages that one statement takes on, steered by how long it took.

    Growth is half as much again until the first time it has to shrink, a tenth after that:
    a size that was once too large stays suspect for the rest of the run.
    """

    current: int
    largest: int
    target: timedelta
    """How long a statement should take; twice as long halves the size."""
    _growth: float = _GROWTH

    def after(self, took: timedelta) -> None:
        """Learn from a statement that succeeded."""
        if took > 2 * self.target:
            self.halve()
        elif took < self.target:
            self.current = min(
                self.largest, max(self.current + 1, int(self.current * self._growth))
            )

    def halve(self) -> None:
        """Learn from a statement that timed out, met a lock or a deadlock, or was slow."""
        self.current = max(1, self.current // 2)
        self._growth = _CAUTIOUS_GROWTH

    @property
    def is_smallest(self) -> bool:
        """Whether nothing smaller can be tried."""
        return self.current == 1

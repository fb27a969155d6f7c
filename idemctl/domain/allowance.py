"""How many records may still go in one walk."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Allowance:
    """What is left of a limit; `None` is no limit.

    >>> allowance = Allowance(5)
    >>> allowance.spend(3)
    >>> allowance.of(10), allowance.is_spent, Allowance().of(10)
    (2, False, 10)
    """

    left: int | None = None

    def of(self, size: int) -> int:
        """Give as much of a batch as may go."""
        return size if self.left is None else min(size, self.left)

    def part(self, index: int, count: int) -> int | None:
        """Give the part of one of `count` walks; all parts together are the whole."""
        if self.left is None:
            return None
        return self.left // count + (index < self.left % count)

    def spend(self, count: int) -> None:
        """Take away what went."""
        if self.left is not None:
            self.left -= count

    @property
    def is_spent(self) -> bool:
        """Whether no more may go."""
        return self.left is not None and self.left <= 0

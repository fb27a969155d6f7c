"""Shares of a whole that was only sampled, with the interval that they lie in.

Records come in batches from a few spots, and neighbours are alike: rows of one page were
written in one minute. So the spread between batches counts, and where there is none, or too
few batches, chance alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_Z = 1.959964
"""Of 95 %: the interval misses the truth once in twenty times."""
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class Interval:
    """Two shares, 0 to 1, between which the true one lies, 95 times in a hundred."""

    low: float
    high: float


@dataclass(slots=True)
class Sampled:
    """How many records came in how many batches."""

    batches: int = 0
    records: int = 0
    squares: int = 0
    """The sum of the squares of the batches' sizes."""

    def add(self, size: int) -> None:
        """Add one batch; one without records says nothing."""
        if size:
            self.batches += 1
            self.records += size
            self.squares += size * size


@dataclass(slots=True)
class Hits:
    """How many of the records were of one kind."""

    count: float = 0
    squares: float = 0
    """The sum of the squares of their numbers in each batch."""
    products: float = 0
    """The sum of each number times the size of its batch."""

    def add(self, count: int, size: int) -> None:
        """Add what was found in one batch of that size."""
        self.count += count
        self.squares += count * count
        self.products += count * size

    def scaled(self, count: int) -> Hits:
        """Give as many hits, spread over the batches as these are."""
        times = count / self.count if self.count else 0.0
        return Hits(count, self.squares * times * times, self.products * times)


def interval(hits: Hits, sampled: Sampled) -> Interval:
    """Estimate a share from a sample.

    The wider one of Wilson's score interval (Wilson 1927), which takes records for chance, and
    of the ratio estimator's over batches as clusters (Cochran, Sampling Techniques, 6.4).

    >>> sample = Sampled(batches=100, records=10_000, squares=1_000_000)
    >>> nothing = interval(Hits(), sample)
    >>> nothing.low, round(nothing.high, 5)
    (0.0, 0.00038)
    """
    records = sampled.records
    if not records:
        return Interval(0.0, 1.0)
    share = hits.count / records
    spread = _Z * _Z / records
    middle = (share + spread / 2) / (1 + spread)
    half = _Z / (1 + spread) * math.sqrt((share * (1 - share) + spread / 4) / records)
    low, high = middle - half, middle + half
    if sampled.batches >= _FEWEST:
        apart = hits.squares - 2 * share * hits.products + share * share * sampled.squares
        variance = sampled.batches / (sampled.batches - 1) * max(apart, 0.0) / records**2
        low = min(low, share - _Z * math.sqrt(variance))
        high = max(high, share + _Z * math.sqrt(variance))
    return Interval(max(low, 0.0) if hits.count else 0.0, min(high, 1.0))

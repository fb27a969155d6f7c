"""What was to be expected of one series, hour by hour, and how surely.

The rate of the same hour of the week, its two neighbours included, in the other weeks; where
those hold too little, that of the same hour on other days; else that of all other days. Hours
that were far over are left out, so that one spike does not hide the next.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.traffic.period import HOUR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from idemctl.domain.traffic.counts import Floats

WINDOWS = (1, 3, 12, 36)
"""Lengths at which a series is looked at, in buckets: a burst, and what is slow to add up."""
_SUPPORT = 20.0
"""Expected hits that a pool of hours needs before it speaks for one."""
_FAR_OVER = 3.0
_FEW = 2
"""Weeks of which none can be spared."""
_CALM_SHARE = 0.9
"""Of the hours, taken to be no spike's: what the first measure of their spread is taken from."""
_CALM_SQUARE = 2.706
"""What that share of the squares of a standard normal variable stays below."""


class Basis(StrEnum):
    """Which hours a baseline was taken from."""

    HOUR_OF_WEEK = "hour-of-week"
    HOUR_OF_DAY = "hour-of-day"
    ALL = "all"


_BASES = tuple(Basis)


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """An expectation for each bucket, with what it rests on."""

    expected: Floats
    doubt: Floats
    """The standard error of each, were there no overdispersion."""
    basis: NDArray[np.int8]
    """Place in `Basis` for each bucket."""
    dispersion: tuple[float, ...]
    """For each of `WINDOWS`, how many times the variance is what chance alone would make it."""

    def basis_of(self, first: int, end: int) -> Basis:
        """Name what the expectation for some buckets mostly rests on."""
        return _BASES[int(np.bincount(self.basis[first:end]).argmax())]

    def dispersion_of(self, length: int) -> float:
        """Give the dispersion for a stretch, from the longest window that fits into it."""
        return self.dispersion[max(at for at, one in enumerate(WINDOWS) if one <= max(1, length))]


def surprise(observed: Floats, expected: Floats, doubt: Floats, dispersion: float) -> Floats:
    """Tell how surprising so many hits are: the chance is at most one in ten to that.

    The bound (Chernoff's) on the tail of a negative binomial distribution whose variance is
    `dispersion` times that of a Poisson count with an expectation known up to `doubt`.
    """
    safe = np.maximum(expected, 1e-9)
    variance = dispersion * (safe + doubt**2)
    size = safe**2 / np.maximum(variance - safe, 1e-9 * safe)
    over = observed - safe
    bound = observed * np.log(np.maximum(observed, 1e-9) / safe)
    bound -= (observed + size) * np.log1p(over / (safe + size))
    return np.where(over > 0, np.maximum(bound, 0.0), 0.0) / math.log(10)


def baseline(observed: Floats, exposure: Floats) -> Baseline:
    """Learn what was to be expected of a series, from whole weeks of buckets."""
    hourly, exposed = _grouped(observed, HOUR), _grouped(exposure, HOUR)
    kept = ~_far_over(hourly, exposed)
    ratio, doubt, basis = _seasonal(hourly * kept, exposed * kept)
    expected = exposure * np.repeat(ratio, HOUR)
    doubts = expected * np.repeat(doubt, HOUR)
    quiet = np.repeat(kept, HOUR).astype(np.float64)
    return Baseline(
        expected=expected,
        doubt=doubts,
        basis=np.repeat(basis, HOUR),
        dispersion=tuple(
            _dispersion(
                _grouped(observed, length),
                _grouped(expected, length),
                _grouped(doubts, length),
                _grouped(quiet, length) == length,
            )
            for length in WINDOWS
        ),
    )


def _far_over(hourly: Floats, exposed: Floats) -> NDArray[np.bool_]:
    """Tell which hours were so far over the other weeks' that no baseline may rest on them.

    Here the highest of the other weeks is left out, too: one spike must not excuse another.
    """
    ratio, doubt, _ = _seasonal(hourly, exposed, without_highest=True)
    expected = exposed * ratio
    square = (hourly - expected) ** 2 / np.maximum(expected + (expected * doubt) ** 2, 1e-9)
    spread = float(np.quantile(square[exposed > 0], _CALM_SHARE)) / _CALM_SQUARE
    return surprise(hourly, expected, expected * doubt, max(1.0, spread)) >= _FAR_OVER


def _seasonal(
    hourly: Floats, exposed: Floats, *, without_highest: bool = False
) -> tuple[Floats, Floats, NDArray[np.int8]]:
    """Give each hour its ratio of hits to exposure, the relative doubt of it, and its basis."""
    hits_near, exposed_near = _with_neighbours(hourly), _with_neighbours(exposed)
    pools = [
        _others(hits_near.reshape(-1, 168), exposed_near.reshape(-1, 168), without_highest),
        _others(hits_near.reshape(-1, 24), exposed_near.reshape(-1, 24), without_highest),
    ]
    days = _others(_grouped(hourly, 24)[:, None], _grouped(exposed, 24)[:, None], without_highest)
    pools.append((np.repeat(days[0], 24), np.repeat(days[1], 24)))
    basis = np.select([pool >= _SUPPORT for _, pool in pools[:2]], [0, 1], default=2)
    hits, pool = (np.maximum(np.choose(basis, one), 0.0) + 0.5 for one in zip(*pools, strict=True))
    return hits / pool, 1 / np.sqrt(hits), basis.astype(np.int8)


def _with_neighbours(hourly: Floats) -> Floats:
    near = hourly.copy()
    near[1:] += hourly[:-1]
    near[:-1] += hourly[1:]
    return near


def _others(hits: Floats, exposed: Floats, without_highest: bool) -> tuple[Floats, Floats]:
    """Add up, for each row of two tables and hour by hour, all other rows."""
    others = [table.sum(0) - table for table in (hits, exposed)]
    if without_highest and len(hits) > _FEW:
        order = np.argsort(hits, axis=0)
        own = np.arange(len(hits))[:, None]
        highest = np.where(order[-1] == own, order[-2], order[-1])
        others = [
            sums - np.take_along_axis(table, highest, axis=0)
            for sums, table in zip(others, (hits, exposed), strict=True)
        ]
    return others[0].reshape(-1), others[1].reshape(-1)


def _grouped(values: Floats, length: int) -> Floats:
    grouped: Floats = values.reshape(-1, length).sum(1)
    return grouped


def _dispersion(
    observed: Floats, expected: Floats, doubt: Floats, chosen: NDArray[np.bool_]
) -> float:
    """Compare the spread around the expectation with what chance alone would make it."""
    by_chance = float((expected + doubt**2)[chosen].sum())
    if by_chance <= 0:
        return 1.0
    return max(1.0, float(((observed - expected) ** 2)[chosen].sum()) / by_chance)

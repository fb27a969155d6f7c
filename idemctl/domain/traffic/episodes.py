"""Where a series was over its baseline: stretches of buckets, each once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.traffic.baseline import WINDOWS, baseline, surprise
from idemctl.domain.traffic.period import HOUR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from idemctl.domain.traffic.baseline import Baseline, Basis
    from idemctl.domain.traffic.counts import Floats, Names

SURPRISE = 8.0
"""Powers of ten: one in a hundred million, for four weeks hold millions of windows."""
MORE_HITS = 20.0
"""Below so many hits too many, nobody need be woken."""
TIMES = 1.5
"""Below so many times the expectation, neither."""
_LETS_GO_AFTER = SURPRISE * math.log(10)
"""Evidence against a stretch that ends it: as much as it takes to begin one."""
_SPARED = 0.05
"""Share of the evidence that a stretch does without at an end, to be that much shorter: a stray
hit before a storm is no part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One series, over its baseline from bucket `first` up to, not including, `end`."""

    names: Names
    first: int
    end: int
    observed: float
    expected: float
    doubt: float
    exposure: float
    requests: float
    score: float
    dispersion: float
    basis: Basis

    @property
    def excess(self) -> float:
        """Hits too many."""
        return self.observed - self.expected

    @property
    def factor(self) -> float:
        """How the season raises or lowers what exposure alone lets one expect."""
        return self.expected / max(self.exposure, 1e-9)

    def overlaps(self, other: Episode) -> bool:
        """Whether both share a bucket."""
        return self.first < other.end and other.first < self.end

    def stands(self, observed: float, exposure: float) -> bool:
        """Whether a part of its hits, held against a part of its exposure, would be one, too."""
        expected = exposure * self.factor
        share = exposure / max(self.exposure, 1e-9)
        [score] = surprise(
            np.array([observed]),
            np.array([expected]),
            np.array([self.doubt * share]),
            self.dispersion,
        )
        return bool(score >= SURPRISE and _matters(observed, expected))


def episodes_of(
    names: Names, observed: Floats, exposure: Floats, requests: Floats, judged: NDArray[np.bool_]
) -> Iterator[Episode]:
    """Find the stretches in which a series was over its baseline.

    Args:
        names: of the series.
        observed: hits by bucket, over whole weeks.
        exposure: hits that the mix of requests lets one expect.
        requests: keyed requests.
        judged: buckets for which the other weeks know enough of the series.
    """
    learnt = baseline(observed, exposure)
    alarms = [_alarms(learnt, observed, judged, at) for at in range(len(WINDOWS))]
    for first, end, score in _joined(_stretches(observed, learnt.expected, alarms)):
        inside = slice(first, end)
        yield Episode(
            names=names,
            first=first,
            end=end,
            observed=float(observed[inside].sum()),
            expected=float(learnt.expected[inside].sum()),
            doubt=float(learnt.doubt[inside].sum()),
            exposure=float(exposure[inside].sum()),
            requests=float(requests[inside].sum()),
            score=score,
            dispersion=learnt.dispersion_of(end - first),
            basis=learnt.basis_of(first, end),
        )


def _matters(observed: float, expected: float) -> bool:
    return observed - expected >= MORE_HITS and observed >= TIMES * expected


def _alarms(learnt: Baseline, observed: Floats, judged: NDArray[np.bool_], at: int) -> Floats:
    """Score the windows of one length by their first bucket; 0 where there is no alarm."""
    length = WINDOWS[at]
    seen, expected, doubt = (
        _sliding(one, length) for one in (observed, learnt.expected, learnt.doubt)
    )
    alarms = np.zeros(len(seen))
    # Few windows can matter at all: only those are worth logarithms.
    able = np.flatnonzero((seen - expected >= MORE_HITS) & (seen >= TIMES * expected))
    able = able[judged[able + length - 1]]
    score = surprise(seen[able], expected[able], doubt[able], learnt.dispersion[at])
    alarms[able] = np.where(score >= SURPRISE, score, 0.0)
    return alarms


def _sliding(values: Floats, length: int) -> Floats:
    sums = np.concatenate(([0.0], np.cumsum(values)))
    moved: Floats = sums[length:] - sums[:-length]
    return moved


def _stretches(
    observed: Floats, expected: Floats, alarms: list[Floats]
) -> Iterator[tuple[int, int, float]]:
    """Give each stretch with its score, the most surprising of a region first."""
    regions = [(0, len(observed))]
    while regions:
        low, high = regions.pop()
        score, start, length = max(
            _best(alarm, low, high, length) for alarm, length in zip(alarms, WINDOWS, strict=True)
        )
        if not score:
            continue
        window = slice(start, start + length)
        times = float(observed[window].sum()) / max(float(expected[window].sum()), 1e-9)
        gain = observed * math.log(times) - expected * (times - 1)
        core = start + int(gain[window].argmax())
        spared = min(_SPARED * float(gain[window].sum()), _LETS_GO_AFTER)
        first = core - _reach(gain[low:core][::-1], spared)
        end = core + 1 + _reach(gain[core + 1 : high], spared)
        yield first, end, score
        regions += [(low, first), (end, high)]


def _joined(stretches: Iterable[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
    """Make one of stretches that are less than an hour apart."""
    joined: list[tuple[int, int, float]] = []
    for first, end, score in sorted(stretches):
        if joined and first - joined[-1][1] < HOUR:
            start, _, before = joined.pop()
            joined.append((start, end, max(score, before)))
        else:
            joined.append((first, end, score))
    return joined


def _best(alarm: Floats, low: int, high: int, length: int) -> tuple[float, int, int]:
    """Find the strongest alarm of a length that lies wholly in a region."""
    inside = alarm[low : max(high - length + 1, low)]
    if not inside.size:
        return 0.0, low, length
    at = int(inside.argmax())
    return float(inside[at]), low + at, length


def _reach(gains: Floats, spared: float) -> int:
    """Tell how many buckets on the evidence for the stretch is at its height, or nearly.

    What lies an hour without any behind it, or behind as much evidence against it as would
    make a spike, is another one.
    """
    if not gains.size:
        return 0
    reached = np.concatenate(([0.0], np.cumsum(gains)))
    height = np.maximum.accumulate(reached)
    place = np.arange(len(reached))
    since = place - np.maximum.accumulate(np.where(reached >= height, place, 0))
    lost = (height - reached > _LETS_GO_AFTER) | (since > HOUR)
    stop = int(lost.argmax()) if lost.any() else len(reached)
    return int((reached[:stop] >= reached[:stop].max() - spared).argmax())

"""Of all series that rise together, the one that says where the rise comes from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.traffic.counts import NOBODY
from idemctl.domain.traffic.period import HOUR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from idemctl.domain.traffic.counts import Floats, Ints, Names, Rows
    from idemctl.domain.traffic.episodes import Episode

_EXPLAINS = 0.8
"""Share of a rise from which on a part of it is the explanation of it."""
_STANDS_OUT = 0.5
"""Share of what they usually have that all others may have of a rise which a part explains."""
_LEFT_TO_OTHERS = 0.05
"""Share of the whole without which there are no others to stand out from."""
_MOST_PARTS = 3


def explained(episodes: Sequence[Episode], rows: Rows) -> list[tuple[Episode, float]]:
    """Choose, for each rise, the most specific series that carries it; with its share.

    From the widest series down: each is narrowed to what carries most of its rise, or to a few
    that do together. What an explanation covers is taken out of the wider and the narrower
    series, and what is left of them must stand by itself.
    """
    accepted: list[tuple[Episode, float]] = []
    usual = _usual(episodes, rows)
    for episode in sorted(episodes, key=lambda one: (-one.names.breadth, -one.score)):
        near = rows.between(episode.first, episode.end)
        near = near.taken(near.of(episode.names) & ~_covered(near, accepted))
        if not episode.stands(float(near.observed.sum()), float(near.exposure.sum())):
            continue
        excess = _excess(near, episode)
        meanwhile = [one for one in episodes if one.overlaps(episode)]
        for names in _Rise(near, episode, usual).parts(meanwhile):
            share = _excess(near.taken(near.of(names)), episode) / excess
            own = [one for one in meanwhile if one.names == names]
            found = max(own, key=lambda one: one.score, default=None)
            found = found or _narrowed(episode, names, near)
            # A wider series may be over its baseline for longer, or in several pieces.
            if not any(one.names == names and one.overlaps(found) for one, _ in accepted):
                accepted.append((found, share))
    return accepted


def _usual(episodes: Sequence[Episode], rows: Rows) -> Rows:
    """Give the rows outside every rise, each exposed to what it usually has.

    That is its hits, smoothed by its requests: of a rare kind there may be next to none.
    """
    quiet = np.ones(len(rows.bucket), dtype=bool)
    for one in episodes:
        quiet &= (rows.bucket < one.first) | (rows.bucket >= one.end)
    left = rows.taken(quiet)
    rate = left.observed.sum() / max(float(left.requests.sum()), 1.0)
    return replace(left, exposure=left.observed + left.requests * max(float(rate), 1e-9))


def _covered(rows: Rows, accepted: Sequence[tuple[Episode, float]]) -> NDArray[np.bool_]:
    """Tell which rows belong to what is explained already, an hour around it included."""
    covered = np.zeros(len(rows.bucket), dtype=bool)
    for one, _ in accepted:
        around = (rows.bucket >= one.first - HOUR) & (rows.bucket < one.end + HOUR)
        covered |= around & rows.of(one.names)
    return covered


def _excess(rows: Rows, episode: Episode) -> float:
    return float(rows.observed.sum() - rows.exposure.sum() * episode.factor)


@dataclass(frozen=True, slots=True)
class _Rise:
    """The rows of an episode that nothing explains yet, and how to tell whose they are."""

    near: Rows
    episode: Episode
    usual: Rows
    """What is outside all rises, against which a part has to stand out."""

    def parts(self, meanwhile: Sequence[Episode]) -> list[Names]:
        """Name the one series that carries the rise; else a few that do together; else itself."""
        whole = self.episode.names
        narrow = self._narrow(self.near, whole)
        if narrow != whole:
            return [narrow]
        parts: list[Names] = []
        left = self.near
        known = [one.names for one in meanwhile if one.names.breadth < whole.breadth]
        while known and len(parts) < _MOST_PARTS:
            most = max(known, key=lambda names: self._excess(left.taken(left.of(names))))
            part = self._narrow(left.taken(left.of(most)), most)
            left = left.taken(~left.of(part))
            parts.append(part)
            if self._carry(self._excess(self.near) - self._excess(left), self.near, parts, whole):
                return parts
        return [whole]

    def _narrow(self, rows: Rows, names: Names) -> Names:
        """Give the most specific series within some rows that carries most of their excess."""
        weight = rows.observed - rows.exposure * self.episode.factor
        endpoint, client = _heaviest(rows.endpoint, weight), _heaviest(rows.client, weight)
        closer = [
            one
            for one in (replace(names, client=client), replace(names, endpoint=endpoint))
            if one.breadth < names.breadth
        ]
        excess = {one: float(weight[rows.of(one)].sum()) for one in closer}
        closer = [one for one in closer if self._carry(excess[one], rows, [one], names)]
        if not closer:
            return names
        best = max(closer, key=lambda one: excess[one])
        return self._narrow(rows.taken(rows.of(best)), best)

    def _carry(self, excess: float, rows: Rows, parts: list[Names], whole: Names) -> bool:
        """Tell whether some parts carry a rise, and more than they usually have of the whole.

        A client that sends nearly everything carries nearly every rise, and explains none.
        """
        share = excess / max(self._excess(rows), 1e-9)
        usual = self.usual.exposure[self.usual.of(whole)].sum()
        theirs = np.any([self.usual.of(part) for part in parts], axis=0)
        others = 1 - self.usual.exposure[theirs].sum() / max(float(usual), 1e-9)
        stands_out = others >= _LEFT_TO_OTHERS and 1 - share <= others * _STANDS_OUT
        return bool(share >= _EXPLAINS and stands_out)

    def _excess(self, rows: Rows) -> float:
        return _excess(rows, self.episode)


def _heaviest(codes: Ints, weight: Floats) -> int | None:
    """Give the name with the most weight; None where that is no name."""
    if not codes.size:
        return None
    heaviest = int(np.bincount(codes - NOBODY, weight).argmax()) + NOBODY
    return None if heaviest == NOBODY else heaviest


def _narrowed(episode: Episode, names: Names, rows: Rows) -> Episode:
    """Speak of a part of an episode that made no episode by itself."""
    part = rows.taken(rows.of(names))
    exposure = float(part.exposure.sum())
    return replace(
        episode,
        names=names,
        observed=float(part.observed.sum()),
        expected=exposure * episode.factor,
        exposure=exposure,
        requests=float(part.requests.sum()),
    )

"""Random material: identifiers, skewed choices, words, and ages in order.

Everything is drawn from the generator handed in, so one seed gives one population.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_BASE62 = np.frombuffer(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", dtype=np.uint8
)
_EVENT_SHARE = 0.7
"""Of the one provider; the other has the rest."""
_WAMID_BYTES = 33
_WORDS = (
    "booking room order invoice deposit monthly plan upgrade seat ticket delivery courier "
    "café Zoë München naïve 東京 pickup return voucher table window morning evening guest "
    "reminder renewal adapter cable chair lamp basket fee partial first second final"
)
_WORD_COUNT = 20_000


def generator(*parts: int) -> np.random.Generator:
    """Make the generator for one piece of the population; the same parts give the same one."""
    return np.random.default_rng(parts)


def hexes(rng: np.random.Generator, count: int, length: int) -> list[str]:
    """Draw `count` strings of `length` hexadecimal digits; `length` is even."""
    text = rng.bytes(count * length // 2).hex()
    return [text[at : at + length] for at in range(0, count * length, length)]


def uuids(rng: np.random.Generator, count: int) -> list[str]:
    """Draw UUIDs of version 4."""
    raw = np.frombuffer(rng.bytes(count * 16), dtype=np.uint8).reshape(count, 16).copy()
    raw[:, 6] = (raw[:, 6] & 0x0F) | 0x40
    raw[:, 8] = (raw[:, 8] & 0x3F) | 0x80
    text = raw.tobytes().hex()
    return [
        f"{text[at : at + 8]}-{text[at + 8 : at + 12]}-{text[at + 12 : at + 16]}"
        f"-{text[at + 16 : at + 20]}-{text[at + 20 : at + 32]}"
        for at in range(0, count * 32, 32)
    ]


def provider_ids(rng: np.random.Generator, count: int) -> list[str]:
    """Draw the ids that providers give their webhooks: `evt_…` and `wamid.…`."""
    letters = _BASE62[rng.integers(0, len(_BASE62), count * 24)].tobytes().decode("ascii")
    raw = rng.bytes(count * _WAMID_BYTES)
    is_event = (rng.random(count) < _EVENT_SHARE).tolist()
    return [
        f"evt_{letters[row * 24 : row * 24 + 24]}"
        if is_event[row]
        else "wamid."
        + base64.b64encode(raw[row * _WAMID_BYTES : (row + 1) * _WAMID_BYTES]).decode("ascii")
        for row in range(count)
    ]


def words(rng: np.random.Generator, lengths: NDArray[np.int64]) -> list[str]:
    """Draw a piece of prose, in characters, for each length; nothing in it needs escaping."""
    prose = _prose()
    starts = rng.integers(0, len(prose) - int(lengths.max(initial=0)) - 1, len(lengths))
    ends = starts + lengths
    return [prose[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]


@cache
def _prose() -> str:
    choice = _WORDS.split()
    order = generator(0).integers(0, len(choice), _WORD_COUNT).tolist()
    return " ".join(choice[at] for at in order)


def zipf(count: int) -> NDArray[np.float64]:
    """Give the weights of `count` choices, the first the most frequent; they add up to 1."""
    weights: NDArray[np.float64] = 1.0 / np.arange(1, count + 1)
    total: float = weights.sum()
    return weights / total


def picks(
    rng: np.random.Generator, count: int, weights: NDArray[np.float64] | Sequence[float]
) -> NDArray[np.int64]:
    """Draw `count` indexes by their weights."""
    steps = np.cumsum(weights)
    chosen: NDArray[np.int64] = np.searchsorted(steps, rng.random(count) * steps[-1], side="right")
    return np.minimum(chosen, len(steps) - 1)


def durations(
    rng: np.random.Generator, count: int, *, median: int, spread: float, longest: int
) -> NDArray[np.int64]:
    """Draw durations with a long tail, cut at `longest`."""
    drawn = median * rng.lognormal(0.0, spread, count)
    return np.clip(drawn, 1_000, longest).astype(np.int64)


@dataclass(frozen=True, slots=True)
class AgeCurve:
    """How the ages of a population are spread: spans of equal density, oldest first."""

    spans: tuple[tuple[int, int, float], ...]
    """(older end, younger end, weight) of each; between spans nobody has that age."""

    def ages(
        self, rng: np.random.Generator, *, first: int, count: int, of: int
    ) -> NDArray[np.int64]:
        """Draw the ages of records `first` to `first + count` out of `of`, oldest first.

        Each record draws within its own slice of the curve: chunks come out in order
        without the whole ever being sorted in memory.
        """
        places = (first + np.arange(count) + rng.random(count)) / of
        weights = np.array([weight for _, _, weight in self.spans])
        ends = np.cumsum(weights) / weights.sum()
        starts = np.concatenate(([0.0], ends[:-1]))
        span = np.minimum(np.searchsorted(ends, places, side="right"), len(self.spans) - 1)
        older = np.array([older for older, _, _ in self.spans])[span]
        younger = np.array([younger for _, younger, _ in self.spans])[span]
        inside = (places - starts[span]) / (ends[span] - starts[span])
        ages: NDArray[np.float64] = older - inside * (older - younger)
        return ages.astype(np.int64)

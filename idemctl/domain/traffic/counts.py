"""Keyed requests, counted: by five minutes, endpoint and client."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

BUCKET_SECONDS = 300
NOBODY = -1
"""The code of an endpoint or client that a line does not name."""


class Hit(StrEnum):
    """What a keyed request can find instead of nothing."""

    REPLAY = "replay"
    CONFLICT = "conflict"
    MISMATCH = "mismatch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Which requests are counted together; None stands for all."""

    endpoint: str | None = None
    client: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Counts as columns of one length; a row for each bucket, endpoint and client with any.

    Rows come in any order, and several may speak of the same requests' bucket and names.
    """

    bucket: Ints
    """Five minutes each, counted from 1970 in UTC."""
    endpoint: Ints
    """Places in `endpoints`; `NOBODY` where a line names none."""
    client: Ints
    """Places in `clients`; `NOBODY` where a line names none."""
    requests: Ints
    hits: Mapping[Hit, Ints]
    endpoints: tuple[str, ...]
    clients: tuple[str, ...]

    @property
    def request_count(self) -> int:
        """All keyed requests."""
        return int(self.requests.sum())

    def hit_count(self, hit: Hit) -> int:
        """All requests that ended so."""
        return int(self.hits[hit].sum())


def summed(places: Ints, weights: Floats, length: int) -> Floats:
    """Add up weights by place, into a column of some length."""
    return np.asarray(np.bincount(places, weights, minlength=length), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """A series in codes; None stands for all."""

    endpoint: int | None = None
    client: int | None = None

    @property
    def breadth(self) -> int:
        """How many names are left open: 0 for one client at one endpoint, 2 for all."""
        return (self.endpoint is None) + (self.client is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows of one kind of hit, inside the period that is judged, in order of time."""

    bucket: Ints
    """Counted from the start of the period."""
    endpoint: Ints
    client: Ints
    requests: Floats
    observed: Floats
    exposure: Floats
    """Hits that the other weeks' rates, each client's at each endpoint, let one expect."""

    def of(self, names: Names) -> NDArray[np.bool_]:
        """Pick the rows of a series."""
        chosen = np.ones(len(self.bucket), dtype=bool)
        if names.endpoint is not None:
            chosen &= self.endpoint == names.endpoint
        if names.client is not None:
            chosen &= self.client == names.client
        return chosen

    def taken(self, chosen: NDArray[np.bool_] | Ints | slice) -> Rows:
        """Give some of the rows."""
        return Rows(
            bucket=self.bucket[chosen],
            endpoint=self.endpoint[chosen],
            client=self.client[chosen],
            requests=self.requests[chosen],
            observed=self.observed[chosen],
            exposure=self.exposure[chosen],
        )

    def between(self, first: int, end: int) -> Rows:
        """Give the rows of the buckets from `first` up to, not including, `end`."""
        return self.taken(slice(*np.searchsorted(self.bucket, (first, end)).tolist()))

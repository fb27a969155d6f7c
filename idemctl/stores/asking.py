"""Asking one store for the keys of what the other one showed, in portions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.batch import Batch
from idemctl.domain.instants import MISSING
from idemctl.domain.records import Flaw

if TYPE_CHECKING:
    from collections import deque

    from numpy.typing import NDArray

    from idemctl.stores.answers import Wanted

Reading = Callable[[str], Iterator[Batch]]
"""Reads a side, by its name, for whoever looks at the same records."""
_AT_ONCE = 1000
"""Keys that are looked up in one request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request on its way, and what it was made of."""

    rows: Batch
    until: NDArray[np.int64]
    """Until when each is owed; `MISSING` where nobody has looked."""
    scanned: int
    nameless: int
    """Records for which there was nothing to ask: their names say no key."""


def requests_of_held(batches: Iterator[Batch], asked: deque[Asked]) -> Iterator[Wanted]:
    """Ask for the rows of what Redis holds."""
    for batch in batches:
        named = np.flatnonzero(batch.flaw != Flaw.FOREIGN_NAME)
        rows = batch if len(named) == len(batch) else batch.take(named)
        until = np.full(len(rows), MISSING, np.int64)
        nameless = len(batch) - len(rows)
        yield from requests(rows, asked, until=until, scanned=len(batch), nameless=nameless)


def requests(
    rows: Batch, asked: deque[Asked], *, until: NDArray[np.int64], scanned: int, nameless: int = 0
) -> Iterator[Wanted]:
    """Ask in portions, and remember what was asked; what was scanned is told with the first."""
    for start in range(0, max(len(rows), 1), _AT_ONCE):
        some = np.arange(start, min(start + _AT_ONCE, len(rows)))
        part = rows if len(some) == len(rows) else rows.take(some)
        asked.append(Asked(rows=part, until=until[some], scanned=scanned, nameless=nameless))
        scanned = nameless = 0
        yield part.keys, part.scopes

"""Keys under one prefix that several layouts read: which of them are somebody else's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.records import Status
from idemctl.layouts.reading import KeyspaceReader
from idemctl.stores.redis.fetch import CHUNK, Rows
from idemctl.stores.redis.kinds import fetcher_of
from idemctl.stores.redis.scan import records_among

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from idemctl.domain.batch import Batch
    from idemctl.layouts.model import RedisLayout
    from idemctl.stores.redis.bulk import Lane


def well_formed(batch: Batch) -> Batch:
    """Keep of a batch what its layout reads."""
    mine = batch.status != Status.MALFORMED
    return batch if mine.all() else batch.take(np.flatnonzero(mine))


class Others:
    """Asks the layouts whose turn comes first, over a lane of its own.

    A key that goes meanwhile is nobody's, and is not there when its turn comes.
    """

    def __init__(self, lane: Lane, layouts: Iterable[RedisLayout], prefix: bytes) -> None:
        self._others = [_Other(lane, layout, prefix) for layout in layouts]

    def leave(self, names: Sequence[bytes]) -> list[bytes]:
        """Leave out the names of records of the others, and of what lies beside those."""
        left = list(names)
        for other in self._others:
            left = other.leave(left)
        return left


class _Other:
    """One layout whose turn comes first."""

    def __init__(self, lane: Lane, layout: RedisLayout, prefix: bytes) -> None:
        before = layout.container.before(prefix)
        self._lane = lane
        self._records = records_among(layout, before)
        self._fetcher = fetcher_of(lane, layout, prefix)
        self._reader = KeyspaceReader(layout, before)

    def leave(self, names: list[bytes]) -> list[bytes]:
        mine: set[bytes] = set()
        left = self._records(names)
        for start in range(0, len(left), CHUNK):
            some = left[start : start + CHUNK]
            rows = Rows()
            self._lane.send(*self._fetcher.bursts(some))
            again = self._fetcher.receive(some, rows)
            mine |= self._read(rows)
            for more in self._fetcher.second_looks(again):
                mine |= self._read(more)
        return [name for name in left if name not in mine]

    def _read(self, rows: Rows) -> set[bytes]:
        if not rows.keys:
            return set()
        status = rows.batch(self._reader).status.tolist()
        pairs = zip(rows.keys, status, strict=True)
        return {name for name, one in pairs if one != Status.MALFORMED}

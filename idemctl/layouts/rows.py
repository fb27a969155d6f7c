"""Rows that are mappings, turned into columns: the part of reading that all stores share.

Everything here runs once a record, so it works on whole columns, and does the same thing to
every row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from idemctl.domain.batch import Batch
from idemctl.domain.records import Flaw, Status
from idemctl.layouts.columns import Columns, texts
from idemctl.layouts.decoding import MemberDecoder
from idemctl.layouts.paths import columns, heads_of, taking
from idemctl.layouts.statuses import StatusReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from idemctl.layouts.codecs import Value
    from idemctl.layouts.conditions import Row
    from idemctl.layouts.instants import Unit
    from idemctl.layouts.paths import Path
    from idemctl.layouts.sides import Side

    Int64 = NDArray[np.int64]
    Values = Sequence[object]


class RowReader:
    """Reads rows that are mappings: JSON members, or a table's columns."""

    def __init__(self, side: Side, unit: Unit, *also: Path | None) -> None:
        """Read by a layout; `also` names fields of interest that are none of its own."""
        self._side = side
        self._unit = unit
        self._status = StatusReader(side.status)
        self._paths = sorted(side.paths() | {path for path in also if path is not None}, key=str)
        self._heads = heads_of(self._paths)
        self._decoder = MemberDecoder(self._heads)

    def columns(self, rows: Sequence[Row]) -> Columns:
        """Turn rows around, and take out of them what counts: nothing else is needed then."""
        heads = {head: [row.get(head) for row in rows] for head in self._heads}
        return self._columns(heads, len(rows))

    @property
    def takes_json(self) -> bool:
        """Whether `json_columns` is a way to take out anything at all."""
        return self._decoder.is_able

    def json_columns(self, values: Sequence[Value | Flaw]) -> Columns | None:
        """Take the same out of JSON itself, if all values are such objects."""
        heads = self._decoder.members(values)
        return None if heads is None else self._columns(heads, len(values))

    def _columns(self, heads: Mapping[str | int, list[Any]], count: int) -> Columns:
        values = columns(self._paths, heads)
        return Columns(values, self._status.read(values, count))

    def texts(self, rows: Sequence[Row], field: Path | None) -> list[bytes]:
        """Give any field of each row as bytes, empty where it is missing."""
        return [b""] * len(rows) if field is None else texts(list(map(taking(field), rows)))

    def read(
        self,
        rows: Sequence[Row],
        *,
        keys: Sequence[bytes],
        scopes: Sequence[bytes],
        endpoints: Sequence[bytes],
        key_expires_at: Int64,
        sizes: Int64,
    ) -> Batch:
        """Make the batch of rows whose identity is already known."""
        return self.batch(
            self.columns(rows),
            keys=keys,
            scopes=scopes,
            endpoints=endpoints,
            key_expires_at=key_expires_at,
            sizes=sizes,
        )

    def batch(
        self,
        columns: Columns,
        *,
        keys: Sequence[bytes],
        scopes: Sequence[bytes],
        endpoints: Sequence[bytes],
        key_expires_at: Int64,
        sizes: Int64,
    ) -> Batch:
        """Make the batch of columns; see `read`."""
        side, unit = self._side, self._unit
        status = np.array(columns.status, np.uint8)
        return Batch(
            keys=keys,
            scopes=scopes,
            endpoints=endpoints,
            fingerprints=columns.texts(side.fingerprint),
            status=status,
            counted_from=columns.instants(side.counted_from, unit),
            completed_at=columns.instants(side.completed, unit),
            expires_at=columns.instants(side.expires, unit),
            key_expires_at=key_expires_at,
            lease_until=columns.instants(side.lease, unit),
            due_at=columns.instants(side.due, unit),
            fence=columns.numbers(side.fence),
            epoch=columns.numbers(side.epoch),
            response_status=columns.numbers(side.response_status),
            flaw=flaws(status),
            never_collected=np.zeros(len(columns), np.bool_),
            size=sizes,
        )


def flaws(status: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Say of each record that fits no status that this is what is wrong with it."""
    return np.where(status == Status.MALFORMED, Flaw.NO_STATUS, Flaw.NONE).astype(np.uint8)

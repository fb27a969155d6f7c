"""Rows that are mappings, turned into columns: the part of reading that all stores share.

Everything here runs once a record, so it works on whole columns, and does the same thing to
every row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.batch import Batch
from idemctl.domain.records import Flaw, Status
from idemctl.layouts.columns import Members, texts
from idemctl.layouts.conditions import as_text, reading
from idemctl.layouts.decoding import PlainDecoder
from idemctl.layouts.paths import taking
from idemctl.layouts.sides import Statuses, one_field

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from idemctl.layouts.codecs import Value
    from idemctl.layouts.columns import Columns
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
        self._status_of = status_reading(side.status)
        self._by_value = _by_value(side.status)
        fields: set[Path | None] = {
            side.endpoint,
            side.fingerprint,
            *(at.field for at in side.instants()),
            side.fence,
            side.epoch,
            side.response_status,
            None if self._by_value is None else self._by_value[0],
            *also,
        }
        self._fields = sorted((field for field in fields if field is not None), key=str)
        self._takes = list(map(taking, self._fields))
        self._decoder = PlainDecoder(self._fields)

    def members(self, rows: Sequence[Row]) -> Members:
        """Take out of rows what counts: nothing else of them is needed then."""
        taken = [tuple([take(row) for take in self._takes]) for row in rows]
        return Members(self._fields, taken, list(map(self._status_of, rows)))

    @property
    def takes_plain(self) -> bool:
        """Whether `plain_members` is a way to take out anything at all."""
        return self._by_value is not None and self._decoder.is_able

    def plain_members(self, values: Sequence[Value | Flaw]) -> Members | None:
        """Take the same out of JSON, if all values are plain and have a status in words.

        So it is nearly always: one look takes all fields out of a value.
        """
        if self._by_value is None:
            return None
        taken = self._decoder.rows(values)
        if taken is None:
            return None
        field, numbers = self._by_value
        at = self._fields.index(field)
        words = [row[at] for row in taken]
        if set(map(type, words)) != {str}:
            return None
        return Members(self._fields, taken, [numbers.get(word, 0) for word in words])

    def columns(self, rows: Sequence[Row]) -> Columns:
        """Turn rows around."""
        return self.members(rows).columns()

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


def _by_value(status: Statuses | str) -> tuple[Path, dict[str, int]] | None:
    """Give the field whose value alone tells the statuses apart, and the number of each."""
    single = one_field(status) if isinstance(status, Statuses) else None
    if single is None:
        return None
    field, words = single
    return field, {word: int(one) for word, one in words.items()}


def status_reading(status: Statuses | str) -> Callable[[Row], int]:
    """Turn the conditions of a layout into a function from row to status."""
    if not isinstance(status, Statuses):
        return lambda _row: int(Status.UNKNOWN)
    malformed = int(Status.MALFORMED)
    by_value = _by_value(status)
    if by_value is not None:
        field, numbers = by_value
        take = taking(field)

        def status_by_value(row: Row) -> int:
            value = take(row)
            text = value if type(value) is str else as_text(value)
            return malformed if text is None else numbers.get(text, malformed)

        return status_by_value
    tests = [(int(status), reading(condition)) for status, condition in status.conditions()]

    def status_of(row: Row) -> int:
        held = [status for status, test in tests if test(row)]
        return held[0] if len(held) == 1 else malformed

    return status_of


def flaws(status: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Say of each record that fits no status that this is what is wrong with it."""
    return np.where(status == Status.MALFORMED, Flaw.NO_STATUS, Flaw.NONE).astype(np.uint8)

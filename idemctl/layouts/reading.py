"""The hot path: what a store returned, turned into columns through its layout.

Everything here runs once a record, so it works on whole columns, and does the same
thing to every row.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
import orjson

from idemctl.domain.batch import Batch
from idemctl.domain.instants import FOREVER, MISSING, to_micros
from idemctl.domain.records import Status
from idemctl.layouts.conditions import as_text, reading
from idemctl.layouts.model import Codec, Statuses, one_field

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from idemctl.layouts.conditions import Row
    from idemctl.layouts.model import RedisLayout, Side, Unit

    Int64 = NDArray[np.int64]

_NO_ROW: Row = {}


class RowReader:
    """Reads rows that are mappings: JSON members, or a table's columns."""

    def __init__(self, side: Side, unit: Unit) -> None:
        self._side = side
        self._unit = unit.micros
        self._status_of = status_reading(side.status)

    def statuses(self, rows: Sequence[Row]) -> NDArray[np.uint8]:
        """Give each row's status."""
        status_of = self._status_of
        return np.fromiter((status_of(row) for row in rows), np.uint8, len(rows))

    def texts(self, rows: Sequence[Row], field: str | None) -> list[bytes]:
        """Give one field of each row as bytes, empty where it is missing."""
        if field is None:
            return [b""] * len(rows)
        return [as_bytes(row.get(field)) for row in rows]

    def numbers(self, rows: Sequence[Row], field: str | None) -> Int64:
        """Give one field of each row as a number."""
        if field is None:
            return missing(len(rows))
        return np.fromiter((_number(row.get(field)) for row in rows), np.int64, len(rows))

    def instants(self, rows: Sequence[Row], field: str | None) -> Int64:
        """Give one field of each row as microseconds."""
        if field is None:
            return missing(len(rows))
        unit = self._unit
        return np.fromiter((_instant(row.get(field), unit) for row in rows), np.int64, len(rows))

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
        side = self._side
        return Batch(
            keys=keys,
            scopes=scopes,
            endpoints=endpoints,
            fingerprints=self.texts(rows, side.fingerprint),
            status=self.statuses(rows),
            counted_from=self.instants(rows, side.counted_from),
            expires_at=self.instants(rows, side.expires),
            key_expires_at=key_expires_at,
            lease_until=self.instants(rows, side.lease),
            fence=self.numbers(rows, side.fence),
            epoch=self.numbers(rows, side.epoch),
            size=sizes,
        )


class KeyspaceReader:
    """Reads Redis keys and values through a layout."""

    def __init__(self, layout: RedisLayout, prefix: bytes) -> None:
        self._layout = layout
        self._rows = RowReader(layout, layout.unit)
        self._skip = len(prefix)
        self._match = re.compile(layout.key.encode("utf-8"), re.DOTALL).fullmatch

    def read(
        self,
        raw_keys: Sequence[bytes],
        values: Sequence[bytes | None],
        expiries: Int64,
        *,
        sizes: Int64,
    ) -> Batch:
        """Make a batch.

        A record that stores no expiry of its own was promised the key's.

        Args:
            raw_keys: whole keys, prefix included.
            values: the bytes stored; `None` where the key holds another type, or too much.
            expiries: when Redis removes each key, in microseconds.
            sizes: how many bytes each key holds, also of values that were not read whole.
        """
        layout = self._layout
        decoded: list[Row | None] = [None if value is None else _NO_ROW for value in values]
        if layout.codec is Codec.JSON:
            decoded = [_json_object(value) for value in values]
        rows = [_NO_ROW if row is None else row for row in decoded]
        parts = self._parts(raw_keys)
        batch = self._rows.read(
            rows,
            keys=[
                part["key"] if part else raw[self._skip :]
                for part, raw in zip(parts, raw_keys, strict=True)
            ],
            scopes=self._part(parts, rows, "scope", layout.scope),
            endpoints=self._part(parts, rows, "endpoint", layout.endpoint),
            key_expires_at=expiries,
            sizes=sizes,
        )
        stored = batch.expires_at
        np.copyto(stored, expiries, where=stored == MISSING)
        odd = [part is None or row is None for part, row in zip(parts, decoded, strict=True)]
        batch.status[np.array(odd, dtype=np.bool_)] = Status.MALFORMED
        return batch

    def _parts(self, raw_keys: Sequence[bytes]) -> list[dict[str, bytes] | None]:
        skip, match = self._skip, self._match
        found = (match(raw[skip:]) for raw in raw_keys)
        return [one.groupdict(b"") if one else None for one in found]

    def _part(
        self,
        parts: Sequence[dict[str, bytes] | None],
        rows: Sequence[Row],
        name: str,
        field: str | None,
    ) -> list[bytes]:
        """Take a part from the value where the layout names a member, else from the key."""
        if field is not None:
            return self._rows.texts(rows, field)
        return [part.get(name, b"") if part else b"" for part in parts]


def status_reading(status: Statuses | str) -> Callable[[Row], int]:
    """Turn the conditions of a layout into a function from row to status."""
    if not isinstance(status, Statuses):
        return lambda _row: int(Status.UNKNOWN)
    malformed = int(Status.MALFORMED)
    by_value = one_field(status)
    if by_value is not None:
        # Nearly every layout tells statuses apart by one field's value: one look-up then.
        field, values = by_value

        def status_by_value(row: Row) -> int:
            text = as_text(row.get(field))
            return malformed if text is None else int(values.get(text, malformed))

        return status_by_value
    tests = [(int(status), reading(condition)) for status, condition in status.conditions()]

    def status_of(row: Row) -> int:
        held = [status for status, test in tests if test(row)]
        return held[0] if len(held) == 1 else malformed

    return status_of


def missing(count: int) -> Int64:
    """Make a column of what a layout does not store."""
    return np.full(count, MISSING, np.int64)


def as_bytes(value: object) -> bytes:
    """Give a field's value as bytes; empty for a missing one."""
    if type(value) is str:
        return value.encode("utf-8", errors="surrogateescape")
    if value is None:
        return b""
    return value if isinstance(value, bytes) else str(as_text(value)).encode("utf-8")


def _json_object(value: bytes | None) -> Row | None:
    if value is None:
        return None
    try:
        document = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    return document if isinstance(document, dict) else None


def _number(value: object) -> int:
    return value if type(value) is int and MISSING < value < FOREVER else MISSING


def _instant(value: object, unit: int) -> int:
    if type(value) is int:
        micros = value * unit
        return micros if MISSING < micros < FOREVER else FOREVER
    return to_micros(value) if isinstance(value, datetime) else MISSING

"""Columns of what rows hold: texts, numbers and instants.

Each column has a way for what is plain, as nearly all are, and a careful one for the rest.
"""

from __future__ import annotations

import re
from datetime import timedelta
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from idemctl.domain.instants import FOREVER, LAST_COUNTED, MISSING
from idemctl.layouts.conditions import as_text
from idemctl.layouts.instants import Unit, read_instant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from idemctl.layouts.instants import At
    from idemctl.layouts.paths import Path

    Int64 = NDArray[np.int64]
    Values = Sequence[object]


_DIGITS = re.compile(rb"-?\d{1,19}", re.ASCII)
"""How a field of a hash, which has no types, writes a number."""
_ALL_DIGITS = re.compile(rb"(?:-?\d{1,18}\n)*+", re.ASCII)
"""The same of a whole column, line by line, where each is small enough for one."""


class Columns:
    """Rows turned around: the values of each field, `None` where one is missing; and statuses."""

    def __init__(self, values: dict[Path, list[Any]], status: list[int]) -> None:
        self.values = values
        self.status = status

    def join(self, others: Columns) -> None:
        """Add more rows."""
        for field, values in others.values.items():
            self.values[field] += values
        self.status += others.status

    def __len__(self) -> int:
        return len(self.status)

    def texts(self, field: Path | None) -> list[bytes]:
        """Give one field of each row as bytes, empty where it is missing."""
        return [b""] * len(self) if field is None else texts(self.values[field])

    def numbers(self, field: Path | None) -> Int64:
        """Give one field of each row as a number."""
        return missing(len(self)) if field is None else _numbers(self.values[field])

    def instants(self, at: At | None, unit: Unit) -> Int64:
        """Give the instant of each row; the unit is that of numbers which name none."""
        return missing(len(self)) if at is None else _instants(self.values[at.field], at, unit)


def texts(values: Values) -> list[bytes]:
    """Write values as bytes, empty where one is missing."""
    try:
        return list(map(str.encode, values))  # type: ignore[arg-type] # Else it raises.
    except (TypeError, UnicodeEncodeError):
        return [value if type(value) is bytes else as_bytes(value) for value in values]


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


def _numbers(values: Values) -> Int64:
    plain = _plain_numbers(values)
    if plain is None:
        return np.fromiter(map(_number, values), np.int64, len(values))
    return np.where(plain == FOREVER, MISSING, plain)


def _instants(values: Values, at: At, unit: Unit) -> Int64:
    unit = at.unit or unit
    instants = _plain_instants(values, unit)
    if instants is None:
        read = (read_instant(value, unit) for value in values)
        instants = np.fromiter(read, np.int64, len(values))
    if at.plus is None:
        return instants
    counted = (instants != MISSING) & (instants < LAST_COUNTED)
    later = np.where(counted, instants, 0) + at.plus // timedelta(microseconds=1)
    beyond = np.where(instants == MISSING, MISSING, FOREVER)
    return np.where(counted, later, beyond)


def _plain_instants(values: Values, unit: Unit) -> Int64 | None:
    """Turn integers around at once; `None` where there is anything else."""
    plain = None if unit is Unit.ISO else _plain_numbers(values)
    if plain is None:
        return None
    tenth, before = unit.scale
    known, last = plain != MISSING, 10 * (FOREVER // max(tenth, 10)) // 10
    if (known & ((plain >= last) | (plain <= -last))).any():
        return None
    if unit is Unit.TICKS:
        return np.where(known, (plain - before) // 10, MISSING)
    return np.where(known, plain * (tenth // 10), MISSING)


def _plain_numbers(values: Values) -> Int64 | None:
    """Make a column of integers and nulls; `None` where it holds anything else."""
    kinds = set(map(type, values))
    if kinds <= {bytes, NoneType}:
        values = _written_out(values)
        kinds = set(map(type, values))
    if not kinds <= {int, NoneType}:
        return None
    null_count = 0
    if NoneType in kinds:
        null_count = values.count(None)
        values = [MISSING if value is None else value for value in values]
    try:
        plain = np.array(values, np.int64)
    except OverflowError:
        return None
    # A number that looks like a null must not be taken for one.
    return plain if np.count_nonzero(plain == MISSING) == null_count else None


def _written_out(values: Sequence[Any]) -> Values:
    """Read the integers that the fields of hashes write, where they write nothing else."""
    lines = b"".join([b"%b\n" % value for value in values if value is not None])
    # A line break within a value would make two lines of it.
    is_plain = lines.count(b"\n") + values.count(None) == len(values)
    if is_plain and _ALL_DIGITS.fullmatch(lines):
        return [None if value is None else int(value) for value in values]
    return values


def _number(value: object) -> int:
    if isinstance(value, bytes) and _DIGITS.fullmatch(value):
        value = int(value)
    return value if type(value) is int and MISSING < value < FOREVER else MISSING

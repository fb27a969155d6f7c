"""A column is read at once, and says of each value what it says of that value alone."""

from __future__ import annotations

import pytest

from idemctl.domain.instants import MISSING
from idemctl.layouts.columns import Columns, texts
from idemctl.layouts.instants import At, Unit

PLAIN: list[object] = [b"1", b"-7", b"1795981915726", None]
ODD: list[object] = [
    b"", b" 1", b"1 ", b"+1", b"1_0", b"--1", b"-", b"1\n2", b"1\n", b"0x1", b"1.5", b"1e3", b"NaN",
    b"007", b"-0", b"\xd9\xa1", b"\xff", b"9223372036854775807", b"-9223372036854775808",
    b"9223372036854775808", b"-9223372036854775809", b"999999999999999999", b"1" * 20, b"1" * 5000,
    1, -1, 2**63 - 1, -(2**63), 2**63, 10**30, 1.5, float("inf"), True, "1", "x", [1], {}, None,
]  # fmt: skip


def column(*values: object) -> Columns:
    return Columns({"at": list(values)}, [0] * len(values))


@pytest.mark.parametrize("odd", ODD, ids=lambda one: repr(one)[:30])
def test_a_value_is_read_the_same_whatever_stands_beside_it(odd: object) -> None:
    beside = column(*PLAIN, odd, *PLAIN)
    assert beside.numbers("at")[4] == column(odd).numbers("at")[0]
    for unit in (Unit.SECONDS, Unit.MILLISECONDS, Unit.MICROSECONDS, Unit.TICKS):
        at, alone = At(field="at"), column(odd).instants(At(field="at"), unit)
        assert beside.instants(at, unit)[4] == alone[0]
    assert texts([*PLAIN, odd])[4:] == texts([odd])
    # And so are they.
    assert beside.numbers("at")[:4].tolist() == [1, -7, 1_795_981_915_726, MISSING]
    assert beside.instants(At(field="at"), Unit.MICROSECONDS)[5:].tolist() == [
        1, -7, 1_795_981_915_726, MISSING,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "number"),
    [(b"007", 7), (b"-0", 0), (b" 1", MISSING), (b"1_0", MISSING), (b"+1", MISSING), (b"", MISSING),
     (b"1\n2", MISSING), (b"\xd9\xa1", MISSING), (b"9223372036854775808", MISSING)],
)  # fmt: skip
def test_what_a_hash_holds_is_a_number_only_where_it_is_written_as_one(
    written: bytes, number: int
) -> None:
    assert column(written, b"5").numbers("at").tolist() == [number, 5]


def test_columns_join_row_by_row() -> None:
    first, second = column(1, None), column("x")
    first.join(second)
    assert (first.values, len(first)) == ({"at": [1, None, "x"]}, 3)

"""The quick way to take values apart says what the careful one says, or nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.records import Flaw
from idemctl.layouts.codecs import JSON, decoding
from idemctl.layouts.decoding import MemberDecoder

if TYPE_CHECKING:
    from collections.abc import Sequence

FIELDS = ["at", "class", "lease-until", "zo\u00eb"]
USUAL = json.dumps({"at": 1, "class": "x", "lease-until": None, "zo\u00eb": 1.5}).encode()


def quick(
    *values: bytes | Flaw, fields: Sequence[str | int] = FIELDS
) -> list[tuple[object, ...]] | None:
    taken = MemberDecoder(fields).members(values)
    return None if taken is None else list(zip(*(taken[field] for field in fields), strict=True))


def careful(*values: bytes | Flaw) -> list[tuple[object, ...] | Flaw]:
    rows = map(decoding(JSON), values)
    return [row if isinstance(row, Flaw) else tuple(map(row.get, FIELDS)) for row in rows]


def test_members_come_in_the_order_of_the_values() -> None:
    more = b'{"body": {"at": 2}, "at ": 3, "zo\\u00eb": [{}], "\\u0061t": "\\u00e9"}'
    assert quick(USUAL, more) == [(1, "x", None, 1.5), ("\u00e9", None, None, [{}])]
    assert quick() == []


DIGITS = b"1" * 4301
ODD = [
    b"", b" ", b"{", b"[]", b"null", b"1", b'"x"', b"{}", b' {"at": 1} ', USUAL + b"x", USUAL * 2,
    b"\xef\xbb\xbf{}", b"\xff", b'{"at": 1,}', b'{"at" 1}', b'{"x": [1,]}', b"{'at': 1}",
    # Names: escaped, doubled, of no use.
    b'{"\\u0061t": 1}', b'{"at": 1, "at": 2}', b'{"at": 1, "\\u0061t": []}', b'{"at": [], "at": 1}',
    b'{"at\\u0000": 1}', b'{"AT": 1}', b'{"": 1}', b'{"at\\q": 1}', b'{"\\ud800": 1}',
    b'{"\xff": 1}',
    # Texts.
    b'{"at": "\\u00e9\\/\\n"}', b'{"at": "\\ud83d\\ude00"}', b'{"at": "\\ud800"}',
    b'{"at": "a\nb"}',
    b'{"at": "\xff"}', b'{"at": "a\x00b"}', b'{"at": "a\\u0000b"}', b'{"at": "\\q"}',
    b'{"at": "\xed\xa0\x80"}', b'{"at": "\xc0\xaf"}',
    b'{"x": "\\ud800"}', b'{"x": "\\q"}', b'{"x": "\xff"}', b'{"x": "a\nb"}',
    b'{"x": "\xed\xa0\x80"}',
    b'{"x": "\xc3"}, "at": "\xa9"}',
    # Numbers.
    b'{"at": 1.0, "class": 1e2, "zo\xc3\xab": -0.0}', b'{"at": -0}', b'{"at": 01}', b'{"at": 1.}',
    b'{"at": 9223372036854775808}', b'{"at": 123456789012345678901234567890}', b'{"at": +1}',
    b'{"at": NaN}', b'{"at": Infinity}', b'{"at": -1e400}', b'{"at": 1e-999}', b'{"at": 1e999}',
    b'{"x": 1e400}', b'{"x": -1e-400}', b'{"x": 01}', b'{"x": 1.}', b'{"x": .5}', b'{"x": 1E+}',
    b'{"x": NaN}', b'{"x": 0x1}', b'{"x": -}', b'{"x": 123456789012345678901234567890}',
    b'{"at": ' + DIGITS + b"}", b'{"x": ' + DIGITS + b"}", b'{"x": ' + DIGITS[1:] + b"}",
    b'{"y": "' + b"y" * 9000 + b'", "x": ' + DIGITS + b"}", b'{"x": ' + DIGITS + b".5}",
    b'{"x": "' + DIGITS + b'"}', b'{"x": -' + DIGITS + b"}",
    # Nested.
    b'{"at": {"at": 1}, "class": [1, {}]}', b'{"at": [1, "\\q"]}', b'{"x": {"x": tru}}',
    b'{"x": ' + b"[" * 500 + b"]" * 500 + b"}", b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b'{"at": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}", b"[" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("value", ODD, ids=lambda one: str(one[:40]))
def test_an_odd_value_is_read_the_same_both_ways(value: bytes) -> None:
    (expected,) = careful(value)
    taken = quick(value)
    assert taken in (None, [expected])
    # And none is taken for its neighbour.
    assert quick(USUAL, value, USUAL) in (None, [*careful(USUAL), expected, *careful(USUAL)])


@pytest.mark.parametrize(
    "value", [b"[]", b"", b"{", USUAL + b"x", b'{"x": "\xff"}', b'{"x": ' + DIGITS + b"}"]
)
def test_one_value_that_needs_a_closer_look_sends_all_the_careful_way(value: bytes) -> None:
    assert quick(USUAL, USUAL) is not None
    assert quick(USUAL, value) is None
    assert quick(USUAL, Flaw.TOO_LONG) is None


def test_what_the_quick_way_is_for_goes_that_way() -> None:
    body = json.dumps({"at": {"status": 201}, "body": "x" * 10_000, "headers": [1.5, True]})
    assert quick(USUAL, body.encode()) == careful(USUAL, body.encode())


def test_what_no_struct_can_be_made_for_goes_the_careful_way() -> None:
    assert quick(b'{"at": 1}', fields=["at"]) == [(1,)]
    for name in ('"', "\\", "\n", 0):
        assert not MemberDecoder(["at", name]).is_able
        assert quick(json.dumps({"at": 1, name: 2}).encode(), fields=["at", name]) is None


_VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
_MEMBERS = st.dictionaries(
    st.sampled_from([*FIELDS, "body"]) | st.text(), _VALUES | st.lists(_VALUES), max_size=8
)


@given(st.lists(_MEMBERS, max_size=3))
def test_both_ways_agree(documents: list[dict[str, object]]) -> None:
    values = [json.dumps(document).encode() for document in documents]
    assert quick(*values) in (None, careful(*values))


@given(st.sampled_from(ODD), st.integers(0, 60), st.binary(max_size=3))
def test_both_ways_agree_on_what_is_damaged(value: bytes, at: int, damage: bytes) -> None:
    broken = value[:at] + damage + value[at + 1 :]
    assert quick(broken) in (None, careful(broken))


@pytest.mark.parametrize(
    "value", [b"", b"{", b"1", b"null", b"\xff", b'{"a": "\xff"}', b"[" * 100_000]
)
def test_what_is_no_object_is_unreadable(value: bytes) -> None:
    assert decoding(JSON)(value) is Flaw.UNREADABLE


def test_a_number_beyond_all_breaks_no_record() -> None:
    assert decoding(JSON)(b'{"at": 1, "body": 1e400}') == {"at": 1, "body": float("inf")}

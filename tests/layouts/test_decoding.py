"""The quick way to take values apart says what the careful one says, or nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.records import Flaw
from idemctl.layouts.codecs import JSON, decoding
from idemctl.layouts.decoding import PlainDecoder

if TYPE_CHECKING:
    from collections.abc import Sequence

FIELDS = ["at", "class", "lease-until", "zo\u00eb"]
PLAIN = {"at": 1, "class": "x", "lease-until": None, "zo\u00eb": 1.5}


def rows(*values: bytes | Flaw, fields: Sequence[str] = FIELDS) -> list[tuple[object, ...]] | None:
    return PlainDecoder(fields).rows(values)


def test_members_come_in_the_order_in_which_they_were_asked_for() -> None:
    more = PLAIN | {"body": {"at": 2}, "at ": 3}
    assert rows(*[json.dumps(more).encode()] * 2) == [(1, "x", None, 1.5)] * 2
    assert rows() == []


@pytest.mark.parametrize(
    "value",
    [
        b"[]",
        b"null",
        b"{}",
        b"",
        b"{",
        json.dumps(PLAIN | {"at": {}}).encode(),
        json.dumps(PLAIN | {"at": [1]}).encode(),
        json.dumps(PLAIN).encode() + b"x",
        json.dumps(PLAIN).encode().replace(b"1.5", b"1e999"),
        json.dumps(PLAIN).encode().replace(b"1.5", b"NaN"),
        json.dumps(PLAIN).encode().replace(b'{"at"', b'{"body": "\xff", "at"'),
        b'{"body": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        Flaw.TOO_LONG,
    ],
)
def test_one_value_that_is_not_plain_sends_all_the_careful_way(value: bytes | Flaw) -> None:
    plain = json.dumps(PLAIN).encode()
    assert rows(plain, plain) is not None
    assert rows(plain, value) is None


def test_what_no_struct_can_be_made_for_goes_the_careful_way() -> None:
    assert rows(b'{"at": 1}', fields=["at"]) is None
    for name in ('"', "\\", "\n"):
        assert rows(json.dumps({"at": 1, name: 2}).encode(), fields=["at", name]) is None


_VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
_MEMBERS = st.dictionaries(
    st.sampled_from([*FIELDS, "body"]) | st.text(), _VALUES | st.lists(_VALUES), max_size=8
)


@given(st.lists(_MEMBERS | st.builds(lambda more: PLAIN | more, _MEMBERS), max_size=3))
def test_both_ways_agree(documents: list[dict[str, object]]) -> None:
    values = [json.dumps(document).encode() for document in documents]
    taken = rows(*values)
    careful = list(map(decoding(JSON), values))
    if taken is not None:
        assert [
            tuple(one[field] for field in FIELDS) for one in careful if not isinstance(one, Flaw)
        ] == taken


@pytest.mark.parametrize(
    "value", [b"", b"{", b"1", b"null", b"\xff", b'{"a": "\xff"}', b"[" * 100_000]
)
def test_what_is_no_object_is_unreadable(value: bytes) -> None:
    assert decoding(JSON)(value) is Flaw.UNREADABLE

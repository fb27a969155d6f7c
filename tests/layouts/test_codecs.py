"""Values taken apart step by step: each codec with what it writes, and with what it does not."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from idemctl.domain.records import Flaw
from idemctl.layouts import codecs
from idemctl.layouts.codecs import FLAG, JSON, Codec, Word, decoding

ADAPTER: TypeAdapter[Any] = TypeAdapter(Codec)
RECORD = {"status": "done", "code": 201, "nested": {"a": [1, None]}}
TEXT = json.dumps(RECORD)
PACKED = msgspec.msgpack.encode(RECORD)


def codec(written: Any) -> Any:
    return ADAPTER.validate_json(json.dumps(written), strict=True)


WRITTEN: list[tuple[Any, bytes]] = [
    ("json", TEXT.encode()),
    (["json"], TEXT.encode()),
    ("msgpack", PACKED),
    (["gzip", "json"], gzip.compress(TEXT.encode(), mtime=0)),
    (["zlib", "json"], zlib.compress(TEXT.encode())),
    (["base64", "json"], base64.b64encode(TEXT.encode())),
    (["hex", "json"], TEXT.encode().hex().encode()),
    ([{"strip": ":1"}, "zlib", "msgpack"], zlib.compress(PACKED) + b":1"),
    (["json", {"member": "data"}, "json"], json.dumps({"data": TEXT}).encode()),
    (
        ["msgpack", {"member": "data"}, "gzip", "json"],
        msgspec.msgpack.encode({"data": gzip.compress(TEXT.encode(), mtime=0)}),
    ),
]


@pytest.mark.parametrize(("written", "value"), WRITTEN, ids=lambda one: str(one)[:40])
def test_a_value_is_taken_apart_in_steps(written: Any, value: bytes) -> None:
    assert decoding(codec(written))(value) == RECORD


@pytest.mark.parametrize(("written", "value"), WRITTEN, ids=lambda one: str(one)[:40])
def test_what_another_codec_writes_is_unreadable(written: Any, value: bytes) -> None:
    decode = decoding(codec(written))
    for other in (b"", b"\x00", b"null", b"7", b"{", b"\xff\xfe", value[:-1], b"[" * 100_000):
        assert decode(other) is Flaw.UNREADABLE, other[:20]


@given(st.binary(max_size=200))
def test_no_bytes_break_a_codec(value: bytes) -> None:
    for written, _ in WRITTEN:
        assert isinstance(decoding(codec(written))(value), dict | Flaw)


def test_a_text_is_one_member_to_the_byte() -> None:
    assert decoding(codec("text"))(b"1796040000000\xff") == {"value": b"1796040000000\xff"}
    assert decoding(codec(["gzip", "text"]))(gzip.compress(b"x")) == {"value": b"x"}
    assert decoding(codec(["gzip", "text"]))(b"x") is Flaw.UNREADABLE


def test_an_array_s_members_are_its_items() -> None:
    value = msgspec.msgpack.encode([201, {"a": "b"}, b"body"])
    assert decoding(codec("msgpack"))(value) == {0: 201, 1: {"a": "b"}, 2: b"body"}


def test_a_hash_is_its_fields_or_leads_on_into_one_of_them() -> None:
    fields = {"state": b"DONE", "data": gzip.compress(TEXT.encode())}
    assert decoding(codec("hash"))(fields) is fields
    assert decoding(codec(["hash", {"member": "data"}, "gzip", "json"]))(fields) == RECORD
    assert decoding(codec(["hash", {"member": "none"}, "json"]))(fields) is Flaw.UNREADABLE


def test_an_empty_value_may_say_something_too() -> None:
    decode = decoding(codec(["blank", "json"]))
    assert decode(b"") == {}
    assert decode(TEXT.encode()) == RECORD
    assert decode(b" ") is Flaw.UNREADABLE


@pytest.mark.parametrize("presence", [FLAG, (Word.OPAQUE,), (Word.PICKLE,)])
def test_where_only_presence_counts_nothing_is_taken_apart(presence: Any) -> None:
    assert decoding(presence)(b"\x80\x04\x95anything") == {}


def test_a_small_value_that_becomes_a_huge_one_is_not_let(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codecs, "_LONGEST", 1_000_000)
    bomb = gzip.compress(b" " * 1_000_001 + b"{}")
    assert len(bomb) < 2_000
    assert decoding(codec(["gzip", "json"]))(bomb) is Flaw.TOO_LONG
    whole = gzip.compress(b" " * 900_000 + b"{}")
    assert decoding(codec(["gzip", "json"]))(whole) == {}


def test_one_word_is_short_for_one_step() -> None:
    assert codec("json") == codec(["json"]) == JSON
    assert codec("flag") == FLAG
    assert codec("opaque") == (Word.OPAQUE,)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("jsn", "json"),
        ([], "must end with json, msgpack, text or hash"),
        ("gzip", "must end with json, msgpack, text or hash"),
        (["gzip", "hash"], "hash comes first"),
        (["gzip", "blank", "json"], "blank comes first"),
        (["json", "gzip"], "gzip cannot come there: a member has to come before it"),
        ([{"member": "data"}, "json"], "member cannot come there: json, msgpack, text or hash has"),
        (["json", "json"], "json cannot come there"),
        (["json", {"member": "a"}], "must end with json, msgpack, text or hash"),
        (["flag", "json"], "flag stands alone"),
        (["gzip", "opaque"], "opaque stands alone"),
        ([{"strip": ""}, "json"], "at least 1 character"),
        ([{"pickle": 1}], "is no step"),
        ("marshal", "opaque"),
    ],
)
def test_what_is_no_codec_is_told_apart(written: Any, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        codec(written)

"""Keys are bytes: shown without acting, and without loss."""

from __future__ import annotations

import base64
import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from idemctl.domain.keys import escape, key_fields

_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")


def unescaped(shown: str) -> bytes:
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), shown.encode("utf-8"))


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        (b"", ""),
        (b"evt_1:a/b?c=d", "evt_1:a/b?c=d"),
        ("zo\u00eb \U0001f600".encode(), "zo\u00eb \U0001f600"),
        (b"\xff\xfe", r"\xff\xfe"),
        (b"a\x00b", r"a\x00b"),
        (b"\x1b[31mred", r"\x1b[31mred"),
        (b"\x1b]8;;http://x\x07", r"\x1b]8;;http://x\x07"),
        (b"line\nbreak\r\ttab", r"line\x0abreak\x0d\x09tab"),
        (b"\\xff", r"\x5cxff"),
        ("\u202eevil".encode(), r"\xe2\x80\xaeevil"),
        (
            "a\u200bb\u00a0c\u2028d\u0085e".encode(),
            r"a\xe2\x80\x8bb\xc2\xa0c\xe2\x80\xa8d\xc2\x85e",
        ),
        (b"\xed\xb2\x80", r"\xed\xb2\x80"),
        (b"\xc3", r"\xc3"),
    ],
)
def test_a_key_is_shown_so_that_nothing_in_it_acts(key: bytes, shown: str) -> None:
    assert escape(key) == shown


@given(
    st.binary(max_size=60) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace"))
)
@example(rb"\x41")
@example(b"A")
def test_what_is_shown_is_printable_and_leads_back_to_the_key(key: bytes) -> None:
    shown = escape(key)
    assert shown.isprintable()
    assert unescaped(shown) == key


@given(st.binary(max_size=60))
def test_json_carries_the_exact_key(key: bytes) -> None:
    fields = json.loads(json.dumps(key_fields(key)))
    if "key_base64" in fields:
        assert base64.b64decode(fields["key_base64"]) == key
        assert fields["key"] == escape(key)
    else:
        assert fields == {"key": key.decode("utf-8")}


def test_base64_stands_beside_a_key_only_where_it_was_changed() -> None:
    assert key_fields(b"evt_1") == {"key": "evt_1"}
    assert key_fields(b"\x1b") == {"key": r"\x1b", "key_base64": "Gw=="}

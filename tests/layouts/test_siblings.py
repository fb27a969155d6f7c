"""Siblings and containers in a layout: what they are called, and what is refused, by its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from idemctl.documents import InvalidDocument, parse_document, read_model
from idemctl.layouts.containers import Container
from idemctl.layouts.model import Layout
from idemctl.layouts.siblings import Family

if TYPE_CHECKING:
    from idemctl.layouts.model import RedisLayout

MINE = """\
layout: mine
title: a library of ours
proven: source
redis:
  pattern: redis-setnx
  container: set-member
  prefix: "keys"
  key: "(?P<key>.+)"
  codec: flag
  siblings:
    code: "{key}-code"
    body: "[{scope}/]{key}-body"
  response_status: $code
  lease: {field: $body, unit: iso}
  status:
    in_progress: {not: {field: $code, missing: false}}
    completed: {all: [always, {field: [$body], missing: false}]}
"""


def read(text: str) -> RedisLayout:
    side = read_model(parse_document(text.encode(), file="mine.yaml"), Layout).redis
    assert side is not None
    return side


def test_a_record_is_a_key_unless_the_layout_says_otherwise() -> None:
    assert read(MINE).container is Container.SET_MEMBER
    plain = read(MINE.replace("  container: set-member\n", ""))
    assert (plain.container, plain.container.before(b"keys")) == (Container.KEY, b"keys")
    assert Container.HASH_FIELD.before(b"keys") == b""


@pytest.mark.parametrize(
    ("said", "instead", "at", "says"),
    [
        ("response_status: $code", "response_status: $cod", "$cod", "$cod is no sibling"),
        ("{field: $body, unit", "{field: $bod, unit", "$bod", "known here: $body, $code"),
        ("not: {field: $code", "not: {field: $x", "$x", "$x is no sibling"),
        ("field: [$body]", "field: [$x, 0]", "[$x, 0]", "$x is no sibling"),
        ('"{key}-code"', '"code"', '"code"', "must have {key} once"),
        ('"{key}-code"', '"{key}{id}"', '"{key}{id}"', "knows two parts in braces"),
        ('code: "{key}', 'Code: "{key}', "Code", "must have the form"),
        ("codec: flag", "codec: json", "json", "is flag where a record is a member of a set"),
        ("codec: flag", 'codec: flag\n  lock: "(?P<key>.)"', '"(?P<key>.)"', "name a sibling"),
        ("set-member", "zset-member", "zset-member", "must be one of key, set-member"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_place(
    said: str, instead: str, at: str, says: str
) -> None:
    assert said in MINE
    text = MINE.replace(said, instead)
    before = text[: text.index(at, text.index(instead))]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    with pytest.raises(InvalidDocument) as refusal:
        read(text)
    assert says in str(refusal.value)
    assert f"mine.yaml:{line}:{column}: " in str(refusal.value)


def test_a_field_of_a_hash_holds_anything_but_a_hash() -> None:
    for codec in ("json", "text", "opaque", "[gzip, json]"):
        text = MINE.replace("set-member", "hash-field").replace("flag", codec)
        assert read(text).container is Container.HASH_FIELD
    with pytest.raises(InvalidDocument, match="is what one field holds, and that is no hash"):
        read(MINE.replace("set-member", "hash-field").replace("flag", "hash"))


def test_a_hash_is_not_asked_for_what_siblings_hold() -> None:
    text = MINE.replace("  container: set-member\n", "").replace("codec: flag", "codec: hash")
    assert read(text).hash_fields() == [""]
    assert read(text.replace("[always, ", "[{field: state, is: x}, ")).hash_fields() == ["state"]


def test_siblings_are_named_by_what_the_name_says() -> None:
    family = Family("(?:(?P<scope>[a-z]+):)?(?P<key>[0-9\\n]+)", read(MINE).siblings, b"p:")
    assert family.members == ["$code", "$body"]
    assert family.of([b"p:acme:1", b"p:2\n", b"p:odd"]) == {
        b"p:acme:1": [b"1-code", b"acme/1-body"],
        b"p:2\n": [b"2\n-code", b"2\n-body"],
    }

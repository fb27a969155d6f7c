"""Names: keys and scopes written by a template are read back as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idemctl.documents import InvalidDocument, parse_document, read_model
from idemctl.domain.records import Flaw, Status
from idemctl.layouts.columns import missing
from idemctl.layouts.model import Layout
from idemctl.layouts.naming import Naming
from idemctl.layouts.reading import KeyspaceReader
from tests.stores.worlds import CATALOGUE

if TYPE_CHECKING:
    from idemctl.layouts.model import RedisLayout

HOSTILE = (
    b"a:b",
    b":",
    b"::",
    b":a",
    b"a:",
    b"\xff\xfe",
    b"\x00\r\n",
    b"%",
    b"%d%b%%",
    b"*?[a]^\\",
    b"{key}[{scope}]",
    "zo\u00eb\u202e".encode(),
    b" ",
    b"1",
)
keys = st.sampled_from(HOSTILE) | st.binary(min_size=1, max_size=9)
scopes = st.sampled_from([b"", *HOSTILE]) | st.binary(max_size=5)
text_keys = st.sampled_from([key for key in HOSTILE if b"\xff" not in key]).map(
    bytes.decode
) | st.text(min_size=1, max_size=9)
text_scopes = st.just("") | text_keys


def redis(name: str) -> RedisLayout:
    side = CATALOGUE[name].redis
    assert side is not None
    return side


def names(template: str, *pairs: tuple[bytes, bytes]) -> list[bytes | None]:
    return Naming(template, prefix=b"50%:").names([k for k, _ in pairs], [s for _, s in pairs])


@pytest.mark.parametrize(
    ("template", "plain", "scoped"),
    [
        ("{key}", b"50%:k", None),
        ("a-{key}-%b", b"50%:a-k-%b", None),
        ("[{scope}:]{key}", b"50%:k", b"50%:s:k"),
        ("{scope}:{key}", b"50%::k", b"50%:s:k"),
        ("{key}[@{scope}]", b"50%:k", b"50%:k@s"),
        ("{key}@{scope}", b"50%:k@", b"50%:k@s"),
        ("v1/[t/{scope}/]k/{key}/x", b"50%:v1/k/k/x", b"50%:v1/t/s/k/k/x"),
    ],
)
def test_a_template_says_what_follows_the_prefix(
    template: str, plain: bytes, scoped: bytes | None
) -> None:
    assert names(template, (b"k", b""), (b"k", b"s")) == [plain, scoped]
    assert names(template, (b"k", b"s")) == [scoped]
    assert names(template) == []


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("", "must have {key} once"),
        ("{scope}", "must have {key} once"),
        ("{key}{key}", "must have {key} once"),
        ("{scope}{scope}{key}", "has room for {scope} once"),
        ("{tenant}:{key}", "knows two parts in braces, {key} and {scope}"),
        ("{Key}", "knows two parts in braces, {key} and {scope}"),
        ("{}{key}", "knows two parts in braces, {key} and {scope}"),
        ("{key", "knows two parts in braces, {key} and {scope}"),
        ("{{key}}", "knows two parts in braces, {key} and {scope}"),
        ("key}{key}", "knows two parts in braces, {key} and {scope}"),
        ("[{scope}:{key}", "has room for one part in brackets: [ and then ]"),
        ("{scope}]{key}", "has room for one part in brackets: [ and then ]"),
        ("]{scope}[{key}", "has room for one part in brackets: [ and then ]"),
        ("[[{scope}]]{key}", "has room for one part in brackets: [ and then ]"),
        ("[a]{key}", "has in brackets what an empty scope leaves out: {scope}, and no {key}"),
        ("[a]{scope}{key}", "has in brackets what an empty scope leaves out: {scope}, and no"),
        ("[{scope}{key}]", "has in brackets what an empty scope leaves out: {scope}, and no"),
    ],
)
def test_a_wrong_template_is_refused_in_words_with_its_place(template: str, message: str) -> None:
    text = (
        "layout: mine\ntitle: x\nproven: source\nredis:\n  pattern: redis-setnx\n"
        f'  prefix: "x:"\n  key: "(?P<key>.+)"\n  name: "{template}"\n  codec: flag\n'
        "  status: unknown\n"
    )
    with pytest.raises(InvalidDocument) as refusal:
        read_model(parse_document(text.encode(), file="mine.yaml"), Layout)
    assert f"mine.yaml:8:9: redis.name: {message}" in str(refusal.value)


@given(st.lists(st.tuples(text_keys, text_scopes), max_size=6))
def test_what_the_reference_names_it_reads_back(pairs: list[tuple[str, str]]) -> None:
    side = redis("reference")
    prefix = side.prefix.encode()
    wanted = [(key.encode(), scope.encode()) for key, scope in pairs]
    named = Naming(str(side.name), prefix=prefix).names(
        [key for key, _ in wanted], [scope for _, scope in wanted]
    )
    batch = KeyspaceReader(side, prefix).read(
        [name for name in named if name is not None],
        [msgspec.json.encode({"key": k, "scope": s, "status": "completed"}) for k, s in pairs],
        missing(len(pairs)),
        sizes=missing(len(pairs)),
    )
    assert list(zip(batch.keys, batch.scopes, strict=True)) == wanted
    assert set(batch.status.tolist()) <= {Status.COMPLETED}


@given(st.lists(keys, max_size=6), st.lists(scopes, min_size=6, max_size=6))
def test_what_the_bare_form_names_it_reads_back(some: list[bytes], theirs: list[bytes]) -> None:
    side = redis("bare")
    prefix = side.prefix.encode()
    naming = Naming(str(side.name), prefix=prefix)
    named = naming.names(some, [b""] * len(some))
    batch = KeyspaceReader(side, prefix).read(
        [name for name in named if name is not None],
        [b"1"] * len(some),
        missing(len(some)),
        sizes=missing(len(some)),
    )
    assert list(batch.keys) == some
    assert set(batch.scopes) <= {b""}
    # It has no place for a scope, so no name for a key that has one.
    scoped = naming.names(some, theirs[: len(some)])
    assert [name is None for name in scoped] == [scope != b"" for scope in theirs[: len(some)]]


@given(keys, scopes)
def test_bytes_that_are_no_text_are_named_exactly(key: bytes, scope: bytes) -> None:
    (name,) = Naming("[{scope}:]{key}", prefix=b"idem:").names([key], [scope])
    assert name == (b"idem:" + scope + b":" + key if scope else b"idem:" + key)


def read(name: bytes, value: bytes) -> tuple[bytes, bytes, int]:
    side = redis("reference")
    batch = KeyspaceReader(side, side.prefix.encode()).read(
        [side.prefix.encode() + name], [value], missing(1), sizes=np.zeros(1, np.int64)
    )
    return batch.keys[0], batch.scopes[0], int(batch.flaw[0])


def test_the_value_tells_a_colon_in_a_key_from_a_scope() -> None:
    whole = {"status": "completed"}
    assert read(b"a:b", msgspec.json.encode(whole | {"key": "a:b", "scope": ""})) == (
        b"a:b",
        b"",
        0,
    )
    assert read(b"a:b", msgspec.json.encode(whole | {"key": "b", "scope": "a"})) == (b"b", b"a", 0)
    # Where it does not, the name has to.
    assert read(b"a:b", msgspec.json.encode(whole)) == (b"b", b"a", 0)
    assert read(b"a:b", b"{") == (b"b", b"a", Flaw.UNREADABLE)


def test_a_value_that_belongs_under_another_name_says_nothing_of_this_one() -> None:
    copied = msgspec.json.encode({"status": "completed", "key": "other", "scope": ""})
    assert read(b"mine", copied) == (b"mine", b"", Flaw.MISNAMED)
    assert read(b"acme:mine", copied) == (b"mine", b"acme", Flaw.MISNAMED)


def test_an_empty_key_is_no_name_of_the_reference() -> None:
    value = msgspec.json.encode({"status": "completed", "key": "", "scope": ""})
    assert read(b"", value) == (b"", b"", Flaw.FOREIGN_NAME)

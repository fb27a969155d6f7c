"""Strict YAML, and the places in it."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from idemctl.documents import (
    InvalidDocument,
    Place,
    building,
    parse_document,
)
from idemctl.errors import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(params=[building._LOADER, yaml.SafeLoader], ids=["libyaml", "python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test on both parsers that PyYAML may have."""
    monkeypatch.setattr(building, "_LOADER", request.param)


def problems_of(text: str | bytes) -> list[str]:
    with pytest.raises(InvalidDocument) as refusal:
        parse_document(text, file="f")
    return [str(problem) for problem in refusal.value.problems]


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("true", True), ("false", False), ("null", None), ("~", None), ("", None),
        ("0", 0), ("24", 24), ("-1", -1), ("+3", 3), ("0.5", 0.5), (".5", 0.5), ("1.", 1.0),
        ("1e3", 1000.0), ("-2.5E-1", -0.25),
        # What YAML 1.1 takes for something else, and what no number is.
        ("no", "no"), ("yes", "yes"), ("on", "on"), ("off", "off"), ("y", "y"), ("True", "True"),
        ("Null", "Null"), ("12:30:00", "12:30:00"), ("0o17", "0o17"), ("017", "017"),
        ("0x1f", "0x1f"), ("1_000", "1_000"), ("2026-12-06", "2026-12-06"), (".inf", ".inf"),
        (".nan", ".nan"), ("=", "="), ("1.2.3", "1.2.3"), ("\uff11", "\uff11"), (".", "."),
        # Quotes always mean text.
        ("'true'", "true"), ('"1"', "1"), ("''", ""), ('"~"', "~"), ('"\\x1b"', "\x1b"),
        ("[]", []), ("{}", {}), ("[1, a]", [1, "a"]), ("{b: 1}", {"b": 1}),
        ("|\n  x\n  \ty\n", "x\n\ty\n"),
    ],
)  # fmt: skip
def test_a_value_means_what_it_says(written: str, value: Any) -> None:
    data = parse_document(f"a: {written}", file="f").data
    assert data == {"a": value}
    assert type(data["a"]) is type(value)


@pytest.mark.parametrize(
    ("text", "misread"),
    [
        ("a: no", False),
        ("a: 12:30:00", 45_000),
        ("a: 017", 15),
        ("a: 1_000", 1_000),
        ("a: 1\na: 2", 2),
        ("b: {a: 3}\n<<: {a: 1}", 1),
    ],
)
def test_the_parser_alone_would_have_misread_what_is_refused_or_kept_here(
    text: str, misread: object
) -> None:
    assert yaml.safe_load(text)["a"] == misread
    if "\n" in text:
        assert problems_of(text)
    else:
        assert parse_document(text, file="f").data == {"a": text.removeprefix("a: ")}


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", None),
        ("# only a comment\n", None),
        ("---\na: 1\n", {"a": 1}),
        (b"\xef\xbb\xbfa: \xc3\xa9\r\nb: 1\r\n", {"a": "\xe9", "b": 1}),
        ("word", "word"),
    ],
)
def test_a_file_may_be_empty_marked_or_a_single_value(text: str | bytes, data: Any) -> None:
    assert parse_document(text, file="f").data == data


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("a: 1\nb:\n  a: 2\n  a: 3\n", ["f:4:3: the key 'a' is already given at f:3:3"]),
        (
            "{a: 1, 'a': 2, \"a\": 3}",
            [
                "f:1:8: the key 'a' is already given at f:1:2",
                "f:1:16: the key 'a' is already given at f:1:2",
            ],
        ),
        (
            "a: &x 1\nb: *x\n",
            [
                "f:1:4: an anchor (&) is not allowed; write the value out where needed",
                "f:2:4: an alias (*) is not allowed; write the value out",
            ],
        ),
        (
            "<<: {a: 1}\nb: 2\n",
            ["f:1:1: a merge key (<<) is not allowed; write the fields out"],
        ),
        (
            "a: !!str 1\nb: ! 2\nc: !!python/name:os.system x\n",
            [
                f"f:{line}:4: a tag (!) is not allowed; the value says what it is"
                for line in (1, 2, 3)
            ],
        ),
        ("a: 1\n---\nb: 2\n", ["f:2:1: a second document; a file holds one"]),
        ("%YAML 1.1\n---\na: 1\n", ["f:1:1: a %-directive is not allowed"]),
        (
            "1: a\ntrue: b\n? ~\n: c\n?\n: d\n",
            [
                "f:1:1: the key '1' is not a string; write it in quotes",
                "f:2:1: the key 'true' is not a string; write it in quotes",
                "f:3:3: the key '~' is not a string; write it in quotes",
                "f:5:2: the key empty is not a string; write it in quotes",
            ],
        ),
        ("? [a]\n: 1\n", ["f:1:3: a key must be one string"]),
        ("a: 1234567890123456789", ["f:1:4: a number this long must be written in quotes"]),
        ("a: 12e4567", ["f:1:4: '12e4567' is too large a number; write text in quotes"]),
        (
            "a:\n\tb: 1\n",
            ["f:2:1: a tab indents this line; YAML takes spaces only"],
        ),
        (
            "a:\n  - b\n\t- c\n",
            ["f:3:1: a tab indents this line; YAML takes spaces only"],
        ),
    ],
)
def test_what_two_readers_could_read_differently_is_refused(text: str, problems: list[str]) -> None:
    assert problems_of(text) == problems


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "a: b: c",
            (
                "f:1:5: a ': ' with no key before it; put text in quotes, "
                "and each key on a line of its own"
            ),
        ),
        (
            "a: 'x\nb: 1\n",
            "f:3:1: the file ends here, while scanning a quoted scalar begun at 1:4",
        ),
        (
            "\u00e9: [1, 2\nb: 3\n",
            "f:2:2: did not find expected ',' or ']', while parsing a flow sequence begun at 1:4",
        ),
        (
            b"a: 1\n\xc3\xa9: \xff\n",
            "f:2:4: the byte 0xff is not UTF-8; save the file as UTF-8",
        ),
        (
            "a: 1".encode("utf-16"),
            "f:1:1: the byte 0xff is not UTF-8; save the file as UTF-8",
        ),
        (
            "a: 1\r\nb: x\x1b[0m",
            (
                "f:2:5: the character U+001B is not allowed; in double quotes an escape "
                "such as \\u001b stands for it"
            ),
        ),
        (
            "a: x\u2028y",
            (
                "f:1:5: the character U+2028 is not allowed; in double quotes an escape "
                "such as \\u001b stands for it"
            ),
        ),
    ],
)
def test_what_is_not_yaml_is_named_at_its_place(text: str | bytes, problem: str) -> None:
    assert problems_of(text) == [problem]


def test_the_message_shows_the_first_problem_and_counts_the_others() -> None:
    with pytest.raises(InvalidDocument) as refusal:
        parse_document("b: !x 1\na: *c\nd: &e 1\n", file="dir/f.yaml")
    assert refusal.value.message == (
        "dir/f.yaml:1:4: a tag (!) is not allowed; the value says what it is (and 2 more)"
    )
    assert len(refusal.value.problems) == 3
    assert refusal.value.status is ExitStatus.CONFIG


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def test_fifty_levels_are_read_and_fifty_one_refused() -> None:
    assert parse_document(nested(50), file="f").data
    assert problems_of(nested(51)) == ["f:1:51: nested deeper than 50 levels"]


def test_a_mebibyte_is_read_and_one_byte_more_refused() -> None:
    text = "a" * 1024 * 1024
    assert parse_document(text, file="f").data == text
    assert problems_of(text + "a") == ["f:1:1: larger than 1 MiB, the most a document may have"]


BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 60)
)


@pytest.mark.parametrize(
    "make",
    [
        lambda: "a: " + "x" * 10_000_000,
        lambda: BOMB,
        lambda: "[" * 1_000_000,
        lambda: "- " * 500_000,
        lambda: "{a: " * 250_000,
        lambda: "? " * 500_000,
        lambda: "{" + "a," * 500_000 + "}",
        lambda: "a:" * 500_000,
        lambda: '"' + "a" * 1_000_000,
        lambda: "a: " + "9" * 1_000_000,
        lambda: "---\n" * 250_000,
    ],
    ids=[
        "10 MB", "alias bomb", "lists", "dashes", "mappings", "questions", "repeated keys",
        "colons", "open quote", "digits", "documents",
    ],
)  # fmt: skip
def test_a_hostile_file_fails_within_a_second(make: Callable[[], str]) -> None:
    text = make()
    started = time.perf_counter()
    assert problems_of(text)
    assert time.perf_counter() - started < 1


@given(
    st.one_of(
        st.binary(),
        st.text(st.characters()),
        st.text(alphabet=" \t\n-:?[]{},&*!|>'\"%@`#a1.~<=\\x", max_size=60),
    )
)
@example('"\\UFFFFFFFF"')
@example("\ud800")
@example('a: "\\ud800"')
def test_reading_raises_nothing_but_config_error(text: str | bytes) -> None:
    for loader in (building._LOADER, yaml.SafeLoader):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(building, "_LOADER", loader)
            try:
                document = parse_document(text, file="f")
            except InvalidDocument as error:
                problems, data = error.problems, None
            else:
                problems, data = (), document.data
        assert all(problem.place.file == "f" for problem in problems)
        assert_plain(data)


def assert_plain(data: Any) -> None:
    assert type(data) in {dict, list, str, int, float, bool, type(None)}
    if isinstance(data, dict):
        assert all(type(key) is str for key in data)
        data = list(data.values())
    for item in data if isinstance(data, list) else ():
        assert_plain(item)


TEXTS = st.text(
    st.characters(
        exclude_categories=["Cc", "Cs"], exclude_characters="\u2028\u2029\ufeff\ufffe\uffff"
    )
)


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**16), 10**16)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=10,
)


@given(PLAIN)
def test_json_is_read_as_itself(data: Any) -> None:
    written = json.dumps(data, ensure_ascii=False, indent=1)
    assert parse_document(written, file="f").data == data


DOCUMENT = """\
# comment
version: 1
stores:
  payments:
    redis: {ttl: 24h,
            prefix: "idem:"}
    regions:
      - eu
      - name: us
"""


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        ((), (2, 1), (1, 1)),
        (("version",), (2, 10), (2, 1)),
        (("stores",), (4, 3), (3, 1)),
        (("stores", "payments"), (5, 5), (4, 3)),
        (("stores", "payments", "redis", "ttl"), (5, 18), (5, 13)),
        (("stores", "payments", "redis", "prefix"), (6, 21), (6, 13)),
        (("stores", "payments", "regions", 0), (8, 9), (8, 9)),
        (("stores", "payments", "regions", 1, "name"), (9, 15), (9, 9)),
        # What is absent is at its nearest ancestor.
        (("stores", "payments", "ttl"), (5, 5), (4, 3)),
        (("stores", "payments", "regions", 7, "name"), (8, 7), (7, 5)),
        (("nowhere", "at", "all"), (2, 1), (1, 1)),
    ],
)
def test_every_path_has_its_place(
    path: tuple[str | int, ...], value: tuple[int, int], key: tuple[int, int]
) -> None:
    document = parse_document(DOCUMENT, file="f")
    assert document.place(path) == Place("f", *value)
    assert document.place(path, key=True) == Place("f", *key)


def test_a_document_knows_what_it_says_itself() -> None:
    document = parse_document(DOCUMENT, file="f")
    assert document.has(("stores", "payments", "regions", 1))
    assert not document.has(("stores", "payments", "ttl"))


def test_a_document_does_not_show_its_data() -> None:
    assert repr(parse_document("a: canary", file="f")) == "Document(file='f')"

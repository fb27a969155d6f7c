"""Documents fitted to a model, and what is said where they do not fit."""

from __future__ import annotations

import json
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from idemctl.documents import (
    Document,
    InvalidDocument,
    parse_document,
    read_model,
)
from idemctl.domain.durations import parse_duration

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


class Colour(Enum):
    RED = "red"
    GREEN = "green"


def duration(given: str | timedelta) -> timedelta:
    return given if isinstance(given, timedelta) else parse_duration(given)


def must_not_be_secret(given: str) -> str:
    if given == "canary":
        raise ValueError("must be something else")
    return given


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    count: Annotated[int, Field(ge=1, le=9)] = 1
    share: float = 0.5
    on: bool = False
    mode: Literal["first", "second"] = "first"
    colour: Colour = Colour.RED
    ttl: Annotated[timedelta, BeforeValidator(duration)] | None = None
    secret: Annotated[str, BeforeValidator(must_not_be_secret)] = ""


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: Literal[1]
    parts: tuple[Inner, ...] = ()
    named: dict[str, Inner] | None = None
    folder: Path | None = None


def fit(text: str) -> Outer:
    return read_model(parse_document(text, file="f"), Outer)


def misfits(text: str) -> list[str]:
    with pytest.raises(InvalidDocument) as refusal:
        fit(text)
    return [str(problem) for problem in refusal.value.problems]


def test_a_document_that_fits_becomes_its_model() -> None:
    model = fit(
        "version: 1\n"
        "folder: a/b\n"
        "parts: [{name: x, share: 1, colour: green, ttl: 1h30m}]\n"
        "named: {n: {name: y, mode: second, on: true}}\n"
    )
    assert model.parts == (
        Inner(name="x", share=1.0, colour=Colour.GREEN, ttl=timedelta(minutes=90)),
    )
    assert model.named == {"n": Inner(name="y", mode="second", on=True)}
    assert model.folder == Path("a/b")


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", ["f:1:1: the file is empty"]),
        ("[1]", ["f:1:1: must be a mapping, not a list"]),
        ("named: {}", ["f:1:1: the field 'version' is missing"]),
        ("version: 2", ["f:1:10: version: must be 1, not 2"]),
        (
            "version: 1\nparts:\n  - {cuont: 3}\n",
            [
                "f:3:5: parts.0: the field 'name' is missing",
                "f:3:6: parts.0: the field 'cuont' is unknown; did you mean 'count'?",
            ],
        ),
        (
            "version: 1\nnamed:\n  n: {name: y, modus: 3}\n  m: {name: y, xxx: 3}\n",
            [
                "f:3:16: named.n: the field 'modus' is unknown; did you mean 'mode'?",
                (
                    "f:4:16: named.m: the field 'xxx' is unknown; "
                    "known here: colour, count, mode, name, on, secret, share, ttl"
                ),
            ],
        ),
        (
            "version: 1\nnamed: {'a b': {name: 1}, c: {name: y, mode: secnd}}\n",
            [
                "f:2:23: named.'a b'.name: must be text, not a number; write it in quotes",
                (
                    "f:2:46: named.c.mode: must be one of first, second, not secnd; "
                    "did you mean second?"
                ),
            ],
        ),
        (
            "version: 1\nparts: [{name: x, count: '3'}, {name: x, count: 0}, {name: x, count: 10}]",
            [
                "f:2:26: parts.0.count: must be a whole number, not text",
                "f:2:49: parts.1.count: must be at least 1",
                "f:2:70: parts.2.count: must be at most 9",
            ],
        ),
        (
            "version: 1\nparts:\n- {name: x, on: yes, colour: blue, share: [1]}\n",
            [
                "f:3:17: parts.0.on: must be true or false, not text",
                "f:3:30: parts.0.colour: must be one of red, green, not blue",
                "f:3:43: parts.0.share: must be a number, not a list",
            ],
        ),
        (
            "version: 1\nparts: [{name: null, mode: true, ttl: 1 h}]",
            [
                "f:2:16: parts.0.name: must be text, not empty",
                "f:2:28: parts.0.mode: must be one of first, second, not true",
                (
                    "f:2:39: parts.0.ttl: '1 h' is not a duration; write whole numbers with their "
                    "units, such as 90s, 24h, 7d or 1h30m"
                ),
            ],
        ),
        ("version: 1\nparts: {}", ["f:2:8: parts: must be a list, not a mapping"]),
        ("version: 1\nparts: x", ["f:2:8: parts: must be a list, not text"]),
    ],
)
def test_everything_that_does_not_fit_is_said_in_plain_words(
    text: str, problems: list[str]
) -> None:
    assert misfits(text) == problems


def test_a_value_that_may_be_a_password_is_not_repeated() -> None:
    with pytest.raises(InvalidDocument) as refusal:
        fit(
            "version: 1\npassword: canary\nparts:\n"
            "- {name: x, secret: canary, mode: 'u:canary@h', count: canary}"
        )
    assert [str(problem) for problem in refusal.value.problems] == [
        "f:2:1: the field 'password' is unknown; known here: folder, named, parts, version",
        "f:4:21: parts.0.secret: must be something else",
        "f:4:35: parts.0.mode: must be one of first, second",
        "f:4:56: parts.0.count: must be a whole number, not text",
    ]
    error: BaseException | None = refusal.value
    while error is not None:
        assert "canary" not in f"{error} {error!r}"
        error = error.__cause__ or error.__context__


@given(PLAIN)
def test_fitting_raises_nothing_but_invalid_document(data: Any) -> None:
    document = parse_document(json.dumps(data, ensure_ascii=False), file="f")
    assert isinstance(document, Document)
    with pytest.raises(InvalidDocument):
        read_model(document, Outer)

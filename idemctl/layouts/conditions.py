"""Conditions: how a layout recognises a status. One tree, two readings.

This module is the tree and its Python reading; `stores.postgres.conditions` reads the same
tree as SQL, and one table of cases holds both to the same answers. Conditions are total:
a comparison with a missing value is false, so its `not` is true, and nothing is unknown.
Values are compared as text, as Postgres prints them: `1`, `true`, `done`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    StrictStr,
    Tag,
)

from idemctl.layouts.paths import Path, taking

_TOO_DEEP = "[...]"
Row = Mapping[Any, Any]
Test = Callable[[Any], bool]


class _Node(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def _comparable(given: object) -> object:
    if isinstance(given, str | int):
        return given
    raise ValueError(
        "compares with text, a whole number, true or false; of what is absent say missing: true"
    )


_MOST_PARTS = 100
"""Of one condition: each is asked of every record."""


class Is(_Node):
    """The field has this value."""

    field: Path
    value: Annotated[str | int | StrictBool, BeforeValidator(_comparable)] = Field(alias="is")


class Begins(_Node):
    """The field's value begins so, or is that."""

    field: Path
    text: Annotated[StrictStr, Field(min_length=1)] = Field(alias="begins")


class Missing(_Node):
    """The field is absent or null; with `missing: false`, it is there."""

    field: Path
    missing: StrictBool


class AllOf(_Node):
    """Every part holds."""

    all: list[Condition] = Field(min_length=1, max_length=_MOST_PARTS)


class AnyOf(_Node):
    """At least one part holds."""

    any: list[Condition] = Field(min_length=1, max_length=_MOST_PARTS)


class Not(_Node):
    """The part does not hold."""

    negated: Condition = Field(alias="not")


def _kind(node: object) -> str | None:
    if node == "always":
        return "always"
    if isinstance(node, BaseModel):
        return type(node).__name__
    if isinstance(node, Mapping):
        return next((kind for member, kind in _KINDS.items() if member in node), None)
    return None


_KINDS = {
    "is": "Is",
    "begins": "Begins",
    "missing": "Missing",
    "all": "AllOf",
    "any": "AnyOf",
    "not": "Not",
}

Condition = Annotated[
    Annotated[Literal["always"], Tag("always")]
    | Annotated[Is, Tag("Is")]
    | Annotated[Begins, Tag("Begins")]
    | Annotated[Missing, Tag("Missing")]
    | Annotated[AllOf, Tag("AllOf")]
    | Annotated[AnyOf, Tag("AnyOf")]
    | Annotated[Not, Tag("Not")],
    Discriminator(
        _kind,
        custom_error_type="condition",
        custom_error_message="is no condition: write always, or a mapping with one of "
        "is, begins, missing, all, any, not",
    ),
]

for _model in (AllOf, AnyOf, Not):
    _model.model_rebuild()


class Beginning(NamedTuple):
    """What a value has to begin with."""

    text: str


Look = str | Beginning | None
"""What a condition compares a field with: a value, its beginning or, for presence, nothing."""


def looks_of(condition: Condition) -> set[tuple[Path, Look]]:
    """List what a condition looks at: fields, each with what it is compared with."""
    match condition:
        case Is(field=field, value=value):
            return {(field, as_text(value))}
        case Begins(field=field, text=text):
            return {(field, Beginning(text))}
        case Missing(field=field):
            return {(field, None)}
        case AllOf(all=parts) | AnyOf(any=parts):
            return set().union(*map(looks_of, parts))
        case Not(negated=part):
            return looks_of(part)
    return set()


def fields_of(condition: Condition) -> set[Path]:
    """Find the fields that a condition looks at."""
    return {field for field, _ in looks_of(condition)}


def reading(condition: Condition, take: Callable[[Path], Callable[[Any], Any]] = taking) -> Test:
    """Turn a condition into a function of a row.

    >>> done = reading(Is.model_validate({"field": "status", "is": "done"}))
    >>> done({"status": "done"}), done({"status": None}), done({})
    (True, False, False)

    Args:
        condition: what has to hold.
        take: makes of a path what takes its value out of a row; rows are mappings, mostly.
    """
    match condition:
        case "always":
            return lambda _row: True
        case Is(field=field, value=value):
            wanted, taken = as_text(value), take(field)
            return lambda row: as_text(taken(row)) == wanted
        case Begins(field=field, text=text):
            taken = take(field)
            return lambda row: (as_text(taken(row)) or "").startswith(text)
        case Missing(field=field, missing=missing):
            taken = take(field)
            return lambda row: (taken(row) is None) is missing
        case AllOf(all=parts):
            tests = [reading(part, take) for part in parts]
            return lambda row: all(test(row) for test in tests)
        case AnyOf(any=parts):
            tests = [reading(part, take) for part in parts]
            return lambda row: any(test(row) for test in tests)
        case Not(negated=part):
            test = reading(part, take)
            return lambda row: not test(row)


def as_text(value: object) -> str | None:
    """Write a value as Postgres would; `None` stays `None` and equals nothing.

    >>> as_text(True), as_text(7), as_text(b"done"), as_text(None)
    ('true', '7', 'done', None)
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="surrogateescape")
    try:
        return str(value)
    except RecursionError:
        # Nested as deep as a decoder goes: nothing that a layout names is written so.
        return _TOO_DEEP

"""Runbook files: documented recovery that idemctl can walk through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, model_validator

from idemctl.documents import parse_document, read_model, shipped
from idemctl.domain.runbooks import OPERATORS, Book, Condition, Kind, Step
from idemctl.errors import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from pydantic import ValidationInfo

    from idemctl.documents import Document

_FOLDER = "runbooks"
_STATUSES = {status.label: status for status in ExitStatus}

Scalar = StrictBool | int | float | str
Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,62}$")]
Text = Annotated[str, Field(min_length=1)]


def _status(label: str) -> str:
    if label not in _STATUSES:
        raise ValueError("is no exit status; idemctl help exit-codes lists them by name")
    return label


def _words(given: str, info: ValidationInfo) -> str:
    """Let through a verb that there is, with flags that it has: no shell, and no expression."""
    flags: Mapping[str, AbstractSet[str]] = (info.context or {})["flags"]
    verb, *rest = given.split() or [""]
    if verb not in flags:
        raise ValueError(f"is no verb of a runbook; write one of {', '.join(sorted(flags))}")
    for word in rest:
        if word not in flags[verb]:
            known = ", ".join(sorted(flags[verb])) or "none"
            raise ValueError(f"{verb} takes flags of its own: {known}")
    return given


def _reads(given: str) -> str:
    if "--apply" in given.split():
        raise ValueError("a check changes nothing; write it as an action")
    return given


def _writes(given: str) -> str:
    if "--apply" not in given.split():
        raise ValueError("an action changes something, so it needs --apply; else it is a check")
    return given


Words = Annotated[str, AfterValidator(_words)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Condition(_Part):
    fact: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    eq: Scalar | None = None
    ne: Scalar | None = None
    lt: int | float | None = None
    le: int | float | None = None
    gt: int | float | None = None
    ge: int | float | None = None
    among: Annotated[list[Scalar], Field(min_length=1)] | None = Field(default=None, alias="in")

    @model_validator(mode="after")
    def _compares_once(self) -> _Condition:
        if len(self._given()) != 1:
            raise ValueError(f"compares a fact once: one of {', '.join(OPERATORS)}")
        return self

    def _given(self) -> dict[str, Any]:
        said = {name: getattr(self, name) for name in OPERATORS if name != "in"}
        return {
            name: value for name, value in (said | {"in": self.among}).items() if value is not None
        }

    def condition(self) -> Condition:
        [(comparison, value)] = self._given().items()
        return Condition(
            fact=self.fact,
            comparison=comparison,
            value=tuple(value) if isinstance(value, list) else value,
        )


class _Expectation(_Part):
    status: Annotated[list[Annotated[str, AfterValidator(_status)]], Field(min_length=1)] = ["ok"]
    facts: list[_Condition] = []


class _Step(_Part):
    id: Slug
    title: Text
    why: Text
    note: Text | None = None
    check: Annotated[Words, AfterValidator(_reads)] | None = None
    action: Annotated[Words, AfterValidator(_writes)] | None = None
    manual: Text | None = None
    expect: _Expectation | None = None
    """Of a check."""
    when: list[_Condition] = []
    """Over the facts of the diagnosis that the book was taken for."""

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> _Step:
        if len(self._kinds()) != 1:
            raise ValueError(f"is of one kind: {', '.join(Kind)}")
        if self.expect is not None and self.check is None:
            raise ValueError("only a check expects something")
        return self

    def _kinds(self) -> list[Kind]:
        return [kind for kind in Kind if getattr(self, kind.value) is not None]

    def step(self) -> Step:
        [kind] = self._kinds()
        said = getattr(self, kind.value)
        is_verb = kind in {Kind.CHECK, Kind.ACTION}
        expect = self.expect or _Expectation()
        return Step(
            id=self.id,
            title=self.title,
            kind=kind,
            why=self.why.strip(),
            words=tuple(said.split()) if is_verb else (),
            text="" if is_verb else said.strip(),
            statuses=tuple(_STATUSES[label] for label in expect.status),
            expects=tuple(one.condition() for one in expect.facts),
            when=tuple(one.condition() for one in self.when),
        )


def _named_once(steps: list[_Step]) -> list[_Step]:
    seen: set[str] = set()
    for one in steps:
        if one.id in seen:
            raise ValueError(f"two steps have the id {one.id}")
        seen.add(one.id)
    return steps


class _BookFile(_Part):
    version: Literal[1]
    id: Slug
    title: Text
    failure_mode: Slug
    meaning: Text
    impact: Text
    applies_when: Annotated[list[_Condition], Field(min_length=1)]
    steps: Annotated[list[_Step], Field(min_length=1), AfterValidator(_named_once)]


def shipped_books(flags: Mapping[str, AbstractSet[str]]) -> list[Book]:
    """Read the books that come with idemctl.

    Args:
        flags: the verbs that a step may name, each with the flags that it takes.

    Raises:
        ConfigError: one is invalid, with the place.
    """
    return [
        book_in(parse_document(file.read_bytes(), file=f"{_FOLDER}/{file.name}"), flags)
        for file in shipped(_FOLDER)
    ]


def book_in(document: Document, flags: Mapping[str, AbstractSet[str]]) -> Book:
    """Read one book; see `shipped_books`."""
    given = read_model(document, _BookFile, context={"flags": flags})
    return Book(
        id=given.id,
        title=given.title,
        failure_mode=given.failure_mode,
        meaning=given.meaning.strip(),
        impact=given.impact.strip(),
        applies_when=tuple(one.condition() for one in given.applies_when),
        steps=tuple(one.step() for one in given.steps),
    )

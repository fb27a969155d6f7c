"""Names of tables and columns, as Postgres reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BaseModel, Field, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_IDENTIFIER = r'(?:[^\W\d][\w$]*|"(?:[^"\x00]|"")+")'
_PART = re.compile(_IDENTIFIER)
_TABLE = re.compile(rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})?")
_LONGEST = 63
"""Bytes; Postgres cuts longer names short, silently."""

_Location = tuple[str | int, ...]


def _table(text: str) -> str:
    if _TABLE.fullmatch(text) is None:
        raise ValueError("is no name of a table: write entries, app.entries, or '\"Entries\"'")
    refuse_long_names(parts_of(text))
    return text


TableName = Annotated[str, AfterValidator(_table)]
"""A table with its schema or without; what has capitals stands in double quotes."""
Column = Annotated[str, Field(min_length=1)]
"""A column, as it is called: without quotes."""


def parts_of(name: str) -> tuple[str, ...]:
    """Give schema and table, or the table alone, as the catalogue calls them.

    >>> parts_of("app.Keys"), parts_of('"My Keys"')
    (('app', 'keys'), ('My Keys',))
    """
    return tuple(
        part[1:-1].replace('""', '"') if part.startswith('"') else part.lower()
        for part in _PART.findall(name)
    )


def within(schema: str, name: str) -> str:
    """Put a table into a schema, unless it names one itself.

    >>> within("app", "keys"), within("My App", "keys"), within("app", "other.keys")
    ('app.keys', '"My App".keys', 'other.keys')
    """
    if len(parts_of(name)) > 1:
        return name
    is_plain = _PART.fullmatch(schema) is not None and parts_of(schema) == (schema,)
    quoted = schema.replace('"', '""')
    return f"{schema}.{name}" if is_plain else f'"{quoted}".{name}'


def refuse_long_names(names: Iterable[str]) -> None:
    """Refuse names that Postgres would take for others.

    Raises:
        ValueError: one is too long.
    """
    if long := [name for name in names if len(name.encode()) > _LONGEST]:
        raise ValueError(f"a name in Postgres has {_LONGEST} bytes at most, unlike {long[0][:80]}…")


def refuse_nuls(side: BaseModel) -> None:
    """Refuse what no table can hold, and say where: a NUL would end a name before its end.

    Raises:
        ValidationError: there is one.
    """
    if found := list(_with_nul(side, ())):
        fault = PydanticCustomError("nul", "nothing in Postgres holds a NUL (\\0)")
        raise ValidationError.from_exception_data(
            "postgres", [InitErrorDetails(type=fault, loc=at, input="") for at in found]
        )


def _with_nul(node: object, at: _Location) -> Iterator[_Location]:
    if isinstance(node, BaseModel):
        for name, field in type(node).model_fields.items():
            yield from _with_nul(getattr(node, name), (*at, field.alias or name))
    elif isinstance(node, list | tuple):
        for number, one in enumerate(node):
            yield from _with_nul(one, (*at, number))
    elif isinstance(node, str) and "\0" in node:
        yield at

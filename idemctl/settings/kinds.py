"""Kinds of values in files of settings, each with what it must be."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
)

from idemctl.domain.durations import parse_duration

if TYPE_CHECKING:
    from pydantic import ValidationInfo

_STORE_NAME = r"[a-z][a-z0-9-]{0,62}"
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_IDENTIFIER = r'(?:[^\W\d][\w$]*|"(?:[^"\x00]|"")+")'
_TABLE = rf"({_IDENTIFIER})\.({_IDENTIFIER})"
_HOST_PORT = r"(?:[^\s,:/?#@\[\]]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}"
_IDENTIFIER_BYTES = 63
"""Postgres cuts longer names short, silently."""


def parse_length(given: Any) -> timedelta:
    """Take a duration as text; a bare number is told which unit it may want."""
    if isinstance(given, timedelta):
        return given
    if isinstance(given, str):
        return parse_duration(given)
    unit = f", such as {given}s" if type(given) is int and given > 0 else ", such as 24h"
    raise ValueError(f"a duration is text with a unit{unit}")


def _day(given: Any) -> Any:
    # Pydantic would take a number for seconds since 1970.
    try:
        day = date.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        day = None
    if not isinstance(day, date) or day == date.max:
        raise ValueError("is a day, such as 2026-12-06")
    return day


def _store_name(given: str) -> str:
    if not re.fullmatch(_STORE_NAME, given):
        raise ValueError(
            "a store's name is lower-case letters, digits and hyphens, "
            "with a letter first and 63 characters at most"
        )
    return given


def _variable(given: str) -> str:
    # What was given is not repeated: it may be the URL itself, with its password.
    if not re.fullmatch(_VARIABLE, given, re.ASCII):
        raise ValueError(
            "must be the name of an environment variable, such as DATABASE_URL; "
            "the URL itself belongs in that variable"
        )
    return given


def _host_port(given: str) -> str:
    if not re.fullmatch(_HOST_PORT, given):
        raise ValueError("is a host and a port, such as sentinel-1.internal:26379")
    return given


def _table(given: str) -> str:
    parts = re.fullmatch(_TABLE, given)
    if parts is None:
        raise ValueError(
            "must name schema and table, such as public.processed_events; "
            'names with other characters are quoted as in SQL: public."Processed Events"'
        )
    if any(len(_folded(part).encode()) > _IDENTIFIER_BYTES for part in parts.groups()):
        raise ValueError(f"a name in Postgres has {_IDENTIFIER_BYTES} bytes at most")
    return given


def _schema(given: str) -> str:
    if re.fullmatch(_IDENTIFIER, given) is None or len(_folded(given).encode()) > _IDENTIFIER_BYTES:
        raise ValueError("is the name of a schema in Postgres, such as idemctl")
    return _folded(given)


def _anchored(given: Path, info: ValidationInfo) -> Path:
    """Make a path absolute: below the file's folder, or below home after `~/`."""
    anchor = info.context or {}
    home = anchor.get("home")
    if home and given.parts[:1] == ("~",):
        return Path(home, *given.parts[1:])
    return Path(anchor.get("folder", ""), given)


def _layout(given: str, info: ValidationInfo) -> str:
    return str(_anchored(Path(given), info)) if given.endswith(".yaml") else given


def _names_each_once(given: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(given)) < len(given):
        raise ValueError("names a layout twice; the first one's turn is the only one")
    return given


def _folded(identifier: str) -> str:
    """Give the name that Postgres takes an identifier for."""
    if identifier.startswith('"'):
        return identifier[1:-1].replace('""', '"')
    return identifier.lower()


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_length),
    WithJsonSchema({"type": "string", "examples": ["24h", "7d", "1h30m"]}),
]
Day = Annotated[date, BeforeValidator(_day)]
StoreName = Annotated[str, AfterValidator(_store_name)]
Variable = Annotated[str, AfterValidator(_variable)]
Table = Annotated[str, AfterValidator(_table)]
Schema = Annotated[str, AfterValidator(_schema)]
Name = Annotated[str, Field(min_length=1)]
HostPort = Annotated[str, AfterValidator(_host_port)]
AnchoredPath = Annotated[Path, AfterValidator(_anchored)]
Layout = Annotated[str, Field(min_length=1), AfterValidator(_layout)]
Layouts = Annotated[
    Annotated[Layout, Tag("name")]
    | Annotated[
        tuple[Layout, ...],
        Field(min_length=1, json_schema_extra={"uniqueItems": True}),
        AfterValidator(_names_each_once),
        Tag("names"),
    ],
    Discriminator(lambda given: "names" if isinstance(given, list | tuple) else "name"),
]
"""One layout, or several: a record is the first's whose conditions hold."""

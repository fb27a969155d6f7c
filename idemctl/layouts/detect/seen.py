"""What was seen of a database whose records nobody has told anything about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from idemctl.domain.records import Flaw
    from idemctl.layouts.codecs import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTable:
    """A table, and nothing of its rows."""

    schema: str
    name: str
    columns: Mapping[str, str]
    """The type of each, as `pg_type` names it; that of a domain is what it is over."""
    unique: frozenset[frozenset[str]] = frozenset()
    """Columns that are unique together."""

    def __str__(self) -> str:
        return f"{_quoted(self.schema)}.{_quoted(self.name)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenKey:
    """A key of Redis, and what it holds."""

    name: bytes
    kind: str
    """`string`, `hash`, or what else there is."""
    value: Value | Flaw
    """The fields of a hash, the members of a set; what was not read is flawed."""


def _quoted(name: str) -> str:
    """Write a name as SQL reads it: plain where nothing asks for more."""
    plain = name.replace("_", "a").isalnum() and name.isascii() and name == name.lower()
    return name if plain and not name[0].isdigit() else '"' + name.replace('"', '""') + '"'

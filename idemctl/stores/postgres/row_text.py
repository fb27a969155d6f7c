"""Rows in Postgres's own text form, taken apart into the texts of their columns."""

from __future__ import annotations

import re

from idemctl.errors import Refused

_FIELD = re.compile(r'"((?:[^"\\]++|""|\\.)*+)"|([^,"\\]*)', re.DOTALL)
_ESCAPED = re.compile(r'""|\\(.)', re.DOTALL)


def fields_of(row: str) -> list[str | None]:
    r"""Give the text of each column; `None` for NULL.

    >>> fields_of(r'(1,,"","a ""b"", \\c")')
    ['1', None, '', 'a "b", \\c']

    Raises:
        Refused: it is no row.
    """
    fields: list[str | None] = []
    at, end = 1, len(row) - 1
    while at <= end and (found := _FIELD.match(row, at, end)) is not None:
        quoted, bare = found.groups()
        fields.append((bare or None) if quoted is None else _ESCAPED.sub(_unescaped, quoted))
        at = found.end() + 1
        if found.end() == end:
            return fields
        if row[found.end()] != ",":
            break
    raise Refused("an archived row cannot be read", hint="runs check tells which files are intact")


def _unescaped(found: re.Match[str]) -> str:
    return found[1] or '"'

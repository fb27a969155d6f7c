"""Names of tables, as Postgres reads them."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

_IDENTIFIER = r'(?:[^\W\d][\w$]*|"(?:[^"\x00]|"")+")'
_TABLE = re.compile(rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})?")


def _table(text: str) -> str:
    if _TABLE.fullmatch(text) is None:
        raise ValueError("is no name of a table: write entries, app.entries, or '\"Entries\"'")
    return text


TableName = Annotated[str, AfterValidator(_table)]
"""A table with its schema or without; what has capitals stands in double quotes."""

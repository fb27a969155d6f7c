"""Finds the named blocks of `queries.sql`.

A block begins with `-- name --`; its slots are filled by `psycopg.sql` alone.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import LiteralString, cast

from psycopg import sql

_NAME = re.compile(r"^-- ([a-z_]+) --$", re.MULTILINE)


def query(name: str, **slots: sql.Composable) -> sql.Composed:
    """Fill the slots of one block."""
    return sql.SQL(_blocks()[name]).format(**slots)


@cache
def _blocks() -> dict[str, LiteralString]:
    text = files("idemctl.stores.postgres").joinpath("queries.sql").read_text("utf-8")
    _, *parts = _NAME.split(text)
    # The file ships with the code and is as literal as the code.
    return {
        name: cast("LiteralString", body.strip())
        for name, body in zip(parts[::2], parts[1::2], strict=True)
    }

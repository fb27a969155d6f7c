"""Parts that a library keeps in pieces: the endpoint as a method and a path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from idemctl.layouts.columns import texts
from idemctl.layouts.paths import Path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from idemctl.layouts.columns import Columns


class Joined(BaseModel):
    """Pieces, with a space between them; where one is missing, so is the whole."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    join: Annotated[list[Path], Field(min_length=2)]


def _kind(given: object) -> str:
    return "join" if isinstance(given, Mapping | Joined) else "path"


if TYPE_CHECKING:
    Where = Path | Joined
else:
    Where = Annotated[
        Annotated[Path, Tag("path")] | Annotated[Joined, Tag("join")], Discriminator(_kind)
    ]
"""A path, or several whose values are joined."""


def pieces(where: Where | None) -> tuple[Path, ...]:
    """List the paths that a part is read from.

    >>> pieces(Joined(join=["method", "path"])), pieces("endpoint"), pieces(None)
    (('method', 'path'), ('endpoint',), ())
    """
    if where is None:
        return ()
    return tuple(where.join) if isinstance(where, Joined) else (where,)


def joined(columns: Columns, where: Where | None) -> Sequence[bytes] | None:
    """Give a part of each row, empty where it is missing; `None` where no row can have it."""
    found = [texts(columns.values[path]) for path in pieces(where)]
    if not found:
        return None
    if len(found) == 1:
        return found[0]
    return [b" ".join(row) if all(row) else b"" for row in zip(*found, strict=True)]

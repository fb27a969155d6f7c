"""What can be asked of databases of which nobody knows yet who writes there.

Both are closed by their openers, read only, and may raise what stores raise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from idemctl.stores.ports import Closes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from idemctl.layouts.detect import SeenKey, SeenTable


class ListsTables(Closes, Protocol):
    """A database in Postgres."""

    def tables(self) -> list[SeenTable]:
        """List the tables that this user may read; those of the system are none."""
        ...


class ShowsKeys(Closes, Protocol):
    """A database in Redis."""

    def keys(self, count: int) -> Iterator[Sequence[SeenKey]]:
        """Look at about so many keys, some at a time, for the caller's pace.

        Fewer where there are fewer. They come in the order of their hashes, so that the first
        ones stand for all.
        """
        ...

"""Where things stand in a document, and what is wrong there."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from idemctl.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A character in a file; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong with a document."""

    place: Place
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class InvalidDocument(ConfigError):
    """A document that cannot be used; the message shows its first problem."""

    def __init__(self, problems: Iterable[Problem], *, hint: str | None = None) -> None:
        self.problems = tuple(sorted(set(problems)))
        """Every problem found, in the order of the file."""
        first, *more = self.problems
        super().__init__(f"{first} (and {len(more)} more)" if more else str(first), hint=hint)


@dataclass(slots=True, eq=False)
class Node:
    """The place of a value, of the key before it, and of what is inside."""

    place: Place
    key: Place
    inside: dict[str | int, Node] = field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    """A document's data: mappings, lists, strings, numbers, booleans and None."""

    file: str
    # A document may hold, by mistake, what must not be shown.
    data: Any = field(repr=False)
    root: Node = field(repr=False, compare=False)
    content: bytes = field(repr=False, compare=False)

    @property
    def digest(self) -> str:
        """SHA-256 of the content as it was read, in hex."""
        return hashlib.sha256(self.content).hexdigest()

    def place(self, path: tuple[str | int, ...], *, key: bool = False) -> Place:
        """Find where the value at `path` begins; where it is absent, its nearest ancestor.

        Args:
            path: keys and positions from the top.
            key: the place of the key (for a list, the item) instead of that of its value.
        """
        node, _ = self._nearest(path)
        return node.key if key else node.place

    def has(self, path: tuple[str | int, ...]) -> bool:
        """Tell whether the document itself says something at `path`."""
        return self._nearest(path)[1]

    def _nearest(self, path: tuple[str | int, ...]) -> tuple[Node, bool]:
        node = self.root
        for part in path:
            if part not in node.inside:
                return node, False
            node = node.inside[part]
        return node, True

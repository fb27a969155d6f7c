"""What can be wrong with a server, done to a real one; and what is as near to it, and is not.

A case for each code that looks at circumstances: `sick` makes it fire, `near` must not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Opened = TypeVar("Opened")


@dataclass(frozen=True, kw_only=True)
class Case(Generic[Opened]):
    """One code, and what brings it about."""

    code: str
    sick: Callable[[Opened], object]
    near: Callable[[Opened], object]
    count: int = 1
    says: str
    """A part of the evidence."""
    options: tuple[str, ...] = ()
    """Of the server, where it has to be one of its own kind."""
    beside: frozenset[str] = frozenset()
    """Other codes that the same brings about."""

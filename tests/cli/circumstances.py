"""What can be wrong with a server, done to a real one; and what is as near to it, and is not.

A case for each code that looks at circumstances: `sick` makes it fire, `near` must not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    import redis

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
    beside: frozenset[str] = frozenset()
    """Other codes that the same brings about."""


REDIS: tuple[Case[redis.Redis], ...] = (
    Case(
        code="eviction-enabled",
        sick=lambda client: client.config_set("maxmemory-policy", "volatile-ttl"),
        near=lambda client: client.config_set("maxmemory-samples", "7"),
        says="maxmemory-policy is volatile-ttl",
    ),
)

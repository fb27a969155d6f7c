"""What can be wrong with a place, done to a real server; and what is as near to it, and is not.

A case for each code that looks at circumstances: `sick` makes it fire, `near` must not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    import psycopg
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


def run(*statements: str) -> Callable[[psycopg.Connection[Any]], object]:
    return lambda connection: [connection.execute(one.encode()) for one in statements]


POSTGRES: tuple[Case[psycopg.Connection[Any]], ...] = (
    Case(
        code="table-unlogged",
        sick=run("ALTER TABLE processed_events SET UNLOGGED"),
        near=run("CREATE UNLOGGED TABLE others (LIKE processed_events)"),
        says="UNLOGGED",
    ),
)
REDIS: tuple[Case[redis.Redis], ...] = (
    Case(
        code="eviction-enabled",
        sick=lambda client: client.config_set("maxmemory-policy", "volatile-ttl"),
        near=lambda client: client.config_set("maxmemory-samples", "7"),
        says="maxmemory-policy is volatile-ttl",
    ),
)

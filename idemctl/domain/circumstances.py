"""Circumstances: what a server says of the place in which records lie, beside the records.

Each of them may be out of sight: then it says why, and whoever asks cannot judge.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unseen:
    """Something that cannot be told."""

    why: str
    """A clause: `this user may not run INFO`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresCircumstances:
    """Those of a table."""

    is_unlogged: bool
    """Whether a crash empties it, and no standby has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisCircumstances:
    """Those of a keyspace."""

    eviction_policy: str | Unseen
    """The server's maxmemory-policy."""
    evicted_count: int | Unseen
    """Keys evicted since the server started, in any database."""


Circumstances = PostgresCircumstances | RedisCircumstances

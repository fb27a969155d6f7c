"""Circumstances: what a server says of the place in which records lie, beside the records.

Each of them may be out of sight: then it says why, and whoever asks cannot judge.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from idemctl.domain.replication import PostgresReplication
from idemctl.domain.upkeep import Upkeep

if TYPE_CHECKING:
    from idemctl.domain.references import Reference
    from idemctl.domain.shapes import TableShape


@dataclass(frozen=True, slots=True)
class Unseen:
    """Something that cannot be told."""

    why: str
    """A clause: `this user may not run INFO`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """Identities that have several rows."""

    count: int
    row_count: int
    """The rows that all of them have."""
    sample: tuple[tuple[bytes, bytes], ...] = ()
    """Keys, each with its scope."""


NOT_REPEATED = Repeated(count=0, row_count=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresCircumstances:
    """Those of a table."""

    shape: TableShape
    references: tuple[Reference, ...] = ()
    """Foreign keys by which other rows hang on those that gc deletes."""
    repeated: Repeated | Unseen = NOT_REPEATED
    upkeep: Upkeep | Unseen = field(default_factory=Upkeep)
    replication: PostgresReplication | Unseen = field(default_factory=PostgresReplication)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisCircumstances:
    """Those of a keyspace."""

    eviction_policy: str | Unseen
    """The server's maxmemory-policy."""
    evicted_count: int | Unseen
    """Keys evicted since the server started, in any database."""


Circumstances = PostgresCircumstances | RedisCircumstances

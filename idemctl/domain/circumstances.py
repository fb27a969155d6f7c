"""Circumstances: what a server says of the place in which records lie, beside the records.

Each of them may be out of sight: then it says why, and whoever asks cannot judge.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from idemctl.domain.replication import PostgresReplication
from idemctl.domain.upkeep import Upkeep

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

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
    client_count: int | Unseen = 0
    """Clients among some thousand rows, where keys alone keep requests apart; else 0."""
    upkeep: Upkeep | Unseen = field(default_factory=Upkeep)
    replication: PostgresReplication | Unseen = field(default_factory=PostgresReplication)

    @property
    def servers(self) -> tuple[tuple[str, PostgresCircumstances]]:
        """Those of the one server that has all rows, beside a name that nobody needs."""
        return (("", self),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Primary:
    """The server that a replica copies."""

    place: str
    is_linked: bool
    unlinked_for: timedelta | None
    """None where it is linked, and where it never was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """A server that copies this one."""

    place: str
    is_online: bool
    """False while it is still sent everything."""
    behind: int | None
    """Bytes that it has not acknowledged; None where it never acknowledged any."""
    silent_for: timedelta | None
    """Since it last acknowledged anything, which it does each second."""


KEEPS_ALL = "noeviction"
"""The eviction policy of a server that refuses writes when it is full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisCircumstances:
    """Those of a keyspace: all of its server."""

    server: str = ""
    """Which of several it is, where keys are shared among them."""
    others: tuple[RedisCircumstances, ...] = ()
    """Those of the other servers then."""

    eviction_policy: str | Unseen
    """The server's maxmemory-policy."""
    evicted_count: int | Unseen
    """Keys evicted since the server began to count, in any database."""
    memory_used: int | Unseen
    """Bytes that count against the limit."""
    memory_limit: int | Unseen
    """0 where there is none."""
    machine_memory: int | Unseen
    refusals: Mapping[str, int] | Unseen
    """How often it refused writes since it began to count, by the word of the refusal."""

    appends: bool | Unseen
    """Whether it keeps an append-only file."""
    sync: str | Unseen
    """How often it forces that file to the disk."""
    snapshot_rule: str | Unseen
    """After how long and how many changes it takes a snapshot; empty where it takes none."""
    unsaved_count: int | Unseen
    """Changes since the last snapshot."""
    snapshot_failed: bool | Unseen
    append_failed: bool | Unseen
    rewrite_failed: bool | Unseen
    """Whether the last snapshot, the last write to the file, its last rewrite failed."""

    primary: Primary | Unseen | None
    """None where it is no replica."""
    replicas: tuple[Replica, ...] | Unseen
    replicas_needed: int | Unseen
    """With fewer replicas that follow closely it refuses writes."""
    replicas_close: int | Unseen
    """Replicas that follow closely; only known where some are needed."""
    uncovered_slots: int | Unseen
    """Slots of its cluster that nobody serves; 0 where there is no cluster."""

    @property
    def servers(self) -> tuple[tuple[str, RedisCircumstances], ...]:
        """Those of each server that has some of the keys, beside its name."""
        return tuple((one.server, one) for one in (self, *self.others))


Circumstances = PostgresCircumstances | RedisCircumstances

"""When gc waits: decisions from what a server says of its load and of those who follow it.

It fails closed: what a user is not shown is a reason to wait, as much as a lag that is too long.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from idemctl.domain.circumstances import Unseen
from idemctl.domain.durations import format_duration
from idemctl.domain.replication import PostgresReplication
from idemctl.domain.upkeep import Upkeep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.domain.replication import Standby

_GRANT = "GRANT pg_read_all_stats to it"


class Strain(StrEnum):
    """What can make gc wait."""

    STANDBYS = "standbys"
    """They are behind, or fewer than there have to be."""
    WAL = "wal"
    """It is kept for a slot, or for an archive that does not take it."""
    VACUUM = "vacuum"
    """One is at work on the table."""
    SNAPSHOTS = "snapshots"
    """An old one keeps every dead row where it is."""
    QUERY = "query"
    """The operator's own says so."""
    PAUSE_FILE = "pause-file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much strain is none."""

    wait_for: frozenset[Strain] = frozenset(
        (Strain.STANDBYS, Strain.WAL, Strain.VACUUM, Strain.SNAPSHOTS)
    )
    """What is heeded of the server's own."""
    lag: timedelta = timedelta(seconds=10)
    lag_bytes: int = 64 * 2**20
    wal_bytes: int = 2**30
    """So much may be kept for a slot, or wait for the archive."""
    snapshot_age: timedelta = timedelta(hours=1)
    standby_count: int = 0
    """So many have to follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a server says at one moment."""

    replication: PostgresReplication | Unseen = field(default_factory=PostgresReplication)
    upkeep: Upkeep | Unseen = field(default_factory=Upkeep)
    asked: bool | Unseen = False
    """Whether the operator's query says to wait."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why to wait now."""

    strain: Strain
    says: str


def reasons(load: Load, limits: Limits) -> list[Reason]:
    """List why to wait; nothing where all is well, and can be seen to be."""
    found = [*_of_replication(load.replication, limits), *_of_upkeep(load.upkeep, limits)]
    heeded = [one for one in found if one.strain in limits.wait_for]
    if isinstance(load.asked, Unseen):
        heeded.append(Reason(Strain.QUERY, f"throttle.query does not answer: {load.asked.why}"))
    elif load.asked:
        heeded.append(Reason(Strain.QUERY, "throttle.query says so"))
    return heeded


def _of_replication(said: PostgresReplication | Unseen, limits: Limits) -> Iterator[Reason]:
    if isinstance(said, Unseen):
        for strain in (Strain.STANDBYS, Strain.WAL):
            yield Reason(strain, f"nobody tells how far behind others are: {said.why}")
        return
    yield from (Reason(Strain.STANDBYS, why) for why in _following(said, limits))
    yield from (Reason(Strain.WAL, why) for why in _kept(said, limits))


def _following(said: PostgresReplication, limits: Limits) -> Iterator[str]:
    if said.hidden_standby_count:
        yield f"{said.hidden_standby_count} standbys show nothing to this user; {_GRANT}"
    count = len(said.standbys) + said.hidden_standby_count
    if count < limits.standby_count:
        yield f"{count} of {limits.standby_count} standbys are connected"
    for standby in said.standbys:
        if late := _lateness(standby, limits):
            yield f"standby {standby.name} is {late} behind"


def _kept(said: PostgresReplication, limits: Limits) -> Iterator[str]:
    for slot in said.slots:
        if slot.wal_status == "unreserved" or slot.retained_bytes > limits.wal_bytes:
            yield f"{_mib(slot.retained_bytes)} of WAL are kept for slot {slot.name}"
    archiver = said.archiver
    if archiver is not None and archiver.is_failing:
        yield f"WAL cannot be archived: {archiver.failed_file} failed"
    elif archiver is not None and archiver.queued_bytes > limits.wal_bytes:
        yield f"{_mib(archiver.queued_bytes)} of WAL wait to be archived"


def _lateness(standby: Standby, limits: Limits) -> str:
    if standby.behind_bytes is not None and standby.behind_bytes > limits.lag_bytes:
        return _mib(standby.behind_bytes)
    if standby.behind_for is not None and standby.behind_for > limits.lag:
        return _rough(standby.behind_for)
    return ""


def _of_upkeep(said: Upkeep | Unseen, limits: Limits) -> Iterator[Reason]:
    if isinstance(said, Unseen):
        for strain in (Strain.VACUUM, Strain.SNAPSHOTS):
            yield Reason(strain, f"nobody tells who vacuums: {said.why}")
        return
    if said.hidden_session_count:
        for strain in (Strain.VACUUM, Strain.SNAPSHOTS):
            hidden = f"{said.hidden_session_count} sessions show nothing to this user"
            yield Reason(strain, f"{hidden}; {_GRANT}")
    for table in said.tables:
        if table.is_running:
            yield Reason(Strain.VACUUM, f"a vacuum is at work on {table.name}")
    for holder in said.holders:
        if holder.held_for is not None and holder.held_for > limits.snapshot_age:
            kept = f"keeps dead rows from going for {_rough(holder.held_for)}"
            yield Reason(Strain.SNAPSHOTS, f"{holder.name} {kept}")


def _rough(length: timedelta) -> str:
    return format_duration(timedelta(seconds=max(1, round(length.total_seconds()))))


def _mib(count: int) -> str:
    return f"{count / 2**20:,.0f} MiB"

"""Copies of a server that are behind, and what is kept, or not, for those to come."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.checks.check import POSTGRES, Check, Source, Told, about, micros_of
from idemctl.domain.circumstances import Unseen
from idemctl.domain.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Callable

    from idemctl.checks.check import Facts
    from idemctl.domain.circumstances import PostgresCircumstances
    from idemctl.domain.replication import PostgresReplication, Recovery, Standby

BEHIND_FOR = timedelta(minutes=1)
BEHIND_BYTES = 64 * 2**20
"""Four files of WAL."""
_MEBIBYTE = 2**20
_AT_RISK = {"unreserved", "lost"}


def _at(
    look: Callable[[PostgresReplication], Told | Unseen | None],
) -> Callable[[PostgresCircumstances, Facts], Told | Unseen | None]:
    def seen(table: PostgresCircumstances, _facts: Facts) -> Told | Unseen | None:
        said = table.replication
        return said if isinstance(said, Unseen) else look(said)

    return seen


def _mebibytes(count: int) -> str:
    return f"{count / _MEBIBYTE:,.1f} MiB"


def _on_standby(said: PostgresReplication) -> Told | None:
    recovery = said.recovery
    if recovery is None:
        return None
    shows = "all that it received" if recovery.has_replayed_all else "less than it received"
    if not recovery.has_replayed_all and recovery.replayed_for is not None:
        shows += f"; its last transaction is {about(micros_of(recovery.replayed_for))} old"
    return Told(evidence=f"this server is a standby, and shows {shows}")


def _behind(said: PostgresReplication) -> Told | Unseen | None:
    if said.recovery is not None:
        return _behind_itself(said.recovery)
    late = [one for one in said.standbys if _is_late(one)]
    if late:
        worst = max(late, key=lambda one: one.behind_bytes or 0)
        more = f"; and {len(late) - 1:,} more" if late[1:] else ""
        return Told(evidence=_lag(worst) + more, count=len(late))
    if said.hidden_standby_count:
        return Unseen(
            f"{said.hidden_standby_count:,} standbys show nothing to this user; "
            "GRANT pg_read_all_stats to it"
        )
    return None


def _behind_itself(recovery: Recovery) -> Told | Unseen | None:
    if recovery.is_level_within(BEHIND_FOR):
        return None
    if recovery.replayed_for is None:
        return Unseen("this standby has replayed no transaction since it started")
    said = f"the last transaction here is {about(micros_of(recovery.replayed_for))} old"
    if recovery.is_paused:
        return Told(evidence=f"{said}, and replay is paused")
    if not recovery.is_receiving:
        return Told(evidence=f"{said}, and nothing is received from the primary")
    return Told(evidence=f"{said}, and later ones were received")


def _is_late(one: Standby) -> bool:
    return (one.behind_for is not None and one.behind_for > BEHIND_FOR) or (
        one.behind_bytes is not None and one.behind_bytes >= BEHIND_BYTES
    )


def _lag(one: Standby) -> str:
    parts = [] if one.behind_bytes is None else [_mebibytes(one.behind_bytes)]
    parts += [] if one.behind_for is None else [about(micros_of(one.behind_for))]
    return f"{one.name} ({one.sync_state}) is {' and '.join(parts)} behind"


def _lacks(table: PostgresCircumstances, facts: Facts) -> Told | Unseen | None:
    said = table.replication
    if not facts.replica_count:
        return None
    if isinstance(said, Unseen):
        return said
    if said.recovery is not None:
        # Who follows its primary, a standby does not know.
        return None
    count = len(said.standbys) + said.hidden_standby_count
    if count >= facts.replica_count:
        return None
    return Told(
        evidence=f"{count} of {facts.replica_count} standbys are connected",
        count=facts.replica_count - count,
    )


def _retains(said: PostgresReplication) -> Told | None:
    idle = [
        one
        for one in said.slots
        if not one.is_active and (one.retained_bytes >= BEHIND_BYTES or one.wal_status in _AT_RISK)
    ]
    if not idle:
        return None
    worst = max(idle, key=lambda one: one.retained_bytes)
    more = f"; and {len(idle) - 1:,} more" if idle[1:] else ""
    return Told(
        evidence=f"nobody reads {worst.name}: {_mebibytes(worst.retained_bytes)} of WAL, "
        f"{worst.wal_status}{more}",
        count=len(idle),
    )


def _unarchived(said: PostgresReplication) -> Told | None:
    archiver = said.archiver
    if archiver is None or not archiver.is_failing:
        return None
    last = "none was archived yet"
    if archiver.archived_for is not None:
        last = f"the last one was archived {about(micros_of(archiver.archived_for))} ago"
    return Told(
        evidence=f"archiving {archiver.failed_file} fails, {archiver.failed_count:,} failures in "
        f"all; {last}"
    )


READ_FROM_STANDBY = Check(
    code="read-from-standby",
    severity=Severity.INFO,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_at(_on_standby),
    what="The server that was audited is a standby.\n"
    "Its dead rows are not its own, so nothing is said of vacuum; and what writes, refuses.",
    why="What was committed on the primary a moment ago may be missing here.",
    next="idemctl doctor --store {store}",
)
STANDBY_BEHIND = Check(
    code="standby-behind",
    severity=Severity.WARNING,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_at(_behind),
    what="On a primary: a standby that is more than a minute or 64 MiB of WAL behind.\n"
    "On a standby: the last transaction that it shows is older than a minute, unless it is "
    "connected and shows all that it received; then the primary is idle.",
    why="A key that is read there is not found yet, and its retry is taken for a new request; at "
    "a failover what is missing there is lost.",
    next="idemctl diagnose --store {store}",
)
STANDBY_MISSING = Check(
    code="standby-missing",
    severity=Severity.ERROR,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_lacks,
    what="Fewer standbys are connected to a primary than the store names under `replicas`.",
    why="A key is kept in fewer places than was meant: at a failover the newest are lost, and "
    "their retries are carried out again.",
    next="idemctl doctor --store {store}",
)
SLOT_RETAINS_WAL = Check(
    code="slot-retains-wal",
    severity=Severity.WARNING,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_at(_retains),
    what="A replication slot that nobody is connected to, with 64 MiB of WAL or more kept for it, "
    "or so much that it is given up.",
    why="WAL is kept for it until the disk is full, and then no key can be written at all.",
    next="idemctl doctor --store {store}",
)
ARCHIVER_FAILING = Check(
    code="archiver-failing",
    severity=Severity.WARNING,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_at(_unarchived),
    what="WAL is archived, and the last attempt failed.",
    why="A restore ends where the archive ends, and every key after that is forgotten; meanwhile "
    "WAL fills the disk.",
    next="idemctl doctor --store {store}",
)

CHECKS = (READ_FROM_STANDBY, STANDBY_BEHIND, STANDBY_MISSING, SLOT_RETAINS_WAL, ARCHIVER_FAILING)

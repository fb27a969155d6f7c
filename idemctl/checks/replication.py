"""Redis servers that copy one another, or share the keys of a cluster."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.checks.check import REDIS, Check, Source, Told
from idemctl.domain.circumstances import Unseen
from idemctl.domain.durations import format_duration
from idemctl.domain.findings import Severity

if TYPE_CHECKING:
    from idemctl.checks.check import Facts
    from idemctl.domain.circumstances import RedisCircumstances, Replica

_FAR = 16 * 2**20
"""Bytes. A replica acknowledges once a second, and is behind by what a second brings."""
_SILENT = timedelta(seconds=10)


def _is_replica(server: RedisCircumstances, _facts: Facts) -> Told | Unseen | None:
    primary = server.primary
    if primary is None or isinstance(primary, Unseen):
        return primary
    return Told(evidence=f"it is a replica of {primary.place}")


def _is_cut_off(server: RedisCircumstances, _facts: Facts) -> Told | Unseen | None:
    primary = server.primary
    if primary is None or isinstance(primary, Unseen):
        return primary
    if primary.is_linked:
        return None
    said = f"the link to {primary.place} is down"
    if primary.unlinked_for:
        said += f" for {format_duration(primary.unlinked_for)}"
    return Told(evidence=said)


def _lags(server: RedisCircumstances, _facts: Facts) -> Told | Unseen | None:
    if isinstance(server.replicas, Unseen):
        return server.replicas
    late = [f"{one.place} {why}" for one in server.replicas if (why := _why_late(one))]
    return Told(evidence="; ".join(late), count=len(late)) if late else None


def _why_late(replica: Replica) -> str:
    if not replica.is_online:
        return "is still sent everything"
    if replica.silent_for is not None and replica.silent_for >= _SILENT:
        return f"has acknowledged nothing for {format_duration(replica.silent_for)}"
    if replica.behind is not None and replica.behind >= _FAR:
        return f"is {replica.behind:,} bytes behind"
    return ""


def _lacks_replicas(server: RedisCircumstances, _facts: Facts) -> Told | Unseen | None:
    primary, needed, close = server.primary, server.replicas_needed, server.replicas_close
    if isinstance(primary, Unseen):
        return primary
    if primary is not None or needed == 0:
        # A replica refuses writes all the same.
        return None
    if isinstance(close, Unseen):
        return close
    if isinstance(needed, Unseen):
        return (
            Told(evidence="min-replicas-to-write is set, and none is close")
            if not close
            else needed
        )
    if close >= needed:
        return None
    return Told(evidence=f"min-replicas-to-write is {needed}, and {close} are close")


def _lacks_configured(server: RedisCircumstances, facts: Facts) -> Told | Unseen | None:
    if not facts.replica_count or server.server:
        # Of a cluster nobody says which primary each of them belongs to.
        return None
    primary, replicas = server.primary, server.replicas
    if isinstance(primary, Unseen):
        return primary
    if isinstance(replicas, Unseen):
        return replicas
    if primary is not None or len(replicas) >= facts.replica_count:
        return None
    return Told(
        evidence=f"{len(replicas)} of {facts.replica_count} replicas are connected",
        count=facts.replica_count - len(replicas),
    )


def _leaves_slots(server: RedisCircumstances, _facts: Facts) -> Told | Unseen | None:
    count = server.uncovered_slots
    if isinstance(count, Unseen):
        return count
    return Told(evidence=f"nobody serves {count:,} of 16,384 slots", count=count) if count else None


SERVER_IS_REPLICA = Check(
    code="server-is-replica",
    severity=Severity.INFO,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_is_replica,
    what="A server that is a replica: on purpose, or since a failover.\n"
    "Its records are looked at all the same; no pair is compared with it.",
    why="What it shows may be behind, and an application that still writes to it is refused.",
    next="idemctl doctor --store {store}",
)
REPLICATION_LINK_DOWN = Check(
    code="replication-link-down",
    severity=Severity.ERROR,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_is_cut_off,
    what="A replica whose link to its primary is down.",
    why="It knows nothing of newer records: promoted now, it takes their retries for new requests.",
    next="idemctl doctor --store {store}",
)
REPLICA_BEHIND = Check(
    code="replica-behind",
    severity=Severity.WARNING,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_lags,
    what="A replica of this server that is still sent everything, has acknowledged nothing for ten "
    "seconds, or is more than 16 MiB behind.",
    why="A failover to it loses the newest records, and their retries are carried out again.",
    next="idemctl doctor --store {store}",
)
REPLICAS_TOO_FEW = Check(
    code="replicas-too-few",
    severity=Severity.ERROR,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_lacks_replicas,
    what="Fewer replicas that follow closely than `min-replicas-to-write` wants.",
    why="The server refuses every write until they are back: no request can claim its key.",
    next="idemctl doctor --store {store}",
)
REPLICA_MISSING = Check(
    code="replica-missing",
    severity=Severity.ERROR,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_lacks_configured,
    what="Fewer replicas are connected to a primary than the store names under `replicas`.\n"
    "Of a cluster this is not judged.",
    why="A key is kept in fewer places than was meant: at a failover the newest are lost, and "
    "their retries are carried out again.",
    next="idemctl doctor --store {store}",
)
SLOTS_UNCOVERED = Check(
    code="slots-uncovered",
    severity=Severity.ERROR,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_leaves_slots,
    what="Slots of a cluster that no node serves.\n"
    "A cluster that answers nothing then cannot be judged at all; this is one with "
    "`cluster-require-full-coverage no`.",
    why="Keys of these slots can be neither claimed nor read, and nobody sees what they held.",
    next="idemctl doctor --store {store}",
)

CHECKS = (
    SERVER_IS_REPLICA,
    REPLICATION_LINK_DOWN,
    REPLICA_BEHIND,
    REPLICAS_TOO_FEW,
    REPLICA_MISSING,
    SLOTS_UNCOVERED,
)

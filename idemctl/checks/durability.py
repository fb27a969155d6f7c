"""What of a Redis server's keys outlives its process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.checks.check import REDIS, Check, Source, Told
from idemctl.domain.circumstances import Unseen
from idemctl.domain.findings import Severity

if TYPE_CHECKING:
    from idemctl.checks.check import Facts
    from idemctl.domain.circumstances import RedisCircumstances


def _keeps_nothing(server: RedisCircumstances, _facts: Facts) -> Told | Unseen | None:
    appends, rule = server.appends, server.snapshot_rule
    if isinstance(appends, Unseen):
        return appends
    if appends:
        return None
    if isinstance(rule, Unseen):
        return rule
    return None if rule else Told(evidence="appendonly is no, and save is empty")


def _only_snapshots(server: RedisCircumstances, _facts: Facts) -> Told | Unseen | None:
    if isinstance(server.appends, Unseen):
        return server.appends
    if server.appends or not server.snapshot_rule:
        return None
    said = "appendonly is no"
    if isinstance(server.unsaved_count, int):
        said += f"; changes since the last snapshot: {server.unsaved_count:,}"
    return Told(evidence=said)


def _forces_nothing(server: RedisCircumstances, _facts: Facts) -> Told | Unseen | None:
    if isinstance(server.appends, Unseen):
        return server.appends
    if not server.appends:
        return None
    if isinstance(server.sync, Unseen):
        return server.sync
    return Told(evidence="appendfsync is no") if server.sync == "no" else None


def _snapshot_failed(server: RedisCircumstances, _facts: Facts) -> Told | Unseen | None:
    failed = server.snapshot_failed
    if isinstance(failed, Unseen):
        return failed
    if not failed:
        return None
    said = "the last snapshot failed"
    if isinstance(server.unsaved_count, int):
        said += f"; changes since the one before: {server.unsaved_count:,}"
    return Told(evidence=said)


def _append_failed(server: RedisCircumstances, _facts: Facts) -> Told | Unseen | None:
    if isinstance(server.appends, Unseen):
        return server.appends
    if not server.appends:
        return None
    failures = []
    for failed, what in (
        (server.append_failed, "the last write to the append-only file"),
        (server.rewrite_failed, "its last rewrite"),
    ):
        if isinstance(failed, Unseen):
            return failed
        failures += [what] if failed else []
    return Told(evidence=f"failed: {' and '.join(failures)}") if failures else None


PERSISTENCE_OFF = Check(
    code="persistence-off",
    severity=Severity.ERROR,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_keeps_nothing,
    what="A server that neither appends to a file nor takes snapshots.",
    why="Every restart empties it and the replicas that follow it, and retries are taken for new "
    "requests.",
    next="idemctl doctor --store {store}",
)
APPEND_ONLY_OFF = Check(
    code="append-only-off",
    severity=Severity.INFO,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_only_snapshots,
    what="A server without an append-only file.\nOne that takes no snapshots either is "
    "`persistence-off`.",
    why="A crash loses every record since the last snapshot, mostly minutes of them.",
    next="idemctl doctor --store {store}",
)
FSYNC_OFF = Check(
    code="fsync-off",
    severity=Severity.WARNING,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_forces_nothing,
    what="An append-only file with `appendfsync no`.",
    why="When the machine goes down, the records of up to half a minute go with it.",
    next="idemctl doctor --store {store}",
)
SNAPSHOT_FAILED = Check(
    code="snapshot-failed",
    severity=Severity.ERROR,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_snapshot_failed,
    what="A last snapshot that failed, taken by the server's own rule or by hand.",
    why="What a restart would load grows older, and a server with a rule for snapshots refuses "
    "every write meanwhile.",
    next="idemctl doctor --store {store}",
)
APPEND_ONLY_FAILED = Check(
    code="append-only-failed",
    severity=Severity.ERROR,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_append_failed,
    what="An append-only file whose last write or rewrite failed: mostly the disk is full.",
    why="A failed write makes the server refuse all others; a failed rewrite lets the file grow "
    "until one fails.",
    next="idemctl doctor --store {store}",
)

CHECKS = (PERSISTENCE_OFF, APPEND_ONLY_OFF, FSYNC_OFF, SNAPSHOT_FAILED, APPEND_ONLY_FAILED)

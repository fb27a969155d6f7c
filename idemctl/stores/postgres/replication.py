"""Asks a Postgres server whom it follows, and who follows it."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from idemctl.domain.circumstances import Unseen
from idemctl.domain.replication import Archiver, PostgresReplication, Recovery, Slot, Standby
from idemctl.stores.postgres.connect import BatchFailed, transaction
from idemctl.stores.postgres.queries import query
from idemctl.stores.postgres.shape import length, shown

if TYPE_CHECKING:
    from idemctl.stores.postgres.connect import Connection

_ATTEMPTS = 4
_MOMENT_SECONDS = 0.1


def read_replication(connection: Connection, place: str) -> PostgresReplication | Unseen:
    """Ask in one statement; what others do is told only to those who may see all statistics."""
    try:
        with transaction(connection, place=place) as cursor:
            row = cursor.execute(query("replication")).fetchone()
        assert row is not None, "a server is a primary or a standby"
        recovery, standbys, hidden_count, slots, archiver = row
        if recovery is not None:
            received = recovery.pop("received")
            recovery["has_replayed_all"] = _is_replayed(connection, received, place)
    except BatchFailed as error:
        return Unseen(error.message)
    return PostgresReplication(
        recovery=None if recovery is None else _recovery(**recovery),
        standbys=tuple(_standby(**one) for one in standbys or ()),
        hidden_standby_count=hidden_count,
        slots=tuple(Slot(**one) for one in slots or ()),
        archiver=None if archiver is None else _archiver(**archiver),
    )


def _is_replayed(connection: Connection, received: str | None, place: str) -> bool:
    """Give replay a moment for what has only just come in; even an idle primary sends a little."""
    if received is None:
        return True  # It reads an archive, and follows nobody.
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_MOMENT_SECONDS)
        with transaction(connection, place=place) as cursor:
            row = cursor.execute(query("replayed"), {"received": received}).fetchone()
        if row == (True,):
            return True
    return False


def _recovery(seconds: float | None, **traits: bool) -> Recovery:
    return Recovery(replayed_for=length(seconds), **traits)


def _standby(name: str, seconds: float | None, **more: Any) -> Standby:
    return Standby(name=shown(name), behind_for=length(seconds), **more)


def _archiver(
    seconds: float | None, last_file: str, written: int, segment: int, **more: Any
) -> Archiver:
    return Archiver(
        archived_for=length(seconds), queued_bytes=_queued(last_file, written, segment), **more
    )


def _queued(last_file: str, written: int, segment: int) -> int:
    """Count the WAL between the last file that was archived and the one being written.

    A file's name is its timeline, the high half of its first byte's place, and its number
    among those that share that half: 8 hexadecimal digits each. Others, of histories and
    backups, tell no place.
    """
    if re.fullmatch("[0-9A-F]{24}", last_file) is None:
        return 0
    high, number = int(last_file[8:16], 16), int(last_file[16:], 16)
    archived = (high << 32) + (number + 1) * segment
    return max(written - written % segment - archived, 0)

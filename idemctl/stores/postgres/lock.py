"""One run at a time: a session's advisory lock, on a connection of its own.

The lock lives as long as its session, so a lost connection is a lost lock: it is never
taken again behind the back of a run. Behind a pooler a session is nobody's, so there it
is refused.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from idemctl.errors import IdemctlError, Locked, Refused
from idemctl.stores.postgres.connect import transaction
from idemctl.stores.postgres.queries import query

if TYPE_CHECKING:
    from collections.abc import Callable

    from idemctl.stores.postgres.connect import Connection

_INT4 = 2**31


class AdvisoryLock:
    """A lock that is held until `release`, or until its session ends."""

    def __init__(self, connection: Connection, place: str) -> None:
        self._connection = connection
        self._place = place

    def is_held(self) -> bool:
        """See `Lock.is_held`."""
        try:
            with transaction(self._connection, place=self._place):
                return True
        except IdemctlError:
            return False

    def release(self) -> None:
        """See `Lock.release`."""
        self._connection.close()


def take_lock(
    open_connection: Callable[[], Connection], *, place: str, purpose: str, oid: int
) -> AdvisoryLock:
    """Take the lock of one table for one purpose. See `Locks.lock`."""
    connection = open_connection()
    key = {
        "class": _signed(zlib.crc32(f"idemctl {purpose}".encode())),
        "object": _signed(oid),
    }
    try:
        _refuse_pooler(connection, place)
        _take(connection, place, purpose, key)
    except BaseException:
        connection.close()
        raise
    return AdvisoryLock(connection, place)


def _take(connection: Connection, place: str, purpose: str, key: dict[str, int]) -> None:
    with transaction(connection, place=place) as cursor:
        row = cursor.execute(query("lock"), key).fetchone()
    if row is None or not row[0]:
        raise Locked(
            f"{place}: another {purpose} is at work here{_holder(connection, place, key)}",
            hint="wait for it, or stop it with SIGTERM",
        )


def _refuse_pooler(connection: Connection, place: str) -> None:
    with transaction(connection, place=place) as cursor:
        row = cursor.execute(query("server")).fetchone()
    if row is not None and row[-1] != connection.info.backend_pid:
        raise Refused(
            f"{place}: a lock taken through a connection pooler is not dependable",
            hint="set direct_dsn_env of this store to a connection string past the pooler",
        )


def _holder(connection: Connection, place: str, key: dict[str, int]) -> str:
    unsigned = {name: value % 2**32 for name, value in key.items()}
    with transaction(connection, place=place) as cursor:
        row = cursor.execute(query("lock_holder"), unsigned).fetchone()
    if row is None:
        return ""
    pid, application, since = row
    return f": {application or 'unnamed'}, backend {pid}, since {since:%Y-%m-%d %H:%M:%S} UTC"


def _signed(number: int) -> int:
    """Fold an unsigned 32-bit number into Postgres's signed one."""
    return number - 2 * _INT4 if number >= _INT4 else number

"""Connections to Postgres: read-only unless asked otherwise, bounded, and without secrets.

Every statement runs in a short transaction of its own, with its limits set inside it:
that is the one way that also holds behind a pooler in transaction mode.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from idemctl.domain.keys import escape
from idemctl.errors import ConfigError, Denied, ExitStatus, IdemctlError, Refused, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.domain.secrets import Secret

Connection = psycopg.Connection[tuple[Any, ...]]

STATEMENT_TIMEOUT = timedelta(seconds=1)
LOCK_TIMEOUT = timedelta(milliseconds=100)
_IDLE_TIMEOUT = timedelta(seconds=5)
"""How long rows stay held by an idemctl that was frozen in between."""
_CONNECT_TIMEOUT_SECONDS = 5
_SILENCE_MILLISECONDS = 10_000

_LIMITS = sql.SQL(
    "SELECT set_config('statement_timeout', {statement}, true),"
    " set_config('lock_timeout', {lock}, true),"
    " set_config('synchronous_commit', {synchronous}, true),"
    " set_config('idle_in_transaction_session_timeout', {idle}, true),"
    " set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO', true)"
)


def connect(dsn: Secret, *, place: str, application: str, writable: bool) -> Connection:
    """Open a connection.

    Args:
        dsn: anything that libpq takes.
        place: what errors call this store.
        application: shown to administrators in `pg_stat_activity`.
        writable: without it the server itself refuses every write.

    Raises:
        Unreachable: no server answers, or it is starting, stopping or full.
        Denied: it refuses these credentials.
        ConfigError: the connection string cannot be read, or names no database there is.
    """
    try:
        connection: Connection = psycopg.connect(
            dsn.reveal(),
            application_name=application,
            client_encoding="UTF8",
            # Prepared statements do not survive a pooler in transaction mode.
            prepare_threshold=None,
            connect_timeout=_CONNECT_TIMEOUT_SECONDS,
            # A network that goes silent must not hold a run for longer than a statement may.
            tcp_user_timeout=_SILENCE_MILLISECONDS,
            keepalives_idle=_CONNECT_TIMEOUT_SECONDS,
            keepalives_interval=1,
            keepalives_count=_CONNECT_TIMEOUT_SECONDS,
        )
    except (psycopg.ProgrammingError, UnicodeError):
        # The driver's own message repeats a part of the string, password included.
        raise unreadable(place) from None
    except psycopg.OperationalError as error:
        raise _refusal(error, place) from None
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    # A standby refuses to begin a transaction that may write, and would not even say what it is.
    is_standby = connection.info.parameter_status("in_hot_standby") == "on"
    connection.read_only = is_standby or not writable
    return connection


@contextmanager
def transaction(
    connection: Connection,
    *,
    place: str,
    statement_timeout: timedelta = STATEMENT_TIMEOUT,
    lock_timeout: timedelta = LOCK_TIMEOUT,
    synchronous: str = "on",
) -> Iterator[psycopg.Cursor[tuple[Any, ...]]]:
    """Run statements in one short transaction, committed at the end of the block.

    Raises:
        IdemctlError: the driver's error, translated; nothing was committed.
    """
    try:
        with connection.transaction(), connection.cursor() as cursor:
            cursor.execute(
                _LIMITS.format(
                    statement=sql.Literal(_milliseconds(statement_timeout)),
                    lock=sql.Literal(_milliseconds(lock_timeout)),
                    synchronous=sql.Literal(synchronous),
                    idle=sql.Literal(_milliseconds(_IDLE_TIMEOUT)),
                )
            )
            yield cursor
    except psycopg.Error as error:
        raise translated(error, place) from None


class BatchFailed(IdemctlError):
    """A statement met a lock, its time limit or a refusal; smaller, or later, it may pass."""

    status = ExitStatus.PARTIAL

    def __init__(self, message: str, *, met_lock: bool = False) -> None:
        super().__init__(message)
        self.met_lock = met_lock
        """Whether another session was in the way."""


_CONTENTION = {
    "55P03": "locked by another session",
    "40P01": "deadlock with another session",
    "40001": "a row moved to another partition meanwhile",
}
_CANCELLED = "57014"


def translated(error: psycopg.Error, place: str) -> IdemctlError:
    """Say a driver's error in idemctl's words."""
    state = error.sqlstate or ""
    said = escape((error.diag.message_primary or "connection lost").encode())
    if state in _CONTENTION:
        return BatchFailed(f"{place}: {_CONTENTION[state]}", met_lock=True)
    if state == _CANCELLED:
        return BatchFailed(f"{place}: a statement reached its time limit", met_lock=False)
    if not state or state[:2] in _SERVER_CLASSES:
        hint = "idemctl doctor tells what answers and what not"
        return Unreachable(f"{place}: {said}", hint=hint)
    if not error.diag.context:
        for signs, error_class, hint in _MEANINGS:
            if state in signs or state[:2] in signs:
                return error_class(f"{place}: {said}", hint=hint)
    # Constraints and triggers speak of single rows; a trigger, which has a context, may use
    # any code for that.
    return BatchFailed(f"{place}: the database refused: {said}", met_lock=False)


_SERVER_CLASSES = ("08", "53", "57", "58", "F0", "XX")
"""Connection, resources, operators, system, files, internal: no row's fault."""
_MEANINGS: tuple[tuple[set[str], type[IdemctlError], str], ...] = (
    ({"42501", "28"}, Denied, "idemctl doctor lists the rights and their GRANTs"),
    ({"25006"}, Refused, "connect to the primary; this server or session is read-only"),
    ({"42", "22", "3D", "3F"}, ConfigError, "check table and layout of this store"),
)


def _refusal(error: psycopg.OperationalError, place: str) -> IdemctlError:
    """Tell why no connection came about; libpq gives no code here, only its own text."""
    said = str(error)
    if "FATAL" not in said and any(sign in said for sign in _UNREADABLE):
        return unreadable(place)
    if "authentication failed" in said or "no password supplied" in said or "pg_hba" in said:
        return Denied(
            f"{place}: Postgres refused these credentials",
            hint="check user and password in the connection string, .pgpass or the service file",
        )
    if "does not exist" in said and "FATAL" in said:
        kind = "role" if "role " in said else "database"
        return ConfigError(
            f"{place}: the {kind} in the connection string does not exist",
            hint="check the connection string, and that it points to the right server",
        )
    reason = next(
        (reason for sign, reason in _REASONS if sign in said), "the connection could not be made"
    )
    return Unreachable(
        f"{place}: cannot reach Postgres: {reason}",
        hint="check that the server runs and the host and port are right",
    )


def unreadable(place: str) -> ConfigError:
    """Say that a connection string is none, without a part of it."""
    return ConfigError(
        f"{place}: the Postgres connection string cannot be read",
        hint="write postgresql://user@host:5432/database or key=value pairs",
    )


_UNREADABLE = ("invalid ", "cannot match ", "could not match ", "definition of service")
"""What libpq and the driver find wrong with a string only when they use it."""

_REASONS = (
    ("starting up", "the server is starting up"),
    ("shutting down", "the server is shutting down"),
    ("too many", "the server has no connection left"),
    ("remaining connection slots", "the server has no connection left"),
    ("timeout", "no answer in time"),
    ("could not translate host name", "the host name is unknown"),
    ("resolve", "the host name is unknown"),
    ("No such file or directory", "no server listens on that socket"),
    ("refused", "connection refused"),
    ("SSL", "TLS could not be agreed on"),
    ("closed the connection", "the server closed the connection"),
)


def _milliseconds(limit: timedelta) -> str:
    return f"{max(1, round(limit.total_seconds() * 1000))}ms"

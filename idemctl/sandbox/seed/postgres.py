"""Postgres for the seed: the schema, and rows by COPY. On a bare psycopg connection."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
from psycopg import errors, sql

from idemctl.documents import shipped_text
from idemctl.errors import Denied, Locked, Refused, Unreachable
from idemctl.sandbox.seed.rows import FOREVER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAYMENTS = "processed_events"
WEBHOOKS = "seen_events"
RUNS = "workflow_runs"
STEPS = "workflow_steps"
OUTBOX = "outbox_events"

_DROP = """
DROP TABLE IF EXISTS public.processed_events, public.seen_events, public.workflow_steps,
    public.workflow_runs, public.outbox_events;
DROP FUNCTION IF EXISTS public.idemctl_epoch();
DROP TABLE IF EXISTS public.idemctl_epoch;
"""
_LOCK_TIMEOUT = "10s"
_NULL = np.iinfo(np.int64).min
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@contextmanager
def connected(dsn: str) -> Iterator[psycopg.Connection]:
    """Connect, and turn what the driver raises into errors that carry no password.

    Raises:
        Unreachable: no server answers there, or it went away.
        Denied: the role may not own these tables.
        Locked: another session holds a table that has to be recreated.
        Refused: something of somebody else's stands on the tables, or the disk is full.
    """
    try:
        with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
            connection.execute("SET TIME ZONE 'UTC'")
            connection.execute(sql.SQL("SET lock_timeout = {}").format(_LOCK_TIMEOUT))
            yield connection
    except (errors.InvalidAuthorizationSpecification, errors.InsufficientPrivilege) as error:
        raise Denied(
            "Postgres does not let this role recreate the sandbox's tables",
            hint="connect as the owner of the sandbox's database: idemctl sandbox env",
        ) from _without_text(error)
    except errors.LockNotAvailable as error:
        raise Locked(
            f"another session has held a table of the sandbox for {_LOCK_TIMEOUT}",
            hint="end what still works on the sandbox, then seed again",
        ) from _without_text(error)
    except errors.DependentObjectsStillExist as error:
        raise Refused(
            "a view or table that is not the sandbox's depends on its tables",
            hint="drop it, or start a fresh sandbox: idemctl sandbox down",
        ) from _without_text(error)
    except errors.InsufficientResources as error:
        raise Refused(
            "Postgres has no room left for that many records",
            hint="seed fewer: idemctl sandbox seed --records N",
        ) from _without_text(error)
    except psycopg.OperationalError as error:
        raise Unreachable(
            "the sandbox's Postgres does not answer", hint="idemctl sandbox up"
        ) from _without_text(error)


def _without_text(error: psycopg.Error) -> Exception:
    """Stand in for a driver's error, whose text may quote the connection string."""
    return RuntimeError(f"{type(error).__name__} ({error.sqlstate or 'no SQLSTATE'})")


def schema() -> bytes:
    """Give the DDL of the sandbox's tables: the one that `idemctl schema` prints."""
    return "".join(map(shipped_text, ("schemas/own.sql", "schemas/postgres.sql"))).encode()


def recreate(connection: psycopg.Connection) -> None:
    """Drop the tables of the sandbox and create them empty."""
    with connection.transaction():
        connection.execute(_DROP)
        connection.execute(schema())


def read_clock(connection: psycopg.Connection) -> int:
    """Ask for the database's time, in microseconds since 1970."""
    row = connection.execute("SELECT clock_timestamp()").fetchone()
    assert row is not None
    micros: int = (row[0] - _EPOCH) // timedelta(microseconds=1)
    return micros


def as_datetime(micros: int) -> datetime:
    """Turn microseconds since 1970 into an aware instant."""
    return _EPOCH + timedelta(microseconds=micros)


def copy_rows(connection: psycopg.Connection, table: str, rows: Sequence[Any]) -> None:
    """Copy named tuples into the table that has their fields as columns."""
    if not rows:
        return
    fields: tuple[str, ...] = rows[0]._fields
    columns = [
        _instants(values) if name.endswith(("_at", "_until")) else values
        for name, values in zip(fields, zip(*rows, strict=True), strict=True)
    ]
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier("public", table), sql.SQL(", ").join(map(sql.Identifier, fields))
    )
    with connection.cursor().copy(statement) as copy:
        for row in zip(*columns, strict=True):
            copy.write_row(row)


def _instants(values: Sequence[int | None]) -> list[str | None]:
    """Write microseconds as Postgres reads them, a whole column at once."""
    micros = np.array([_NULL if value is None else value for value in values], dtype=np.int64)
    infinite = micros == FOREVER
    finite = np.where(infinite, 0, micros).view("datetime64[us]")
    texts: list[str | None] = np.datetime_as_string(finite).tolist()
    for at in np.flatnonzero(micros == _NULL).tolist():
        texts[at] = None
    for at in np.flatnonzero(infinite).tolist():
        texts[at] = "infinity"
    return texts


def allow_missing_expiry(connection: psycopg.Connection) -> None:
    """Loosen the table as a hurried migration does, so that an expiry may be NULL."""
    connection.execute("ALTER TABLE public.processed_events ALTER expires_at DROP NOT NULL")


def finish(connection: psycopg.Connection, *, fence: int, event_id: int) -> None:
    """Let the sequences go on behind what was copied, and refresh the statistics."""
    connection.execute(
        "SELECT setval('public.processed_events_fence', %s, %s)", (max(fence, 1), fence > 0)
    )
    connection.execute(
        "SELECT setval(pg_get_serial_sequence('public.outbox_events', 'id'), %s, %s)",
        (max(event_id, 1), event_id > 0),
    )
    for table in (PAYMENTS, WEBHOOKS, RUNS, STEPS, OUTBOX):
        connection.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier("public", table)))


def size_of(connection: psycopg.Connection, *tables: str) -> int:
    """Ask how many bytes the tables take on disk, indexes included."""
    row = connection.execute(
        "SELECT sum(pg_total_relation_size(name::regclass))::bigint FROM unnest(%s::text[]) name",
        ([f"public.{table}" for table in tables],),
    ).fetchone()
    assert row is not None
    size: int = row[0]
    return size

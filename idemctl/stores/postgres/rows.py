"""Rows as they come out of Postgres, and what they become: columns.

All numbers of a row travel as one field of fixed width, which turns into columns without a
look at single values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from psycopg import sql

from idemctl.domain.batch import Batch
from idemctl.domain.instants import FOREVER, LONG_PAST, MISSING
from idemctl.layouts.columns import missing
from idemctl.layouts.rows import flaws
from idemctl.stores.postgres.conditions import as_sql, status_as_sql
from idemctl.stores.postgres.places import instant, number, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    import psycopg
    from numpy.typing import NDArray

    from idemctl.layouts.instants import At
    from idemctl.layouts.joins import Where
    from idemctl.layouts.model import PostgresLayout
    from idemctl.layouts.paths import Path
    from idemctl.stores.postgres.connect import Connection

Row = tuple[Any, ...]

# Postgres counts microseconds from 2000, with the ends of int64 for the infinities.
_POSTGRES_EPOCH = 946_684_800_000_000
_INFINITY = 2**63 - 1
_MINUS_INFINITY = -(2**63)
_NULL = -(2**63) + 1
FIELD_COUNT = 5
_NUMBERS = 10
_STAYS = 256
"""Added to the status of a row that is never collected: a field more would cost every row."""


def fields(layout: PostgresLayout) -> sql.Composable:
    """Write what is selected of a row that goes by the name `leaf`; `read` takes it apart."""
    parts = [
        *identity(layout),
        _text(layout.fingerprint),
        _numbers(layout),
    ]
    return sql.SQL(", ").join(parts)


def identity(layout: PostgresLayout) -> tuple[sql.Composable, sql.Composable, sql.Composable]:
    """Write key, scope and endpoint of a row, as bytes."""
    return _bytes(layout.key), _text(layout.scope), _text(layout.endpoint)


def spelled(connection: Connection, part: sql.Composable) -> sql.SQL:
    """Spell a part of a statement out, once for many: composing it costs as much as a row."""
    return sql.SQL(part.as_string(connection))


def fetched(cursor: psycopg.Cursor[tuple[object, ...]], statement: sql.Composed) -> list[Row]:
    """Run a SELECT of `fields`, and of more, if it likes.

    Binary, and as a whole: a tenth of what rows cost that come one by one.
    """
    return cursor.execute(statement, binary=True).fetchall()


def read(rows: Sequence[Row]) -> Batch:
    """Make the batch; what follows `fields` in a row is left to the caller."""
    keys, scopes, endpoints, fingerprints, numbers, *_ = (
        zip(*rows, strict=True) if rows else [()] * FIELD_COUNT
    )
    table = np.frombuffer(b"".join(numbers), ">i8").reshape(len(rows), _NUMBERS)
    columns = table.astype(np.int64).T.copy()
    told, counted_from, completed_at, expires_at, lease_until, due_at = columns[:6]
    fence, epoch, response_status, size = columns[6:]
    status = told & (_STAYS - 1)
    return Batch(
        keys=keys,
        scopes=scopes,
        endpoints=endpoints,
        fingerprints=fingerprints,
        status=status.astype(np.uint8),
        counted_from=_micros(counted_from),
        completed_at=_micros(completed_at),
        expires_at=_micros(expires_at),
        key_expires_at=missing(len(rows)),
        lease_until=_micros(lease_until),
        due_at=_micros(due_at),
        fence=_plain(fence),
        epoch=_plain(epoch),
        response_status=_plain(response_status),
        flaw=flaws(status),
        never_collected=told >= _STAYS,
        size=size,
    )


def _numbers(layout: PostgresLayout) -> sql.Composable:
    """Write the fixed-width field, in the order in which `read` takes it apart."""
    parts = [
        sql.SQL("int8send(({})::int8)").format(_told(layout)),
        _instant(layout.counted_from),
        _instant(layout.completed),
        _instant(layout.expires),
        _instant(layout.lease),
        _instant(layout.due),
        _number(layout.fence),
        _number(layout.epoch),
        _number(layout.response_status),
        sql.SQL("int8send(pg_column_size({}.*)::int8)").format(sql.Identifier("leaf")),
    ]
    return sql.SQL(" || ").join(parts)


def _told(layout: PostgresLayout) -> sql.Composable:
    """Write the status, and whether the row stays."""
    if layout.never_collected is None:
        return status_as_sql(layout)
    return sql.SQL("{} + CASE WHEN {} THEN {} ELSE 0 END").format(
        status_as_sql(layout), as_sql(layout.never_collected), sql.Literal(_STAYS)
    )


def _bytes(column: str) -> sql.Composable:
    # A `bytea` is the key itself, not what Postgres prints for it.
    return sql.SQL(
        "CASE WHEN pg_typeof({0}) = 'bytea'::regtype THEN {0}::text::bytea ELSE {1} END"
    ).format(sql.Identifier(column), _text(column))


def _text(where: Where | None) -> sql.Composable:
    if where is None:
        return sql.SQL("''::bytea")
    return sql.SQL("coalesce(convert_to({}, 'UTF8'), '')").format(whole(where))


def _number(path: Path | None) -> sql.Composable:
    if path is None:
        return sql.SQL("int8send({})").format(sql.Literal(_NULL))
    return sql.SQL("int8send(coalesce({}::int8, {}))").format(number(path), sql.Literal(_NULL))


def _instant(at: At | None) -> sql.Composable:
    if at is None:
        return sql.SQL("int8send({})").format(sql.Literal(_NULL))
    return sql.SQL("coalesce(timestamptz_send({}::timestamptz), int8send({}))").format(
        instant(at), sql.Literal(_NULL)
    )


def _plain(column: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(column == _NULL, MISSING, column)


def _micros(column: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn Postgres's instants into ours."""
    far = FOREVER - _POSTGRES_EPOCH
    sums = np.where(column < far, column, far) + _POSTGRES_EPOCH
    sums = np.where(column == _INFINITY, FOREVER, sums)
    sums = np.where(column == _MINUS_INFINITY, LONG_PAST, sums)
    return np.where(column == _NULL, MISSING, sums)

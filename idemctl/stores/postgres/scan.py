"""Streams a table: binary COPY by TID ranges, into columns.

Walking the heap reads every page once and needs no index. Each range is a statement and a
transaction of its own, so that no snapshot grows old. All numbers of a row travel as one
field of fixed width, which turns into columns without a look at single values.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
from psycopg import sql

from idemctl.domain.batch import Batch
from idemctl.domain.batch_size import BatchSize
from idemctl.domain.instants import FOREVER, LONG_PAST, MISSING
from idemctl.layouts.reading import missing
from idemctl.stores.postgres.conditions import status_as_sql
from idemctl.stores.postgres.connect import BatchFailed, transaction
from idemctl.stores.postgres.leaves import PageWalk
from idemctl.stores.postgres.queries import query

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.ports import Shard
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.postgres.leaves import Leaf

_TARGET = timedelta(milliseconds=100)
_FIRST_PAGES = 64
_MOST_PAGES = 512

# Postgres counts microseconds from 2000, with the ends of int64 for the infinities.
_POSTGRES_EPOCH = 946_684_800_000_000
_INFINITY = 2**63 - 1
_MINUS_INFINITY = -(2**63)
_NULL = -(2**63) + 1


class Scanner:
    """Reads a table's leaves through its layout."""

    def __init__(self, connection: Connection, layout: PostgresLayout, place: str) -> None:
        self._connection = connection
        self._layout = layout
        self._place = place

    def scan(self, leaves: list[Leaf], shard: Shard) -> Iterator[Batch]:
        """Yield the rows of one shard, a range of pages at a time."""
        size = BatchSize(current=_FIRST_PAGES, largest=_MOST_PAGES, target=_TARGET)
        for leaf in leaves:
            walk = PageWalk(leaf, shard, size)
            while (step := walk.step()) is not None:
                started = time.perf_counter()
                try:
                    rows = self._copy(leaf, step)
                except BatchFailed:
                    if size.is_smallest:
                        raise
                    size.halve()
                    continue
                size.after(timedelta(seconds=time.perf_counter() - started))
                walk.passed(step)
                if rows:
                    yield self._batch(rows)

    def _copy(self, leaf: Leaf, pages: range) -> list[tuple[bytes, ...]]:
        layout = self._layout
        statement = query(
            "scan",
            key=_bytes(layout.key),
            scope=_text(layout.scope),
            endpoint=_text(layout.endpoint),
            fingerprint=_text(layout.fingerprint),
            numbers=self._numbers(),
            leaf=leaf.identifier,
            first=sql.Literal(f"({pages.start},0)"),
            last=sql.Literal(f"({pages.stop},0)"),
        )
        with (
            transaction(self._connection, place=self._place) as cursor,
            cursor.copy(statement) as copy,
        ):
            copy.set_types(["bytea"] * 5)
            return list(copy.rows())

    def _numbers(self) -> sql.Composable:
        """Write the fixed-width field; `_batch` reads it in this order."""
        layout = self._layout
        parts = [
            sql.SQL("int8send(({})::int8)").format(status_as_sql(layout)),
            _instant(layout.counted_from),
            _instant(layout.expires),
            _instant(layout.lease),
            _number(layout.fence),
            _number(layout.epoch),
            sql.SQL("int8send(pg_column_size({}.*)::int8)").format(sql.Identifier("leaf")),
        ]
        return sql.SQL(" || ").join(parts)

    def _batch(self, rows: list[tuple[bytes, ...]]) -> Batch:
        keys, scopes, endpoints, fingerprints, numbers = zip(*rows, strict=True)
        columns = (
            np.frombuffer(b"".join(numbers), ">i8").reshape(len(rows), -1).astype(np.int64).T.copy()
        )
        status, counted_from, expires_at, lease_until, fence, epoch, size = columns
        return Batch(
            keys=keys,
            scopes=scopes,
            endpoints=endpoints,
            fingerprints=fingerprints,
            status=status.astype(np.uint8),
            counted_from=_micros(counted_from),
            expires_at=_micros(expires_at),
            key_expires_at=missing(len(rows)),
            lease_until=_micros(lease_until),
            fence=_plain(fence),
            epoch=_plain(epoch),
            size=size,
        )


def _bytes(column: str) -> sql.Composable:
    # A `bytea` is the key itself, not what Postgres prints for it.
    return sql.SQL(
        "CASE WHEN pg_typeof({0}) = 'bytea'::regtype THEN {0}::text::bytea ELSE {1} END"
    ).format(sql.Identifier(column), _text(column))


def _text(column: str | None) -> sql.Composable:
    if column is None:
        return sql.SQL("''::bytea")
    return sql.SQL("coalesce(convert_to({}::text, 'UTF8'), '')").format(sql.Identifier(column))


def _number(column: str | None) -> sql.Composable:
    if column is None:
        return sql.SQL("int8send({})").format(sql.Literal(_NULL))
    return sql.SQL("int8send(coalesce({}::int8, {}))").format(
        sql.Identifier(column), sql.Literal(_NULL)
    )


def _instant(column: str | None) -> sql.Composable:
    if column is None:
        return sql.SQL("int8send({})").format(sql.Literal(_NULL))
    return sql.SQL("coalesce(timestamptz_send({}::timestamptz), int8send({}))").format(
        sql.Identifier(column), sql.Literal(_NULL)
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

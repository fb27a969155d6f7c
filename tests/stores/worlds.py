"""A store of each kind, with records planted in it and looked at past the adapter.

A new adapter joins the contract with a class of this shape, and a line in test_contract.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import psycopg
from psycopg import sql

from idemctl.documents import parse_document, read_model, shipped
from idemctl.domain.instants import FOREVER, LONG_PAST, to_micros
from idemctl.domain.retention import Retention
from idemctl.domain.secrets import Secret
from idemctl.layouts.conditions import Is
from idemctl.layouts.model import Layout
from idemctl.layouts.sides import Statuses
from idemctl.stores.memory import MemoryStore
from idemctl.stores.postgres.table import PostgresTable
from idemctl.stores.redis.keyspace import RedisKeyspace
from tests.stores.cases import INFINITY, MINUS_INFINITY, YEAR_20000, At

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    import redis

    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.ports import Store
    from tests.stores.cases import Moment, Planted

MICROSECOND = timedelta(microseconds=1)
MILLISECOND = timedelta(milliseconds=1)
APPLICATION = "idemctl gc of the test"


def _catalogue() -> dict[str, Layout]:
    read = (
        parse_document(file.read_bytes(), file=file.name) for file in shipped("layouts/presets")
    )
    layouts = (read_model(document, Layout) for document in read)
    return {layout.layout: layout for layout in layouts}


CATALOGUE = _catalogue()


def _table(name: str, **changes: Any) -> PostgresLayout:
    layout = CATALOGUE[name].postgres
    assert layout is not None, f"{name} describes a table"
    return layout.model_copy(update=changes)


LAYOUTS = {
    "reference": _table("reference"),
    "bare": _table("bare"),
    "workflow": _table("workflow"),
    "outbox": _table("outbox"),
    # The tables of the first two, read by layouts that know less of them.
    "no-endpoint": _table("reference", endpoint=None),
    "counted": _table("reference", expires=None),
    "presence": _table("bare", status="unknown"),
    "guarded": _table("reference", never_collected=Is(field="endpoint", **{"is": "POST /ledger"})),
    "business": _table("bare", never_collected="always"),
}


class World(Protocol):
    """One store and what a test may do to it behind the adapter's back."""

    name: str
    layout: PostgresLayout
    """How a table of the same records is written, for Redis too."""
    tick: timedelta
    """The smallest difference between two instants that the store keeps."""
    collects: bool
    """Whether the adapter deletes and locks; without it both raise `Unsupported`."""

    def open(self) -> Store: ...
    def plant(self, records: Iterable[Planted], cutoff: datetime) -> None: ...
    def keys(self) -> set[bytes]: ...
    def clear(self) -> None: ...
    def hold(self, key: str) -> AbstractContextManager[None]: ...
    def knows(self, status: str) -> bool: ...
    def retention(
        self, cutoff: datetime, ttl: timedelta | None, policies: Mapping[str, timedelta]
    ) -> Retention: ...


def row(layout: str, record: Planted, instant: Callable[[Moment], Any]) -> dict[str, Any]:
    """Write a record as a row of the layout's table."""
    created = instant(record.created)
    match layout:
        case "bare" | "presence" | "business":
            return {"idempotency_key": record.key, "created_at": created}
        case "workflow":
            unfinished = record.status == "in_progress"
            return {
                "run_id": f"run {record.key}",
                "key": record.key,
                "status": "running" if unfinished else record.status,
                "finished_at": None if unfinished else created,
            }
        case "outbox":
            return {
                "key": record.key,
                "aggregate": record.key,
                "sequence": 1,
                "deadline_at": "2026-01-01 00:00:00+00",
                "dispatched_at": None if record.status == "in_progress" else created,
            }
    return {
        "idempotency_key": record.key,
        "scope": record.scope,
        "endpoint": record.endpoint,
        "status": record.status,
        "created_at": created,
        "expires_at": instant(record.expires),
    }


class _Side:
    """What both kinds of store read from their layout."""

    tick = MICROSECOND
    collects = True

    def __init__(self, layout: str) -> None:
        self.name = layout
        self.layout = LAYOUTS[layout]

    def knows(self, status: str) -> bool:
        statuses = self.layout.status
        return isinstance(statuses, Statuses) and getattr(statuses, status) is not None

    def retention(
        self, cutoff: datetime, ttl: timedelta | None, policies: Mapping[str, timedelta]
    ) -> Retention:
        return Retention(
            cutoff=cutoff,
            has_stored_expiry=self.layout.expires is not None,
            ttl=ttl,
            policy_ttls={endpoint.encode(): one for endpoint, one in policies.items()},
        )


class MemoryWorld(_Side):
    """The reference adapter; or one that is broken on purpose."""

    def __init__(self, layout: str, kind: type[MemoryStore] = MemoryStore) -> None:
        super().__init__(layout)
        self._store = kind([], self.layout, lambda: datetime.now(UTC), batch_size=7)

    def open(self) -> MemoryStore:
        return self._store

    def plant(self, records: Iterable[Planted], cutoff: datetime) -> None:
        instant = _datetimes(cutoff)
        self._store.rows += [row(self.name, record, instant) for record in records]

    def keys(self) -> set[bytes]:
        return {one[self.layout.key].encode() for one in self._store.rows}

    def clear(self) -> None:
        self._store.rows.clear()

    @contextmanager
    def hold(self, key: str) -> Iterator[None]:
        self._store.held.add(key.encode())
        yield
        self._store.held.discard(key.encode())


class PostgresWorld(_Side):
    """A table of the database that the tests of stores share."""

    def __init__(self, layout: str, dsn: str, application: psycopg.Connection[Any]) -> None:
        super().__init__(layout)
        self._dsn = dsn
        self._application = application
        self._table = sql.Identifier(*self.layout.table.split("."))

    def open(self) -> PostgresTable:
        return PostgresTable(
            dsn=Secret(self._dsn),
            table=self.layout.table,
            layout=self.layout,
            writable=True,
            application=APPLICATION,
        )

    def plant(self, records: Iterable[Planted], cutoff: datetime) -> None:
        instant = _texts(cutoff)
        rows = [row(self.name, record, instant) for record in records]
        if not rows:
            return
        columns = sql.SQL(", ").join(map(sql.Identifier, rows[0]))
        into = sql.SQL("COPY {} ({}) FROM STDIN").format(self._table, columns)
        with self._application.cursor() as cursor, cursor.copy(into) as copy:
            for one in rows:
                copy.write_row(tuple(one.values()))

    def keys(self) -> set[bytes]:
        found = self._application.execute(
            sql.SQL("SELECT {} FROM {}").format(sql.Identifier(self.layout.key), self._table)
        )
        return {str(one[0]).encode() for one in found}

    def clear(self) -> None:
        self._application.execute(sql.SQL("TRUNCATE {} CASCADE").format(self._table))

    @contextmanager
    def hold(self, key: str) -> Iterator[None]:
        with psycopg.connect(self._dsn) as other:
            other.execute(
                sql.SQL("SELECT FROM {} WHERE {} = %s FOR UPDATE").format(
                    self._table, sql.Identifier(self.layout.key)
                ),
                [key],
            )
            yield


class RedisWorld(_Side):
    """Keys of the reference layout, with JSON values."""

    tick = MILLISECOND
    collects = False

    def __init__(self, layout: str, url: str, client: redis.Redis) -> None:
        super().__init__(layout)
        side = CATALOGUE[layout].redis
        assert side is not None, f"{layout} describes a keyspace"
        self._side = side
        self._url = url
        self._client = client

    def open(self) -> RedisKeyspace:
        return RedisKeyspace(
            url=Secret(self._url),
            prefix=self._side.prefix,
            layout=self._side,
            writable=False,
            application=APPLICATION,
        )

    def plant(self, records: Iterable[Planted], cutoff: datetime) -> None:
        instant = _milliseconds(cutoff)
        for record in records:
            value = row(self.name, record, instant)
            key = value["key"] = value.pop("idempotency_key")
            name = f"{record.scope}:{key}" if record.scope else key
            self._client.set(f"{self._side.prefix}{name}", msgspec.json.encode(value))

    def keys(self) -> set[bytes]:
        prefix = self._side.prefix.encode()
        return {bytes(key).removeprefix(prefix) for key in self._client.scan_iter()}

    def clear(self) -> None:
        self._client.flushdb()

    def hold(self, key: str) -> AbstractContextManager[None]:
        raise AssertionError(f"{key}: Redis has no row locks")


def _datetimes(cutoff: datetime) -> Callable[[Moment], datetime | int | None]:
    """Write instants as a row in memory has them; what no `datetime` holds, as microseconds."""
    numbers = {
        INFINITY: FOREVER,
        MINUS_INFINITY: LONG_PAST,
        YEAR_20000: 568_971_820_800_000_000,
    }

    def instant(moment: Moment) -> datetime | int | None:
        if isinstance(moment, At):
            return cutoff + moment.offset + moment.ticks * MICROSECOND
        return None if moment is None else numbers[moment]

    return instant


def _milliseconds(cutoff: datetime) -> Callable[[Moment], int | None]:
    """Write instants as numbers; a number too large for an instant stands for never."""
    numbers = {
        INFINITY: FOREVER,
        MINUS_INFINITY: LONG_PAST // 1000,
        YEAR_20000: 568_971_820_800_000,
    }

    def instant(moment: Moment) -> int | None:
        if isinstance(moment, At):
            at = cutoff + moment.offset + moment.ticks * MILLISECOND
            return to_micros(at) // 1000
        return None if moment is None else numbers[moment]

    return instant


def _texts(cutoff: datetime) -> Callable[[Moment], str | None]:
    """Write instants as Postgres takes them."""

    def instant(moment: Moment) -> str | None:
        if isinstance(moment, At):
            return (cutoff + moment.offset + moment.ticks * MICROSECOND).isoformat()
        return moment

    return instant

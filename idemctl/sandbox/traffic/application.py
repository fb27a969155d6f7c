"""An application of its own on the reference pair: Postgres first, then Redis.

It is an oracle, written against the stores with bare drivers and nothing of idemctl's.
Each step commits in Postgres, or writes to Redis; a caller that stops between two of them
has crashed. Two rules keep it right however late a step comes:

- a fence is drawn when the row is already held, so that a later claim has the greater one;
- Redis is told of a lock only while its lease is live, and of a result only while it is
  promised: until then nobody else can have taken the key over, so nothing dead comes back.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from psycopg.rows import dict_row

from idemctl.sandbox.traffic.ledger import Key, Version
from idemctl.sandbox.traffic.oracle import APP

if TYPE_CHECKING:
    import psycopg
    import redis

    from idemctl.sandbox.traffic.oracle import Oracle

REDIS_TTL = timedelta(hours=24)
"""How long Redis keeps a record after it was written, if its promise is not shorter."""
UNFINISHED_FOR = timedelta(minutes=10)
"""The promise that a record gets at its claim; its outcome brings another."""

_SCRIPT = Path(__file__).with_name("application.lua").read_bytes()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

_NEW = b"""
INSERT INTO public.processed_events (idempotency_key, scope, status, lease_until, expires_at)
VALUES (%(key)s, %(scope)s, 'in_progress', 'epoch', 'epoch')
ON CONFLICT DO NOTHING"""
_CLAIM = b"""
UPDATE public.processed_events
   SET endpoint = %(endpoint)s, client = %(client)s, fingerprint = %(fingerprint)s,
       status = 'in_progress', lease_until = clock_timestamp() + %(lease)s,
       fence = nextval('public.processed_events_fence'), epoch = public.idemctl_epoch(),
       response_status = NULL, response_headers = NULL, response_body = NULL,
       created_at = clock_timestamp(), completed_at = NULL,
       expires_at = clock_timestamp() + %(promise)s, hit_count = 0, last_hit_at = NULL
 WHERE scope = %(scope)s AND idempotency_key = %(key)s
   AND CASE status WHEN 'in_progress' THEN lease_until ELSE expires_at END < clock_timestamp()
RETURNING *, clock_timestamp() AS granted_at"""
_RENEW = b"""
UPDATE public.processed_events SET lease_until = clock_timestamp() + %(lease)s
 WHERE scope = %(scope)s AND idempotency_key = %(key)s
   AND epoch = %(epoch)s AND fence = %(fence)s AND status = 'in_progress'
RETURNING *"""
_FINISH = b"""
UPDATE public.processed_events
   SET status = %(status)s, lease_until = NULL, response_status = %(response_status)s,
       response_headers = '{"content-type": "application/json"}',
       response_body = %(response_body)s, completed_at = clock_timestamp(),
       expires_at = clock_timestamp() + %(promise)s
 WHERE scope = %(scope)s AND idempotency_key = %(key)s
   AND epoch = %(epoch)s AND fence = %(fence)s AND status = 'in_progress'
RETURNING *"""
_RELEASE = b"""
DELETE FROM public.processed_events
 WHERE scope = %(scope)s AND idempotency_key = %(key)s
   AND epoch = %(epoch)s AND fence = %(fence)s AND status = 'in_progress'"""


class Request(NamedTuple):
    """What a client sends."""

    key: Key
    endpoint: str
    client: str
    fingerprint: str


class Record(NamedTuple):
    """A row of `processed_events`, as one statement returned it."""

    idempotency_key: str
    scope: str
    endpoint: str
    client: str
    fingerprint: str
    status: str
    lease_until: datetime | None
    fence: int
    epoch: int
    response_status: int | None
    response_headers: dict[str, Any] | None
    response_body: str | None
    created_at: datetime
    completed_at: datetime | None
    expires_at: datetime

    @property
    def key(self) -> Key:
        """The key it belongs to."""
        return Key(self.scope, self.idempotency_key)

    @property
    def version(self) -> Version:
        """Its place among the states of its key."""
        return Version.of(epoch=self.epoch, fence=self.fence, status=self.status)


class Application:
    """One process of the application: a connection to each store, and what it did with them."""

    def __init__(self, connection: psycopg.Connection, client: redis.Redis, oracle: Oracle) -> None:
        self._connection = connection
        self._rows = connection.cursor(row_factory=dict_row)
        self._client = client
        self._oracle = oracle
        self._script = client.register_script(_SCRIPT)

    def claim(self, request: Request, *, lease: timedelta) -> Record | None:
        """Acquire a key in Postgres: a new one, or one whose lease or promise is over."""
        given = {
            **request.key._asdict(),
            "endpoint": request.endpoint,
            "client": request.client,
            "fingerprint": request.fingerprint,
            "lease": lease,
            "promise": UNFINISHED_FOR,
        }
        with self._connection.transaction():
            is_new = self._rows.execute(_NEW, given).rowcount == 1
            row = self._rows.execute(_CLAIM, given).fetchone()
        if row is None:
            return None
        record = _record(row)
        assert record.lease_until is not None
        self._oracle.claimed(
            record.key,
            record.version,
            granted_ms=_milliseconds(row["granted_at"]),
            lease_until_ms=_milliseconds(record.lease_until),
        )
        self._oracle.committed(record.key, record.version)
        self._oracle.count("claim" if is_new else "takeover")
        return record

    def renew(self, record: Record, *, lease: timedelta) -> Record | None:
        """Extend the lease in Postgres; None when somebody else owns the key by now."""
        renewed = self._change(_RENEW, record, lease=lease)
        if renewed is not None:
            assert renewed.lease_until is not None
            self._oracle.renewed(
                record.key, record.version, lease_until_ms=_milliseconds(renewed.lease_until)
            )
            self._oracle.committed(record.key, record.version)
            self._oracle.count("renew")
        return renewed

    def complete(self, record: Record, *, promise: timedelta, body: str) -> Record | None:
        """Keep the result in Postgres; None when somebody else owns the key by now."""
        return self._finish(record, "completed", 201, promise=promise, body=body)

    def fail(self, record: Record, *, promise: timedelta, body: str) -> Record | None:
        """Keep the failure in Postgres; None when somebody else owns the key by now."""
        return self._finish(record, "failed", 502, promise=promise, body=body)

    def release(self, record: Record) -> bool:
        """Delete the row in Postgres; False when somebody else owns the key by now."""
        self._oracle.ending(record.key, record.version)
        if self._rows.execute(_RELEASE, _owner(record)).rowcount == 0:
            self._oracle.count("lost")
            return False
        self._oracle.deleted(record.key, record.version)
        self._oracle.count("release")
        return True

    def publish(self, record: Record) -> bool:
        """Tell Redis of a record, unless it holds a newer one or this one is over."""
        over_at = record.expires_at if record.lease_until is None else record.lease_until
        written_at = record.created_at if record.completed_at is None else record.completed_at
        written = self._run(
            "write",
            record,
            _value(record),
            _milliseconds(min(record.expires_at, written_at + REDIS_TTL)),
            _milliseconds(over_at),
        )
        if written:
            self._oracle.written(record.key, record.version)
        return written

    def withdraw(self, record: Record) -> None:
        """Remove a released record from Redis, unless it holds a newer one."""
        self._run("remove", record)
        self._oracle.removed(record.key, record.version)

    def _finish(
        self, record: Record, status: str, response_status: int, *, promise: timedelta, body: str
    ) -> Record | None:
        self._oracle.ending(record.key, record.version)
        finished = self._change(
            _FINISH,
            record,
            status=status,
            response_status=response_status,
            response_body=body,
            promise=promise,
        )
        if finished is not None:
            self._oracle.committed(
                record.key, finished.version, expires_ms=_milliseconds(finished.expires_at)
            )
            self._oracle.count("complete" if status == "completed" else "fail")
        return finished

    def _change(self, statement: bytes, record: Record, **given: object) -> Record | None:
        row = self._rows.execute(statement, {**_owner(record), **given}).fetchone()
        if row is None:
            self._oracle.count("lost")
            return None
        return _record(row)

    def _run(self, verb: str, record: Record, *given: bytes | int) -> bool:
        return bool(self._script([record.key.name], [verb, *record.version, *given]))


def _record(row: dict[str, Any]) -> Record:
    return Record(**{name: row[name] for name in Record._fields})


def _owner(record: Record) -> dict[str, object]:
    return {**record.key._asdict(), "epoch": record.epoch, "fence": record.fence}


def _value(record: Record) -> bytes:
    """Write the record as the seed writes it, and who wrote it."""
    return msgspec.json.encode(
        {
            "key": record.idempotency_key,
            "scope": record.scope,
            "endpoint": record.endpoint,
            "client": record.client,
            "fingerprint": record.fingerprint,
            "status": record.status,
            "lease_until": _or_none(record.lease_until),
            "fence": record.fence,
            "epoch": record.epoch,
            "response_status": record.response_status,
            "response_headers": record.response_headers,
            "response_body": record.response_body,
            "created_at": _milliseconds(record.created_at),
            "completed_at": _or_none(record.completed_at),
            "expires_at": _milliseconds(record.expires_at),
            "by": APP,
        }
    )


def _or_none(instant: datetime | None) -> int | None:
    return None if instant is None else _milliseconds(instant)


def _milliseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // _MILLISECOND

"""Layouts of libraries that do not come with idemctl, written from their documentation alone."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import redis

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg

    from tests.cli.places import Place

FULL = ("--pace", "full", "-o", "json")
DAY = 86_400

# A Hono middleware: method, path and the encoded key make the name, the value repeats the key.
HONO = """\
layout: hono
title: hono-idempotency, with a prefix of ours
proven: source
redis:
  pattern: redis-setnx
  prefix: "shop:"
  key: "(?P<endpoint>[A-Z]+:/[^:]*):(?P<key>[^:]+)"
  codec: json
  key_field: key
  fingerprint: fingerprint
  response_status: [response, status]
  counted_from: createdAt
  status:
    in_progress: {field: status, is: processing}
    completed: {all: [{field: status, is: completed}, {field: response, missing: false}]}
"""
# A NestJS module: a hash with the owner's token beside a document.
NESTARC = """\
layout: nestarc
title: nestarc/idempotency
proven: source
redis:
  pattern: redis-setnx
  prefix: "idempotency:"
  key: "(?P<key>.+)"
  codec: [hash, {member: payload}, json]
  fingerprint: fingerprint
  response_status: statusCode
  unit: iso
  counted_from: createdAt
  expires: expiresAt
  status:
    in_progress: {field: status, is: PROCESSING}
    completed: {field: status, is: COMPLETED}
"""
# A Spring starter: naive timestamps, of which the lock's are NULL once the work is done.
JDBC = """\
layout: idempotency4j
title: idempotency4j's JDBC store
proven: source
postgres:
  pattern: postgres-unique
  table: public.idempotency_records
  key: idempotency_key
  fingerprint: request_fingerprint
  response_status: response_code
  lease: {field: lock_expires_at, zone: UTC}
  counted_from: {field: created_at, zone: UTC}
  completed: {field: completed_at, zone: UTC}
  expires: {field: expires_at, zone: UTC}
  besides: [locked_at, response_headers, response_body]
  status:
    in_progress: {field: status, is: IN_PROGRESS}
    completed: {field: status, is: COMPLETED}
"""
JDBC_TABLE = """\
SET TimeZone = 'UTC';
CREATE TABLE idempotency_records (idempotency_key varchar(255) PRIMARY KEY,
    status varchar(20) NOT NULL, locked_at timestamp(6), lock_expires_at timestamp(6),
    response_code int, response_headers text, response_body bytea, request_fingerprint varchar(64),
    completed_at timestamp(6), created_at timestamp(6) NOT NULL DEFAULT current_timestamp,
    expires_at timestamp(6));
INSERT INTO idempotency_records (idempotency_key, status, locked_at, lock_expires_at,
    response_code, request_fingerprint, completed_at, expires_at) VALUES
('req-1', 'IN_PROGRESS', now(), now() + interval '30 s', NULL, 'ab', NULL, NULL),
('req-2', 'COMPLETED', NULL, NULL, 201, 'cd', now(), now() + interval '1 day'),
('req-3', 'COMPLETED', NULL, NULL, 200, 'ef', now(), now() - interval '1 hour')
"""
# A home-grown table: an enum, keys that are uuids, camelCase names in quotes.
OURS = """\
layout: wallet
title: the wallet's table
proven: source
postgres:
  pattern: postgres-unique
  table: 'public."IdempotencyKey"'
  key: id
  scope: walletId
  endpoint: {join: [method, path]}
  fingerprint: requestHash
  counted_from: {field: createdAt, zone: UTC}
  status:
    in_progress: {field: status, is: STARTED}
    completed: {field: status, is: SUCCEEDED}
    failed: {field: status, is: FAILED}
"""
OURS_TABLE = """\
CREATE TYPE "Status" AS ENUM ('STARTED', 'SUCCEEDED', 'FAILED');
CREATE TABLE "IdempotencyKey" (id uuid, "walletId" int, method text, path text,
    "requestHash" text, status "Status" NOT NULL, "createdAt" timestamp(3) NOT NULL,
    PRIMARY KEY (id, "walletId"));
INSERT INTO "IdempotencyKey"
SELECT ('00000000-0000-4000-8000-00000000000' || n)::uuid, 7, 'POST', '/transfers', 'ab',
       (ARRAY['STARTED', 'SUCCEEDED', 'FAILED'])[n]::"Status", now() AT TIME ZONE 'UTC'
  FROM generate_series(1, 3) n
"""


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as opened:
        yield opened


def tried(place: Place, layout: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Check a layout live, and audit through it; give what the first read, and the counts."""
    assert len(layout.splitlines()) <= 30
    (place.folder / "theirs.yaml").write_text(layout)
    engine = "redis" if "\nredis:" in layout else "postgres"
    place.configure(f"version: 1\nstores:\n  s: {{{engine}: {{layout: theirs.yaml}}, ttl: 1d}}\n")
    [read] = place.main("layout", "check", "theirs.yaml", "--live", "-o", "json").summary["tried"]
    audited = place.main("audit", *FULL)
    assert audited.document["errors"] == []
    [records] = audited.summary["records"]["s"].values()
    assert sum(records.values()) == read["records"]
    return read, records


def parts(read: dict[str, Any]) -> dict[str, int]:
    return {name: count for name, count in read["filled"].items() if count}


def test_a_middleware_for_hono(place: Place, redis_url: str, client: redis.Redis) -> None:
    place.lead(REDIS_URL=redis_url)
    now = int(time.time() * 1000)
    done: dict[str, Any] = {
        "status": "completed",
        "response": {"status": 201, "headers": {}, "body": ""},
    }
    states = {"order 1": {"status": "processing"}, "order-2": done, "order-3": done,
              "corrupt": {"status": "completed"}}  # fmt: skip
    for key, state in states.items():
        record = {"key": key, "fingerprint": "ab" * 32, "createdAt": now} | state
        name = f"shop:POST:/orders:{key.replace(' ', '%20')}"
        client.set(name, json.dumps(record), ex=DAY)
    read, records = tried(place, HONO)
    assert records == {"in_progress": 1, "completed": 2, "malformed": 1}
    assert parts(read) == {
        "counted_from": 4, "endpoints": 4, "fingerprints": 4, "expires_at": 4,
        "response_status": 2,
    }  # fmt: skip
    assert (read["may_write"], read["why_not"]) == (False, "not all is read right")
    [malformed] = [
        one
        for one in place.main("audit", *FULL).document["items"]
        if one["code"] == "malformed-record"
    ]
    assert malformed["sample"] == [{"key": "corrupt"}]


def test_a_module_for_nestjs(place: Place, redis_url: str, client: redis.Redis) -> None:
    place.lead(REDIS_URL=redis_url)
    instants = {"createdAt": datetime.now(UTC).isoformat(), "expiresAt": "2099-12-01T12:00:00.000Z"}
    for key, state in (
        ("req-1", {"status": "PROCESSING"}),
        ("req-2", {"status": "COMPLETED", "statusCode": 201}),
    ):
        payload = json.dumps({"fingerprint": "ab" * 32} | state | instants)
        client.hset(f"idempotency:{key}", mapping={"token": "t", "payload": payload})
        client.expire(f"idempotency:{key}", DAY)
    read, records = tried(place, NESTARC)
    assert records == {"in_progress": 1, "completed": 1}
    assert parts(read) == {
        "counted_from": 2, "expires_at": 2, "fingerprints": 2, "response_status": 1,
    }  # fmt: skip
    assert (read["absurd"], read["may_write"]) == ({}, True)


def test_a_starter_for_spring(place: Place, dsn: str, connection: psycopg.Connection[Any]) -> None:
    place.lead(DATABASE_URL=dsn)
    connection.execute(JDBC_TABLE.encode())
    read, records = tried(place, JDBC)
    assert records == {"in_progress": 1, "completed": 2}
    assert parts(read) == {
        "counted_from": 3, "completed_at": 2, "expires_at": 2, "lease_until": 1,
        "fingerprints": 3, "response_status": 2,
    }  # fmt: skip
    # What was shown to be read right may be collected: the one whose promise is over.
    assert place.main("gc", "--apply", "--store", "s", *FULL).summary["deleted"] == 1
    left = connection.execute("SELECT idempotency_key FROM idempotency_records ORDER BY 1")
    assert [key for (key,) in left] == ["req-1", "req-2"]


def test_a_table_of_one_s_own_with_odd_types(
    place: Place, dsn: str, connection: psycopg.Connection[Any]
) -> None:
    place.lead(DATABASE_URL=dsn)
    connection.execute(OURS_TABLE.encode())
    read, records = tried(place, OURS)
    assert records == {"in_progress": 1, "completed": 1, "failed": 1}
    assert parts(read) == {"counted_from": 3, "endpoints": 3, "fingerprints": 3, "scopes": 3}

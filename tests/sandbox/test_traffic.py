"""The traffic harms nobody by itself, whatever becomes of its own processes and of Redis."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import psycopg
import pytest
import redis

from idemctl.errors import Unreachable
from idemctl.sandbox.faults import flush
from idemctl.sandbox.seed import seed
from idemctl.sandbox.traffic import Traffic, Version
from tests.cli.places import await_that

if TYPE_CHECKING:
    from idemctl.sandbox.traffic import Key, Ledger

KINDS = {
    *("claim", "takeover", "renew", "complete", "fail", "release"),
    *("replay", "conflict", "overstay", "lost"),
    *("crash after claim", "crash after renew", "crash after work"),
    *("crash after complete", "crash after fail", "crash after release"),
}


@pytest.fixture
def seeded(dsn: str, redis_url: str) -> None:
    seed(dsn=dsn, redis_url=redis_url, records=100, seed=2, faults=False)


def bad_reads(ledger: Ledger) -> tuple[int, int]:
    return ledger.bad_reads_by_app_count, ledger.bad_reads_by_tool_count


def has_read(traffic: Traffic, count: int) -> bool:
    return traffic.ledger().read_count > count


@pytest.mark.usefixtures("seeded")
def test_without_faults_nothing_is_bad_and_both_stores_are_as_the_ledger_says(
    dsn: str, redis_url: str
) -> None:
    traffic = Traffic(dsn=dsn, redis_url=redis_url, workers=8, keys=64, seed=3)
    traffic.start()
    try:
        await_that(lambda: set(traffic.ledger().operations) >= KINDS, "every kind", within=120)
    finally:
        ledger = traffic.stop()

    assert set(ledger.operations) == KINDS
    assert (*bad_reads(ledger), ledger.two_owners_count, ledger.examples) == (0, 0, 0, ())
    assert ledger.tool_read_count == 0
    assert ledger.read_count > 1_000
    assert len(ledger.keys) > 16
    with psycopg.connect(dsn) as connection, redis.Redis.from_url(redis_url) as client:
        for key, state in ledger.keys.items():
            row, is_over = in_postgres(connection, key)
            assert row == (state.version if state.in_postgres else None), key
            found = in_redis(client, key)
            if not state.in_redis:
                # A crash between the stores, or a lock that was over before Redis was told.
                assert found is None or found <= state.version, key
            elif found is None:
                assert is_over or not state.in_postgres, key
            else:
                assert (found, state.in_postgres) == (state.version, True), key


def in_postgres(connection: psycopg.Connection, key: Key) -> tuple[Version | None, bool]:
    row = connection.execute(
        "SELECT epoch, fence, status, expires_at <= clock_timestamp() FROM processed_events"
        " WHERE scope = %s AND idempotency_key = %s",
        key,
    ).fetchone()
    if row is None:
        return None, False
    return Version.of(epoch=row[0], fence=row[1], status=row[2]), row[3]


def in_redis(client: redis.Redis, key: Key) -> Version | None:
    value = client.get(key.name)
    if value is None:
        return None
    assert isinstance(value, bytes)
    record = json.loads(value)
    assert record["by"] == "app"
    return Version.of(epoch=record["epoch"], fence=record["fence"], status=record["status"])


@pytest.mark.usefixtures("seeded")
def test_after_a_flush_the_application_goes_on_and_brings_back_nothing_dead(
    dsn: str, redis_url: str
) -> None:
    traffic = Traffic(dsn=dsn, redis_url=redis_url, keys=16, seed=4)
    traffic.start()
    try:
        with redis.Redis.from_url(redis_url) as client:
            for _ in range(8):
                await_that(lambda: client.dbsize() >= 4, "keys in Redis")
                assert flush(redis_url) >= 1
                wanted = traffic.ledger().read_count + 1_000
                await_that(partial(has_read, traffic, wanted), "reads")
    finally:
        ledger = traffic.stop()

    assert (*bad_reads(ledger), ledger.two_owners_count) == (0, 0, 0)


def test_the_same_seed_gives_the_same_keys() -> None:
    def keys_of(number: int) -> list[Key]:
        return Traffic(dsn="", redis_url="", keys=20, seed=number)._keys

    assert keys_of(1) == keys_of(1)
    assert not set(keys_of(1)) & set(keys_of(2))


def test_a_store_that_is_away_is_said_at_the_end(dsn: str, seeded: None) -> None:
    traffic = Traffic(dsn=dsn, redis_url="redis://:secret@127.0.0.1:1/0")
    traffic.start()
    with pytest.raises(Unreachable, match="Redis does not answer"):
        traffic.stop()

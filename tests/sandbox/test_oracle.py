"""The oracle of the traffic sees every bad read that is planted, and no other."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import redis

from idemctl.sandbox.seed import seed
from idemctl.sandbox.traffic import Key
from idemctl.sandbox.traffic.application import Application, Request
from idemctl.sandbox.traffic.oracle import Oracle
from tests.cli.places import await_that

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.sandbox.traffic import Ledger
    from idemctl.sandbox.traffic.application import Record

LEASE = timedelta(seconds=30)
PROMISE = timedelta(minutes=5)
KEY = Key("acme", "ord_1")


class Desk:
    """One process of the application at the stores of one test, and a clock that can be moved."""

    def __init__(self, connection: psycopg.Connection, client: redis.Redis) -> None:
        self.connection = connection
        self.client = client
        self.moved_ms = 0
        self.oracle = Oracle([KEY], clock=self._now_ms)
        self.application = Application(connection, client, self.oracle)

    def claim(self, lease: timedelta = LEASE) -> Record:
        request = Request(KEY, endpoint="POST /v1/charges", client="web", fingerprint="f" * 64)
        records: list[Record] = []

        def granted() -> bool:
            records.extend(filter(None, [self.application.claim(request, lease=lease)]))
            return bool(records)

        await_that(granted, "the key")
        return records[0]

    def held(self) -> dict[str, Any]:
        value = self.client.get(KEY.name)
        assert isinstance(value, bytes)
        document: dict[str, Any] = json.loads(value)
        return document

    def plant(self, document: dict[str, Any]) -> None:
        self.client.set(KEY.name, json.dumps(document))

    def read(self, times: int) -> Ledger:
        for _ in range(times):
            self.oracle.read(self.client, [KEY])
        return self.oracle.ledger()

    def _now_ms(self) -> int:
        row = self.connection.execute(
            "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
        ).fetchone()
        assert row is not None
        return int(row[0]) + self.moved_ms


@pytest.fixture
def desk(
    dsn: str,
    redis_url: str,
) -> Iterator[Desk]:
    seed(dsn=dsn, redis_url=redis_url, records=100, seed=2, faults=False)
    with (
        psycopg.connect(dsn, autocommit=True) as connection,
        redis.Redis.from_url(redis_url) as client,
    ):
        yield Desk(connection, client)


def by_tool(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "by"}


def bad_reads(ledger: Ledger) -> tuple[int, int]:
    return ledger.bad_reads_by_app_count, ledger.bad_reads_by_tool_count


def test_the_application_writes_what_the_seed_writes_and_its_name(desk: Desk) -> None:
    (seeded, *_), record = desk.client.keys("idem:*"), desk.claim()
    desk.application.publish(record)
    value = desk.client.get(seeded)
    assert isinstance(value, bytes)

    assert list(desk.held()) == [*json.loads(value), "by"]


def test_each_read_of_a_released_version_is_bad_and_only_those(desk: Desk) -> None:
    record = desk.claim()
    desk.application.publish(record)
    dead = desk.held()
    assert bad_reads(desk.read(5)) == (0, 0)
    desk.application.release(record)
    assert bad_reads(desk.read(5)) == (0, 0), "Redis was not told yet"
    desk.application.withdraw(record)
    assert bad_reads(desk.read(5)) == (0, 0)

    desk.plant(by_tool(dead))
    count = random.randrange(3, 40)
    ledger = desk.read(count)

    assert bad_reads(ledger) == (0, count)
    assert ledger.tool_read_count == count
    assert ledger.read_count == 15 + count
    assert {(one.reason, one.version, one.by_tool) for one in ledger.examples} == {
        ("retired", record.version, True)
    }
    desk.plant(dead)
    assert bad_reads(desk.read(2)) == (2, count)


def test_a_lock_is_dead_once_its_result_is_in_redis(desk: Desk) -> None:
    record = desk.claim()
    desk.application.publish(record)
    lock = desk.held()
    finished = desk.application.complete(record, promise=PROMISE, body="{}")
    assert finished is not None
    assert bad_reads(desk.read(1)) == (0, 0), "Redis was not told yet"
    assert desk.application.publish(finished)
    assert bad_reads(desk.read(1)) == (0, 0)

    desk.plant(by_tool(lock))
    assert bad_reads(desk.read(7)) == (0, 7)
    assert desk.application.publish(finished), "the application's own write puts it right"
    assert bad_reads(desk.read(1)) == (0, 7)


def test_a_live_version_that_a_tool_wrote_is_read_and_not_bad(desk: Desk) -> None:
    record = desk.claim()
    desk.application.publish(record)
    desk.plant(by_tool(desk.held()))
    ledger = desk.read(3)

    assert (bad_reads(ledger), ledger.tool_read_count) == ((0, 0), 3)


def test_a_result_that_outlives_its_promise_by_two_seconds_is_bad(desk: Desk) -> None:
    finished = desk.application.complete(desk.claim(), promise=PROMISE, body="{}")
    assert finished is not None
    desk.application.publish(finished)
    desk.plant(by_tool(desk.held()))
    desk.moved_ms = PROMISE // timedelta(milliseconds=1)
    assert bad_reads(desk.read(3)) == (0, 0)

    desk.moved_ms += 2_001
    ledger = desk.read(4)
    assert bad_reads(ledger) == (0, 4)
    assert {one.reason for one in ledger.examples} == {"expired"}


@pytest.mark.parametrize("value", [b"", b"1", b'{"status": "completed"}', b'{"epoch": 1, "fen'])
def test_what_is_no_record_is_bad(desk: Desk, value: bytes) -> None:
    desk.client.set(KEY.name, value)
    ledger = desk.read(2)

    assert bad_reads(ledger) == (0, 2)
    assert ledger.examples[0].reason == "unreadable"


def test_a_claim_beside_a_live_lease_makes_two_owners(desk: Desk) -> None:
    desk.claim()
    desk.connection.execute("DELETE FROM processed_events WHERE status = 'in_progress'")
    desk.claim()

    assert desk.oracle.ledger().two_owners_count == 1


def test_a_claim_after_a_release_or_a_lease_that_is_over_makes_one_owner(desk: Desk) -> None:
    first = desk.claim()
    assert desk.application.release(first)
    desk.claim(lease=timedelta(milliseconds=20))
    late = desk.claim()

    ledger = desk.oracle.ledger()
    assert late.fence > first.fence
    assert ledger.operations == {"claim": 2, "release": 1, "takeover": 1}
    assert ledger.two_owners_count == 0


def test_a_lock_whose_lease_is_over_is_not_written_to_redis(desk: Desk) -> None:
    late = desk.claim(lease=timedelta(milliseconds=1))
    owner = desk.claim()

    assert not desk.application.publish(late)
    assert desk.client.get(KEY.name) is None
    assert desk.application.complete(late, promise=PROMISE, body="{}") is None
    assert desk.application.publish(owner)

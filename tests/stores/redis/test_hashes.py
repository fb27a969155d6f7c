"""Records that are hashes: read field by field, weighed before, and none too heavy to weigh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from idemctl.documents import parse_document, read_model
from idemctl.domain.instants import MISSING
from idemctl.domain.records import Flaw, Status
from idemctl.domain.secrets import Secret
from idemctl.layouts.model import Layout
from idemctl.stores.redis import hashes
from idemctl.stores.redis.keyspace import RedisKeyspace

if TYPE_CHECKING:
    from collections.abc import Callable

    import redis

    from idemctl.domain.batch import Batch

WORK = """\
layout: work
title: work as a hash
proven: source
redis:
  pattern: redis-setnx
  prefix: "work:"
  key: "(?P<key>.+)"
  name: "{key}"
  codec: hash
  fence: fencing_id
  counted_from: claimed_at
  lease: lease_expiry
  status:
    in_progress: {field: state, is: CLAIMED}
    completed: {field: state, is: DONE}
"""
HOUR_MS = 3_600_000


@pytest.fixture
def work(url: str) -> Callable[[], RedisKeyspace]:
    layout = read_model(parse_document(WORK.encode(), file="work.yaml"), Layout).redis
    assert layout is not None

    def open_keyspace() -> RedisKeyspace:
        return RedisKeyspace(
            url=Secret(url),
            prefix=layout.prefix,
            layout=layout,
            writable=False,
            application="idemctl test",
        )

    return open_keyspace


def claim(fence: int, at: int = 1_796_040_000_000) -> dict[Any, Any]:
    lease = at + HOUR_MS
    return {"state": "CLAIMED", "fencing_id": fence, "claimed_at": at, "lease_expiry": lease}


def scanned(store: RedisKeyspace) -> dict[bytes, Any]:
    batches: list[Batch] = list(store.scan())
    return {batch.keys[at]: batch.record(at) for batch in batches for at in range(len(batch))}


def test_a_hash_is_read_field_by_field(
    client: redis.Redis, work: Callable[[], RedisKeyspace]
) -> None:
    client.hset("work:a", mapping=claim(7) | {"body": "x" * 100})
    client.pexpire("work:a", HOUR_MS)
    client.hset("work:b", mapping=claim(8) | {"state": "DONE"})
    found = scanned(work())
    a, b = found[b"a"], found[b"b"]
    assert (a.status, a.fence, b.status, b.fence) == (Status.IN_PROGRESS, 7, Status.COMPLETED, 8)
    assert a.lease_until.timestamp() == 1_796_043_600
    assert a.created_at.timestamp() == 1_796_040_000
    left = a.key_expires_at.timestamp() - client.time()[0]
    assert left == pytest.approx(3600, abs=5)
    assert b.key_expires_at is None


def test_a_key_looked_up_is_what_a_scan_shows(
    client: redis.Redis, work: Callable[[], RedisKeyspace]
) -> None:
    client.hset("work:a", mapping=claim(7))
    client.hset("work:b", mapping=claim(9))
    store = work()
    (found,) = store.look_up([([b"b", b"gone", b"a"], [b""] * 3)])
    assert found.at.tolist() == [0, 2]
    assert [found.batch.record(at) for at in range(2)] == [
        scanned(store)[b"b"],
        scanned(store)[b"a"],
    ]


def test_what_is_no_such_hash_is_malformed_and_disturbs_nobody(
    client: redis.Redis, work: Callable[[], RedisKeyspace]
) -> None:
    client.hset("work:good", mapping=claim(7))
    client.hset("work:other", mapping={"something": "else"})
    client.hset("work:wild", mapping=claim(7) | {"fencing_id": "many", "claimed_at": "soon"})
    client.set("work:string", "CLAIMED")
    client.rpush("work:list", "CLAIMED")
    client.hset("work:" + "k" * 512, mapping=claim(1))
    found = scanned(work())
    flaws = {key[:9]: record.flaw for key, record in found.items()}
    assert flaws == {
        b"good": Flaw.NONE,
        b"other": Flaw.NO_STATUS,
        b"wild": Flaw.NONE,
        b"string": Flaw.OTHER_TYPE,
        b"list": Flaw.OTHER_TYPE,
        b"k" * 9: Flaw.NONE,
    }
    assert (found[b"wild"].fence, found[b"wild"].created_at) == (None, None)


def test_what_is_too_heavy_for_a_record_is_not_read(
    client: redis.Redis, work: Callable[[], RedisKeyspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hashes, "_MOST_BYTES", 300_000)
    heavy = 20 * 1024 * 1024
    client.hset("work:heavy", mapping=claim(7) | {"state": "D" * heavy})
    for number in range(20):
        client.hset(f"work:{number}", mapping=claim(number) | {"body": "x" * 100_000})
    records = scanned(work())
    assert records[b"heavy"].flaw is Flaw.TOO_LONG
    assert len(records) == 21
    assert {records[b"%d" % number].fence for number in range(20)} == set(range(20))
    sizes = {key: int(one.size[at]) for one in work().scan() for at, key in enumerate(one.keys)}
    # As the server counts it, which keeps some room to spare.
    assert heavy < sizes[b"heavy"] < 2 * heavy
    assert 100_000 < sizes[b"7"] < 300_000


def test_many_hashes_are_seen_once_each(
    client: redis.Redis, work: Callable[[], RedisKeyspace]
) -> None:
    pipeline = client.pipeline(transaction=False)
    for number in range(3_000):
        pipeline.hset(f"work:{number}", mapping=claim(number))
    pipeline.execute()
    fences = [int(fence) for batch in work().scan() for fence in batch.fence]
    assert sorted(fences) == list(range(3_000))
    assert MISSING not in fences


def test_a_hash_takes_four_commands_and_no_round_trip_of_its_own(
    client: redis.Redis, work: Callable[[], RedisKeyspace]
) -> None:
    pipeline = client.pipeline(transaction=False)
    for number in range(3_000):
        pipeline.hset(f"work:{number}", mapping=claim(number))
    pipeline.execute()
    client.config_resetstat()
    batches = list(work().scan())
    calls = {name: told["calls"] for name, told in client.info("commandstats").items()}
    expiry = next(name for name in calls if name in {"cmdstat_pexpiretime", "cmdstat_pttl"})
    weighed = next(name for name in calls if name.startswith("cmdstat_memory"))
    for name in ("cmdstat_hlen", "cmdstat_hmget", expiry, weighed):
        assert 3_000 <= calls[name] <= 3_001
    assert sum(calls.values()) < 4 * 3_000 + 200
    assert len(batches) < 8


@pytest.mark.parametrize("others", [60, 100, 3_000])
def test_of_many_fields_those_that_are_needed_are_measured(
    client: redis.Redis, work: Callable[[], RedisKeyspace], others: int
) -> None:
    more = {f"other-{number}": "x" * 10 for number in range(others)}
    client.hset("work:wide", mapping=claim(7) | more)
    client.hset("work:heavy", mapping=claim(8) | more | {"state": "D" * 5_000_000})
    before = client.info("stats")["total_net_output_bytes"]
    records = scanned(work())
    assert client.info("stats")["total_net_output_bytes"] - before < 100_000
    assert (records[b"wide"].fence, records[b"wide"].flaw) == (7, Flaw.NONE)
    assert records[b"heavy"].flaw is Flaw.TOO_LONG


def test_a_key_asked_for_twice_at_once_is_found_twice(
    client: redis.Redis, work: Callable[[], RedisKeyspace]
) -> None:
    client.hset("work:a", mapping=claim(7))
    (found,) = work().look_up([([b"a", b"a"], [b"", b""])])
    assert found.at.tolist() == [0, 1]

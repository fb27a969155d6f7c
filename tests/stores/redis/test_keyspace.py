from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from idemctl.domain.collection import Collection
from idemctl.domain.instants import FOREVER, MISSING, from_micros
from idemctl.domain.records import Pattern
from idemctl.domain.retention import Promise, Retention, Verdict
from idemctl.errors import Unreachable, Unsupported
from idemctl.stores.answers import WHOLE, Shard
from tests.stores.redis.servers import say, until

if TYPE_CHECKING:
    from collections.abc import Callable

    import redis

    from idemctl.stores.ports import Store
    from idemctl.stores.redis.keyspace import RedisKeyspace


def summed(keyspace: RedisKeyspace, shard: Shard = WHOLE) -> Collection:
    retention = Retention(cutoff=keyspace.clock(), has_stored_expiry=keyspace.has_stored_expiry)
    total = Collection()
    for chunk in keyspace.survey(retention, shard):
        total = total.plus(chunk)
    return total


def connection_count(client: redis.Redis) -> int:
    return len(client.client_list())


def test_a_keyspace_is_a_store(keyspace: Callable[..., RedisKeyspace], url: str) -> None:
    store: Store = keyspace(url=url)
    assert store.pattern is Pattern.REDIS_SETNX
    assert keyspace("url-path").pattern is Pattern.URL_PATH
    assert store.has_stored_expiry
    assert keyspace("bare").has_stored_expiry


def test_a_survey_counts_by_verdict_and_promise_and_finds_no_candidate(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    values = {
        "live": record(),
        "over": record(expires_at=1_600_000_000_000),
        "working": record(status="in_progress"),
        "crashed": record(status="in_progress", expires_at=1_600_000_000_000),
        "keys": record(expires_at=None),
        "broken": b"{",
    }
    for name, value in values.items():
        client.set(f"idem:{name}", value, px=10**9)
    client.set("idem:endless", record(expires_at=None))
    client.set("idem:absurd", record(expires_at=None), ex=10**15)
    total = summed(keyspace())
    assert {(one.verdict, one.promise): one.count for one in total.tallies} == {
        (Verdict.LIVE, Promise.STORED_EXPIRY): 2,
        (Verdict.EXPIRED, Promise.STORED_EXPIRY): 1,
        (Verdict.IN_PROGRESS, Promise.STORED_EXPIRY): 1,
        (Verdict.IN_PROGRESS_PAST_EXPIRY, Promise.STORED_EXPIRY): 1,
        (Verdict.NEVER_EXPIRES, Promise.NONE): 1,
        (Verdict.NEVER_EXPIRES, Promise.STORED_EXPIRY): 1,
        (Verdict.MALFORMED, Promise.STORED_EXPIRY): 1,
    }
    assert (total.candidates, total.deleted, total.batches) == (0, 0, 0)
    assert client.dbsize() == 8


@pytest.mark.parametrize("layout", ["bare", "url-path", "body-hash"])
def test_a_key_with_a_ttl_never_counts_as_never_expiring(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], layout: str
) -> None:
    names = {
        "bare": "seen:a",
        "url-path": "path:POST:/api/messages/idem-1",
        "body-hash": f"body:400000:{'a' * 64}",
    }
    client.set(names[layout], b'{"status": "completed", "created_at": 1}', px=10**9)
    (tally,) = summed(keyspace(layout)).tallies
    assert (tally.verdict, tally.promise) == (Verdict.LIVE, Promise.STORED_EXPIRY)
    ends = from_micros(tally.newest)
    assert ends is not None
    assert abs(ends - datetime.now(UTC) - timedelta(seconds=10**6)) < timedelta(minutes=1)
    # The control: without a TTL it does.
    client.persist(names[layout])
    (tally,) = summed(keyspace(layout)).tallies
    assert (tally.verdict, tally.promise) == (Verdict.NEVER_EXPIRES, Promise.NONE)
    assert tally.oldest == MISSING != FOREVER


def test_surveys_of_shards_add_up_to_the_whole(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    for number in range(3000):
        status = ("completed", "in_progress", "odd")[number % 3]
        client.set(f"idem:{number}", record(status=status))
    space = keyspace()
    parts = sum((summed(space, Shard(index, 4)) for index in range(4)), start=Collection())
    whole = summed(space)
    assert parts.tallies == whole.tallies
    assert sorted(one.count for one in whole.tallies) == [1000, 1000, 1000]


def test_progress_grows_to_one(client: redis.Redis, keyspace: Callable[..., RedisKeyspace]) -> None:
    client.mset({f"seen:{number}": "1" for number in range(10_000)})
    client.mset({f"other:{number}": "1" for number in range(10_000)})
    space = keyspace("bare")
    retention = Retention(cutoff=space.clock(), has_stored_expiry=True)
    chunks = list(space.survey(retention))
    done = [chunk.done for chunk in chunks]
    assert done == sorted(done)
    assert len(set(done)) > 5
    assert done[-1] == 1.0
    assert 0.2 < done[len(done) // 2] < 0.8
    scanned = keyspace("bare")
    assert scanned.done == 0
    shares = [scanned.done for _ in scanned.scan()]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert 0.2 < shares[len(shares) // 2] < 0.8
    assert {chunk.part for chunk in chunks} == {"redis seen:*"}
    assert all(chunk.took > timedelta(0) for chunk in chunks)


def test_a_keyspace_is_never_collected_from_nor_locked(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    client.set("seen:a", "1")
    space = keyspace("bare")
    with pytest.raises(Unsupported, match="Redis expires its own keys"):
        space.collect(Retention(cutoff=space.clock(), has_stored_expiry=True))
    with pytest.raises(Unsupported, match="Redis expires its own keys"):
        space.oldest_expired(Retention(cutoff=space.clock(), has_stored_expiry=True))
    with pytest.raises(Unsupported, match="takes no lock for gc in Redis"):
        space.lock("gc")
    assert client.dbsize() == 1


def test_a_scan_that_is_left_gives_its_connection_back(
    client: redis.Redis,
    keyspace: Callable[..., RedisKeyspace],
) -> None:
    client.mset({f"seen:{number}": "1" for number in range(10_000)})
    space = keyspace("bare")
    before = connection_count(client)
    scan = space.scan()
    next(scan)
    assert connection_count(client) == before + 1
    scan.close()  # type: ignore[attr-defined] # It is a generator.
    until(lambda: connection_count(client) == before)


def test_questions_in_between_do_not_disturb_a_scan(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    client.mset({f"seen:{number}": "1" for number in range(5000)})
    space = keyspace("bare")
    seen: list[bytes] = []
    other: list[bytes] = []
    for batch in space.scan():
        seen += batch.keys
        assert space.clock() > datetime(2020, 1, 1, tzinfo=UTC)
        other += next(space.scan()).keys
    assert len(seen) == len(set(seen)) == 5000
    assert set(other) <= set(seen)


def test_a_connection_that_the_server_closed_between_two_questions_is_made_anew(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    space = keyspace()
    first = space.clock()
    say(client, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    assert space.clock() > first


def test_closing_is_harmless_when_repeated_and_ends_what_is_open(
    client: redis.Redis,
    keyspace: Callable[..., RedisKeyspace],
) -> None:
    client.mset({f"seen:{number}": "1" for number in range(10_000)})
    before = connection_count(client)
    space = keyspace("bare")
    space.close()
    space.clock()
    scan = space.scan()
    next(scan)
    space.close()
    space.close()
    until(lambda: connection_count(client) == before)
    with pytest.raises(Unreachable):
        list(scan)

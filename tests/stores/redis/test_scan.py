from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from idemctl.domain.instants import FOREVER, MISSING
from idemctl.domain.keys import escape
from idemctl.domain.records import Status
from idemctl.domain.secrets import Secret
from idemctl.stores.answers import WHOLE, Shard
from idemctl.stores.redis import scan as module
from idemctl.stores.redis.bulk import Lane
from idemctl.stores.redis.fetch import CHUNK, Fetcher, Rows
from idemctl.stores.redis.scan import Scanner

if TYPE_CHECKING:
    from collections.abc import Callable

    import redis

    from idemctl.domain.batch import Batch
    from idemctl.layouts.model import RedisLayout
    from idemctl.stores.redis.bursts import Reply
    from idemctl.stores.redis.keyspace import RedisKeyspace

KIB = 1024
MIB = 1024 * KIB


def keys_of(batches: list[Batch]) -> list[bytes]:
    return [key for batch in batches for key in batch.keys]


def column(batches: list[Batch], name: str) -> dict[bytes, int]:
    return {
        key: int(value)
        for batch in batches
        for key, value in zip(batch.keys, getattr(batch, name), strict=True)
    }


def fill(client: redis.Redis, prefix: str, count: int) -> None:
    for first in range(0, count, 10_000):
        numbers = range(first, min(count, first + 10_000))
        client.mset({f"{prefix}{number}": "1" for number in numbers})


# Which keys


def test_all_keys_are_found_though_nearly_every_page_is_empty(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    fill(client, "other:", 200_000)
    client.mset({f"seen:{number}": "1" for number in range(9)})
    # The control: page after page holds nothing, the first one among them.
    pages = []
    cursor: int | None = None
    while cursor != 0:
        cursor, found = client.scan(cursor or 0, match="seen:*", count=1000)
        pages.append(len(found))
    assert sum(pages) == 9
    assert len(pages) > 150
    assert pages.count(0) >= len(pages) - 9
    batches = list(keyspace("bare").scan())
    assert sorted(keys_of(batches)) == [b"%d" % number for number in range(9)]
    # The caller hears of it now and then, to rest, or to stop.
    assert len(batches) >= len(pages) // 8


def test_an_empty_database_gives_no_record(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    assert client.dbsize() == 0
    assert keys_of(list(keyspace().scan())) == []


@pytest.mark.parametrize(
    "key",
    [
        b"\xff\xfe",
        b"\x00\r\n$3\r\nSET\r\n",
        b"\x1b]0;owned\x07\x1b[31m",
        "zo\u00eb\u202e".encode(),
        b"100%d%b%",
        b"{slot}:*?[a]\\",
        b"x" * 512,
        b" ",
    ],
    ids=escape,
)
def test_keys_are_bytes(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], key: bytes
) -> None:
    client.set(b"seen:" + key, "1", px=10**9)
    client.set(b"seen:plain", "1")
    batches = list(keyspace("bare").scan())
    assert sorted(keys_of(batches)) == sorted([key, b"plain"])
    assert column(batches, "key_expires_at")[key] == pytest.approx(
        client.time()[0] * 10**6 + 10**12, abs=10 * 10**6
    )


def test_a_prefix_is_meant_as_it_is_written(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    prefix = "a*[b-z]?\\^{x}:"
    client.mset({f"{prefix}1": "1", "axb1\\^{x}:1": "1", "a*cq^{x}:1": "1", "a*[b-z]?^{x}:1": "1"})
    assert keys_of(list(keyspace("bare", prefix=prefix).scan())) == [b"1"]
    everything = keyspace("bare", prefix="").scan()
    assert len(keys_of(list(everything))) == 4


def test_shards_are_disjoint_and_together_the_whole(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    fill(client, "seen:", 5000)
    space = keyspace("bare")
    whole = sorted(keys_of(list(space.scan(WHOLE))))
    parts = [keys_of(list(space.scan(Shard(index, 3)))) for index in range(3)]
    assert len(whole) == 5000
    assert sorted(key for part in parts for key in part) == whole
    assert all(1400 < len(part) < 1950 for part in parts)
    # In another process, or on another day, a key falls to the same shard.
    assert {b"0", b"1", b"3"} <= set(parts[2])
    assert b"2" in parts[0]


def test_batches_hold_about_a_thousand_records(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    fill(client, "seen:", 20_000)
    sizes = [len(batch) for batch in keyspace("bare").scan()]
    assert sum(sizes) == 20_000
    assert max(sizes) < 2000
    assert len(sizes) <= 30


# While others write


def test_keys_that_stand_still_are_seen_exactly_once_while_others_come_and_go(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    client.mset({f"seen:stays-{number}": "1" for number in range(3000)})
    fill(client, "seen:goes-", 20_000)
    batches = []
    for number, batch in enumerate(keyspace("bare").scan()):
        batches.append(batch)
        gone = range(1000 * number, 1000 * (number + 1))
        client.delete(*(f"seen:goes-{one}" for one in gone))
        client.mset({f"seen:comes-{one}": "1" for one in gone})
    seen = Counter(keys_of(batches))
    assert {key for key in seen if key.startswith(b"stays-")} == {
        b"stays-%d" % number for number in range(3000)
    }
    assert set(seen.values()) == {1}


class Listening(Lane):
    """A lane that remembers which keys SCAN returned."""

    heard: list[bytes]

    def receive(self) -> list[Reply]:
        replies = super().receive()
        if len(replies) == 1 and isinstance(replies[0][1], list):
            self.heard += replies[0][1]
        return replies


def test_a_key_that_a_shrinking_table_makes_scan_repeat_is_given_once(
    client: redis.Redis, layouts: dict[str, RedisLayout], url: str
) -> None:
    repeated: list[bytes] = []
    # Where the cursor stands when the table shrinks is chance: once in a few times it matters.
    for trial in range(200):
        client.flushall()
        stays = {b"stays-%d-%d" % (trial, number) for number in range(2000)}
        fill(client, f"seen:goes-{trial}-", 20_000)
        client.mset({b"seen:" + key: "1" for key in stays})
        lane = Listening.open(Secret(url), place="", application="", writable=False)
        lane.heard = []
        steps = Scanner(lane, layouts["bare"], b"seen:").steps(WHOLE)
        batches = [next(steps).batch for _ in range(2 + trial % 16)]
        client.unlink(*(f"seen:goes-{trial}-{number}" for number in range(20_000)))
        # Keys move to the smaller table some with each command.
        crowd = client.pipeline(transaction=False)
        for _ in range(2000):
            crowd.exists("seen:nothing")
        crowd.execute()
        batches += [step.batch for step in steps]
        lane.close()
        seen = Counter(keys_of(batches))
        assert {key: seen[key] for key in stays} == dict.fromkeys(stays, 1)
        repeated = [key for key, count in Counter(lane.heard).items() if count > 1]
        if repeated:
            break
    # The control: keys did come twice, and were given once.
    assert repeated


def test_the_memory_of_what_was_seen_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED", 100)
    recent = module._Recent()
    keys = [b"%d" % number for number in range(1000)]
    for number, key in enumerate(keys):
        assert recent.fresh([key, key]) == [key]
        assert recent.fresh(keys[max(0, number - 99) : number]) == []
        assert len(recent._newer) + len(recent._older) <= 200
    # What is long ago is forgotten.
    assert recent.fresh([keys[0]]) == [keys[0]]


def test_keys_that_vanish_between_the_page_and_the_reading_are_dropped(
    client: redis.Redis, lane: Callable[..., Lane], layouts: dict[str, RedisLayout]
) -> None:
    client.set("idem:here", "{}")
    client.set("idem:empty", "")
    opened = lane()
    fetcher = Fetcher(opened, layouts["reference"], b"idem:")
    keys = [b"idem:gone", b"idem:here", b"idem:empty", b"idem:also-gone"]
    rows = Rows()
    opened.send(*fetcher.bursts(keys))
    # An empty value may be one that was gone when it was read.
    assert fetcher.receive(keys, rows) == [b"idem:empty"]
    assert (rows.keys, rows.values) == ([b"idem:here"], [b"{}"])
    client.set("idem:also-gone", "[]")
    [looked] = fetcher.second_looks(keys)
    assert looked.keys == [b"idem:here", b"idem:empty", b"idem:also-gone"]
    assert looked.values == [b"{}", b"", b"[]"]


# What they hold


def test_values_and_expiries_belong_to_their_keys(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    expiries = {}
    for number in range(3000):
        key, ttl = b"%d" % number, random.Random(number).randrange(10**6, 10**9)
        client.set(b"idem:" + key, record(fence=number), px=ttl)
        expiries[key] = client.time()[0] * 10**6 + ttl * 1000
    batches = list(keyspace().scan())
    assert column(batches, "fence") == {b"%d" % number: number for number in range(3000)}
    assert column(batches, "key_expires_at") == pytest.approx(expiries, abs=1_100_000)
    for batch in batches:
        assert set(batch.status.tolist()) <= {Status.COMPLETED}
        assert set(batch.fingerprints) <= {b"f" * 64}
        assert set(batch.expires_at.tolist()) <= {4_000_000_000_000_000}


def test_the_expiry_is_the_servers_own_where_it_tells_it(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    client.set("seen:a", "1", pxat=4_000_000_000_123)
    found = column(list(keyspace("bare").scan()), "key_expires_at")[b"a"]
    is_old = client.info("server")["redis_version"].startswith("6.")
    assert found == pytest.approx(4_000_000_000_123_000, abs=200_000 if is_old else 0)


def test_other_types_and_broken_values_are_malformed_and_disturb_nobody(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    client.set("idem:good", record())
    client.hset("idem:hash", "status", "completed")
    client.rpush("idem:list", "1", "2")
    client.expire("idem:list", 1000)
    client.sadd("idem:set", "1")
    client.xadd("idem:stream", {"status": "completed"})
    broken: dict[str, bytes | str] = {
        "cut": record()[:-1],
        "text": "\xff",
        "array": "[1]",
        "number": "1",
        "empty": "",
        "deep": "[" * 5000,
        "other": record(status="done"),
        "none": record(status=None),
    }
    client.mset({f"idem:{name}": value for name, value in broken.items()})
    batches = list(keyspace().scan())
    status = column(batches, "status")
    assert status.pop(b"good") == Status.COMPLETED
    assert status == dict.fromkeys(
        [b"hash", b"list", b"set", b"stream", *(name.encode() for name in broken)],
        Status.MALFORMED,
    )
    expiries = column(batches, "key_expires_at")
    assert expiries.pop(b"list") > 0
    assert set(expiries.values()) == {MISSING}
    assert column(batches, "size")[b"hash"] == 0


@pytest.mark.parametrize("seconds", [10**12, 10**15])
def test_absurd_ttls_are_forever_and_none_is_missing(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], seconds: int
) -> None:
    client.set("seen:absurd", "1", ex=seconds)
    client.set("seen:long", "1", ex=200_000_000_000)
    client.set("seen:never", "1")
    batches = list(keyspace("bare").scan())
    expiries = column(batches, "key_expires_at")
    assert expiries[b"absurd"] == FOREVER
    assert expiries[b"long"] == pytest.approx(
        (client.time()[0] + 200_000_000_000) * 10**6, abs=10**7
    )
    assert expiries[b"never"] == MISSING
    for batch in batches:
        for row in range(len(batch)):
            batch.record(row)


def test_a_record_that_stores_no_expiry_was_promised_the_keys(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    client.set("seen:a", "1", px=10**9)
    (flag,) = keyspace("bare").scan()
    assert flag.expires_at[0] == flag.key_expires_at[0] > 0
    client.set("idem:none", record(expires_at=None), px=10**9)
    client.set("idem:own", record(expires_at=4_000_000_000_000), px=10**9)
    client.set("idem:neither", record(expires_at=None))
    batches = list(keyspace().scan())
    stored, keys_own = column(batches, "expires_at"), column(batches, "key_expires_at")
    assert stored[b"none"] == keys_own[b"none"] > 0
    assert stored[b"own"] == 4_000_000_000_000_000 > keys_own[b"own"] > 0
    assert stored[b"neither"] == keys_own[b"neither"] == MISSING


# Long values


def test_long_values_are_read_up_to_a_limit_and_their_true_size_is_told(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    sizes = [1000, 16 * KIB - 1, 16 * KIB, 16 * KIB + 1, 100 * KIB, MIB - 1, MIB, MIB + 1, 5 * MIB]
    bare = len(record(response_body=""))
    for size in sizes:
        client.set(f"idem:{size}", record(response_body="x" * (size - bare)), px=10**9)
    for number in range(100):
        body = "x" * (20 * KIB - bare)
        client.set(f"idem:more-{number}", record(response_body=body), px=10**9)
    batches = list(keyspace().scan())
    assert len(keys_of(batches)) == len(sizes) + 100
    told = column(batches, "size")
    assert {size: told[b"%d" % size] for size in sizes} == {size: size for size in sizes}
    status = column(batches, "status")
    malformed = {key for key, one in status.items() if one == Status.MALFORMED}
    assert malformed == {b"%d" % (MIB + 1), b"%d" % (5 * MIB)}
    assert set(status.values()) == {Status.COMPLETED, Status.MALFORMED}
    assert all(expiry > 0 for expiry in column(batches, "key_expires_at").values())


def test_what_a_flag_holds_is_not_fetched_however_long(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    client.set("seen:long", "x" * 8 * MIB)
    client.set("seen:short", "1")
    before = client.info("stats")["total_net_output_bytes"]
    batches = list(keyspace("bare").scan())
    assert client.info("stats")["total_net_output_bytes"] - before < 100 * KIB
    assert column(batches, "size") == {b"long": 8 * MIB, b"short": 1}
    assert set(column(batches, "status").values()) == {Status.UNKNOWN}


def test_no_more_than_some_megabytes_are_asked_for_at_once(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    for number in range(200):
        client.set(f"idem:{number}", record(response_body="x" * 900 * KIB))
    batches = list(keyspace().scan())
    assert max(int(batch.size.sum()) for batch in batches) <= 16 * (MIB + 16)
    assert len(keys_of(batches)) == 200


# What a scan does to a server


def test_a_scan_sends_no_command_that_writes(
    client: redis.Redis,
    keyspace: Callable[..., RedisKeyspace],
    record: Callable[..., bytes],
    flags: dict[str, set[str]],
) -> None:
    for number in range(2000):
        client.set(f"idem:{number}", record(response_body="x" * 20 * KIB * (number % 50 == 0)))
    client.hset("idem:hash", "a", "b")
    before = client.dbsize()
    client.config_resetstat()
    for shard in (WHOLE, Shard(1, 2)):
        list(keyspace().scan(shard))
    used = {name.removeprefix("cmdstat_") for name in client.info("commandstats")}
    assert {"scan", "getrange", "strlen"} <= used
    assert not [name for name in used if "write" in flags[name.partition("|")[0]]]
    assert client.dbsize() == before


def test_the_servers_work_is_counted_in_bursts_not_in_round_trips(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    fill(client, "seen:", 10_000)
    client.config_resetstat()
    assert len(keys_of(list(keyspace("bare").scan()))) == 10_000
    calls = {name: told["calls"] for name, told in client.info("commandstats").items()}
    assert calls["cmdstat_strlen"] == 10_000
    assert calls["cmdstat_scan"] <= 13
    # One a burst, where the server tells only what is left to live.
    assert calls.get("cmdstat_time", 0) <= 10_000 / CHUNK + 20
    assert sum(calls.values()) <= 2 * 10_000 + 10_000 / CHUNK + 50

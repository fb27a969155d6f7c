from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest

from idemctl.domain.records import Flaw, Status
from idemctl.domain.secrets import Secret
from idemctl.errors import Unreachable, Unsupported
from idemctl.stores.redis.bulk import Lane
from idemctl.stores.redis.fetch import CHUNK, CHUNKS
from idemctl.stores.redis.look_up import LookUp, Names
from tests.stores.redis.servers import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import redis

    from idemctl.domain.batch import Batch
    from idemctl.layouts.model import RedisLayout
    from idemctl.stores.answers import Found, Wanted
    from idemctl.stores.redis.bursts import Packet
    from idemctl.stores.redis.keyspace import RedisKeyspace

KIB = 1024
MIB = 1024 * KIB
UNTIL_MS = 4_000_000_000_123


def unscoped(*keys: bytes) -> Wanted:
    return list(keys), [b""] * len(keys)


def ask(keyspace: RedisKeyspace, *wanted: Wanted) -> Found:
    (found,) = keyspace.look_up(wanted)
    return found


def identities(found: Found) -> dict[int, tuple[bytes, bytes]]:
    whose = zip(found.batch.keys, found.batch.scopes, strict=True)
    return dict(zip(found.at.tolist(), whose, strict=True))


def shown(batch: Batch) -> dict[bytes, tuple[int, ...]]:
    columns = ("status", "flaw", "fence", "counted_from", "lease_until", "size")
    read = zip(*(getattr(batch, name).tolist() for name in columns), strict=True)
    return dict(zip(batch.keys, read, strict=True))


def connection_count(client: redis.Redis) -> int:
    return len(client.client_list())


# What is found


def test_a_look_up_reads_what_a_scan_reads(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    bare = len(record(response_body=""))
    values: dict[bytes, bytes] = {
        b"plain": record(),
        b"working": record(status="in_progress", lease_until=1_700_000_000_000),
        b"odd": record(status="done"),
        b"cut": record()[:-1],
        b"empty": b"",
        b"head": record(response_body="x" * (16 * KIB - bare)),
        b"longer": record(response_body="x" * (16 * KIB - bare + 1)),
        b"long": record(response_body="x" * (MIB - bare)),
        b"too-long": record(response_body="x" * (MIB - bare + 1)),
    }
    for key, value in values.items():
        client.set(b"idem:" + key, value, pxat=UNTIL_MS)
    client.set(b"idem:endless", record())
    client.hset("idem:hash", "a", "b")
    wanted = unscoped(*values, b"absent", b"endless", b"hash")
    found = ask(keyspace(), wanted)
    assert {at: key for at, (key, _) in identities(found).items()} == {
        at: key for at, key in enumerate(wanted[0]) if key != b"absent"
    }
    scanned = {key: row for batch in keyspace().scan() for key, row in shown(batch).items()}
    assert shown(found.batch) == scanned
    flaws = {key: row[1] for key, row in scanned.items() if row[1]}
    assert flaws == {
        b"odd": Flaw.NO_STATUS,
        b"cut": Flaw.UNREADABLE,
        b"empty": Flaw.UNREADABLE,
        b"too-long": Flaw.TOO_LONG,
        b"hash": Flaw.OTHER_TYPE,
    }
    ends = dict(zip(found.batch.keys, found.batch.key_expires_at.tolist(), strict=True))
    # Redis 6.2 tells only what is left to live.
    expected = dict.fromkeys(values, UNTIL_MS * 1000)
    assert {key: ends[key] for key in values} == pytest.approx(expected, abs=2_000_000)
    assert ends[b"endless"] == ends[b"hash"] == np.iinfo(np.int64).min


def test_a_record_is_the_one_that_was_asked_for_where_its_value_does_not_say(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    client.mset({"seen:a:b": "1", "idem:a:b": record(scope=None), "idem:acme:k": b"{"})
    wanted = ([b"a:b", b"b", b"k", b"k"], [b"", b"a", b"acme", b""])
    # By its name alone each of the first two may be either record.
    assert identities(ask(keyspace(), wanted)) == {
        0: (b"a:b", b""),
        1: (b"b", b"a"),
        2: (b"k", b"acme"),
    }
    assert identities(ask(keyspace("bare"), wanted)) == {0: (b"a:b", b"")}


def test_a_record_under_the_name_of_another_says_so(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    client.set("idem:a:b", record(key="b", scope="a"))
    client.set("idem:k", record(key="k", scope="globex"))
    client.set("idem:other", record(key="mine"))
    found = ask(keyspace(), unscoped(b"a:b", b"k", b"other"))
    # Two keys have the first name; the others are nobody's but those of another record.
    assert identities(found) == {0: (b"b", b"a"), 1: (b"k", b""), 2: (b"other", b"")}
    assert found.batch.flaw.tolist() == [Flaw.NONE, Flaw.MISNAMED, Flaw.MISNAMED]
    # A scan, which asks for nobody, says the same.
    scanned = {
        name: batch.flaw[at] for batch in keyspace().scan() for at, name in enumerate(batch.keys)
    }
    assert scanned == {b"b": Flaw.NONE, b"k": Flaw.MISNAMED, b"other": Flaw.MISNAMED}
    # The control: asked for under its own name it is what was asked for.
    assert identities(ask(keyspace(), ([b"b"], [b"a"]))) == {0: (b"b", b"a")}


def test_what_is_asked_for_twice_is_found_twice(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    client.set("idem:a", record(key="a"))
    client.set("idem:long", record(key="long", response_body="x" * 20 * KIB))
    found = ask(keyspace(), unscoped(b"long", b"a", b"gone", b"long", b"a"))
    assert sorted(found.at.tolist()) == [0, 1, 3, 4]
    assert {at: key for at, (key, _) in identities(found).items()} == {
        0: b"long",
        1: b"a",
        3: b"long",
        4: b"a",
    }


def test_of_a_flag_only_presence_is_known(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    client.set("seen:a", "x" * 8 * MIB, pxat=UNTIL_MS)
    client.set("seen:empty", "")
    found = ask(keyspace("bare"), unscoped(b"empty", b"none", b"a"))
    assert sorted(found.at.tolist()) == [0, 2]
    assert set(found.batch.status.tolist()) == {Status.UNKNOWN}
    assert sorted(found.batch.size.tolist()) == [0, 8 * MIB]


def test_a_layout_without_names_is_not_asked_for_keys(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    assert client.dbsize() == 0
    with pytest.raises(Unsupported, match="does not say under which name a key lies"):
        list(keyspace("url-path").look_up([unscoped(b"a")]))


# How it is asked


def test_the_next_request_is_on_its_way_before_the_last_is_answered(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    client.mset({f"seen:{number}": "1" for number in range(4)})
    taken: list[int] = []

    def requests() -> Iterator[Wanted]:
        for number in range(4):
            taken.append(number)
            yield unscoped(b"%d" % number)

    answers = keyspace("bare").look_up(requests())
    seen = [(found.batch.keys[0], len(taken)) for found in answers]
    assert seen == [(b"0", 2), (b"1", 3), (b"2", 4), (b"3", 4)]


class Counting(Lane):
    """A lane that remembers how much was on its way at most."""

    most = 0

    def send(self, *bursts: Packet) -> None:
        super().send(*bursts)
        self.most = max(self.most, sum(count for count, _ in self._flying))


def test_what_is_on_its_way_is_bounded_however_much_is_asked_for(
    client: redis.Redis, layouts: dict[str, RedisLayout], url: str, record: Callable[..., bytes]
) -> None:
    count = 20 * CHUNK + 7
    body = "x" * 15 * KIB
    client.mset({f"idem:{at}": record(key=str(at), response_body=body) for at in range(count)})
    lane = Counting.open(Secret(url), place="redis idem:*", application="", writable=False)
    layout = layouts["reference"]
    names = Names(layout, b"idem:", lane.place)
    request = unscoped(*(b"%d" % at for at in range(count)))
    found = list(LookUp(lane, layout, b"idem:", names).answers([request, request]))
    lane.close()
    assert [one.at.tolist() for one in found] == [list(range(count))] * 2
    assert lane.most <= CHUNKS * (2 * CHUNK + 1)


def test_a_look_up_sends_no_command_that_writes(
    client: redis.Redis,
    keyspace: Callable[..., RedisKeyspace],
    record: Callable[..., bytes],
    flags: dict[str, set[str]],
) -> None:
    client.set("idem:a", record())
    client.set("idem:long", record(response_body="x" * 20 * KIB))
    client.config_resetstat()
    assert len(ask(keyspace(writable=True), unscoped(b"a", b"b", b"long")).at) == 2
    used = {name.removeprefix("cmdstat_") for name in client.info("commandstats")}
    assert {"getrange", "strlen"} <= used
    assert not [name for name in used if "write" in flags[name.partition("|")[0]]]


def test_its_connection_ends_with_it_and_disturbs_nobody(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    client.mset({f"seen:{number}": "1" for number in range(2000)})
    everything = unscoped(*(b"%d" % number for number in range(2000)))
    space = keyspace("bare")
    space.clock()
    before = connection_count(client)
    asked = space.look_up([everything] * 3)
    next(asked)
    assert connection_count(client) == before + 1
    scanned: list[bytes] = []
    for batch in space.scan():
        scanned += batch.keys
    assert len(scanned) == 2000
    asked.close()  # type: ignore[attr-defined] # It is a generator.
    until(lambda: connection_count(client) == before)
    assert len(ask(space, everything).at) == 2000


def test_one_that_was_closed_from_outside_is_unreachable(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    client.mset({f"seen:{number}": msgspec.json.encode(number) for number in range(2000)})
    space = keyspace("bare")
    asked = space.look_up([unscoped(*(b"%d" % at for at in range(2000)))] * 3)
    next(asked)
    space.close()
    with pytest.raises(Unreachable, match="the connection was lost"):
        list(asked)

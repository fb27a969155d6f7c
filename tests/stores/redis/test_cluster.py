"""A cluster of three primaries, read and filled as one keyspace, also while keys move."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest
import redis
from redis.crc import key_slot

from idemctl.domain.freezes import Freeze
from idemctl.domain.instants import to_micros
from idemctl.domain.records import Status
from idemctl.domain.secrets import Secret
from idemctl.domain.witness import Witness
from idemctl.errors import Unreachable
from idemctl.sandbox.binaries import find_redis
from idemctl.stores.answers import Shard
from idemctl.stores.redis.explore import RedisDatabase
from idemctl.stores.redis.keeping import RedisKeeping
from tests.stores.redis.layouts import SET
from tests.stores.redis.servers import find_ports, own_folder, say, serving, until
from tests.stores.test_ways import to_redis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from idemctl.stores.redis.bulk import Lane
    from idemctl.stores.redis.keyspace import RedisKeyspace

_SLOTS = 16_384
AN_HOUR = timedelta(hours=1)
_THIRDS = ((0, 5_460), (5_461, 10_922), (10_923, 16_383))
HASHES = """\
  codec: hash
  prefix: "idem:"
  key: (?P<key>.+)
  status:
    completed: {field: state, is: done}
"""


@dataclass(frozen=True)
class Cluster:
    urls: list[str]
    clients: list[redis.Redis]

    def holder(self, key: str) -> redis.Redis:
        slot = key_slot(key.encode())
        return next(
            client
            for client, (first, last) in zip(self.clients, _THIRDS, strict=True)
            if first <= slot <= last
        )

    def set(self, key: str, value: str) -> None:
        self.holder(key).set(key, value, ex=3600)

    def node_id(self, number: int) -> str:
        return str(say(self.clients[number], "CLUSTER", "MYID").decode())

    def begin_move(self, slot: int, *, source: int, target: int) -> None:
        say(self.clients[target], "CLUSTER", "SETSLOT", slot, "IMPORTING", self.node_id(source))
        say(self.clients[source], "CLUSTER", "SETSLOT", slot, "MIGRATING", self.node_id(target))

    def move(self, key: str, *, source: int, target: int) -> None:
        port = int(self.urls[target].rpartition(":")[2].partition("/")[0])
        say(self.clients[source], "MIGRATE", "127.0.0.1", port, key, 0, 5000)

    def end_move(self, slot: int, *, target: int) -> None:
        name = self.node_id(target)
        for client in (self.clients[target], *self.clients):
            say(client, "CLUSTER", "SETSLOT", slot, "NODE", name)


def _is_whole(client: redis.Redis) -> bool:
    told: bytes = say(client, "CLUSTER", "INFO")
    return b"cluster_state:ok" in told and b"cluster_size:3" in told


@contextlib.contextmanager
def running() -> Iterator[Cluster]:
    ports = find_ports(6)
    with own_folder() as place, contextlib.ExitStack() as stack:
        for port, bus in zip(ports[:3], ports[3:], strict=True):
            options = ["--cluster-enabled", "yes", "--port", str(port), "--cluster-port", str(bus)]
            stack.enter_context(serving(find_redis(None), place / str(port), *options))
        urls = [f"redis://127.0.0.1:{port}/0" for port in ports[:3]]
        clients = [
            stack.enter_context(contextlib.closing(redis.Redis.from_url(url))) for url in urls
        ]
        for client, (first, last) in zip(clients, _THIRDS, strict=True):
            say(client, "CLUSTER", "ADDSLOTSRANGE", first, last)
        for port, bus in zip(ports[1:3], ports[4:], strict=True):
            say(clients[0], "CLUSTER", "MEET", "127.0.0.1", port, bus)
        until(lambda: all(_is_whole(client) for client in clients))
        yield Cluster(urls, clients)


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    with running() as one:
        yield one


@pytest.fixture
def cluster(shared: Cluster) -> Cluster:
    """One that holds nothing, and that nobody changes but for its keys."""
    for client in shared.clients:
        client.flushall()
        client.config_resetstat()
    return shared


@pytest.fixture
def moving() -> Iterator[Cluster]:
    """One of the test's own."""
    with running() as one:
        yield one


def keys_of(space: RedisKeyspace, shard: Shard | None = None) -> list[bytes]:
    batches = space.scan() if shard is None else space.scan(shard)
    return sorted(key for batch in batches for key in batch.keys)


def test_every_key_of_every_primary_is_read_once_whoever_is_asked(
    cluster: Cluster, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    keys = [f"k-{number:05}" for number in range(5_000)]
    for key in keys:
        cluster.set(f"idem:{key}", record().decode())
    assert all(client.dbsize() > 1_000 for client in cluster.clients)
    for url in cluster.urls:
        assert keys_of(keyspace(url=url)) == [key.encode() for key in keys]
    batches = list(keyspace(url=cluster.urls[0]).scan())
    assert sum((batch.status == Status.COMPLETED).sum() for batch in batches) == 5_000


def test_shards_share_the_keys_of_all_primaries(
    cluster: Cluster, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    for number in range(1_000):
        cluster.set(f"idem:{number}", record().decode())
    space = keyspace(url=cluster.urls[0])
    halves = [keys_of(space, Shard(index, 2)) for index in range(2)]
    assert all(len(half) > 300 for half in halves)
    assert sorted(halves[0] + halves[1]) == keys_of(space)


def test_hashes_of_every_primary_are_read(
    cluster: Cluster, through: Callable[..., RedisKeyspace]
) -> None:
    for number in range(300):
        cluster.holder(f"idem:{number}").hset(f"idem:{number}", "state", "done")
    batches = list(through(HASHES, url=cluster.urls[0]).scan())
    assert sum((batch.status == Status.COMPLETED).sum() for batch in batches) == 300


def test_the_members_of_a_set_are_read_where_it_lies(
    cluster: Cluster, through: Callable[..., RedisKeyspace]
) -> None:
    cluster.holder("seen").sadd("seen", *(f"m-{number}" for number in range(300)))
    for url in cluster.urls:
        assert len(keys_of(through(SET, url=url))) == 300


def test_keys_are_looked_up_where_they_are(
    cluster: Cluster, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    for number in range(0, 1_000, 2):
        cluster.set(f"idem:{number}", record().decode())
    asked = [b"%d" % number for number in range(1_000)]
    (found,) = keyspace(url=cluster.urls[1]).look_up([(asked, [b""] * 1_000)])
    assert sorted(found.at.tolist()) == list(range(0, 1_000, 2))
    assert [asked[at] for at in found.at] == list(found.batch.keys)


def test_twins_are_filled_where_they_belong(
    cluster: Cluster, keyspace: Callable[..., RedisKeyspace]
) -> None:
    keys = [b"%d" % number for number in range(500)]
    now = to_micros(datetime.now(UTC))
    until = np.full(500, now + AN_HOUR // timedelta(microseconds=1), np.int64)
    space = keyspace("bare", prefix="idem:", url=cluster.urls[2], writable=True)
    written = space.fill((keys, [b""] * 500), [b"1"] * 500, until, now=now)
    assert (written.flags.sum(), written.failure) == (500, None)
    assert sum(client.dbsize() for client in cluster.clients) == 500
    assert all(cluster.holder(f"idem:{key.decode()}").ttl(b"idem:" + key) > 3_500 for key in keys)


def test_a_key_on_its_way_to_another_primary_is_found_on_either(
    moving: Cluster, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    stays, goes, comes = "idem:{a}1", "idem:{a}2", "idem:{a}3"
    source = moving.clients.index(moving.holder(stays))
    target = (source + 1) % 3
    slot = key_slot(stays.encode())
    for key in (stays, goes):
        moving.set(key, record().decode())
    space = keyspace(url=moving.urls[0])
    wanted = ([key.removeprefix("idem:").encode() for key in (stays, goes, comes)], [b""] * 3)
    answers = space.look_up(iter_of(wanted, 4))
    assert next(answers).at.tolist() == [0, 1]
    moving.begin_move(slot, source=source, target=target)
    moving.move(goes, source=source, target=target)
    next(answers)  # It was on its way already.
    assert sorted(next(answers).at.tolist()) == [0, 1]
    moving.move(stays, source=source, target=target)
    moving.end_move(slot, target=target)
    assert sorted(next(answers).at.tolist()) == [0, 1]


def iter_of(
    wanted: tuple[list[bytes], list[bytes]], count: int
) -> Iterator[tuple[list[bytes], list[bytes]]]:
    for _ in range(count):
        yield wanted


def test_a_list_of_keys_during_which_slots_moved_is_no_list(
    moving: Cluster, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    for number in range(20_000):
        moving.set(f"idem:{number}", record().decode())
    batches = keyspace(url=moving.urls[0]).scan()
    next(batches)
    key = "idem:1"
    source = moving.clients.index(moving.holder(key))
    moving.begin_move(key_slot(key.encode()), source=source, target=(source + 1) % 3)
    with pytest.raises(Unreachable, match="the cluster moved keys while they were listed"):
        list(batches)


def test_a_scan_after_the_move_reads_everything_again(
    moving: Cluster, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    for number in range(300):
        moving.set(f"idem:{number}", record().decode())
    source = moving.clients.index(moving.holder("idem:1"))
    slot, target = key_slot(b"idem:1"), (source + 1) % 3
    moving.begin_move(slot, source=source, target=target)
    space = keyspace(url=moving.urls[0])
    with pytest.raises(Unreachable, match="moved keys"):
        list(space.scan())
    moving.move("idem:1", source=source, target=target)
    moving.end_move(slot, target=target)
    assert len(keys_of(space)) == 300


def test_a_primary_that_died_is_never_a_part_without_keys(
    moving: Cluster, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    for number in range(300):
        moving.set(f"idem:{number}", record().decode())
    with contextlib.suppress(Exception):
        say(moving.clients[1], "SHUTDOWN", "NOSAVE")
    with pytest.raises(Unreachable):
        list(keyspace(url=moving.urls[0]).scan())


def test_the_witness_and_the_freeze_of_a_store_are_kept_where_they_belong(
    cluster: Cluster,
) -> None:
    now = datetime.now(UTC)
    for name in (f"store-{number}" for number in range(12)):
        freeze = Freeze(
            store=name, by="b", reason="r", run_id="1", frozen_at=now, until=now + AN_HOUR
        )
        witness = Witness(nonce="n", epoch=1, beats=1, beat_at=now)
        with contextlib.closing(
            RedisKeeping(
                url=Secret(cluster.urls[0]),
                store=name,
                has_witness=True,
                application="test",
                writable=True,
            )
        ) as keeping:
            keeping.write_freeze(freeze)
            assert keeping.freeze() == freeze
            assert keeping.write_witness(witness, instead_of=None)
            assert keeping.witness() == witness
            assert keeping.thaw()
    assert sum(client.dbsize() for client in cluster.clients) == 12


def test_what_servers_say_of_their_past_adds_up(
    cluster: Cluster, keyspace: Callable[..., RedisKeyspace], record: Callable[..., bytes]
) -> None:
    for number in range(300):
        cluster.set(f"idem:{number}", record().decode())
    cluster.clients[1].flushall()
    left = sum(client.dbsize() for client in cluster.clients)
    account = keyspace(url=cluster.urls[0]).account()
    assert (account.flush_calls, account.key_count) == (1, left)


def test_every_primary_tells_its_own_circumstances(
    cluster: Cluster, keyspace: Callable[..., RedisKeyspace]
) -> None:
    cluster.clients[2].config_set("maxmemory-policy", "allkeys-lru")
    told = keyspace(url=cluster.urls[0]).circumstances()
    cluster.clients[2].config_set("maxmemory-policy", "noeviction")
    policies = {name: one.eviction_policy for name, one in told.servers}
    ports = [url.removeprefix("redis://").removesuffix("/0") for url in cluster.urls]
    assert policies == {ports[0]: "noeviction", ports[1]: "noeviction", ports[2]: "allkeys-lru"}


def test_a_cluster_is_looked_through_whole(cluster: Cluster) -> None:
    for number in range(300):
        cluster.set(f"idem:{number}", "1")
    with contextlib.closing(
        RedisDatabase(url=Secret(cluster.urls[0]), application="idemctl test")
    ) as database:
        seen = [key for page in database.keys(10_000) for key in page]
    assert len({key.name for key in seen}) == len(seen) == 300


def test_one_primary_taken_for_the_whole_would_show_a_third(
    cluster: Cluster, lane: Callable[..., Lane]
) -> None:
    for number in range(300):
        cluster.set(f"idem:{number}", "1")
    cursor, names = b"0", set[bytes]()
    alone = lane(url=cluster.urls[0])
    while True:
        cursor, page = alone.demand(b"SCAN", cursor)
        names.update(page)
        if cursor == b"0":
            break
    assert 50 < len(names) < 150


def test_doctor_goes_the_way_to_a_cluster(cluster: Cluster) -> None:
    way = to_redis(cluster.urls[1])
    assert {mark for mark, _ in way.values()} == {"ok"}
    assert way["role"] == ("ok", "primary, a node of a cluster")


def test_doctor_tells_a_cluster_of_which_a_primary_died(moving: Cluster) -> None:
    for url in moving.urls:
        assert to_redis(url)["login"] == ("ok", "as default")
    moving.clients[2].shutdown(nosave=True)
    way = to_redis(moving.urls[0])
    mark, says = list(way.values())[-1]
    assert mark == "unreachable"
    assert "cannot reach" in says

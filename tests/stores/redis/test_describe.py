from __future__ import annotations

import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from idemctl.domain.purposes import Purpose
from idemctl.errors import Denied
from idemctl.stores.redis.describe import Server
from tests.stores.redis.servers import keys_to_read, say, until

if TYPE_CHECKING:
    from collections.abc import Callable

    import redis

    from idemctl.stores.redis.keyspace import RedisKeyspace

READING = ["SCAN", "GETRANGE", "STRLEN", "PEXPIRETIME", "TIME", "DBSIZE", "INFO"]
RIGHTS = [*READING, "CONFIG GET", "EVAL", "SET"]


def as_bob(url: str) -> str:
    parts = urlsplit(url)
    return f"redis://bob:x@{parts.hostname}:{parts.port}/0"


def test_a_server_says_what_it_is(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], url: str
) -> None:
    client.set("idem:a", "1")
    space = keyspace(url=url)
    told, rights = space.describe(), space.rights()
    info = client.info("server")
    if "valkey_version" in info:
        assert (told.product, told.version) == ("Valkey", info["valkey_version"])
        assert told.version.startswith("9.")
    else:
        assert (told.product, told.version) == ("Redis", info["redis_version"])
        assert told.version.startswith("6.2.")
    assert told.supported
    assert told.place == "redis idem:*"
    assert told.user == "default"
    assert not told.is_replica
    assert told.row_estimate is None
    assert told.hides_rows is None
    names = [right.name for right in rights]
    assert names == [
        "PTTL" if name == "PEXPIRETIME" and told.product == "Redis" else name for name in RIGHTS
    ]
    assert all(right.granted for right in rights)
    assert client.get("idem:a") == b"1"
    assert client.dbsize() == 1


def test_a_name_that_is_no_text_is_escaped_in_the_place(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    assert client.ping()
    assert keyspace(prefix="a\x1b[31m\udcff:").describe().place == "redis a\\x1b[31m\\xff:*"


def test_missing_rights_are_told_with_the_rule_that_gives_them(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], url: str
) -> None:
    say(client, "ACL", "SETUSER", "bob", "on", ">x", "-@all", "+scan")
    space = keyspace(url=as_bob(url))
    told, rights = space.describe(), space.rights()
    # What needs no right is known all the same.
    assert told.product == ("Valkey" if "valkey_version" in client.info("server") else "Redis")
    assert told.supported
    assert not told.is_replica
    assert told.user == "bob"
    assert [right.name for right in rights if right.granted] == ["SCAN"]
    missing = [right for right in rights if not right.granted]
    assert len(missing) == len(RIGHTS) - 1
    for right in missing:
        # The control: the rules help, one by one.
        rules = right.grant.removeprefix("ACL SETUSER bob ").split()
        assert rules[0] == f"+{right.name.lower().replace(' ', '|')}"
        say(client, "ACL", "SETUSER", "bob", *rules)
        granted = {one.name: one.granted for one in keyspace(url=as_bob(url)).rights()}
        assert granted[right.name]
    assert all(right.granted for right in keyspace(url=as_bob(url)).rights())


def test_a_key_pattern_that_leaves_the_prefix_out_is_a_missing_right(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], url: str
) -> None:
    say(client, "ACL", "SETUSER", "bob", "on", ">x", "+@all", "~other:*")
    rights = {one.name: one for one in keyspace(url=as_bob(url)).rights()}
    assert rights["SCAN"].granted
    assert not rights["GETRANGE"].granted
    keys = keys_to_read(client, "~idem:*")
    assert rights["GETRANGE"].grant == f"ACL SETUSER bob +getrange {keys}"


@pytest.mark.parametrize(
    ("codec", "readings"),
    [
        ("flag", ["STRLEN"]),
        ("java", ["STRLEN"]),
        ("msgpack", ["GETRANGE", "STRLEN"]),
        ("hash", ["MEMORY USAGE", "HLEN", "HMGET", "HSTRLEN"]),
    ],
)
def test_the_rights_are_those_that_the_codec_takes(
    client: redis.Redis,
    through: Callable[..., RedisKeyspace],
    url: str,
    codec: str,
    readings: list[str],
) -> None:
    text = '  prefix: "mine:"\n  key: "(?P<key>.+)"\n  status: unknown\n  fence: at\n'
    text += f"  codec: {codec}\n"
    if codec == "hash":
        client.hset("mine:a", mapping={f"more-{number}": "1" for number in range(70)})
    else:
        client.set("mine:a", b"\x80")
    say(client, "ACL", "SETUSER", "bob", "on", ">x", "-@all")
    every = through(text, url=as_bob(url)).rights()
    rights = [one for one in every if Purpose.READING in one.needed_for]
    ending = ("PTTL", "PEXPIRETIME", "TIME", "DBSIZE", "INFO", "SCAN")
    assert [one.name for one in rights if one.name not in ending] == readings
    for right in rights:
        say(client, "ACL", "SETUSER", "bob", *right.grant.removeprefix("ACL SETUSER bob ").split())
    # The control: with these and no other, records are read.
    (batch,) = through(text, url=as_bob(url)).scan()
    assert batch.keys == [b"a"]


def test_a_replica_says_so(
    keyspace: Callable[..., RedisKeyspace],
    start: Callable[..., str],
    connect: Callable[[str], redis.Redis],
) -> None:
    url = start()
    assert not keyspace(url=url).describe().is_replica
    say(connect(url), "REPLICAOF", "127.0.0.1", "1")
    assert keyspace(url=url).describe().is_replica


def test_a_server_that_passes_itself_off_as_another_is_known(
    keyspace: Callable[..., RedisKeyspace], start: Callable[..., str]
) -> None:
    told = keyspace(url=start("--extended-redis-compatibility", "yes")).describe()
    assert told.product == "Valkey"
    assert told.version.startswith("9.")


@pytest.mark.parametrize(
    ("product", "version", "supported"),
    [
        ("Redis", "6.0.20", False),
        ("Redis", "6.2.0", True),
        ("Redis", "7.0.15", True),
        ("Redis", "10.1", True),
        ("Valkey", "7.2.5", True),
        ("Valkey", "7.1.9", False),
        ("Redis", "unknown", False),
        ("Redis", "255.255.255", True),
    ],
)
def test_the_floor_is_redis_6_2_and_valkey_7_2(product: str, version: str, supported: bool) -> None:
    server = Server(product=product, version=version, is_replica=False, is_cluster=False)
    assert server.is_supported is supported


def test_the_only_primary_of_a_cluster_is_the_whole(
    keyspace: Callable[..., RedisKeyspace],
    start: Callable[..., str],
    connect: Callable[[str], redis.Redis],
) -> None:
    url = start("--cluster-enabled", "yes")
    node = connect(url)
    say(node, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    until(lambda: b"cluster_state:ok" in say(node, "CLUSTER", "INFO"))
    for number in range(3000):
        node.set(f"seen:{number}", "1")
    space = keyspace("bare", url=url)
    assert space.describe().hides_rows is None
    assert sum(len(batch) for batch in space.scan()) == 3000


def test_a_cluster_that_may_not_be_asked_who_serves_what_is_never_taken_for_the_whole(
    keyspace: Callable[..., RedisKeyspace],
    start: Callable[..., str],
    connect: Callable[[str], redis.Redis],
) -> None:
    url = start("--cluster-enabled", "yes")
    node = connect(url)
    say(node, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    say(node, "ACL", "SETUSER", "bob", "on", ">x", "~*", "+@all", "-cluster")
    with pytest.raises(Denied, match="user bob may not run CLUSTER SLOTS") as caught:
        list(keyspace(url=f"{url}?username=bob&password=x").scan())
    assert caught.value.hint == "ACL SETUSER bob +cluster|slots"


def test_the_clock_is_the_servers(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    space = keyspace()
    before, at, after = client.time(), space.clock(), client.time()
    assert before[0] + before[1] / 1e6 <= at.timestamp() <= after[0] + after[1] / 1e6
    assert at.utcoffset() is not None
    assert abs(at.timestamp() - time.time()) < 5

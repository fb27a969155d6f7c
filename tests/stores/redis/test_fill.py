from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from idemctl.domain.instants import to_micros
from idemctl.errors import Denied, Refused, Unreachable, Unsupported
from idemctl.stores.redis import keyspace as module
from idemctl.stores.redis.fill import PATIENCE
from tests.stores.redis.servers import as_user, say, until

if TYPE_CHECKING:
    from collections.abc import Callable

    import redis

    from idemctl.stores.redis.keyspace import RedisKeyspace

UNTIL = 4_000_000_000_123_999
KEYS = (b"a", b"a:b", b"\xff\xfe", b"\x00\r\n$3\r\nSET\r\n", b"100%d%b%", b"*?[a]\\", b"k" * 600)


def fill(keyspace: RedisKeyspace, *keys: bytes, scope: bytes = b"") -> list[bool]:
    count = len(keys)
    values = [b"value of " + key for key in keys]
    until_at = np.full(count, UNTIL, np.int64)
    written = keyspace.fill((keys, [scope] * count), values, until_at, now=now_there())
    if written.failure is not None:
        raise written.failure
    return list(map(bool, written.flags))


def now_there() -> int:
    """Read the clock of these servers, which is that of this machine."""
    return to_micros(datetime.now(UTC))


def connection_count(client: redis.Redis) -> int:
    return len(client.client_list())


def test_what_is_absent_is_written_to_end_at_its_instant(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    space = keyspace(writable=True)
    assert fill(space, *KEYS) == [True] * len(KEYS)
    assert fill(space, *KEYS, scope=b"acme") == [True] * len(KEYS)
    for key in KEYS:
        for name in (b"idem:" + key, b"idem:acme:" + key):
            assert client.get(name) == b"value of " + key
            # Down to the millisecond, never up.
            left = UNTIL // 1000 - client.pttl(name)
            seconds, micros = client.time()
            assert left == pytest.approx(seconds * 1000 + micros // 1000, abs=1000)
    assert client.dbsize() == 2 * len(KEYS)


def test_an_end_between_two_milliseconds_is_the_earlier(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    assert fill(keyspace(writable=True), b"a") == [True]
    seconds, micros = client.time()
    ends = seconds * 1000 + micros // 1000 + client.pttl("idem:a")
    is_old = client.info("server")["redis_version"].startswith("6.")
    # Redis 6.2 tells no end, only what is left.
    told = ends if is_old else client.pexpiretime("idem:a")
    assert told == pytest.approx(UNTIL // 1000, abs=1000 if is_old else 0)


def test_what_is_there_stays_as_it_is(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    client.set("idem:b", "theirs", px=10**9)
    client.hset("idem:c", "a", "hash")
    client.set("idem:d", "")
    space = keyspace(writable=True)
    assert fill(space, b"a", b"b", b"c", b"d", b"e") == [True, False, False, False, True]
    assert client.get("idem:b") == b"theirs"
    assert 0 < client.pttl("idem:b") <= 10**9
    assert client.hgetall("idem:c") == {b"a": b"hash"}
    assert (client.get("idem:d"), client.pttl("idem:d")) == (b"", -1)
    # And again: what was written once is there.
    assert fill(space, b"a", b"e") == [False, False]


def test_of_one_key_asked_for_twice_the_first_is_written(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    assert fill(keyspace(writable=True), b"a", b"a") == [True, False]
    assert client.dbsize() == 1


def test_no_twin_is_written_where_the_layout_has_no_name_for_it(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    space = keyspace("bare", writable=True)
    keys, scopes = [b"a", b"b", b"c"], [b"acme", b"", b"acme"]
    until_at = np.full(3, UNTIL, np.int64)
    written = space.fill((keys, scopes), [b"1", b"2", b"3"], until_at, now=now_there())
    assert written.flags.tolist() == [False, True, False]
    assert client.keys() == [b"seen:b"]
    assert client.get("seen:b") == b"2"
    with pytest.raises(Unsupported, match="does not say under which name a key lies"):
        fill(keyspace("url-path", writable=True), b"a")


def test_nothing_is_nothing(client: redis.Redis, keyspace: Callable[..., RedisKeyspace]) -> None:
    assert fill(keyspace(writable=True)) == []
    assert client.dbsize() == 0


def test_a_burst_is_one_round_trip(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    space = keyspace(writable=True)
    fill(space, b"first")
    client.config_resetstat()
    assert fill(space, *(b"%d" % number for number in range(5000))) == [True] * 5000
    used = {name: told["calls"] for name, told in client.info("commandstats").items()}
    assert used.pop("cmdstat_set") == 5000
    # Others are served after every hundred.
    assert (used.pop("cmdstat_eval"), used.pop("cmdstat_time")) == (50, 50)
    assert sum(used.values()) <= 3


def test_a_keyspace_that_was_not_opened_for_writing_refuses_and_sends_nothing(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    client.config_resetstat()
    with pytest.raises(Refused, match="SET is no command that reads"):
        fill(keyspace(), b"a")
    assert client.dbsize() == 0
    assert "cmdstat_set" not in client.info("commandstats")


def test_a_full_server_is_said_after_all_replies_were_read(
    start: Callable[..., str],
    connect: Callable[[str], redis.Redis],
    keyspace: Callable[..., RedisKeyspace],
) -> None:
    full = start("--maxmemory", "1", "--maxmemory-policy", "noeviction")
    space = keyspace(url=full, writable=True)
    with pytest.raises(Unreachable, match="OOM"):
        fill(space, *KEYS)
    client = connect(full)
    before = connection_count(client)
    client.config_set("maxmemory", 0)
    # On the same connection, nothing of the last burst is taken for an answer to this one.
    assert fill(space, *KEYS) == [True] * len(KEYS)
    assert connection_count(client) == before


def test_a_replica_writes_nothing(
    start: Callable[..., str],
    connect: Callable[[str], redis.Redis],
    keyspace: Callable[..., RedisKeyspace],
) -> None:
    replica = start()
    say(connect(replica), "REPLICAOF", "127.0.0.1", "1")
    with pytest.raises(Unreachable, match="READONLY"):
        fill(keyspace(url=replica, writable=True), b"a")


def test_a_server_that_does_not_answer_is_waited_for_no_longer_than_said(
    client: redis.Redis,
    keyspace: Callable[..., RedisKeyspace],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PATIENCE", timedelta(milliseconds=200))
    space = keyspace(writable=True)
    assert fill(space, b"before") == [True]
    before = connection_count(client)
    say(client, "CLIENT", "PAUSE", 60_000, "WRITE")
    try:
        with pytest.raises(Unreachable, match="no answer in time"):
            fill(space, b"a")
        # What was asked on it is unknown, so nothing more is read from that connection.
        until(lambda: connection_count(client) == before - 1)
    finally:
        say(client, "CLIENT", "UNPAUSE")
    assert fill(space) == []
    assert fill(space, b"before", b"after") == [False, True]


def test_what_comes_too_late_is_not_written(
    start: Callable[..., str],
    connect: Callable[[str], redis.Redis],
    keyspace: Callable[..., RedisKeyspace],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rows are free by then: their keys may be gone, and would come back."""
    monkeypatch.setattr(module, "PATIENCE", timedelta(milliseconds=200))
    url = start()
    client = connect(url)
    space = keyspace(url=url, writable=True)
    fill(space, b"before")
    say(client, "CLIENT", "PAUSE", 60_000, "WRITE")
    # Without a deadline it is written as soon as the server goes on: so the test could fail.
    naive: Any = connect(url).connection_pool.get_connection()
    naive.send_command("SET", "naive", "1", "NX")
    with pytest.raises(Unreachable):
        fill(space, *(b"late-%d" % number for number in range(250)))
    blocked = "blocked_clients"
    until(lambda: client.info("clients")[blocked] > 0)
    say(client, "CLIENT", "UNPAUSE")
    until(lambda: client.exists("naive") == 1)
    until(lambda: client.info("clients")[blocked] == 0)
    assert sorted(client.keys()) == [b"idem:before", b"naive"]
    naive.disconnect()


def test_rows_stay_held_until_nothing_more_is_written(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    """A connection that is cut says at once that it is; what was sent over it may still be done."""
    space = keyspace(writable=True)
    fill(space, b"before")
    say(client, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    started = time.monotonic()
    with pytest.raises(Unreachable):
        fill(space, b"a")
    assert time.monotonic() - started >= PATIENCE.total_seconds()
    assert client.exists("idem:a") == 0


def test_what_was_written_before_the_server_was_full_is_told(
    start: Callable[..., str],
    connect: Callable[[str], redis.Redis],
    keyspace: Callable[..., RedisKeyspace],
) -> None:
    url = start("--maxmemory-policy", "noeviction")
    client = connect(url)
    space = keyspace(url=url, writable=True)
    fill(space, b"before")
    room = client.info("memory")["used_memory"] + 1_000_000
    client.config_set("maxmemory", room)
    keys = [b"%d" % number for number in range(900)]
    until_at = np.full(900, UNTIL, np.int64)
    written = space.fill((keys, [b""] * 900), [b"x" * 4000] * 900, until_at, now=now_there())
    assert isinstance(written.failure, Unreachable)
    assert 0 < np.count_nonzero(written.flags) < 900
    client.config_set("maxmemory", 0)
    there = [client.exists(b"idem:" + key) == 1 for key in keys]
    assert written.flags.tolist() == there


def test_the_only_primary_of_a_cluster_is_filled_key_by_key(
    start: Callable[..., str],
    connect: Callable[[str], redis.Redis],
    keyspace: Callable[..., RedisKeyspace],
) -> None:
    url = start("--cluster-enabled", "yes")
    node = connect(url)
    say(node, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    until(lambda: b"cluster_state:ok" in say(node, "CLUSTER", "INFO"))
    assert fill(keyspace(url=url, writable=True), *KEYS) == [True] * len(KEYS)
    assert node.dbsize() == len(KEYS)


def test_a_user_who_may_run_no_script_is_told_so(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], url: str
) -> None:
    say(client, "ACL", "SETUSER", "bob", "on", ">x", "~*", "+@all", "-eval")
    with pytest.raises(Denied, match="user bob may not run EVAL"):
        fill(keyspace(url=as_user(url, "bob"), writable=True), b"a")
    say(client, "ACL", "SETUSER", "bob", "+eval", "-set")
    with pytest.raises(Denied, match="what a fill's script runs") as caught:
        fill(keyspace(url=as_user(url, "bob"), writable=True), b"a")
    assert "+eval +set +time ~idem:*" in str(caught.value.hint)
    assert client.dbsize() == 0


def test_a_connection_that_the_server_closed_between_two_fills_is_made_anew(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    space = keyspace(writable=True)
    assert fill(space, b"a") == [True]
    say(client, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    # Called with nothing it connects; while rows are held it never does.
    assert fill(space) == []
    assert fill(space, b"a", b"b") == [False, True]


def test_closing_ends_the_connection_for_fills(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace]
) -> None:
    before = connection_count(client)
    space = keyspace(writable=True)
    fill(space, b"a")
    assert connection_count(client) == before + 1
    space.close()
    until(lambda: connection_count(client) == before)

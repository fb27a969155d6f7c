"""A primary and its replica, watched by a real Sentinel, also through a failover."""

from __future__ import annotations

import contextlib
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import redis

from idemctl.errors import ConfigError, Denied, IdemctlError, Unreachable
from idemctl.sandbox.binaries import find_redis
from tests.stores.redis.servers import find_ports, own_folder, say, serving, until
from tests.stores.test_ways import to_redis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from idemctl.stores.redis.keyspace import RedisKeyspace

DEAD = "127.0.0.1:1"


@dataclass(frozen=True)
class Watch:
    primary: redis.Redis
    replica: redis.Redis
    sentinel: redis.Redis
    port: int
    """The Sentinel's."""

    def url(self, *, before: str = "", name: str = "main", user: str = "") -> str:
        return f"redis-sentinel://{user}{before}127.0.0.1:{self.port}/0#{name}"


@contextlib.contextmanager
def watching() -> Iterator[Watch]:
    first, second, third = find_ports(3)
    with own_folder() as place, contextlib.ExitStack() as stack:

        def server(port: int, folder: str, *options: str) -> redis.Redis:
            home = place / folder
            words = ["--port", str(port), "--repl-diskless-sync-delay", "0", *options]
            stack.enter_context(serving(find_redis(None), home, *words))
            return stack.enter_context(contextlib.closing(redis.Redis(port=port)))

        primary = server(first, "a")
        replica = server(second, "b", "--replicaof", "127.0.0.1", str(first))
        until(lambda: _info(replica)["master_link_status"] == "up")
        sentinel = stack.enter_context(_sentinel(place, third, first))
        until(lambda: len(sentinel.sentinel_slaves("main")) == 1)
        yield Watch(primary, replica, sentinel, third)


@pytest.fixture(scope="module")
def watch() -> Iterator[Watch]:
    with watching() as one:
        one.primary.set("seen:1", "1")
        yield one


@pytest.fixture
def failing() -> Iterator[Watch]:
    """One of the test's own."""
    with watching() as one:
        yield one


def _info(client: redis.Redis) -> dict[str, object]:
    told: dict[str, object] = client.info("replication")
    return told


@contextlib.contextmanager
def _sentinel(place: Path, port: int, watched: int) -> Iterator[redis.Redis]:
    home = place / "sentinel"
    home.mkdir()
    file = home / "sentinel.conf"
    file.write_text(
        f"port {port}\nbind 127.0.0.1\ndir {home}\n"
        f"sentinel monitor main 127.0.0.1 {watched} 1\n"
        "sentinel down-after-milliseconds main 60000\n"
    )
    words = [str(find_redis(None)), str(file), "--sentinel"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        try:
            with contextlib.closing(redis.Redis(port=port)) as client:
                until(lambda: _answers(client))
                yield client
        finally:
            process.kill()


def _answers(client: redis.Redis) -> bool:
    with contextlib.suppress(redis.ConnectionError):
        return bool(client.ping())
    return False


def count(space: RedisKeyspace) -> int:
    return sum(len(batch) for batch in space.scan())


def failure(space: RedisKeyspace) -> IdemctlError:
    with pytest.raises(IdemctlError) as caught:
        count(space)
    return caught.value


def test_the_primary_is_read_that_sentinels_name(
    watch: Watch, keyspace: Callable[..., RedisKeyspace]
) -> None:
    space = keyspace("bare", prefix="seen:", url=watch.url())
    assert count(space) == 1
    assert not space.describe().is_replica
    assert space.describe().server == f"127.0.0.1:{watch.port}#main"


def test_after_a_failover_the_new_primary_is_read(
    failing: Watch, keyspace: Callable[..., RedisKeyspace]
) -> None:
    until(lambda: _fails_over(failing.sentinel))
    until(lambda: _info(failing.replica)["role"] == "master")
    until(lambda: _named(failing) == str(_port(failing.replica)))
    failing.replica.set("seen:1", "1")
    failing.replica.set("seen:2", "1")
    assert count(keyspace("bare", prefix="seen:", url=failing.url())) == 2


def _fails_over(sentinel: redis.Redis) -> bool:
    # It says no until it has heard of the replica what it needs to know.
    with contextlib.suppress(redis.ResponseError):
        return bool(say(sentinel, "SENTINEL", "FAILOVER", "main"))
    return False


def _named(watch: Watch) -> str:
    _, port = say(watch.sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main")
    return str(port.decode())


def _port(client: redis.Redis) -> int:
    return int(client.connection_pool.connection_kwargs["port"])


def test_a_sentinel_that_is_down_is_passed_over(
    watch: Watch, keyspace: Callable[..., RedisKeyspace]
) -> None:
    url = watch.url(before=f"{DEAD},")
    assert count(keyspace("bare", prefix="seen:", url=url)) == 1


def test_a_server_that_is_no_primary_any_more_is_not_read(
    failing: Watch, keyspace: Callable[..., RedisKeyspace]
) -> None:
    say(failing.primary, "REPLICAOF", "127.0.0.1", _port(failing.replica))
    error = failure(keyspace("bare", prefix="seen:", url=failing.url()))
    assert isinstance(error, Unreachable)
    assert f"Sentinels name 127.0.0.1:{_port(failing.primary)} as primary, and it is a replica" in (
        error.message
    )


def test_a_name_that_nobody_watches_is_a_wrong_configuration(
    watch: Watch, keyspace: Callable[..., RedisKeyspace]
) -> None:
    error = failure(keyspace("bare", prefix="seen:", url=watch.url(name="other")))
    assert isinstance(error, ConfigError)
    assert "the Sentinels watch no primary named 'other'" in error.message


def test_without_any_sentinel_nothing_is_known(keyspace: Callable[..., RedisKeyspace]) -> None:
    error = failure(keyspace("bare", url=f"redis-sentinel://:secret@{DEAD}/0#main"))
    assert isinstance(error, Unreachable)
    assert error.message == (
        "redis seen:*: no Sentinel tells who the primary is: connection refused"
    )


def test_a_sentinel_that_wants_a_password_gets_that_of_the_primary(
    failing: Watch, keyspace: Callable[..., RedisKeyspace]
) -> None:
    failing.primary.set("seen:1", "1")
    failing.primary.config_set("requirepass", "x")
    say(failing.sentinel, "ACL", "SETUSER", "default", "resetpass", ">x")
    assert count(keyspace("bare", prefix="seen:", url=failing.url(user=":x@"))) == 1
    refused = failure(keyspace("bare", prefix="seen:", url=failing.url(user=":wrong@")))
    assert isinstance(refused, Denied)
    assert "wrong@" not in refused.message


def test_doctor_goes_by_way_of_the_sentinels_to_the_primary(watch: Watch) -> None:
    way = to_redis(watch.url(before=f"{DEAD},"))
    assert list(way) == [
        "name", "tcp", "primary", "tls", "login", "version", "answers", "role", "eviction",
    ]  # fmt: skip
    assert {mark for mark, _ in way.values()} == {"ok"}
    assert way["primary"] == ("ok", f"main is 127.0.0.1:{_port(watch.primary)}")
    assert way["role"] == ("ok", "primary")


def test_doctor_says_what_stretch_behind_the_sentinels_is_broken(
    watch: Watch, failing: Watch
) -> None:
    unknown = to_redis(watch.url(name="other"))
    assert list(unknown) == ["name", "tcp", "primary"]
    mark, says = unknown["primary"]
    assert (mark, says) == ("config", "REDIS_URL: the Sentinels watch no primary named 'other'")
    say(failing.primary, "REPLICAOF", "127.0.0.1", _port(failing.replica))
    demoted = to_redis(failing.url())
    assert list(demoted)[-2:] == ["tls", "login"]
    mark, says = demoted["login"]
    assert mark == "unreachable"
    assert "Sentinels name" in says
    assert says.endswith("as primary, and it is a replica")

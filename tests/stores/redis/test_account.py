"""What a server says of its own past: what it counts, and what it leaves out."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
import redis

from idemctl.domain.incident import Account
from idemctl.stores.redis.account import read_account
from tests.stores.redis.servers import say
from tests.stores.redis.test_describe import as_bob

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from idemctl.stores.redis.bulk import Lane
    from idemctl.stores.redis.keyspace import RedisKeyspace


def test_flushes_of_any_kind_and_database_are_counted(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], url: str
) -> None:
    client.config_resetstat()
    store = keyspace(url=url)
    assert store.account().flush_calls == 0
    client.flushall()
    client.flushdb()
    client.flushdb(asynchronous=True)
    assert store.account().flush_calls == 3
    client.config_resetstat()
    assert store.account().flush_calls == 0


def test_a_flush_that_failed_is_none(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], url: str
) -> None:
    client.config_resetstat()
    with pytest.raises(redis.ResponseError):
        say(client, "FLUSHALL", "NOW")
    assert keyspace(url=url).account().flush_calls == 0


def test_a_server_says_how_long_it_is_up_and_how_full(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], url: str
) -> None:
    said = keyspace(url=url).account()
    info = client.info()
    assert said.uptime is not None
    assert abs(said.uptime.total_seconds() - info["uptime_in_seconds"]) <= 1
    assert said.used_memory is not None
    assert said.used_memory > 0
    assert said.maxmemory == info["maxmemory"]
    assert not said.is_loading


def test_evictions_are_counted(start: Callable[..., str], lane: Callable[..., Lane]) -> None:
    url = start("--maxmemory", "3mb", "--maxmemory-policy", "volatile-ttl")
    with redis.Redis.from_url(url) as client:
        for number in range(6_000):
            client.set(f"idem:{number}", "x" * 500, ex=1_000 + number)
    said = read_account(lane(url=url))
    assert said.evicts
    assert said.is_full
    assert said.flush_calls == 0


def test_a_restart_tells_what_was_loaded(
    start: Callable[..., str], lane: Callable[..., Lane], tmp_path: Path
) -> None:
    home = tmp_path / "restarted"
    url = start(folder=home)
    with redis.Redis.from_url(url) as client:
        client.mset({f"idem:{number}": "x" for number in range(7)})
        client.save()
        client.shutdown(nosave=True)
    said = read_account(lane(url=start(folder=home)))
    assert said.loaded_keys == 7
    assert said.uptime is not None
    assert said.uptime < timedelta(minutes=1)


def test_who_may_not_ask_learns_nothing_and_nothing_fails(
    client: redis.Redis, lane: Callable[..., Lane], url: str
) -> None:
    say(client, "ACL", "SETUSER", "bob", "on", ">x", "~idem:*", "+scan", "+client|setname")
    assert read_account(lane(url=as_bob(url))) == Account()

"""The faults that can be injected, on a Redis of the test's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import redis

from idemctl.errors import Denied, Unreachable
from idemctl.sandbox.faults import FAULTS, flush

if TYPE_CHECKING:
    from idemctl.sandbox.servers import Sandbox


def test_flush_loses_the_keys_of_every_database(sandbox: Sandbox, redis_url: str) -> None:
    for db in (0, 3):
        with redis.Redis.from_url(sandbox.redis_url(db)) as client:
            client.mset({"idem:a": "1", "other:b": "2"})

    assert flush(redis_url) == 4
    assert flush(redis_url) == 0
    for db in (0, 3):
        with redis.Redis.from_url(sandbox.redis_url(db)) as client:
            assert client.dbsize() == 0


def test_the_flush_is_found_by_its_name() -> None:
    assert dict(FAULTS) == {"flush": flush}


def test_a_server_that_is_away_is_said_without_its_password() -> None:
    with pytest.raises(Unreachable) as caught:
        flush("redis://:canary@127.0.0.1:1/0")
    assert "canary" not in f"{caught.value.message} {caught.value.hint}"


def test_a_wrong_password_is_said(redis_url: str) -> None:
    server = redis_url.rpartition("@")[2]
    with pytest.raises(Denied):
        flush(f"redis://:wrong@{server}")

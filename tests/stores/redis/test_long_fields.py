"""Fields that are too long for a record, where names come alone, or with their values."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest

from idemctl.domain.records import Flaw
from idemctl.errors import Unsupported
from idemctl.stores.redis.sieve import Sieve
from tests.stores.redis.layouts import HASH, found, scanned

if TYPE_CHECKING:
    from collections.abc import Callable

    import redis

    from idemctl.stores.redis.keyspace import RedisKeyspace

MIB = 1024 * 1024
HEAVY = 100 * MIB
DONE = b'{"state": "done", "fence": 7}'


def is_old(client: redis.Redis) -> bool:
    return str(client.info("server")["redis_version"]).startswith("6.")


def sent_by(client: redis.Redis) -> int:
    return int(client.info("stats")["total_net_output_bytes"])


def test_a_hundred_megabytes_are_a_finding_and_are_not_kept_here(
    client: redis.Redis, through: Callable[..., RedisKeyspace]
) -> None:
    client.hset("seen", mapping={f"k{number}": DONE for number in range(1500)})
    client.hset("seen", "heavy", b"x" * HEAVY)
    store = through(HASH)
    before = sent_by(client)
    tracemalloc.start()
    records = scanned(store)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(records) == 1501
    assert {key for key, one in records.items() if one.flaw is not Flaw.NONE} == {b"heavy"}
    assert records[b"heavy"].flaw is Flaw.TOO_LONG
    assert most < 8 * MIB
    # A server that cannot help it sends the value along; the other does not.
    assert (sent_by(client) - before > HEAVY) is is_old(client)
    before = sent_by(client)
    (heavy,) = found(store, [b"heavy"])
    assert heavy == records[b"heavy"]
    assert sent_by(client) - before < MIB


def test_a_long_value_is_read_up_to_the_limit_and_its_true_size_is_told(
    client: redis.Redis, through: Callable[..., RedisKeyspace]
) -> None:
    bare = len(DONE) + len(b', "b": ""')
    sizes = [1000, MIB - 1, MIB, MIB + 1, 3 * MIB]
    for size in sizes:
        body = DONE[:-1] + b', "b": "' + b"x" * (size - bare) + b'"}'
        client.hset("seen", str(size), body)
    batches = list(through(HASH).scan())
    told = {
        int(key): (int(size), Flaw(flaw))
        for one in batches
        for key, size, flaw in zip(one.keys, one.size, one.flaw, strict=True)
    }
    assert told == {size: (size, Flaw.TOO_LONG if size > MIB else Flaw.NONE) for size in sizes}


def test_a_name_that_was_dropped_like_a_value_is_not_passed_over(
    client: redis.Redis, through: Callable[..., RedisKeyspace]
) -> None:
    client.hset("seen", b"n" * (MIB + 1), DONE)
    if is_old(client):
        with pytest.raises(Unsupported, match="cannot judge: a field's name is longer"):
            scanned(through(HASH))
    else:
        assert len(scanned(through(HASH))) == 1


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
def test_a_sieve_leaves_out_the_long_and_nothing_else_however_it_arrives(step: int) -> None:
    sent = b"*4\r\n$2\r\nab\r\n$5\r\n\r\n$9\r\r\n$-1\r\n*1\r\n:7\r\n"
    sent += b"+OK\r\n-ERR no\r\n$0\r\n\r\n$3\r\n\r\n.\r\n"
    sieve = Sieve(3)
    got = b"".join(sieve.sifted(sent[at : at + step]) for at in range(0, len(sent), step))
    assert got == sent.replace(b"$5\r\n\r\n$9\r\r\n", b"$-1\r\n")

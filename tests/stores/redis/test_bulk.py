from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis import exceptions
from redis.connection import Connection

import idemctl.stores.redis
from idemctl.errors import Refused, Unreachable
from idemctl.stores.redis.bursts import KEY, Burst
from idemctl.stores.redis.reads import READS
from tests.stores.redis.servers import say

if TYPE_CHECKING:
    from collections.abc import Callable

    import redis

    from idemctl.stores.redis.bulk import Lane

SOURCES = sorted(Path(idemctl.stores.redis.__file__).parent.glob("*.py"))


# The door


@pytest.mark.parametrize(
    "words",
    [
        b"SET idem:a 1",
        b"set idem:a 1",
        b"SET idem:a 1 NX PX 1000",
        b"DEL idem:a",
        b"UNLINK idem:a",
        b"EXPIRE idem:a 1",
        b"PERSIST idem:a",
        b"GETEX idem:a",
        b"GETDEL idem:a",
        b"EVAL return 0",
        b"EVALSHA_RO x 0",
        b"FLUSHALL",
        b"CONFIG SET maxmemory 1",
        b"CONFIG GET maxmemory",
        b"CONFIG GET requirepass",
        b"CONFIG GET save requirepass",
        b"CONFIG GET *",
        b"CONFIG GET",
        b"CLIENT KILL ID 1",
        b"CLIENT",
        b"ACL SETUSER bob",
        b"CLUSTER RESET",
        b"MULTI",
        b"DEBUG SLEEP 0",
        b"KEYS *",
        b"",
    ],
)
def test_a_lane_that_reads_refuses_what_does_not_before_anything_is_sent(
    client: redis.Redis, lane: Callable[..., Lane], words: bytes
) -> None:
    client.set("idem:a", "kept", ex=1000)
    reading = lane()
    before = client.info("commandstats")
    with pytest.raises(Refused, match="is no command that reads"):
        reading.tell(*words.split(b" "))
    assert _calls(client) == _calls_in(before) + 1
    assert client.get("idem:a") == b"kept"
    assert reading.demand(b"STRLEN", b"idem:a") == 4


def test_one_refused_command_holds_back_what_travels_with_it(
    client: redis.Redis, lane: Callable[..., Lane]
) -> None:
    reading = lane()
    before = client.info("commandstats").get("cmdstat_pttl")
    with pytest.raises(Refused):
        reading.send(Burst.of(b"TIME"), Burst.of(b"DEL", b"idem:a"))
    with pytest.raises(Refused):
        reading.send(Burst(commands=((b"PTTL", KEY), (b"PERSIST", KEY)), keys=[b"idem:a"]))
    with pytest.raises(Refused):
        reading.send(Burst(commands=((b"CONFIG", b"GET", b"save", KEY),), keys=[b"requirepass"]))
    assert client.info("commandstats").get("cmdstat_pttl") == before
    assert reading.tell(b"PTTL", b"idem:a") == -2


def test_the_control_a_lane_that_may_write_does(
    client: redis.Redis, lane: Callable[..., Lane]
) -> None:
    assert lane(writable=True).demand(b"SET", b"idem:a", b"1") == b"OK"
    assert client.get("idem:a") == b"1"


def test_no_command_of_the_read_list_writes_by_the_servers_own_word(
    flags: dict[str, set[str]],
) -> None:
    names = {name.split(b" ")[0].decode().lower() for name in READS}
    # Redis 6.2 knows no PEXPIRETIME, and only a Sentinel knows SENTINEL.
    assert names - flags.keys() <= {"pexpiretime", "sentinel"}
    assert not [name for name in names & flags.keys() if "write" in flags[name]]
    # The control: the server does say so of others.
    assert "write" in flags["set"]


def test_nothing_goes_past_the_door() -> None:
    senders = []
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("redis"):
                names = {alias.name for alias in node.names}
                assert (source.name, names) in [
                    ("connect.py", {"connection"}),
                    ("connect.py", {"exceptions"}),
                    ("bulk.py", {"exceptions"}),
                    ("cluster.py", {"exceptions"}),
                    ("slots.py", {"REDIS_CLUSTER_HASH_SLOTS", "key_slot"}),
                    ("translation.py", {"exceptions"}),
                    ("replies.py", {"exceptions"}),
                    ("replies.py", {"DefaultParser"}),
                ]
            if isinstance(node, ast.Import):
                assert not any(alias.name.startswith("redis") for alias in node.names)
            if isinstance(node, ast.Attribute):
                if node.attr in {"send_packed_command", "send_command", "execute_command"}:
                    senders.append((source.name, node.attr))
                # No private attribute of anything but ourselves, but for the one method that
                # every connection class of redis-py has to define.
                if node.attr.startswith("_") and not node.attr.startswith("__"):
                    assert ast.unparse(node) == "super()._connect" or (
                        isinstance(node.value, ast.Name) and node.value.id == "self"
                    )
    assert senders == [("bulk.py", "send_packed_command")]


# What travels


@given(
    words=st.lists(st.binary(max_size=20), min_size=1, max_size=4),
    keys=st.lists(st.binary(max_size=40), min_size=1, max_size=4),
)
def test_packing_by_hand_gives_what_the_driver_would_send(
    words: list[bytes], keys: list[bytes]
) -> None:
    words += [b"50%", b"%d\r\n", b""]
    driver: Any = Connection()  # type: ignore[no-untyped-call]
    expected = b"".join(
        part
        for key in keys
        for part in driver.pack_command(b"A", *words, key) + driver.pack_command(b"B", key, key)
    )
    burst = Burst(commands=((b"A", *words, KEY), (b"B", KEY, KEY)), keys=keys)
    assert burst.packed() == expected
    assert burst.reply_count == 2 * len(keys)


def test_errors_in_a_burst_are_values_in_their_places(
    client: redis.Redis, lane: Callable[..., Lane]
) -> None:
    client.set("a", "1")
    client.lpush("b", "1")
    reading = lane()
    command = (b"GETRANGE", KEY, b"0", b"9")
    first, second, third = reading.ask(Burst(commands=(command,), keys=[b"a", b"b", b"c"]))
    assert (first, third) == (b"1", b"")
    assert isinstance(second, exceptions.ResponseError)
    assert str(second).startswith("WRONGTYPE")


def test_a_question_in_between_leaves_replies_to_whom_they_belong(
    client: redis.Redis, lane: Callable[..., Lane]
) -> None:
    for name in ("a", "bb", "ccc"):
        client.set(name, name)
    reading = lane()
    reading.send(Burst.of(b"STRLEN", b"a"), Burst.of(b"STRLEN", b"bb"))
    assert reading.demand(b"STRLEN", b"ccc") == 3
    assert reading.demand(b"PTTL", b"ccc") == -1
    assert [reading.receive(), reading.receive()] == [[1], [2]]


def test_a_lost_lane_stays_lost(client: redis.Redis, lane: Callable[..., Lane]) -> None:
    reading = lane()
    assert reading.is_idle()
    say(client, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    for _ in range(3):
        with pytest.raises(Unreachable, match="the connection was lost"):
            reading.demand(b"TIME")
        assert not reading.is_idle()
    # The control: the server is there, and a new lane reaches it.
    assert lane().demand(b"STRLEN", b"a") == 0


def _calls_in(stats: dict[str, dict[str, int]]) -> int:
    return sum(one["calls"] for one in stats.values())


def _calls(client: redis.Redis) -> int:
    return _calls_in(client.info("commandstats"))

"""What servers say of the place in which records lie, and what they leave out."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from idemctl.domain.circumstances import Primary, RedisCircumstances, Unseen
from idemctl.stores.redis.circumstances import read_circumstances
from tests.stores.redis.servers import as_user, find_ports, say, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import redis

    from idemctl.stores.redis.bulk import Lane


@pytest.fixture
def read(lane: Callable[..., Lane], url: str) -> Callable[..., RedisCircumstances]:
    return lambda **more: read_circumstances(lane(**({"url": url} | more)))


def fields(told: RedisCircumstances) -> dict[str, object]:
    names = set(RedisCircumstances.__slots__) - {"server", "others"}
    return {name: getattr(told, name) for name in names}


def test_both_servers_tell_everything(client: redis.Redis, read: Any) -> None:
    client.config_resetstat()
    told = read()
    info: Any = client.info("all")
    # How many replicas are close is only counted where some are needed.
    unseen = {name for name, value in fields(told).items() if isinstance(value, Unseen)}
    assert unseen == {"replicas_close"}
    assert told.eviction_policy == info["maxmemory_policy"]
    assert told.memory_limit == info["maxmemory"]
    assert told.machine_memory == info["total_system_memory"]
    assert abs(told.memory_used - info["used_memory"]) < 10_000_000
    assert (told.evicted_count, told.refusals) == (0, {})
    assert (told.appends, told.sync, told.snapshot_rule) == (False, "everysec", "")
    assert (told.snapshot_failed, told.append_failed, told.rewrite_failed) == (False, False, False)
    assert (told.primary, told.replicas, told.replicas_needed, told.uncovered_slots) == (
        None, (), 0, 0,
    )  # fmt: skip


def test_what_is_refused_is_counted_by_its_word(client: redis.Redis, read: Any) -> None:
    client.config_resetstat()
    client.config_set("maxmemory", 1)
    try:
        for _ in range(3):
            with pytest.raises(Exception, match="not allowed when used memory"):
                client.set("a", "1")
    finally:
        client.config_set("maxmemory", "1gb")
    with pytest.raises(Exception, match="not an integer"):
        say(client, "EXPIRE", "a", "x")
    assert read().refusals == {"OOM": 3}
    client.config_resetstat()
    assert read().refusals == {}


def test_each_right_shows_its_part(client: redis.Redis, read: Any, url: str) -> None:
    say(client, "ACL", "SETUSER", "bob", "on", ">x", "~idem:*", "+scan", "+client|setname")
    bob = as_user(url, "bob")
    info = Unseen("this user may not run INFO; ACL SETUSER bob +info")
    config = Unseen("this user may not run CONFIG GET; ACL SETUSER bob +config|get")
    settings = {"sync", "snapshot_rule", "replicas_needed"}
    blind = fields(read(url=bob))
    assert blind == dict.fromkeys(blind, info) | dict.fromkeys(settings, config)
    say(client, "ACL", "SETUSER", "bob", "+info")
    some = fields(read(url=bob))
    unseen = {name for name, value in some.items() if value == config}
    # That none is needed stands in INFO.
    assert unseen == {"sync", "snapshot_rule"}
    assert some["replicas_needed"] == 0
    # The control: the rule helps.
    say(client, "ACL", "SETUSER", "bob", "+config|get")
    all_of_it = fields(read(url=bob))
    assert {name for name, value in all_of_it.items() if isinstance(value, Unseen)} == {
        "replicas_close"
    }


def test_a_server_without_config_says_nothing_of_its_settings(
    start: Callable[..., str], read: Any
) -> None:
    told = read(url=start("--rename-command", "CONFIG", ""))
    assert told.sync == told.snapshot_rule == Unseen("the server knows no CONFIG")
    assert told.appends is False


def test_a_replica_tells_its_primary_and_how_long_it_is_cut_off(
    start: Callable[..., str], connect: Callable[[str], redis.Redis], read: Any
) -> None:
    (port,) = find_ports(1)
    up, down = start("--port", str(port)), start()
    replica = connect(down)
    say(replica, "REPLICAOF", "127.0.0.1", port)
    linked = Primary(place=f"127.0.0.1:{port}", is_linked=True, unlinked_for=None)
    until(lambda: read(url=down).primary == linked)
    (one,) = read(url=up).replicas
    assert one.place == "127.0.0.1:0"
    assert one.silent_for < timedelta(seconds=10)

    connect(up).shutdown(nosave=True)
    until(lambda: not read(url=down).primary.is_linked)
    cut_off = read(url=down).primary
    assert cut_off.place == linked.place
    assert timedelta(0) <= cut_off.unlinked_for < timedelta(seconds=10)


def test_a_replica_that_was_just_taken_in_is_not_taken_for_far_behind(
    start: Callable[..., str], connect: Callable[[str], redis.Redis], read: Any
) -> None:
    (port,) = find_ports(1)
    url = start("--port", str(port), "--repl-diskless-sync-delay", "0")
    primary = connect(url)
    first = connect(start("--replicaof", f"127.0.0.1 {port}"))
    until(lambda: first.info("replication")["master_link_status"] == "up")
    for number in range(20):
        primary.set(f"a:{number}", "x" * 1_000_000)
    start("--replicaof", f"127.0.0.1 {port}")
    seen: set[int | None] = set()

    def all_have_answered() -> bool:
        replicas = read(url=url).replicas
        seen.update(one.behind for one in replicas if one.is_online)
        return len(replicas) == 2 and all(one.behind == 0 for one in replicas)

    until(all_have_answered)
    assert 0 in seen


def test_uncovered_slots_of_a_cluster_are_counted(
    start: Callable[..., str], connect: Callable[[str], redis.Redis], read: Any
) -> None:
    url = start("--cluster-enabled", "yes")
    assert read(url=url).uncovered_slots == 16_384
    say(connect(url), "CLUSTER", "ADDSLOTSRANGE", 0, 16_000)
    assert read(url=url).uncovered_slots == 383
    say(connect(url), "ACL", "SETUSER", "bob", "on", ">x", "~*", "+@all", "-cluster")
    assert read(url=f"{url}?username=bob&password=x").uncovered_slots == Unseen(
        "this user may not run CLUSTER INFO; ACL SETUSER bob +cluster|info"
    )

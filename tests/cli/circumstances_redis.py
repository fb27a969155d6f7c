"""The same for Redis: each case has a server for itself."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from tests.cli.alone import RECORD
from tests.cli.circumstances import Case
from tests.stores.redis.servers import say, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.alone import Alone


def configure(**settings: str | int) -> Callable[[Alone], object]:
    words = {name.replace("_", "-"): value for name, value in settings.items()}
    return lambda alone: [alone.client.config_set(name, value) for name, value in words.items()]


def fill(share: float) -> Callable[[Alone], object]:
    return lambda alone: alone.fill(share)


def refuse_for_memory(alone: Alone) -> None:
    alone.client.config_set("maxmemory", 1)
    alone.refuse("SET", "filler", "x")
    alone.refuse("SET", "filler", "x")
    alone.client.config_set("maxmemory", "1gb")


def lose_link(alone: Alone) -> None:
    alone.follow(1)
    alone.await_info("master_link_status", "down")


def be_followed_late(alone: Alone) -> None:
    """Take in a replica that asks for everything, and gets it in a minute."""
    before = alone.info("connected_slaves")
    alone.client.config_set("repl-diskless-sync-delay", 60)
    visitor = alone.running.enter_context(socket.create_connection(("127.0.0.1", alone.port)))
    visitor.sendall(b"REPLCONF capa eof\r\n")
    assert visitor.recv(5) == b"+OK\r\n"
    visitor.sendall(b"SYNC\r\n")
    until(lambda: alone.info("connected_slaves") > before)


def need_a_replica_that_is_there(alone: Alone) -> None:
    alone.be_followed()
    alone.client.config_set("min-replicas-to-write", 1)
    alone.await_info("min_slaves_good_slaves", 1)


def have_the_replica_that_is_named(alone: Alone) -> None:
    alone.be_followed()
    alone.name_replicas("CACHE_EU")


def give_up_a_slot(alone: Alone) -> None:
    empty = next(
        slot for slot in range(16_384) if not say(alone.client, "CLUSTER", "COUNTKEYSINSLOT", slot)
    )
    say(alone.client, "CLUSTER", "DELSLOTS", empty)
    until(lambda: b"cluster_slots_ok:16383" in say(alone.client, "CLUSTER", "INFO"))


REDIS: tuple[Case[Alone], ...] = (
    Case(
        code="eviction-enabled",
        sick=configure(maxmemory_policy="volatile-ttl"),
        near=configure(maxmemory_samples=7),
        says="maxmemory-policy is volatile-ttl",
    ),
    Case(
        code="keys-evicted",
        sick=lambda alone: alone.evict(),
        # What expires is not evicted.
        near=lambda alone: alone.expire(),
        count=-1,
        says="keys were evicted since the server began to count",
    ),
    Case(code="memory-full", sick=fill(1.0), near=fill(0.98), says="% of maxmemory is in use"),
    Case(code="memory-nearly-full", sick=fill(0.92), near=fill(0.88), says="92 % of maxmemory"),
    Case(code="memory-running-low", sick=fill(0.80), near=fill(0.72), says="80 % of maxmemory"),
    Case(
        code="memory-unlimited",
        sick=configure(maxmemory=0),
        near=configure(maxmemory="20gb"),
        says="maxmemory is 0; ",
    ),
    Case(
        code="writes-refused",
        sick=refuse_for_memory,
        near=lambda alone: alone.refuse("HGET", RECORD, "x"),
        count=2,
        says="2 for lack of memory (OOM)",
    ),
    Case(
        code="persistence-off",
        sick=configure(appendonly="no", save=""),
        near=configure(appendonly="no", save="3600 1"),
        says="appendonly is no, and save is empty",
    ),
    Case(
        code="append-only-off",
        sick=configure(appendonly="no", save="3600 1"),
        near=configure(appendonly="yes", save="3600 1"),
        says="appendonly is no; changes since the last snapshot: 1",
    ),
    Case(
        code="fsync-off",
        sick=configure(appendfsync="no"),
        near=configure(appendfsync="always"),
        says="appendfsync is no",
    ),
    Case(
        code="snapshot-failed",
        sick=lambda alone: alone.snapshot(fails=True),
        near=lambda alone: alone.snapshot(fails=False),
        says="the last snapshot failed",
    ),
    Case(
        code="append-only-failed",
        sick=lambda alone: alone.rewrite(fails=True),
        near=lambda alone: alone.rewrite(fails=False),
        says="failed: its last rewrite",
    ),
    Case(
        code="server-is-replica",
        sick=lambda alone: alone.follow_well(),
        near=lambda alone: alone.be_followed(),
        says="it is a replica of 127.0.0.1:",
    ),
    Case(
        code="replication-link-down",
        sick=lose_link,
        near=lambda alone: alone.follow_well(),
        says="the link to 127.0.0.1:1 is down",
    ),
    Case(
        code="replica-behind",
        sick=be_followed_late,
        near=lambda alone: alone.be_followed(),
        says="127.0.0.1:0 is still sent everything",
    ),
    Case(
        code="replicas-too-few",
        sick=configure(min_replicas_to_write=2),
        near=need_a_replica_that_is_there,
        says="min-replicas-to-write is 2, and 1 are close",
    ),
    Case(
        code="replica-missing",
        sick=lambda alone: alone.name_replicas("CACHE_EU", "CACHE_US"),
        near=have_the_replica_that_is_named,
        says="1 of 2 replicas are connected",
    ),
    Case(
        code="slots-uncovered",
        sick=give_up_a_slot,
        near=lambda alone: alone.remember(),
        says="nobody serves 1 of 16,384 slots",
        options=("--cluster-enabled", "yes", "--cluster-require-full-coverage", "no"),
    ),
)

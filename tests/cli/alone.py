"""A Valkey that a test has for itself, with a store in it: to be filled, cut off and broken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import redis

from idemctl.sandbox.binaries import find_redis
from tests.stores.redis.servers import find_ports, say, serving, until

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

    from tests.cli.places import Done, Place

RECORD = "body:495000:" + "f" * 64
_HEALTHY = ("--maxmemory", "1gb", "--appendonly", "yes", "--repl-diskless-sync-delay", "0")
_STORE = """\
version: 1
stores:
  deliveries:
    redis: {url_env: REDIS_URL, layout: body-hash, prefix: "body:", ttl: 1h}
"""
_MOST = 1_000_000_000


@dataclass(kw_only=True)
class Alone:
    """A server, and the place that leads to it."""

    place: Place
    client: redis.Redis
    port: int
    folder: Path
    running: ExitStack
    """Ends what the test began."""

    def audit(self, *words: str) -> Done:
        return self.place.main(
            "audit", "--store", "deliveries", "--pace", "full", "-o", "json", *words
        )

    def lead(self, port: int, user: str = "") -> None:
        self.place.configure(_STORE)
        self.place.lead(REDIS_URL=f"redis://{user}127.0.0.1:{port}/0")

    def name_replicas(self, *urls: str) -> None:
        """Write down where its replicas are meant to be."""
        named = ", ".join(f"{{url_env: {url}}}" for url in urls)
        self.place.configure(f"{_STORE}    replicas: {{redis: [{named}]}}\n")

    def remember(self) -> None:
        """Make sure that there is a record to look at."""
        self.client.set(RECORD, "1", ex=3_000)

    def info(self, name: str) -> Any:
        facts: dict[str, Any] = self.client.info("all")
        return facts.get(name)

    def await_info(self, name: str, value: Any) -> None:
        until(lambda: self.info(name) == value)

    def expire(self) -> None:
        self.client.set("filler", "x", px=1)
        self.await_info("expired_keys", 1)

    def fill(self, share: float) -> None:
        """Make so much of its memory be in use; what clients use does not matter beside it."""
        self.client.config_set("maxmemory", _MOST)
        # The server writes the zeros: no client's buffer comes and goes.
        self.client.setrange("filler", 40_000_000, "x")
        self.client.config_set("maxmemory", int(self.info("used_memory") / share))

    def evict(self) -> None:
        self.client.config_set("maxmemory-policy", "volatile-ttl")
        self.client.config_set("maxmemory", self.info("used_memory") + 1_000_000)
        for number in range(3_000):
            self.client.set(f"filler:{number}", b"x" * 1_000, ex=60)
        self.client.config_set("maxmemory", _MOST)
        self.client.config_set("maxmemory-policy", "noeviction")
        self.remember()

    def refuse(self, *words: str) -> None:
        """Say something that the server must refuse."""
        try:
            say(self.client, *words)
        except redis.ResponseError:
            return
        raise AssertionError(words)

    def snapshot(self, *, fails: bool) -> None:
        """Take a snapshot, which fails where a folder is in its way."""
        if fails:
            (self.folder / "dump.rdb").unlink(missing_ok=True)
            (self.folder / "dump.rdb").mkdir()
        self.client.bgsave()
        self.await_info("rdb_bgsave_in_progress", 0)

    def rewrite(self, *, fails: bool) -> None:
        """Write the append-only file anew, which fails in the same way."""
        self.await_info("aof_rewrite_in_progress", 0)
        if fails:
            for number in range(1, 9):
                file = self.folder / "appendonlydir" / f"appendonly.aof.{number}.base.rdb"
                if not file.exists():
                    file.mkdir()
        before = self.info("aof_rewrites")
        self.client.bgrewriteaof()
        until(lambda: self.info("aof_rewrites") > before)
        self.await_info("aof_rewrite_in_progress", 0)

    def start_another(self, *options: str) -> int:
        """Start one more server, and give its port."""
        (port,) = find_ports(1)
        home = self.folder.with_name(f"another-{port}")
        self.running.enter_context(
            serving(find_redis(None), home, "--port", str(port), *_HEALTHY, *options)
        )
        return port

    def be_followed(self) -> int:
        """Get a replica that has everything, and give its port."""
        port = self.start_another("--replicaof", f"127.0.0.1 {self.port}")

        def follows() -> bool:
            facts = self.info("slave0")
            return bool(facts and facts["state"] == "online" and facts["offset"])

        until(follows)
        return port

    def follow(self, port: int) -> None:
        """Become a replica; of a server that is not there, it keeps what it has."""
        self.client.replicaof("127.0.0.1", port)

    def follow_well(self) -> None:
        port = self.start_another()
        with redis.Redis(port=port) as primary:
            primary.set(RECORD, "1", ex=3_000)
        self.follow(port)
        self.await_info("master_link_status", "up")


def serve(place: Place, home: Path, running: ExitStack, *options: str) -> Alone:
    """Start a server that is healthy but for the options."""
    port, bus = find_ports(2)
    words = ["--port", str(port), *_HEALTHY, *options]
    is_cluster = "--cluster-enabled" in options
    if is_cluster:
        words += ["--cluster-port", str(bus)]
    running.enter_context(serving(find_redis(None), home / "alone", *words))
    client = redis.Redis(port=port)
    running.callback(client.close)
    if is_cluster:
        say(client, "CLUSTER", "ADDSLOTSRANGE", 0, 16_383)
        until(lambda: b"cluster_state:ok" in say(client, "CLUSTER", "INFO"))
    alone = Alone(place=place, client=client, port=port, folder=home / "alone", running=running)
    alone.lead(port)
    alone.remember()
    return alone

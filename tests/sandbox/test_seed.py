"""The seed against its manifest, by queries that know nothing of either's code."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import redis

from idemctl.errors import Locked, Refused, Unreachable, UsageError
from idemctl.sandbox import seed as seed_package
from idemctl.sandbox.seed import Manifest, seed
from idemctl.sandbox.seed import postgres as seed_postgres
from idemctl.sandbox.servers import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RECORDS = 5_000
DAY_MS = 86_400_000
QUARTER_HOUR_MS = 15 * 60 * 1000
FINAL = "status IN ('completed', 'failed')"
UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
REDIS_UNTIL = "least(expires_at, coalesce(completed_at, created_at) + interval '24 hours')"

Keys = set[bytes]


@dataclass(frozen=True)
class RedisKey:
    kind: bytes
    value: bytes | None
    ttl_ms: int
    expires_at_ms: int


@dataclass(frozen=True)
class World:
    """One seeded sandbox, as it is read with plain queries."""

    manifest: Manifest
    connection: psycopg.Connection
    redis: dict[bytes, RedisKey]

    def sql(self, query: str) -> list[Any]:
        return self.connection.execute(query.encode()).fetchall()

    def keys(self, query: str) -> Keys:
        return {row[0].encode() for row in self.sql(query)}

    def payments(self, where: str) -> Keys:
        return self.keys(f"SELECT idempotency_key FROM processed_events WHERE {where}")

    def named(self, where: str) -> Keys:
        """Give the names in Redis of the payments."""
        return {
            b"idem:" + f"{scope}:{key}".removeprefix(":").encode()
            for scope, key in self.sql(
                f"SELECT scope, idempotency_key FROM processed_events WHERE {where}"
            )
        }

    def under(self, prefix: bytes) -> dict[bytes, RedisKey]:
        return {name: key for name, key in self.redis.items() if name.startswith(prefix)}

    def twins(self) -> Iterator[tuple[bytes, dict[str, Any]]]:
        for name, key in self.under(b"idem:").items():
            if key.kind == b"string" and key.value is not None and is_json(key.value):
                yield name, json.loads(key.value)


def is_json(value: bytes) -> bool:
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


def is_text(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


def bare(names: Keys) -> Keys:
    """Cut prefix and scope off names of payments in Redis; their keys have no colon."""
    return {name.removeprefix(b"idem:").rpartition(b":")[2] for name in names}


def read_redis(client: redis.Redis) -> dict[bytes, RedisKey]:
    names: list[Any] = list(client.scan_iter(count=1_000))
    pipeline = client.pipeline(transaction=False)
    for name in names:
        pipeline.type(name)
        pipeline.pttl(name)
        pipeline.pexpiretime(name)
        pipeline.get(name)
    answers = pipeline.execute(raise_on_error=False)
    return {
        name: RedisKey(
            kind=answers[at * 4],
            ttl_ms=answers[at * 4 + 1],
            expires_at_ms=answers[at * 4 + 2],
            value=answers[at * 4 + 3] if answers[at * 4] == b"string" else None,
        )
        for at, name in enumerate(names)
    }


def by_ttl(world: World, prefix: bytes, holds: Callable[[float], bool]) -> Keys:
    return {name for name, key in world.under(prefix).items() if holds(key.ttl_ms / DAY_MS)}


def missing(world: World) -> Keys:
    return bare(world.named(f"{REDIS_UNTIL} > now()") - world.redis.keys())


def orphans(world: World) -> Keys:
    names = {name for name in world.under(b"idem:") if is_text(name)}
    return bare(names - world.named("true"))


def contradicting(world: World, *, status_differs: bool) -> Keys:
    rows = {
        (scope, key): (status, fingerprint, fence)
        for scope, key, status, fingerprint, fence in world.sql(
            "SELECT scope, idempotency_key, status, fingerprint, fence FROM processed_events"
        )
    }
    found = set()
    for _, twin in world.twins():
        row = rows.get((twin["scope"], twin["key"]))
        if row is None or (twin["status"], twin["fingerprint"], twin["fence"]) == row:
            continue
        if status_differs:
            is_older = (twin["status"], row[0]) == ("in_progress", "completed")
            assert not is_older or twin["fence"] < row[2]
            assert not is_older or twin["fingerprint"] == row[1]
        else:
            is_older = twin["status"] != row[0]
        if is_older == status_differs:
            found.add(twin["key"].encode())
    return found


def ends_early(world: World) -> Keys:
    owed = {
        b"idem:" + f"{scope}:{key}".removeprefix(":").encode(): until_ms
        for scope, key, until_ms in world.sql(
            f"SELECT scope, idempotency_key, extract(epoch FROM {REDIS_UNTIL}) * 1000"
            f" FROM processed_events WHERE {FINAL} AND {REDIS_UNTIL} < 'infinity'"
        )
    }
    ends = {name: key.expires_at_ms for name, key in world.redis.items() if key.ttl_ms > 0}
    return bare(
        {
            name
            for name in owed.keys() & ends.keys()
            if ends[name] < owed[name] - 2 * QUARTER_HOUR_MS
        }
    )


def claimed_messages(world: World, *, is_endless: bool) -> Keys:
    return {
        name.removeprefix(b"path:")
        for name, key in world.under(b"path:").items()
        if key.value is not None
        and json.loads(key.value)["status"] == "in_progress"
        and (key.ttl_ms == -1) is is_endless
    }


QUERIES: dict[tuple[str, str], Callable[[World], Keys]] = {
    ("stuck-in-progress", "postgres"): lambda world: world.payments(
        "status = 'in_progress' AND lease_until < now() - interval '2 days'"
    ),
    ("lease-never-filled", "postgres"): lambda world: world.payments(
        "status = 'in_progress' AND lease_until IS NULL"
    ),
    ("fingerprint-missing", "postgres"): lambda world: world.payments("fingerprint IS NULL"),
    ("fingerprint-no-digest", "postgres"): lambda world: world.payments(
        "fingerprint !~ '^[0-9a-f]{64}$'"
    ),
    ("malformed-record", "postgres"): lambda world: world.payments(
        "status NOT IN ('in_progress', 'completed', 'failed')"
    ),
    ("expiry-missing", "postgres"): lambda world: world.payments("expires_at IS NULL"),
    ("expiry-infinite", "postgres"): lambda world: world.payments("expires_at = 'infinity'"),
    ("stored-server-error", "postgres"): lambda world: world.payments(
        "status = 'completed' AND response_status >= 500 AND hit_count > 10"
    ),
    ("key-on-two-endpoints", "postgres"): lambda world: world.keys(
        "SELECT idempotency_key FROM processed_events GROUP BY idempotency_key "
        "HAVING count(DISTINCT endpoint) > 1 OR count(DISTINCT scope) > 1"
    ),
    ("expired-backlog", "postgres"): lambda world: world.payments(
        f"{FINAL} AND expires_at < now() - interval '20 hours'"
    ),
    ("key-oversized", "postgres"): lambda world: world.payments(
        "octet_length(idempotency_key) > 255"
    ),
    ("key-guessable", "postgres"): lambda world: world.payments(
        "length(idempotency_key) < 20 AND scope = ''"
    ),
    ("record-without-ttl", "redis"): lambda world: bare(
        {name for name, key in world.under(b"idem:").items() if key.ttl_ms == -1}
    ),
    ("claim-without-ttl", "redis"): lambda world: claimed_messages(world, is_endless=True),
    ("in-progress-ttl-too-long", "redis"): lambda world: claimed_messages(world, is_endless=False),
    ("ttl-beyond-policy", "redis"): lambda world: bare(
        by_ttl(world, b"idem:", lambda days: 7 < days < 365)
    ),
    ("key-ends-too-early", "redis"): ends_early,
    ("instants-in-mixed-units", "postgres"): lambda world: world.payments(
        "created_at < now() - interval '1 year'"
    ),
    ("times-out-of-order", "postgres"): lambda world: world.payments(
        "completed_at < created_at OR expires_at < created_at"
    ),
    ("ttl-unit-mix-up", "redis"): lambda world: bare(
        by_ttl(world, b"idem:", lambda days: days > 365)
    ),
    ("malformed-record", "redis"): lambda world: bare(
        {
            name
            for name, key in world.under(b"idem:").items()
            if key.value is not None and not is_json(key.value)
        }
    ),
    ("orphan", "redis"): orphans,
    ("missing", "redis"): missing,
    ("divergent", "redis"): lambda world: contradicting(world, status_differs=False),
    ("stale", "redis"): lambda world: contradicting(world, status_differs=True),
    ("key-not-text", "redis"): lambda world: bare(
        {name for name in world.redis if not is_text(name)}
    ),
    ("wrong-type", "redis"): lambda world: bare(
        {name for name, key in world.redis.items() if key.kind != b"string"}
    ),
    ("workflow-stuck", "postgres"): lambda world: world.keys(
        "SELECT key FROM workflow_runs WHERE status = 'running' "
        "AND created_at < now() - interval '3 days'"
    ),
    ("workflow-step-repeated", "postgres"): lambda world: world.keys(
        "SELECT key FROM workflow_runs JOIN workflow_steps USING (run_id) "
        "WHERE workflow_steps.status = 'completed' GROUP BY key, step HAVING count(*) > 1"
    ),
    ("outbox-overdue", "postgres"): lambda world: world.keys(
        "SELECT key FROM outbox_events WHERE dispatched_at IS NULL AND deadline_at < now()"
    ),
    ("body-hash-outlives-window", "redis"): lambda world: {
        name.removeprefix(b"body:") for name in by_ttl(world, b"body:", lambda days: days > 1 / 24)
    },
    ("path-without-uuid", "redis"): lambda world: {
        name.removeprefix(b"path:") for name in world.under(b"path:") if not UUID.search(name)
    },
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    # Not under pytest's own folder, of which the account of the servers sees nothing.
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="idemctl-seed-") as folder:
        Path(folder).chmod(0o755)
        servers = Sandbox(folder=Path(folder) / "s")
        servers.up(durable=False)
        yield servers
        servers.down()


@pytest.fixture(scope="module")
def plain(sandbox: Sandbox) -> Iterator[tuple[psycopg.Connection, redis.Redis]]:
    """Connections that know nothing of the seed."""
    client = redis.Redis.from_url(sandbox.redis_url())
    with psycopg.connect(sandbox.dsn(), autocommit=True) as connection:
        yield connection, client
    client.close()


def sow(sandbox: Sandbox, *, records: int = RECORDS, seed_of: int = 7, faults: bool) -> Manifest:
    return seed(
        dsn=sandbox.dsn(),
        redis_url=sandbox.redis_url(),
        records=records,
        seed=seed_of,
        faults=faults,
    )


@pytest.fixture
def healthy(sandbox: Sandbox, plain: tuple[psycopg.Connection, redis.Redis]) -> World:
    manifest = sow(sandbox, faults=False)
    return World(manifest, plain[0], read_redis(plain[1]))


@pytest.fixture
def faulty(sandbox: Sandbox, plain: tuple[psycopg.Connection, redis.Redis]) -> World:
    manifest = sow(sandbox, faults=True)
    return World(manifest, plain[0], read_redis(plain[1]))


def all_keys(world: World) -> set[bytes]:
    """Name every record; the window of a delivery depends on the hour, so it is cut off."""
    return (
        world.keys("SELECT 'p/' || scope || '/' || idempotency_key FROM processed_events")
        | world.keys("SELECT 'w/' || idempotency_key FROM seen_events")
        | world.keys("SELECT 'f/' || key FROM workflow_runs")
        | world.keys("SELECT 'o/' || key FROM outbox_events")
        | {re.sub(rb"^body:\d+:", b"body:", name) for name in world.redis}
    )


@pytest.mark.parametrize("fixture", ["healthy", "faulty"])
def test_counts_of_the_manifest_are_those_of_plain_queries(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    world: World = request.getfixturevalue(fixture)
    stores = world.manifest.stores
    statuses = {
        "payments": "SELECT CASE WHEN status IN ('in_progress', 'completed', 'failed') "
        "THEN status ELSE 'malformed' END, count(*) FROM processed_events GROUP BY 1",
        "webhooks": "SELECT 'completed', count(*) FROM seen_events",
        "workflows": "SELECT replace(status, 'running', 'in_progress'), count(*) "
        "FROM workflow_runs GROUP BY 1",
        "outbox": "SELECT CASE WHEN dispatched_at IS NULL THEN 'in_progress' ELSE 'completed' "
        "END, count(*) FROM outbox_events GROUP BY 1",
    }
    expired = {
        "payments": f"SELECT count(*) FROM processed_events WHERE {FINAL} AND expires_at < now()",
        "webhooks": "SELECT count(*) FROM seen_events WHERE created_at < now() - interval '168 h'",
        "workflows": "SELECT count(*) FROM workflow_runs "
        "WHERE finished_at < now() - interval '168 h'",
        "outbox": "SELECT count(*) FROM outbox_events "
        "WHERE dispatched_at < now() - interval '168 h'",
    }
    for store, query in statuses.items():
        counts = dict(world.sql(query))
        assert stores[store]["postgres"].by_status == counts, store
        assert stores[store]["postgres"].protected_count == counts.get("in_progress", 0), store
        assert stores[store]["postgres"].record_count == sum(counts.values()), store
        assert stores[store]["postgres"].expired_count == world.sql(expired[store])[0][0], store
        assert stores[store]["postgres"].byte_count > 0, store

    prefixes = {"payments": b"idem:", "webhooks": b"seen:", "messages": b"path:",
                "deliveries": b"body:"}  # fmt: skip
    for store, prefix in prefixes.items():
        assert stores[store]["redis"].record_count == len(world.under(prefix)), store
        assert stores[store]["redis"].expired_count == 0, store
    counts = {"malformed": len(world.under(b"idem:"))}
    for _, twin in world.twins():
        counts[twin["status"]] = counts.get(twin["status"], 0) + 1
        counts["malformed"] -= 1
    assert dict(stores["payments"]["redis"].by_status) == {k: v for k, v in counts.items() if v}
    sent = sum(len(name) + len(key.value or b"") for name, key in world.under(b"path:").items())
    assert stores["messages"]["redis"].byte_count == sent


def test_a_healthy_seed_spreads_the_records_as_asked(healthy: World) -> None:
    stores = healthy.manifest.stores
    assert healthy.manifest.records == RECORDS
    assert {
        store: sides.get("postgres", sides.get("redis")).record_count  # type: ignore[union-attr]
        for store, sides in stores.items()
    } == {
        "payments": 3000,
        "webhooks": 750,
        "messages": 400,
        "deliveries": 350,
        "workflows": 200,
        "outbox": 300,
    }
    for store in ("payments", "webhooks", "workflows", "outbox"):
        side = stores[store]["postgres"]
        assert 0.27 < side.expired_count / side.record_count < 0.40, store
    assert 0 < stores["payments"]["postgres"].by_status["failed"] < 90
    assert stores["payments"]["postgres"].protected_count == 6


@pytest.fixture(scope="module")
def found_in_healthy(
    sandbox: Sandbox, plain: tuple[psycopg.Connection, redis.Redis]
) -> dict[tuple[str, str], Keys]:
    world = World(sow(sandbox, faults=False), plain[0], read_redis(plain[1]))
    return {fault: query(world) for fault, query in QUERIES.items()}


@pytest.fixture(scope="module")
def found_in_faulty(
    sandbox: Sandbox, plain: tuple[psycopg.Connection, redis.Redis]
) -> tuple[Manifest, dict[tuple[str, str], Keys]]:
    world = World(sow(sandbox, faults=True), plain[0], read_redis(plain[1]))
    return world.manifest, {fault: query(world) for fault, query in QUERIES.items()}


@pytest.mark.parametrize(("code", "side"), QUERIES)
def test_a_healthy_seed_has_no_fault(
    found_in_healthy: dict[tuple[str, str], Keys], code: str, side: str
) -> None:
    assert found_in_healthy[code, side] == set()


@pytest.mark.parametrize(("code", "side"), QUERIES)
def test_each_fault_is_found_by_its_own_query_and_by_no_other(
    found_in_faulty: tuple[Manifest, dict[tuple[str, str], Keys]], code: str, side: str
) -> None:
    manifest, found = found_in_faulty
    (fault,) = [one for one in manifest.faults if (one.code, one.side) == (code, side)]
    assert fault.count >= 3
    assert len(found[code, side]) == fault.count == len(fault.sample)
    planted = {key.exact for key in fault.sample}
    assert found[code, side] == planted


def test_every_planted_fault_has_a_query(faulty: World) -> None:
    planted = sorted((one.code, one.side) for one in faulty.manifest.faults)
    assert planted == sorted(QUERIES)
    assert len(faulty.manifest.faults) == len(QUERIES) == 32


def test_planted_keys_belong_to_one_fault_each(faulty: World) -> None:
    exact = [key.exact for fault in faulty.manifest.faults for key in fault.sample]
    assert len(exact) == len(set(exact))


def test_the_key_that_is_not_text_carries_a_terminal_sequence_and_is_shown_escaped(
    faulty: World,
) -> None:
    (fault,) = [one for one in faulty.manifest.faults if one.code == "key-not-text"]
    for key in fault.sample:
        assert b"\x1b]0;x\x07" in key.exact
        assert b"idem:" + key.exact in faulty.redis
        assert key.key.isprintable()
        assert r"\x1b]0;x\x07" in key.key


def test_half_of_the_stuck_are_past_their_expiry_and_not_for_collection(faulty: World) -> None:
    stuck = "status = 'in_progress' AND lease_until < now()"
    assert len(faulty.payments(f"{stuck} AND expires_at < now()")) == 1
    assert len(faulty.payments(f"{stuck} AND expires_at > now()")) == 2


def test_no_healthy_record_is_near_to_an_expiry(healthy: World) -> None:
    near = "BETWEEN now() - interval '15 min' AND now() + interval '15 min'"
    assert healthy.payments(f"expires_at {near}") == set()
    assert healthy.payments(f"{REDIS_UNTIL} {near}") == set()
    for table, ended in (
        ("seen_events", "created_at"),
        ("workflow_runs", "finished_at"),
        ("outbox_events", "dispatched_at"),
    ):
        query = f"SELECT count(*) FROM {table} WHERE {ended} + interval '168 h' {near}"
        assert healthy.sql(query) == [(0,)], table
    assert min(key.ttl_ms for key in healthy.redis.values()) > QUARTER_HOUR_MS


def test_no_time_lies_in_the_future_but_leases_deadlines_and_expiries(healthy: World) -> None:
    assert (
        healthy.payments(
            "greatest(created_at, completed_at, last_hit_at) > now() OR completed_at < created_at "
            "OR last_hit_at > expires_at"
        )
        == set()
    )
    assert (
        healthy.payments(
            "status = 'in_progress' AND (lease_until NOT BETWEEN now() + interval '4 min' "
            "AND now() + interval '10 min' OR completed_at IS NOT NULL "
            "OR response_body IS NOT NULL)"
        )
        == set()
    )
    assert healthy.sql(
        "SELECT count(*) FROM workflow_steps JOIN workflow_runs AS run USING (run_id) "
        "WHERE started_at < run.created_at OR workflow_steps.finished_at > run.finished_at "
        "OR greatest(started_at, workflow_steps.finished_at) > now()"
    ) == [(0,)]


def test_twins_say_what_their_rows_say_and_expire_to_the_millisecond(healthy: World) -> None:
    rows = healthy.sql(
        "SELECT scope, idempotency_key, endpoint, client, fingerprint, status, fence, epoch, "
        "response_status, response_headers, response_body, "
        + ", ".join(
            f"{rounded}(extract(epoch FROM {at}) * 1000)::bigint"
            for rounded, at in (
                ("ceil", "lease_until"),
                ("floor", "created_at"),
                ("floor", "completed_at"),
                ("floor", "expires_at"),
                ("floor", REDIS_UNTIL),
            )
        )
        + " FROM processed_events"
    )
    by_key = {(row[0], row[1]): row for row in rows}
    twins = list(healthy.twins())
    assert len(twins) > 500
    fields = [
        *("scope", "key", "endpoint", "client", "fingerprint", "status", "fence", "epoch"),
        *("response_status", "response_headers", "response_body"),
        *("lease_until", "created_at", "completed_at", "expires_at"),
    ]
    for name, twin in twins:
        row = by_key[twin["scope"], twin["key"]]
        assert twin == dict(zip(fields, row[:-1], strict=True))
        assert healthy.redis[name].expires_at_ms == row[-1]


def test_flags_of_webhooks_stand_for_exactly_the_rows_of_a_day(healthy: World) -> None:
    expected = {
        b"seen:" + key.encode(): until
        for key, until in healthy.sql(
            "SELECT idempotency_key, floor(extract(epoch FROM created_at) * 1000)::bigint "
            "FROM seen_events WHERE created_at > now() - interval '24 hours'"
        )
    }
    flags = healthy.under(b"seen:")
    assert len(flags) > 20
    assert {name: key.expires_at_ms - DAY_MS for name, key in flags.items()} == expected
    assert {key.value for key in flags.values()} == {b"1"}


def test_messages_and_deliveries_keep_to_their_windows(healthy: World) -> None:
    for key in healthy.under(b"path:").values():
        assert key.value is not None
        value = json.loads(key.value)
        assert value["status"] == "completed"
        assert key.expires_at_ms == value["created_at"] + DAY_MS
    for name, key in healthy.under(b"body:").items():
        window = int(name.split(b":")[1])
        received_at_ms = key.expires_at_ms - 3_600_000
        assert received_at_ms // 3_600_000 == window
        assert re.fullmatch(rb"body:\d+:[0-9a-f]{64}", name)


def test_fences_rise_with_the_time_of_creation(healthy: World) -> None:
    assert healthy.sql(
        "SELECT count(*) FROM (SELECT fence < lag(fence) OVER (ORDER BY created_at, fence) "
        "AS falls FROM processed_events) AS pairs WHERE falls"
    ) == [(0,)]
    ends = "SELECT min(fence), max(fence), count(DISTINCT fence), max(epoch) FROM processed_events"
    assert healthy.sql(ends) == [(1, 3000, 3000, 1)]


def test_rows_lie_about_in_the_order_of_their_creation(healthy: World) -> None:
    # COPY looks for room in the page before: a row in a hundred lies a page too early.
    ((falls,),) = healthy.sql(
        "SELECT count(*) FROM (SELECT created_at < lag(created_at) OVER (ORDER BY ctid) "
        "AS falls FROM processed_events) AS pairs WHERE falls"
    )
    assert falls < 60


def test_bodies_are_json_of_believable_size(healthy: World) -> None:
    bodies = [row[0] for row in healthy.sql(
        "SELECT response_body FROM processed_events WHERE response_body IS NOT NULL"
    )]  # fmt: skip
    assert all(isinstance(json.loads(body), dict) for body in bodies)
    sizes = sorted(len(body.encode()) for body in bodies)
    assert sizes[0] >= 80
    assert sizes[-1] <= 660
    assert 200 < sizes[len(sizes) // 2] < 300


def test_events_of_an_aggregate_are_numbered_without_gap_in_order_of_time(healthy: World) -> None:
    assert healthy.sql(
        "SELECT count(*) FROM (SELECT sequence <> row_number() OVER "
        "(PARTITION BY aggregate ORDER BY created_at) AS wrong FROM outbox_events) AS numbered "
        "WHERE wrong"
    ) == [(0,)]


def test_the_same_seed_gives_the_same_keys_and_another_gives_others(
    sandbox: Sandbox, plain: tuple[psycopg.Connection, redis.Redis]
) -> None:
    def keys(seed_of: int, *, faults: bool) -> set[bytes]:
        manifest = sow(sandbox, seed_of=seed_of, faults=faults)
        return all_keys(World(manifest, plain[0], read_redis(plain[1])))

    first = keys(7, faults=False)
    with_faults = keys(7, faults=True)
    assert keys(7, faults=False) == first
    assert keys(7, faults=True) == with_faults
    assert first < with_faults
    assert not first & keys(8, faults=False)


def test_seeding_again_replaces_and_leaves_the_keys_of_others(
    sandbox: Sandbox, plain: tuple[psycopg.Connection, redis.Redis]
) -> None:
    connection, client = plain
    foreign = {b"session:1": b"a", b"idem": b"b", b"x:idem:1": b"c", b"seen": b"d"}
    client.mset(foreign)
    client.hset("cart:1", "item", "9")
    sow(sandbox, faults=True)
    manifest = sow(sandbox, records=300, faults=False)
    world = World(manifest, connection, read_redis(client))

    assert manifest.records == 300
    assert world.sql("SELECT count(*) FROM processed_events") == [(180,)]
    assert world.sql("SELECT count(*) FROM workflow_runs") == [(12,)]
    assert len(world.under(b"path:")) == 24
    assert {name: world.redis[name].value for name in foreign} == foreign
    assert client.hget("cart:1", "item") == b"9"
    client.delete(*foreign, "cart:1")


def test_a_plain_insert_goes_on_where_the_seed_ended(healthy: World) -> None:
    insert = (
        b"INSERT INTO processed_events (idempotency_key, status, expires_at) "
        b"VALUES ('new', 'in_progress', now() + interval '7 days') "
        b"ON CONFLICT DO NOTHING RETURNING fence, epoch, scope"
    )
    assert healthy.connection.execute(insert).fetchall() == [(3001, 1, "")]
    assert healthy.connection.execute(insert).fetchall() == []
    event = (
        b"INSERT INTO outbox_events (key, aggregate, sequence, deadline_at) "
        b"VALUES ('new', 'order-x', 1, now()) RETURNING id"
    )
    assert healthy.connection.execute(event).fetchall() == [(301,)]


def test_raising_the_epoch_marks_what_is_written_after(healthy: World) -> None:
    healthy.connection.execute("UPDATE idemctl_epoch SET epoch = 5")
    row = healthy.connection.execute(
        "INSERT INTO processed_events (idempotency_key, status, expires_at) "
        "VALUES ('later', 'in_progress', now()) RETURNING epoch"
    ).fetchone()
    assert row == (5,)


def test_the_schema_may_be_run_again_over_what_is_there(healthy: World) -> None:
    healthy.connection.execute(seed_postgres.schema())
    assert healthy.sql("SELECT count(*) FROM processed_events") == [(3000,)]
    assert healthy.sql("SELECT epoch FROM idemctl_epoch") == [(1,)]


def test_the_manifest_survives_json(faulty: World) -> None:
    assert Manifest.from_json(faulty.manifest.to_json()) == faulty.manifest


@pytest.mark.parametrize("records", [0, 1, 7])
def test_a_handful_of_records_is_a_population_too(sandbox: Sandbox, records: int) -> None:
    assert sow(sandbox, records=records, faults=False).records == records
    assert sow(sandbox, records=records, faults=True).records > 75


def test_chunks_are_seamless(
    sandbox: Sandbox,
    plain: tuple[psycopg.Connection, redis.Redis],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(seed_package.payment_draws, "CHUNK", 700)
    monkeypatch.setattr(seed_package.population, "CHUNK", 90)
    world = World(sow(sandbox, faults=False), plain[0], read_redis(plain[1]))
    test_fences_rise_with_the_time_of_creation(world)
    test_events_of_an_aggregate_are_numbered_without_gap_in_order_of_time(world)
    assert world.manifest.stores["payments"]["postgres"].protected_count == 6
    assert world.sql("SELECT count(*) FROM workflow_runs WHERE status = 'running'") == [(1,)]
    assert missing(world) == set()


def test_progress_counts_up_to_the_records_of_each_store(sandbox: Sandbox) -> None:
    told: list[tuple[str, int]] = []
    seed(
        dsn=sandbox.dsn(),
        redis_url=sandbox.redis_url(),
        records=1_000,
        seed=1,
        faults=False,
        progress=lambda store, count: told.append((store, count)),
    )
    assert dict(told) == {
        "payments": 600,
        "webhooks": 150,
        "messages": 80,
        "deliveries": 70,
        "workflows": 40,
        "outbox": 60,
    }


def test_a_negative_number_of_records_is_refused_before_anything_is_dropped(
    healthy: World, sandbox: Sandbox
) -> None:
    with pytest.raises(UsageError):
        sow(sandbox, records=-1, faults=False)
    assert healthy.sql("SELECT count(*) FROM processed_events") == [(3000,)]


def test_a_silent_server_is_unreachable_and_its_password_stays_secret(
    healthy: World, sandbox: Sandbox
) -> None:
    wrong_dsn = "postgresql://idemctl:canary-secret@127.0.0.1:1/idemctl"
    wrong_url = "redis://:canary-secret@127.0.0.1:1/0"
    for dsn, url in ((wrong_dsn, sandbox.redis_url()), (sandbox.dsn(), wrong_url)):
        with pytest.raises(Unreachable) as caught:
            seed(dsn=dsn, redis_url=url, records=10, seed=1, faults=False)
        assert "canary" not in f"{caught.value!r} {caught.value.__cause__!r} {caught.value.hint}"
    assert healthy.sql("SELECT count(*) FROM processed_events") == [(3000,)]


def test_a_held_table_is_locked_and_a_dependent_view_refused(
    healthy: World, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seed_postgres, "_LOCK_TIMEOUT", "50ms")
    with healthy.connection.transaction():
        healthy.connection.execute("LOCK TABLE processed_events")
        with pytest.raises(Locked):
            sow(sandbox, records=10, faults=False)
    healthy.connection.execute("CREATE VIEW mine AS SELECT * FROM seen_events")
    with pytest.raises(Refused):
        sow(sandbox, records=10, faults=False)
    healthy.connection.execute("DROP VIEW mine")
    assert sow(sandbox, records=10, faults=False).records == 10


def test_a_full_redis_is_refused_and_the_next_seed_replaces_the_part(
    sandbox: Sandbox, plain: tuple[psycopg.Connection, redis.Redis]
) -> None:
    client = plain[1]
    sow(sandbox, records=0, faults=False)
    before = int(client.config_get("maxmemory")["maxmemory"] or 0)
    client.config_set("maxmemory", int(client.info("memory")["used_memory"]) + 300_000)
    try:
        with pytest.raises(Refused, match="memory"):
            sow(sandbox, faults=False)
    finally:
        client.config_set("maxmemory", before)
    assert sow(sandbox, records=100, faults=False).records == 100

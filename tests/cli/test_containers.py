"""Libraries that keep their records in one key, at the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import redis

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.places import Done, Place

NAMES = {
    "asgi-idempotency-header": "idempotency-key-keys",
    "camel-redis-set": "processor",
    "spring-metadata": "MetaData",
}
pytestmark = pytest.mark.usefixtures("durable")
EACH = pytest.mark.parametrize("layout", NAMES)


def write(client: redis.Redis, layout: str) -> None:
    """Write five records as the library does."""
    keys = [f"order:{number}\u00e9" for number in range(5)]
    if layout == "spring-metadata":
        now = client.time()[0] * 1000
        client.hset("MetaData", mapping=dict.fromkeys(keys, now))
        return
    client.sadd(NAMES[layout], *keys)
    if layout == "asgi-idempotency-header":
        for key in keys[:3]:
            client.set(f"idempotency-key-responses{key}", '{"a": 1}', ex=86_400)
            client.set(f"idempotency-key-responses{key}status-code", 201, ex=86_400)


@pytest.fixture
def client(redis_url: str) -> Any:
    with redis.Redis.from_url(redis_url) as one:
        yield one


@pytest.fixture
def run(place: Place, redis_url: str) -> Callable[..., Done]:
    """Run a command on a store that has a layout."""

    def run_one(layout: str, *words: str) -> Done:
        place.configure(
            "version: 1\nstores:\n  orders:\n"
            f"    redis: {{url_env: REDIS_URL, layout: {layout}, ttl: 24h}}\n"
        )
        place.lead(REDIS_URL=redis_url)
        return place.main(*words, "--store", "orders", "-o", "json")

    return run_one


def found(done: Done) -> dict[str, int]:
    return {item["code"]: item["count"] for item in done.document["items"]}


@EACH
def test_audit_tells_what_never_ends(
    client: redis.Redis, run: Callable[..., Done], layout: str
) -> None:
    write(client, layout)
    done = run(layout, "audit")
    assert done.document["errors"] == []
    [side] = done.summary["places"]
    assert (side["place"], side["seen"]) == (f"redis {NAMES[layout]}", 5)
    is_asgi = layout == "asgi-idempotency-header"
    by_status = {"in_progress": 2, "completed": 3} if is_asgi else {"unknown": 5}
    assert done.summary["records"]["orders"]["redis-setnx"] == by_status
    # Those whose responses are still there end with them; the rest is answered with 409 for good.
    assert found(done) == ({"claim-without-ttl": 2} if is_asgi else {"record-without-ttl": 5})


@EACH
def test_a_layout_is_tried_on_what_its_library_wrote(
    client: redis.Redis, place: Place, run: Callable[..., Done], layout: str
) -> None:
    write(client, layout)
    file = place.folder / "theirs.yaml"
    file.write_text(place.main("layout", "show", layout).out)
    done = run(layout, "layout", "check", str(file), "--live")
    assert (done.status, done.document["errors"]) == (0, [])
    [tried] = done.summary["tried"]
    assert (tried["records"], tried["by_flaw"], tried["absurd"]) == (5, {}, {})
    filled = {name: count for name, count in tried["filled"].items() if count}
    assert filled.get("counted_from") == (5 if layout == "spring-metadata" else None)
    assert filled.get("response_status") == (3 if layout == "asgi-idempotency-header" else None)


@EACH
def test_a_key_of_another_type_is_one_clear_line(
    client: redis.Redis, run: Callable[..., Done], layout: str
) -> None:
    client.rpush(NAMES[layout], "a")
    done = run(layout, "audit")
    assert done.status == 5
    [error] = done.document["errors"]
    kind = "hash" if layout == "spring-metadata" else "set"
    assert f"redis {NAMES[layout]}: holds no {kind}, and the layout says" in error["message"]


@EACH
def test_where_there_is_no_such_key_nothing_is_judged(
    client: redis.Redis, run: Callable[..., Done], layout: str
) -> None:
    client.set("another", "1")
    done = run(layout, "audit")
    assert found(done) == {}
    assert done.summary["checked"] == 0
    assert done.summary["cannot_judge"] > 0


PAIR = """\
version: 1
stores:
  orders:
    postgres: {dsn_env: DATABASE_URL, layout: bare}
    redis: {url_env: REDIS_URL, layout: set.yaml, ttl: 24h}
    write_order: postgres-first
    ttl: 7d
"""


def test_a_set_is_compared_with_a_table_and_never_filled(
    client: redis.Redis, place: Place, connection: Any, dsn: str, redis_url: str
) -> None:
    shown = place.main("layout", "show", "camel-redis-set").out
    (place.folder / "set.yaml").write_text(shown.replace("proven: source", "proven: live"))
    place.configure(PAIR)
    place.lead(DATABASE_URL=dsn, REDIS_URL=redis_url)
    connection.execute(
        "CREATE TABLE seen_events (idempotency_key text UNIQUE, created_at timestamptz)"
    )
    rows = "('both', now()), ('one', now() - interval '1h')"
    connection.execute(f"INSERT INTO seen_events VALUES {rows}")
    client.sadd("processor", "both", "other")
    words = ("reconcile", "--store", "orders", "-o", "json")
    done = place.main(*words)
    assert done.document["errors"] == []
    # A member that both know, and that never ends, is leaked.
    told = {name: done.summary[name] for name in ("missing", "orphan", "leaked", "divergent")}
    assert told == {"missing": 1, "orphan": 1, "leaked": 1, "divergent": 0}
    refused = place.main(*words, "--apply", "--yes")
    assert refused.status == 5
    assert "twins cannot be written from rows: one key holds all of them" in refused.err
    assert client.smembers("processor") == {b"both", b"other"}
    assert client.keys() == [b"processor"]

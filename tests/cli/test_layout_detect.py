"""layout detect at the command line: real tables, real keys, and who wrote them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import redis

from idemctl.bootstrap.layouts import preset
from tests.layouts.test_libraries import RECORDS
from tests.stores.postgres.test_libraries import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg

    from tests.cli.places import Done, Place

SHARING = ("drf-idempotency", "idempot-js", "idempotency-keys", "laravel-square1", "midaz")
HOME_GROWN = b'{"status":"completed","body":{},"statusCode":201,"requestHash":"ab"}'


@pytest.fixture
def client(place: Place, redis_url: str) -> Iterator[redis.Redis]:
    place.lead(REDIS_URL=redis_url)
    with redis.Redis.from_url(redis_url) as opened:
        yield opened


def write(client: redis.Redis, name: str, count: int = 10) -> None:
    """Write the records of a library under its own prefix, `count` times."""
    side = preset(name).redis
    assert side is not None
    for at, (library, raw, value, *_) in enumerate(RECORDS):
        if library != name:
            continue
        for number in range(count):
            # Another key each, in the form of the library's own.
            named = raw.encode() if isinstance(raw, str) else raw
            full = side.prefix.encode() + named.replace(b"k", b"k%d-%d" % (at, number))
            if isinstance(value, dict):
                client.hset(full, mapping=value)
            else:
                client.set(full, value)


def detect(place: Place, *words: str) -> Done:
    return place.main("layout", "detect", "-o", "json", *words)


def found(done: Done) -> dict[str, list[str]]:
    """Give the layouts that fit, by place."""
    return {
        item["place"]: [one["layout"] for one in item["candidates"]]
        for item in done.document["items"]
        if item["code"] != "mismatch"
    }


def test_every_library_s_table_is_told_from_all_others(
    place: Place, dsn: str, connection: psycopg.Connection[Any]
) -> None:
    expected = {}
    for number, name in enumerate(sorted(TABLES)):
        side = preset(name).postgres
        assert side is not None
        own, _, table = side.table.rpartition(".")
        ddl = TABLES[name]["ddl"].replace(f"CREATE SCHEMA {own};", "").replace(f"{own}.", "")
        connection.execute(f"CREATE SCHEMA s{number}")
        connection.execute(f"SET search_path TO s{number}")
        connection.execute(ddl)
        for row in TABLES[name]["rows"].values():
            connection.execute(f"INSERT INTO {table} VALUES {row['values']}")
        expected[f"s{number}.{table}"] = [name]
    connection.execute("CREATE TABLE orders (id bigint, total numeric, idempotency_key text)")
    place.lead(DATABASE_URL=dsn)
    done = detect(place)
    assert found(done) == expected
    assert (done.status, done.summary["found"]) == (0, len(expected))
    assert all(
        one["reads"] == one["of"] > 0
        for item in done.document["items"]
        for one in item["candidates"]
    )


def test_five_libraries_under_one_prefix_are_told_apart_and_how_to_part_them(
    place: Place, client: redis.Redis
) -> None:
    for name in SHARING:
        write(client, name)
    done = detect(place)
    assert done.status == 3
    [item] = done.document["items"]
    assert (item["place"], item["code"]) == ("idempotency:", "shared")
    counts = {one["layout"]: one["reads"] for one in item["candidates"]}
    each = {name: 10 * sum(one[0] == name for one in RECORDS) for name in SHARING}
    assert sum(counts.values()) == client.dbsize()
    assert counts == each
    assert "a prefix of its own" in item["next"]
    told = place.main("layout", "detect").out
    assert "redis idempotency:* is shared: give each library a prefix of its own" in " ".join(
        told.split()
    )


def test_what_was_told_apart_is_read_apart(place: Place, client: redis.Redis) -> None:
    for name in ("drf-idempotency", "laravel-square1", "midaz"):
        write(client, name)
    counts = {
        one["layout"]: one["reads"]
        for item in detect(place, "--write").document["items"]
        for one in item["candidates"]
    }
    written = (place.folder / "idemctl.yaml").read_text()
    [line] = [one for one in written.splitlines() if one.startswith("#   shared: ")]
    place.configure(f"version: 1\nstores:\n{line.removeprefix('# ')}\n")
    done = place.main("audit", "--pace", "full", "-o", "json")
    assert done.document["errors"] == []
    assert {one["layout"]: one["seen"] for one in done.summary["places"]} == counts
    records = done.summary["records"]["shared"].values()
    assert client.dbsize() == sum(sum(one.values()) for one in records)
    assert not any("malformed" in one for one in records)


def test_the_real_prefix_is_named_where_the_configured_one_matches_nothing(
    place: Place, client: redis.Redis
) -> None:
    write(client, "drf-idempotency")
    place.configure(
        'version: 1\nstores:\n  api: {redis: {layout: drf-idempotency, prefix: "idem:"}}\n'
    )
    done = detect(place)
    assert done.status == 3
    [mismatch] = [item for item in done.document["items"] if item["code"] == "mismatch"]
    assert mismatch["store"] == "api"
    assert mismatch["why"] == "none of 20 keys begins with idem:"
    assert mismatch["suggests"] == [{"place": "idempotency:", "layouts": ["drf-idempotency"]}]
    told = " ".join(place.main("layout", "detect").out.split())
    assert (
        "api: none of 20 keys begins with idem:; there is redis idempotency:* (drf-idempotency)"
        in told
    )


def test_a_configured_table_that_another_library_writes_is_told(
    place: Place, dsn: str, connection: psycopg.Connection[Any]
) -> None:
    connection.execute(TABLES["brandur"]["ddl"])
    place.lead(DATABASE_URL=dsn)
    place.configure(
        "version: 1\n"
        "stores:\n"
        "  api: {postgres: {layout: idempotency-keys, table: public.idempotency_keys}}\n"
        "  web: {postgres: {layout: brandur, table: public.idempotency_keys}}\n"
        "  old: {postgres: {layout: brandur, table: public.gone}}\n"
    )
    done = detect(place)
    told = {
        item["store"]: item["why"] for item in done.document["items"] if item["code"] == "mismatch"
    }
    assert told == {
        "api": "table public.idempotency_keys is not read right through idempotency-keys",
        "old": "there is no table public.gone, or this user may not read it",
    }
    # Three stores, one database with two tables: it is looked through once.
    assert done.summary["tables"] == 2


def test_the_written_configuration_works(
    place: Place, client: redis.Redis, dsn: str, connection: psycopg.Connection[Any]
) -> None:
    place.lead(DATABASE_URL=dsn)
    connection.execute(TABLES["idempot-js"]["ddl"])
    connection.execute(TABLES["masstransit-inbox"]["ddl"])
    write(client, "idempot-js")
    write(client, "node-idempotency")
    done = detect(place, "--write")
    assert (done.status, done.summary["written"]) == (0, "idemctl.yaml")
    written = (place.folder / "idemctl.yaml").read_text()
    assert written.startswith("# What `idemctl layout detect` found.")
    audited = place.main("audit", "-o", "json")
    places = {(one["store"], one["place"]) for one in audited.summary["places"]}
    assert places == {
        ("idempot-js", "postgres public.idempotency_records"),
        ("idempot-js", "redis idempotency:*"),
        ("masstransit-inbox", 'postgres public."InboxState"'),
        ("node-idempotency", "redis node-idempotency:*"),
    }
    again = detect(place, "--write")
    assert again.status == 5
    assert "idemctl.yaml is there already, and is not written over" in again.err
    assert (place.folder / "idemctl.yaml").read_text() == written


def test_what_is_open_is_written_as_a_comment(place: Place, client: redis.Redis) -> None:
    write(client, "drf-idempotency")
    write(client, "midaz")
    write(client, "idemkit", count=1)
    assert detect(place, "--write").status == 3
    written = (place.folder / "idemctl.yaml").read_text()
    assert "# idempotency: is shared: drf-idempotency, midaz\n" in written
    line = '#   shared: {redis: {layout: ["drf-idempotency", "midaz"], prefix: "idempotency:"}}\n'
    assert line in written
    assert '  idemkit:\n    redis: {layout: "idemkit"}\n' in written


def test_keys_that_hold_many_records_are_found(place: Place, client: redis.Redis) -> None:
    client.sadd("idempotency-key-keys", "k-1", b"\xff\x00")
    client.hset("MetaData", mapping={b"\xff": "1764500000000", "b": "1764500000001"})
    client.sadd("others", "k-1")
    done = detect(place, "--write")
    assert (done.status, found(done)) == (
        0,
        {"idempotency-key-keys": ["asgi-idempotency-header"], "MetaData": ["spring-metadata"]},
    )
    audited = place.main("audit", "-o", "json")
    assert {one["seen"] for one in audited.summary["places"]} == {2}


def test_hostile_keys_and_values_are_only_looked_at(place: Place, client: redis.Redis) -> None:
    hostile = bytes(range(256)) * 2
    client.set(hostile, hostile)
    client.set(b"\x1b[31m:" + hostile, HOME_GROWN)
    client.set("large", b"{" * 200_000)
    client.rpush("list", "a")
    client.zadd("scores", {"a": 1})
    client.xadd("stream", {"a": "b"})
    client.hset("hash", mapping={hostile: hostile})
    client.hset("heavy", mapping={"data": b"x" * 1_000_000})
    done = detect(place)
    assert done.summary["keys"] == 8
    assert "\x1b" not in done.out
    assert "Traceback" not in done.err
    assert "\x1b" not in place.main("layout", "detect").out


def test_a_large_value_is_never_asked_for(place: Place, client: redis.Redis) -> None:
    client.set("idempotency:large", b"x" * 50_000_000)
    client.hset("idempotency:heavy", mapping={"data": b"x" * 50_000_000})
    before = int(client.info("stats")["total_net_output_bytes"])
    assert detect(place).summary["keys"] == 2
    assert int(client.info("stats")["total_net_output_bytes"]) - before < 1_000_000


def test_so_many_keys_are_looked_at_as_was_asked(place: Place, client: redis.Redis) -> None:
    for number in range(3_000):
        client.set(f"idem:{number}", "1")
    assert 200 <= detect(place, "--sample", "200").summary["keys"] < 400
    assert detect(place, "--sample", "5000").summary["keys"] == 3_000


def test_a_server_that_is_down_hides_nothing_of_the_other(
    place: Place, dsn: str, connection: psycopg.Connection[Any]
) -> None:
    connection.execute(TABLES["brandur"]["ddl"])
    place.lead(DATABASE_URL=dsn, REDIS_URL="redis://127.0.0.1:1/0")
    done = detect(place)
    assert done.status == 10
    assert found(done) == {"public.idempotency_keys": ["brandur"]}
    [error] = done.document["errors"]
    assert "cannot reach Redis" in error["message"] or "connection refused" in error["message"]


def test_an_empty_database_is_no_store(place: Place, client: redis.Redis, dsn: str) -> None:
    place.lead(DATABASE_URL=dsn)
    done = detect(place, "--write")
    assert (done.status, done.document["items"], done.summary["written"]) == (0, [], None)
    assert not (place.folder / "idemctl.yaml").exists()


def test_a_layout_of_one_s_own_is_among_the_candidates(place: Place, client: redis.Redis) -> None:
    (place.folder / "ours.yaml").write_text(
        "layout: ours\n"
        "title: ours\n"
        "proven: source\n"
        "redis:\n"
        "  pattern: redis-setnx\n"
        '  prefix: "pay:"\n'
        '  key: "(?P<key>.+)"\n'
        "  codec: json\n"
        "  fingerprint: digest\n"
        "  status: {completed: {field: done, is: true}}\n"
    )
    place.configure("version: 1\nstores:\n  api: {redis: {layout: ours.yaml}}\n")
    client.set("pay:1", json.dumps({"done": True, "digest": "ab"}))
    done = detect(place)
    assert (done.status, found(done)) == (0, {"pay:": ["ours"]})

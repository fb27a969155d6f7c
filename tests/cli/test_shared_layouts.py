"""Several layouts over one table or prefix: each record is the first's whose conditions hold."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import redis

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg

    from tests.cli.places import Done, Place

FULL = ("--pace", "full", "-o", "json")
BRANDUR = """\
layout: ours
title: the table that everybody copies
proven: live
postgres:
  pattern: postgres-unique
  table: public.keys
  key: id
  counted_from: created_at
  lease: {field: locked_at, plus: 90s}
  status:
    in_progress: {field: step, is: started}
    completed: {field: step, is: finished}
"""
EVENTS = """\
layout: theirs
title: another service's events in the same table
proven: live
postgres:
  pattern: postgres-unique
  table: public.keys
  key: id
  counted_from: created_at
  status:
    completed: {any: [{field: kind, is: event}, {field: step, is: finished}]}
"""
TABLE = """\
CREATE UNLOGGED TABLE keys (id text PRIMARY KEY, created_at timestamptz NOT NULL,
    locked_at timestamptz, step text, kind text);
INSERT INTO keys
SELECT 'ours-done-' || n, now() - interval '9 days', NULL, 'finished', 'event'
  FROM generate_series(1, 5) n
UNION ALL SELECT 'ours-busy-' || n, now() - interval '9 days', now(), 'started', 'event'
  FROM generate_series(1, 3) n
UNION ALL SELECT 'theirs-' || n, now() - interval '9 days', NULL, NULL, 'event'
  FROM generate_series(1, 7) n
UNION ALL SELECT 'nobody-' || n, now() - interval '9 days', NULL, NULL, NULL
  FROM generate_series(1, 2) n
"""
ROWS = """\
version: 1
stores:
  keys:
    postgres: {dsn_env: DATABASE_URL, layout: [%s], table: public.keys}
    ttl: 7d
"""
KEYS = """\
version: 1
stores:
  keys:
    redis: {url_env: REDIS_URL, layout: [%s], prefix: "idempotency:", ttl: 24h}
"""

pytestmark = pytest.mark.usefixtures("durable")


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as one:
        yield one


@pytest.fixture
def rows(place: Place, dsn: str, connection: psycopg.Connection[Any]) -> Place:
    connection.execute(TABLE.encode())
    (place.folder / "ours.yaml").write_text(BRANDUR)
    (place.folder / "theirs.yaml").write_text(EVENTS)
    place.configure(ROWS % "ours.yaml, theirs.yaml")
    place.lead(DATABASE_URL=dsn)
    return place


def through(done: Done) -> dict[str, int]:
    return {one["layout"]: one["seen"] for one in done.summary["places"]}


def left(connection: psycopg.Connection[Any]) -> dict[str, int]:
    counted = "SELECT rtrim(id, '-0123456789'), count(*) FROM keys GROUP BY 1"
    return dict(connection.execute(counted.encode()).fetchall())


def test_rows_are_counted_once_and_malformed_is_what_fits_none(rows: Place) -> None:
    done = rows.main("audit", *FULL)
    assert done.document["errors"] == []
    assert through(done) == {"ours": 8, "theirs": 9}
    records = done.summary["records"]["keys"]["postgres-unique"]
    assert records == {"in_progress": 3, "completed": 12, "malformed": 2}
    [malformed] = [one for one in done.document["items"] if one["code"] == "malformed-record"]
    assert {key["key"] for key in malformed["sample"]} == {"nobody-1", "nobody-2"}
    assert malformed["place"] == "postgres public.keys (theirs)"


def test_the_order_decides_whose_a_row_is(rows: Place) -> None:
    rows.configure(ROWS % "theirs.yaml, ours.yaml")
    done = rows.main("audit", *FULL)
    # Each of ours says `event`, too; only the two that say nothing are left for the last.
    assert through(done) == {"theirs": 15, "ours": 2}


def test_what_the_server_says_of_a_table_is_said_once(rows: Place) -> None:
    found = [one["code"] for one in rows.main("audit", *FULL).document["items"]]
    assert (found.count("table-unlogged"), found.count("expired-backlog")) == (1, 2)


def test_gc_takes_from_each_layout_what_is_its_own(
    rows: Place, connection: psycopg.Connection[Any]
) -> None:
    done = rows.main("gc", "--apply", "--store", "keys", *FULL)
    assert (done.status, done.summary["deleted"]) == (0, 12)
    assert left(connection) == {"ours-busy": 3, "nobody": 2}


def test_two_workers_take_the_same(rows: Place, connection: psycopg.Connection[Any]) -> None:
    done = rows.main("gc", "--apply", "--store", "keys", "--workers", "2", *FULL)
    assert (done.status, done.summary["deleted"]) == (0, 12)
    assert left(connection) == {"ours-busy": 3, "nobody": 2}


def test_gc_through_the_second_alone_would_take_the_first_one_s_work(
    rows: Place, connection: psycopg.Connection[Any]
) -> None:
    rows.configure(ROWS % "theirs.yaml")
    assert rows.main("gc", "--apply", "--store", "keys", *FULL).status == 0
    assert left(connection) == {"nobody": 2}


def test_each_layout_is_tried_on_what_is_its_own(rows: Place) -> None:
    for name, seen in (("ours.yaml", 8), ("theirs.yaml", 9)):
        done = rows.main("layout", "check", name, "--live", "-o", "json")
        [tried] = done.summary["tried"]
        assert tried["records"] == seen


@pytest.mark.parametrize(
    ("layouts", "says"),
    [
        ("ours.yaml, ours.yaml", "names a layout twice"),
        ("", "must not be empty"),
        ("presence.yaml, ours.yaml", "after presence, which reads every row, are never asked"),
        ("ours.yaml, midaz", "layout midaz does not describe postgres"),
    ],
)
def test_what_cannot_share_is_refused_by_line_and_column(
    rows: Place, layouts: str, says: str
) -> None:
    presence = BRANDUR.partition("  status:")[0].replace("ours", "presence") + "  status: unknown\n"
    (rows.folder / "presence.yaml").write_text(presence)
    rows.configure(ROWS % layouts)
    done = rows.main("store", "show")
    assert (done.status, done.out) == (78, "")
    assert "idemctl.yaml:4:" in done.err
    assert says in done.err


def test_layouts_without_a_common_table_are_refused(rows: Place) -> None:
    elsewhere = EVENTS.replace("public.keys", "public.events")
    (rows.folder / "theirs.yaml").write_text(elsewhere)
    rows.configure((ROWS % "ours.yaml, theirs.yaml").replace(", table: public.keys", ""))
    done = rows.main("store", "show")
    assert (done.status, "have no table in common" in done.err) == (78, True)


def plant(client: redis.Redis) -> None:
    now, day = datetime.now(UTC).isoformat(), 86_400
    for number in range(4):
        record = {"status": "completed", "created_at": now, "fingerprint": "f" * 64}
        client.set(f"idempotency:drf-{number}", json.dumps(record), ex=day)
    client.set("idempotency:drf-busy", json.dumps({"status": "in_progress"}), ex=30)
    # A set and a list are nobody's; of the hash of another library only its type is told.
    for number in (1, 2):
        client.hset(f"idempotency:hash-{number}", "state", "DONE")
    client.rpush("idempotency:list", "x")
    client.set("idempotency:text", "neither", ex=day)


def test_one_prefix_of_two_libraries_with_strings_and_hashes(
    place: Place, redis_url: str, client: redis.Redis
) -> None:
    plant(client)
    place.configure(KEYS % "drf-idempotency, gcp-pubsub-idempotency")
    place.lead(REDIS_URL=redis_url)
    done = place.main("audit", *FULL)
    assert done.document["errors"] == []
    assert through(done) == {"drf-idempotency": 5, "gcp-pubsub-idempotency": 4}
    records = done.summary["records"]["keys"]["redis-setnx"]
    assert records == {"in_progress": 1, "completed": 6, "malformed": 2}
    [other] = [one for one in done.document["items"] if one["code"] == "wrong-type"]
    assert {key["key"] for key in other["sample"]} == {"list", "text"}


def test_three_layouts_and_many_pages_lose_and_double_nothing(
    place: Place, redis_url: str, client: redis.Redis
) -> None:
    with client.pipeline(transaction=False) as pipeline:
        for number in range(3_000):
            body = [{"status": "completed"}, {"status": "complete"}, {"state": "DONE"}][number % 3]
            if number % 3 == 2:
                pipeline.hset(f"idempotency:{number:036}", "state", body["state"])
            else:
                pipeline.set(f"idempotency:{number:036}", json.dumps(body), ex=3_600)
        pipeline.execute()
    place.configure(KEYS % "drf-idempotency, idempot-js, gcp-pubsub-idempotency")
    place.lead(REDIS_URL=redis_url)
    seen = {"drf-idempotency": 1_000, "idempot-js": 1_000, "gcp-pubsub-idempotency": 1_000}
    assert through(place.main("audit", *FULL)) == seen


def test_verbs_that_compare_say_why_they_do_not(
    place: Place, redis_url: str, dsn: str, connection: psycopg.Connection[Any]
) -> None:
    connection.execute(TABLE.encode())
    (place.folder / "ours.yaml").write_text(BRANDUR)
    both = KEYS % "drf-idempotency, midaz"
    both += "    postgres: {dsn_env: DATABASE_URL, layout: ours.yaml}\n"
    place.configure(both)
    place.lead(REDIS_URL=redis_url, DATABASE_URL=dsn)
    done = place.main("reconcile", "--store", "keys")
    assert (done.status, done.out) == (78, "")
    assert "keys has several layouts in redis, and only twins of one layout are compared" in (
        done.err
    )
    audited = place.main("audit", *FULL)
    sides = audited.summary["places"]
    blind = {one["code"]: one["why"] for side in sides for one in side["cannot_judge"]}
    assert blind["missing"].startswith("not compared: a side has several layouts")
    diagnosed = place.main("diagnose")
    assert (diagnosed.status, "several layouts" in diagnosed.out) == (10, True)


def test_store_show_and_doctor_name_each_layout(rows: Place) -> None:
    shown = rows.main("store", "show", "-o", "json").document["items"]
    assert [one["place"] for one in shown if one["code"] == "store"] == [
        "postgres public.keys (ours)",
        "postgres public.keys (theirs)",
    ]
    said = rows.main("doctor").out
    assert "looked at: 8, of which fit no status: 0 (ours)" in said
    assert "looked at: 9, of which fit no status: 2 (theirs)" in said

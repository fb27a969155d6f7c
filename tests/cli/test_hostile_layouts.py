"""Layout files that were written to hurt who reads them, and names that were chosen to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import redis
from psycopg import sql

from idemctl.documents import read_document
from tests.stores.postgres.test_libraries import TABLES

if TYPE_CHECKING:
    from pathlib import Path

    import psycopg

    from tests.cli.places import Done, Place

MINE = """\
layout: mine
title: a library of ours
proven: live
postgres:
  pattern: postgres-unique
  table: public.keys
  key: id
  counted_from: created_at
  status: {completed: always}
redis:
  pattern: redis-setnx
  prefix: "p:"
  key: "(?P<key>.+)"
  codec: json
  status: {completed: always}
"""
CONFIG = """\
version: 1
stores:
  s:
    postgres: {layout: mine.yaml}
    redis: {layout: mine.yaml}
    ttl: 1d
"""
ESCAPE = "\x1b[31m"
EVIL = 'a"b\n' + ESCAPE + "\u202e'; DROP TABLE keys;--"


def put(old: str, new: str) -> bytes:
    assert old in MINE
    return MINE.replace(old, new, 1).encode()


def bomb() -> bytes:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    return "\n".join(lines).encode()


WRONG = {
    "anchors": (b"layout: &x mine\ntitle: *x\n", "1:9", "an anchor (&) is not allowed"),
    "bomb": (bomb(), "1:4", "an anchor (&) is not allowed"),
    "huge": (MINE.encode() + b"# " + b"x" * 2**20, "1:1", "larger than 1 MiB"),
    "binary": (bytes(range(32, 256)), "1:97", "the byte 0x80 is not UTF-8"),
    "utf-16": (MINE.encode("utf-16"), "1:1", "is not UTF-8"),
    "list": (b"- a\n", "1:1", "must be a mapping, not a list"),
    "deep": (b"[" * 60 + b"]" * 60, "1:51", "nested deeper than 50 levels"),
    "deep-condition": (
        put("always", "{not: " * 60 + "always" + "}" * 60), "9:305", "nested deeper than",
    ),
    "wide-condition": (
        put("always", "{any: [" + "always, " * 101 + "]}"), "9:29", "at most 100 items long",
    ),
    "null": (put("always", "{field: x, is: null}"), "9:38", "of what is absent say missing: true"),
    "number": (put("key: id", "key: 7"), "7:8", "must be text, not a number"),
    "no-column": (put("key: id", 'key: ""'), "7:8", "must not be empty"),
    "long-column": (put("key: id", "key: " + "i" * 64), "5:3", "has 63 bytes at most"),
    "nul-column": (put("key: id", 'key: "a\\0b"'), "7:8", "nothing in Postgres holds a NUL"),
    "nul-value": (
        put("always", '{field: x, is: "a\\0b"}'), "9:38", "nothing in Postgres holds a NUL",
    ),
    "nul-path": (
        put("created_at", '{field: [a, "b\\0"], unit: seconds}'), "8:29", "holds a NUL",
    ),
    "table": (
        put("public.keys", "'x; DROP TABLE keys'"), "6:10", "is no name of a table",
    ),
    "dots": (put("public.keys", "a.b.c"), "6:10", "is no name of a table"),
    "long-table": (put("public.keys", "public." + "k" * 64), "6:10", "has 63 bytes at most"),
    "item": (
        put("created_at", "{field: [a, 99999], unit: seconds}"), "8:29", "must be at most 9999",
    ),
    "zone": (put("created_at", "{field: a, zone: ../../x}"), "8:34", "is no time zone"),
    "century": (put("created_at", "{field: a, plus: 99999d}"), "8:34", "a hundred years"),
    "escape": (put("layout: mine", 'layout: "\\e[31m"'), "1:9", "must have the form"),
    "pattern": (put("(?P<key>.+)", "(?P<key>(a+)+)b"), "13:8", "may take forever"),
    "long-pattern": (put("(?P<key>.+)", "(?P<key>.+)" + "x" * 999), "13:8", "is longer than 1,000"),
    "deep-pattern": (put(".+", "(" * 480 + "x" + ")" * 480), "13:8", "asks for too much"),
    "long-prefix": (put('"p:"', "p" * 1001), "12:11", "at most 1000 characters long"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_hostile_file_is_one_clear_line_with_its_place(place: Place, name: str) -> None:
    content, at, says = WRONG[name]
    (place.folder / "mine.yaml").write_bytes(content)
    checked = place.main("layout", "check", "mine.yaml")
    assert checked.status == 3
    assert "Traceback" not in checked.err
    assert ESCAPE not in checked.out + checked.err
    [line] = [one for one in checked.out.splitlines() if one.startswith(f"mine.yaml:{at}: error:")]
    assert says in line
    # On the way to a store the same file keeps everybody from going on.
    place.configure(CONFIG)
    place.lead(DATABASE_URL="postgresql://127.0.0.1:1/x", REDIS_URL="redis://127.0.0.1:1/0")
    audited = place.main("audit")
    assert (audited.status, audited.out) == (78, "")
    first, *rest = audited.err.splitlines()
    assert f"mine.yaml:{at}: " in first
    assert not rest


def looked(place: Place, *words: str) -> Done:
    done = place.main(*words)
    assert "Traceback" not in done.err
    assert done.status != 1
    assert ESCAPE not in done.out + done.err
    return done


@pytest.fixture
def evil(place: Place, dsn: str, redis_url: str, connection: psycopg.Connection[Any]) -> Place:
    """A table, columns and keys with names that were chosen to hurt, and a layout of them."""
    make = sql.SQL("CREATE TABLE {0} ({0} text PRIMARY KEY, created_at timestamptz)")
    connection.execute(make.format(sql.Identifier(EVIL)))
    row = sql.SQL("INSERT INTO {} VALUES (%s, now())").format(sql.Identifier(EVIL))
    connection.execute(row, [EVIL])
    with redis.Redis.from_url(redis_url) as client:
        for name in (b"[*]?\\:" + bytes(range(256)), b"x*:k", b"[*]?\\:" + b"k" * 5000):
            client.set(name, b"{}", ex=60)
    quoted = '"' + EVIL.replace('"', '""') + '"'
    layout = MINE.replace("public.keys", json.dumps(f"public.{quoted}"))
    layout = layout.replace("key: id", f"key: {json.dumps(EVIL)}")
    layout = layout.replace('"p:"', '"[*]?\\\\:"')
    (place.folder / "mine.yaml").write_text(layout)
    place.configure(CONFIG)
    place.lead(DATABASE_URL=dsn, REDIS_URL=redis_url)
    return place


def test_hostile_names_are_read_exactly_and_shown_escaped(evil: Place) -> None:
    done = looked(evil, "audit", "--pace", "full", "-o", "json")
    assert done.document["errors"] == []
    table, keys = done.summary["places"]
    # The glob in the prefix is none: `x*:k` is not under it. A name of 5 KB is nobody's.
    assert (table["seen"], keys["seen"]) == (1, 2)
    records = done.summary["records"]["s"]
    assert records["postgres-unique"] == {"completed": 1}
    assert records["redis-setnx"] == {"completed": 1, "malformed": 1}
    for words in (("audit",), ("doctor",), ("gc", "--store", "s"), ("store", "show")):
        looked(evil, *words)
    live = looked(evil, "layout", "check", "mine.yaml", "--live", "-o", "json")
    assert [one["records"] for one in live.summary["tried"]] == [1, 2]


def test_what_is_detected_under_hostile_names_is_written_as_one_valid_file(
    evil: Place, redis_url: str, connection: psycopg.Connection[Any], tmp_path: Path
) -> None:
    connection.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(EVIL)))
    connection.execute(TABLES["idempot-js"]["ddl"].encode())
    rename = sql.SQL("ALTER TABLE idempotency_records RENAME TO {}")
    connection.execute(rename.format(sql.Identifier(EVIL)))
    with redis.Redis.from_url(redis_url) as client:
        record = json.dumps({"fingerprint": "ab", "status": "completed"})
        client.set(f"{ESCAPE}\n#: idempotency:order-1", record, ex=60)
    (evil.folder / "idemctl.yaml").rename(tmp_path / "before.yaml")
    done = looked(evil, "layout", "detect", "--write")
    assert "idemctl.yaml is written" in done.out
    written = read_document(evil.folder / "idemctl.yaml").data["stores"]
    quoted = EVIL.replace('"', '""')
    assert written["idempot-js"]["postgres"]["table"] == f'public."{quoted}"'
    assert written["drf-idempotency"]["redis"]["prefix"] == f"{ESCAPE}\n#: idempotency:"
    looked(evil, "audit", "--pace", "full")


@pytest.mark.parametrize("words", [("show",), ("check",)])
def test_a_hostile_word_is_repeated_escaped(place: Place, words: tuple[str, ...]) -> None:
    done = looked(place, "layout", *words, f"{ESCAPE}x\n\u202e")
    assert done.status in {2, 78}
    assert len(done.err.splitlines()) <= 2

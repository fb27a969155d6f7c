"""Records that were written to hurt who reads them: each is a finding, and nothing breaks."""

from __future__ import annotations

import base64
import gzip
import json
import os
import pickle
import time
import tracemalloc
import zlib
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import redis

from tests.cli.pairs import PAYMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.pairs import Pairs
    from tests.cli.places import Done, Place

MIB = 1024 * 1024
HUGE = 100 * MIB
DEEP = 100_000
WRITTEN = time.time_ns() // 1_000_000 - 23 * 3_600_000
"""An hour before it ends, by the configuration."""
GOOD = {"state": "done", "code": 201, "at": WRITTEN}
JSON = json.dumps(GOOD).encode()
PACKED = msgspec.msgpack.encode(GOOD)
BESIDE = ("--skip", "key-guessable", "--skip", "big-value")
"""How keys are called, and how large values are, is looked at elsewhere."""
EVERY_BYTE = bytes(range(256)) + bytes(reversed(range(256)))

LAYOUT = """\
layout: {name}
title: of a test
proven: source
redis:
  pattern: redis-setnx
  prefix: "{name}:"
  key: "(?P<key>.+)"
  name: "{{key}}"
  codec: {codec}
  {status}
"""
TOLD = """response_status: code
  counted_from: at
  status:
    in_progress: {field: state, is: working}
    completed: {field: state, is: done}"""
CODECS = {
    "json": "json",
    "gzip": "[gzip, json]",
    "zlib": '[{strip: ":1"}, zlib, msgpack]',
    "msgpack": "msgpack",
    "hash": "hash",
    "packed": "[hash, {member: data}, gzip, json]",
    "opaque": "opaque",
}


class Hostile:
    """A store for each codec, and what went over the wire while it was audited."""

    def __init__(self, place: Place, client: redis.Redis) -> None:
        self.place = place
        self.client = client
        self.bytes_sent = 0
        self.peak = 0

    def audit(self, name: str) -> Done:
        """Audit one store; however many records are hostile, it ends with a document."""
        before = self._sent()
        tracemalloc.start()
        done = self.place.main("audit", "--pace", "full", "-o", "json", "--store", name, *BESIDE)
        self.peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        self.bytes_sent = self._sent() - before
        assert "Traceback" not in done.out + done.err
        assert done.document["errors"] == []
        return done

    def _sent(self) -> int:
        stats: Any = self.client.info("stats")
        return int(stats["total_net_output_bytes"])

    def gzipped(self, head: bytes, size: int) -> bytes:
        """Compress spaces, so many, piece by piece."""
        packer = zlib.compressobj(9, wbits=31)
        pieces = [packer.compress(head)]
        pieces += [packer.compress(b" " * MIB) for _ in range(size // MIB)]
        return b"".join([*pieces, packer.flush()])


pytestmark = pytest.mark.usefixtures("durable")


@pytest.fixture
def hostile(place: Place, redis_url: str, tmp_path: Path) -> Iterator[Hostile]:
    stores = []
    for name, codec in CODECS.items():
        status = "status: unknown" if name == "opaque" else TOLD
        file = tmp_path / f"{name}.yaml"
        file.write_text(LAYOUT.format(name=name, codec=codec, status=status), "utf-8")
        stores.append(f"  {name}:\n    redis: {{url_env: REDIS_URL, layout: {file}, ttl: 1d}}\n")
    place.configure("version: 1\nstores:\n" + "".join(stores))
    place.lead(REDIS_URL=redis_url)
    with redis.Redis.from_url(redis_url) as client:
        yield Hostile(place, client)


def evidence(done: Done) -> dict[str, tuple[int, str]]:
    return {one["code"]: (one["count"], one["evidence"]) for one in done.document["items"]}


def statuses(done: Done) -> dict[str, int]:
    (place,) = done.summary["places"]
    found: dict[str, int] = done.summary["records"][place["store"]][place["pattern"]]
    return found


UNREADABLE = "the value is not what the layout writes"
NO_STATUS = "the status is none that the layout knows"
TOO_LONG = "the value is too long for any record"

BROKEN_JSON = [
    b"{", b"", b"[]", b"1", b'"done"', b"null", b"\xff\xfe", b"[" * DEEP, b"[" * DEEP + b"]" * DEEP,
    b'{"state": ' * DEEP, JSON[:-1], JSON + b"}", JSON.replace(b"done", b"d\xffne"),
    b'{"state": "done", "x": ' + b"[" * DEEP + b"]" * DEEP + b"}", b'{"state": "\\ud800"}',
    pickle.dumps(GOOD), b"\x00" * 9_000,
]  # fmt: skip


def test_broken_json_is_counted_and_what_lies_beside_it_is_read(hostile: Hostile) -> None:
    for number, value in enumerate(BROKEN_JSON):
        hostile.client.set(f"json:broken-{number}", value, ex=3_600)
    for number in range(300):
        hostile.client.set(f"json:good-{number}", JSON, ex=3_600)
    done = hostile.audit("json")
    assert done.status == 3
    # An array is one without members.
    says = f"{UNREADABLE} ({len(BROKEN_JSON) - 1}); {NO_STATUS} (1)"
    assert evidence(done) == {"malformed-record": (len(BROKEN_JSON), says)}
    assert statuses(done) == {"malformed": len(BROKEN_JSON), "completed": 300}


@pytest.mark.parametrize("depth", range(880, 1_000, 3))
def test_a_status_nested_as_deep_as_a_decoder_goes_is_none(hostile: Hostile, depth: int) -> None:
    value = b'{"state": ' + b"[" * depth + b"]" * depth + b"}"
    hostile.client.set("json:deep", value, ex=3_600)
    done = hostile.audit("json")
    assert done.status == 3
    assert evidence(done)["malformed-record"] in ((1, NO_STATUS), (1, UNREADABLE))


def test_a_value_of_a_hundred_megabytes_is_told_by_its_size_and_not_asked_for(
    hostile: Hostile,
) -> None:
    hostile.client.setrange("json:huge", HUGE - 1, "x")
    hostile.client.expire("json:huge", 3_600)
    hostile.client.set("json:good", JSON, ex=3_600)
    done = hostile.audit("json")
    assert done.status == 3
    assert evidence(done) == {
        "malformed-record": (1, f"{TOO_LONG}; the longest of {HUGE:,} bytes"),
    }
    # A value is read up to a megabyte, which tells it from one that is too long by a byte.
    assert hostile.bytes_sent < 2 * MIB
    assert hostile.peak < 20 * MIB


def test_a_key_of_every_byte_is_exact_in_the_report(hostile: Hostile) -> None:
    hostile.client.set(b"json:" + EVERY_BYTE, b"{", ex=3_600)
    done = hostile.audit("json")
    assert done.status == 3
    findings = {one["code"]: one for one in done.document["items"]}
    assert set(findings) == {"malformed-record", "key-not-text"}
    (shown,) = findings["malformed-record"]["sample"]
    assert shown["key_base64"] == base64.b64encode(EVERY_BYTE).decode()
    assert shown["key"].isprintable()
    table = hostile.place.main("audit", "--pace", "full", "--store", "json").out
    assert not {"\x1b", "\x00", "\x07", "\x9b", "\u202e"} & set(table)


def test_a_key_of_another_type_is_named_as_one(hostile: Hostile) -> None:
    client = hostile.client
    for name in ("json", "gzip", "opaque"):
        client.rpush(f"{name}:list", *["x"] * 1_000)
        client.sadd(f"{name}:set", "x")
        client.zadd(f"{name}:sorted", {"x": 1})
        client.xadd(f"{name}:stream", {"state": "done"})
        client.hset(f"{name}:hash", "state", "done")
        done = hostile.audit(name)
        assert done.status == 3
        assert {code: count for code, (count, _) in evidence(done).items()} == {"wrong-type": 5}
    for name in ("hash", "packed"):
        client.set(f"{name}:string", JSON)
        client.setrange(f"{name}:huge", HUGE - 1, "x")
        client.rpush(f"{name}:list", *["x"] * 1_000)
        client.xadd(f"{name}:stream", {"state": "done"})
        done = hostile.audit(name)
        assert done.status == 3
        assert {code: count for code, (count, _) in evidence(done).items()} == {"wrong-type": 4}
        assert hostile.bytes_sent < MIB


def test_a_small_value_that_becomes_a_huge_one_is_told_and_not_let(hostile: Hostile) -> None:
    bomb = hostile.gzipped(b"{}", 200 * MIB)
    assert len(bomb) < MIB / 4
    hostile.client.set("gzip:bomb", bomb, ex=3_600)
    hostile.client.set("gzip:small-bomb", hostile.gzipped(b"{}", 16 * MIB + 1), ex=3_600)
    hostile.client.hset("packed:bomb", "data", bomb)
    hostile.client.expire("packed:bomb", 3_600)
    for name, count in (("gzip", 2), ("packed", 1)):
        done = hostile.audit(name)
        assert done.status == 3
        (found,) = evidence(done).values()
        assert found[0] == count
        assert found[1].startswith(TOO_LONG)
        assert hostile.peak < 80 * MIB


def test_many_values_that_become_large_are_not_held_all_at_once(hostile: Hostile) -> None:
    value = hostile.gzipped(JSON, 12 * MIB)
    assert len(value) < 16_000
    for number in range(40):
        hostile.client.set(f"gzip:{number}", value, ex=3_600)
    done = hostile.audit("gzip")
    assert statuses(done) == {"completed": 40}
    # Of all of them it would be 480.
    assert hostile.peak < 120 * MIB


@pytest.mark.parametrize("name", ["gzip", "zlib", "msgpack", "packed"])
def test_what_is_cut_off_or_damaged_is_unreadable(hostile: Hostile, name: str) -> None:
    whole = {
        "gzip": gzip.compress(JSON, mtime=0),
        "zlib": zlib.compress(PACKED) + b":1",
        "msgpack": PACKED,
        "packed": gzip.compress(JSON, mtime=0),
    }[name]
    broken = [
        whole[:-3],
        whole[: len(whole) // 2],
        b"\x00" + whole,
        b"\xc1",
        b"\xdf\xff\xff\xff\xff",
    ]
    broken += [b"\x91" * DEEP, b"\x81\x80\xc0", b"\x81\xa5state\xa4d\xffne", b"x" * 5_000]
    for number, value in enumerate([whole, *broken]):
        if name == "packed":
            hostile.client.hset(f"packed:{number}", "data", value)
            hostile.client.expire(f"packed:{number}", 3_600)
        else:
            hostile.client.set(f"{name}:{number}", value, ex=3_600)
    done = hostile.audit(name)
    assert done.status == 3
    assert evidence(done) == {"malformed-record": (len(broken), UNREADABLE)}
    assert statuses(done) == {"malformed": len(broken), "completed": 1}


def with_huge_field(client: redis.Redis, key: str, field: str, others: int) -> None:
    """Let the server itself write a hash with one field of a hundred megabytes."""
    client.hset(key, mapping={"state": "done", "code": "201", "at": str(WRITTEN)})
    if others:
        client.hset(key, mapping={f"other-{number}": "x" for number in range(others)})
    script = "redis.call('HSET', KEYS[1], ARGV[1], string.rep('x', ARGV[2]))"
    client.eval(script, 1, key, field, HUGE)
    client.expire(key, 3_600)


# A server weighs some fields of many, and may miss the one that counts.
@pytest.mark.parametrize("others", [0, 30, 1_000, 50_000])
def test_a_hash_with_a_huge_field_is_not_asked_for_it(hostile: Hostile, others: int) -> None:
    with_huge_field(hostile.client, "hash:huge", "code", others)
    hostile.client.hset("hash:good", mapping={"state": "done", "code": "201", "at": "1"})
    hostile.client.expire("hash:good", 3_600)
    done = hostile.audit("hash")
    assert done.status == 3
    (count, says) = evidence(done)["malformed-record"]
    assert count == 1
    assert says.startswith(f"{TOO_LONG}; the longest of ")
    assert int(says.split()[-2].replace(",", "")) >= HUGE
    assert statuses(done) == {"malformed": 1, "completed": 1}
    assert hostile.bytes_sent < MIB
    assert hostile.peak < 20 * MIB


def test_what_is_opaque_is_counted_sized_and_aged_and_never_asked_for(hostile: Hostile) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(hostile.place.folder / "sprung"),)

    values = [
        pickle.dumps(Trap()),
        b'O:8:"stdClass":0:{}',
        b"\xac\xed\x00\x05sr",
        b"",
        b"x" * 9_000,
    ]
    for number in range(200):
        hostile.client.set(f"opaque:{number}", values[number % len(values)], ex=3_600)
    hostile.client.setrange("opaque:huge", HUGE - 1, "x")
    done = hostile.audit("opaque")
    assert done.status == 3
    assert statuses(done) == {"unknown": 201}
    # Of all of them only the one without TTL is wrong.
    counts = {code: count for code, (count, _) in evidence(done).items()}
    assert counts == {"record-without-ttl": 1, "value-opaque": 201}
    assert hostile.bytes_sent < 60_000
    assert not (hostile.place.folder / "sprung").exists()
    # The control: that is what a decoder would have done.
    pickle.loads(values[0])  # noqa: S301
    assert (hostile.place.folder / "sprung").exists()


@pytest.mark.parametrize("codec", ["opaque", "pickle", "php", "java"])
def test_what_is_opaque_is_compared_and_never_filled(pairs: Pairs, codec: str) -> None:
    file = pairs.place.folder / "opaque.yaml"
    text = LAYOUT.format(name="idem", codec=codec, status="status: unknown")
    file.write_text(
        text.replace("proven: source", "proven: live")
        .replace('"(?P<key>.+)"', '"(?:(?P<scope>[^:]+):)?(?P<key>.+)"')
        .replace('name: "{key}"', 'name: "[{scope}:]{key}"'),
        "utf-8",
    )
    redis_side = "redis: {url_env: REDIS_URL, layout: reference"
    pairs.configure((redis_side, redis_side.replace("reference", str(file))))
    pairs.client.flushall()
    done = pairs.place.main("reconcile", *PAYMENTS, "--apply", "--yes")
    assert done.status == 5
    assert "twins cannot be written from rows: their values are opaque" in done.err
    assert "Traceback" not in done.err
    assert pairs.client.dbsize() == 0

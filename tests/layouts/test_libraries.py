"""Layouts of libraries: each reads records as its library writes them, by what its source says."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest

from idemctl.bootstrap.layouts import preset, preset_files
from idemctl.domain.instants import MISSING
from idemctl.domain.records import Flaw, Status
from idemctl.layouts.columns import missing
from idemctl.layouts.reading import KeyspaceReader

if TYPE_CHECKING:
    from idemctl.layouts.model import Layout, RedisLayout

HEX = "3244" * 8
HASH = base64.b64encode(b"x" * 32).decode()
MD5 = base64.b64encode(b"x" * 16).decode()
UUID = "8f14e45f-ceea-467f-9d3c-1b6a1d9a4f77"
CLAIM, DONE, UNKNOWN = Status.IN_PROGRESS, Status.COMPLETED, Status.UNKNOWN


def text(**members: Any) -> bytes:
    return json.dumps(members).encode()


def dotnet(**members: Any) -> dict[str, bytes]:
    return {
        "data": gzip.compress(
            json.dumps({k.replace("_", "."): v for k, v in members.items()}).encode()
        )
    }


RECORDS: list[tuple[str, str | bytes, Any, bytes, bytes, Status]] = [
    ("powertools-python", f"pay.__main__.handler#{HEX}",
     text(status="INPROGRESS", expiration=1795971033, in_progress_expiration=1795967436061),
     HEX.encode(), b"", CLAIM),
    ("powertools-python", f"pay.__main__.handler#{HEX}",
     text(data='{"amt": 1}', status="COMPLETED", expiration=1795971033), HEX.encode(), b"", DONE),
    ("powertools-typescript", f"pay.handler#{MD5}",
     text(status="INPROGRESS", expiration=1795971033), MD5.encode(), b"", CLAIM),
    ("powertools-typescript", f"pay.handler#{MD5}",
     text(data={"statusCode": 201}, status="COMPLETED", expiration=1795971033),
     MD5.encode(), b"", DONE),
    ("idempo", f"response:{HASH}",
     zlib.compress(msgspec.msgpack.encode([201, {"a": "b"}, ["body"]])) + b":1",
     HASH.encode(), b"", DONE),
    ("idempo", f"lock:{HASH}", b"\x00\xff" * 16, HASH.encode(), b"", CLAIM),
    ("idempotent-request", "key-abc", b'{":status":201,":headers":{},":response":["x"]}',
     b"key-abc", b"", DONE),
    ("idempotent-request", "lock:key-abc", b"1795971033.25", b"key-abc", b"", CLAIM),
    ("grape-idempotency", "k", text(path="/x", params={}, original_request="1", processing=True),
     b"k", b"", CLAIM),
    ("grape-idempotency", "k", text(path="/x", params={}, status=201, response="{}"),
     b"k", b"", DONE),
    ("node-idempotency", "POST:/v1/pay:k:1", text(status="IN_PROGRESS", fingerPrint="f"),
     b"k:1", b"", CLAIM),
    ("node-idempotency", "POST:/v1/pay:k:1",
     text(status="COMPLETE", response={"additional": {"statusCode": 201}, "body": {}}),
     b"k:1", b"", DONE),
    ("express-idempotency", "k-1", text(request={"url": "/x"}), b"k-1", b"", CLAIM),
    ("express-idempotency", "k-1", text(request={"url": "/x"}, response={"statusCode": 201}),
     b"k-1", b"", DONE),
    ("idempot-js", "k", text(key="k", fingerprint="f", status="processing", expiresAt=1),
     b"k", b"", CLAIM),
    ("idempot-js", "k",
     text(key="k", fingerprint="f", status="complete", response={"status": 201}), b"k", b"", DONE),
    ("fiber", UUID, msgspec.msgpack.encode({"hs": {"a": ["b"]}, "b": b"body", "sc": 201}),
     UUID.encode(), b"", DONE),
    ("idempotent-api", "k", dotnet(Request_Inflight="guid"), b"k", b"", CLAIM),
    ("idempotent-api", "k", dotnet(Request_Path="/x", Response_StatusCode=201), b"k", b"", DONE),
    ("jdempotent", b"\xac\xed\x00\x05t\x00\x05abc12", b"\xac\xed\x00\x05sr", b"abc12", b"",
     UNKNOWN),
    ("laravel-square1", "7:k:1", b'O:56:"Square1', b"k:1", b"7", UNKNOWN),
    ("laravel-algoyounes", "k:user:7", b"0123456789abcdef", b"k", b"7", UNKNOWN),
    ("laravel-wendelladriel", f"response:{HEX}", b"a:5:{", HEX.encode(), b"", DONE),
    ("laravel-wendelladriel", f"lock:{HEX}", b"0123456789abcdef", HEX.encode(), b"", CLAIM),
    ("sidekiq-unique-jobs", f"{HEX}:LOCKED", {"": None}, HEX.encode(), b"", CLAIM),
    ("sidekiq-unique-jobs", f"{HEX}:RUN:LOCKED", {"": None}, f"{HEX}:RUN".encode(), b"", CLAIM),
    ("celery-once", "tasks.slow_a-1", HEX.encode(), b"tasks.slow_a-1", b"", CLAIM),
    ("camel-redis-string", "orders:id-1", b"id-1", b"id-1", b"orders", UNKNOWN),
    ("camel-redis-set", "id-1", b"", b"id-1", b"", UNKNOWN),
    ("camel-redis-set", b"\xac\xed\x00\x05t\x00\x05abc12", b"", b"abc12", b"", UNKNOWN),
    ("spring-metadata", "id-1", b"1796040000000", b"id-1", b"", UNKNOWN),
    ("midaz", "{o:l:k:1}", b"", b"k:1", b"o:l", CLAIM),
    ("midaz", "{o:l:k:1}", text(id="t1", status={"code": "CREATED"}), b"k:1", b"o:l", DONE),
    ("drf-idempotency", "k:1",
     text(fingerprint="f", status="in_progress", created_at="2026-11-30T12:00:00+00:00"),
     b"k:1", b"", CLAIM),
    ("drf-idempotency", "k:1",
     text(fingerprint="f", status="completed", response_status_code=201), b"k:1", b"", DONE),
    ("idempotency-keys", "k:1", text(status="processing", requestHash="ab"), b"k:1", b"", CLAIM),
    ("idempotency-keys", "k:1",
     text(status="completed", requestHash="ab", statusCode=201, body={}), b"k:1", b"", DONE),
    ("fastidempotent", "lock:POST:/x:k", b"1", b"POST:/x:k", b"", CLAIM),
    ("fastidempotent", "record:POST:/x:k",
     text(key="POST:/x:k", status="complete", status_code=201), b"POST:/x:k", b"", DONE),
    ("idemkit", HEX * 2, text(state="CLAIMED", fingerprint="f", lease_until_ms=1796040000000),
     (HEX * 2).encode(), b"", CLAIM),
    ("idemkit", HEX * 2, text(state="COMPLETED", fingerprint="f", response_status=201),
     (HEX * 2).encode(), b"", DONE),
    ("gcp-pubsub-idempotency", "orders/7",
     {"state": b"CLAIMED", "fencing_id": b"3", "lease_expiry": b"1796040000000"},
     b"orders/7", b"", CLAIM),
    ("gcp-pubsub-idempotency", "orders/7",
     {"state": b"DONE", "fencing_id": b"3", "done_at": b"1796040000000"}, b"orders/7", b"", DONE),
    ("nodii-idempotency", "pay:webhook:idempotency:t:stripe:evt_1",
     text(status="in_flight", owner_id="o", heartbeat_at_ms=1796040000000),
     b"t:stripe:evt_1", b"pay", CLAIM),
    ("nodii-idempotency", f"pay:saga:idempotency:{HEX * 2}", text(status="completed", result={}),
     (HEX * 2).encode(), b"pay", DONE),
]  # fmt: skip


def layout_of(name: str) -> Layout:
    return preset(name)


def keyspace(name: str) -> RedisLayout:
    side = layout_of(name).redis
    assert side is not None
    return side


def read(name: str, raw: str | bytes, value: Any) -> Any:
    layout = keyspace(name)
    prefix = layout.container.before(layout.prefix.encode())
    raw = raw.encode() if isinstance(raw, str) else raw
    reader = KeyspaceReader(layout, prefix)
    return reader.read(
        [prefix + raw], [value], np.full(1, 5_000_000, np.int64), sizes=missing(1)
    ).record(0)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: f"{record[0]}-{record[5].label}")
def test_a_record_is_read_as_its_library_writes_it(record: Any) -> None:
    name, raw, value, *expected = record
    found = read(name, raw, value)
    assert [found.key, found.scope, found.status] == expected
    assert found.flaw is Flaw.NONE


BY_NAME_ALONE = {"celery-once", "laravel-wendelladriel", "sidekiq-unique-jobs"}
"""Of whose records the name says everything, whatever they hold."""


@pytest.mark.parametrize("name", sorted({name for name, *_ in RECORDS} - BY_NAME_ALONE))
def test_what_a_library_does_not_write_is_malformed_or_opaque(name: str) -> None:
    raw = next(one[1] for one in RECORDS if one[0] == name and one[5] is not CLAIM)
    layout = keyspace(name)
    for value in (b"\x80\x04]", b"[]", b"null", b'"x"', b"{}"):
        broken = {"data": value} if layout.hash_fields() else value
        status = read(name, raw, broken).status
        assert status in {Status.MALFORMED, UNKNOWN} or value in {b"{}", b"[]"}, value


def test_every_keyspace_that_nobody_has_tried_has_a_record_here() -> None:
    described = {name for name in preset_files() if layout_of(name).redis is not None}
    unproven = {name for name in described if layout_of(name).proven == "source"}
    assert unproven <= {name for name, *_ in RECORDS} <= described


def test_units_and_nested_parts_are_read() -> None:
    claim = read("powertools-python", RECORDS[0][1], RECORDS[0][2])
    assert claim.expires_at.timestamp() == 1795971033
    assert claim.lease_until.timestamp() == 1795967436.061
    assert claim.endpoint == b"pay.__main__.handler"
    lock = read("idempo", RECORDS[5][1], RECORDS[5][2])
    # A lock ends when its key does.
    assert lock.lease_until == lock.key_expires_at
    [hashed] = [read(*one[:3]) for one in RECORDS if one[0][:3] == "gcp" and one[5] is CLAIM]
    assert (hashed.fence, hashed.lease_until.timestamp()) == (3, 1796040000)
    [seen] = [read(*one[:3]) for one in RECORDS if one[0] == "spring-metadata"]
    assert seen.created_at.timestamp() == 1796040000
    codes = {one[0]: read(*one[:3]).response_status for one in RECORDS if one[5] is DONE}
    none = (
        "powertools-python",
        "powertools-typescript",
        "midaz",
        "gcp-pubsub-idempotency",
        "nodii-idempotency",
        "laravel-wendelladriel",
    )
    assert codes == dict.fromkeys(codes, 201) | dict.fromkeys(none)
    assert MISSING not in codes.values()


@pytest.mark.parametrize("name", preset_files())
def test_a_preset_s_file_has_its_name_and_says_whether_it_was_tried(name: str) -> None:
    layout = layout_of(name)
    assert layout.layout == name
    folder = "presets" if layout.proven == "live" else "unproven"
    assert str(preset_files()[name]).endswith(f"layouts/{folder}/{name}.yaml")

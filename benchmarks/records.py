"""Records of every codec: how a layout says it, how they are written, how a script reads them."""

from __future__ import annotations

import base64
import gzip
import json
import pickle
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Value = bytes | Mapping[Any, bytes]

_CREATED, _EXPIRES = 1_795_981_915_726, 4_102_444_800_000
_ISO = "2026-11-30T12:00:00.250+00:00"


def _flat(number: int) -> dict[str, Any]:
    return {
        "key": f"{number:08x}-1111-4222-8333-444444444444",
        "scope": "acme",
        "endpoint": "POST /v1/charges",
        "client": "web",
        "fingerprint": "053b1de0efa712b80fc172253afbe9ce",
        "status": "completed",
        "lease_until": None,
        "fence": number,
        "epoch": 1,
        "response_status": 201,
        "response_headers": None,
        "response_body": "ok",
        "created_at": _CREATED,
        "completed_at": _CREATED + 153,
        "expires_at": _EXPIRES,
    }


def _nested(number: int) -> dict[str, Any]:
    return {
        "request": {"digest": "053b1de0efa712b80fc172253afbe9ce", "method": "POST"},
        "state": {"name": "done", "since": _CREATED, "fence": number},
        "response": {"status": 201, "headers": {"content-type": "text/plain"}, "body": "ok"},
        "times": {"created": _CREATED, "expires": _EXPIRES},
    }


def _conditional(number: int) -> dict[str, Any]:
    return {
        "fingerprint": "053b1de0efa712b80fc172253afbe9ce",
        "lockedAt": _ISO,
        "createdAt": _CREATED,
        "response": {"status": 201, "body": "ok"} if number % 5 else None,
        "error": None if number % 7 else "timeout",
        "attempts": number % 3,
    }


_FLAT = """\
  endpoint: endpoint
  fingerprint: fingerprint
  response_status: response_status
  lease: lease_until
  fence: fence
  epoch: epoch
  expires: expires_at
  counted_from: created_at
  completed: completed_at
  status:
    in_progress: {field: status, is: in_progress}
    completed: {field: status, is: completed}
    failed: {field: status, is: failed}
"""
_BLANK = """\
  endpoint: endpoint
  fingerprint: fingerprint
  response_status: response_status
  fence: fence
  counted_from: created_at
  status:
    in_progress: {field: status, missing: true}
    completed: {field: status, is: completed}
"""
_NESTED = """\
  fingerprint: [request, digest]
  response_status: [response, status]
  fence: [state, fence]
  expires: [times, expires]
  counted_from: [times, created]
  status:
    in_progress: {field: [state, name], is: working}
    completed: {field: [state, name], is: done}
"""
_CONDITIONAL = """\
  fingerprint: fingerprint
  response_status: [response, status]
  lease: {field: lockedAt, unit: iso, plus: 30s}
  counted_from: createdAt
  status:
    in_progress: {all: [{field: response, missing: true}, {field: error, missing: true}]}
    completed: {all: [{field: response, missing: false}, {not: {field: error, is: timeout}}]}
    failed: {any: [{field: error, is: timeout}, {field: attempts, is: 9}]}
"""
_UNKNOWN = "  status: unknown\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Records of one codec: how a layout says it, how they are written, how a script reads."""

    name: str
    codec: str
    parts: str = _FLAT
    write: Callable[[int], Value]
    read: Callable[[Any], object]

    @property
    def layout(self) -> str:
        return (
            "layout: bench\ntitle: of a benchmark\nproven: source\nredis:\n"
            '  pattern: redis-setnx\n  prefix: "bench:"\n  key: "(?P<key>.+)"\n'
            f'  name: "{{key}}"\n  codec: {self.codec}\n{self.parts}'
        )


def _json(number: int) -> bytes:
    return json.dumps(_flat(number), separators=(",", ":")).encode()


def _packed(number: int) -> bytes:
    return msgspec.msgpack.encode(_flat(number))


def _hash(number: int) -> dict[str, bytes]:
    return {name: str(value).encode() for name, value in _flat(number).items() if value is not None}


_unpacked: Callable[[bytes], object] = msgspec.msgpack.decode
CASES = (
    Case(name="flag", codec="flag", parts=_UNKNOWN, write=lambda _: b"1", read=bool),
    Case(
        name="opaque",
        codec="opaque",
        parts=_UNKNOWN,
        write=lambda number: pickle.dumps(_flat(number)),
        read=bool,
    ),
    Case(name="json", codec="json", write=_json, read=json.loads),
    Case(
        name="json, nested",
        codec="json",
        parts=_NESTED,
        write=lambda number: json.dumps(_nested(number)).encode(),
        read=json.loads,
    ),
    Case(
        name="json, conditions of several members",
        codec="json",
        parts=_CONDITIONAL,
        write=lambda number: json.dumps(_conditional(number)).encode(),
        read=json.loads,
    ),
    Case(
        name="blank, json",
        codec="[blank, json]",
        parts=_BLANK,
        write=lambda number: _json(number) if number % 4 else b"",
        read=lambda value: json.loads(value or b"{}"),
    ),
    Case(name="msgpack", codec="msgpack", write=_packed, read=_unpacked),
    Case(
        name="msgpack, nested",
        codec="msgpack",
        parts=_NESTED,
        write=lambda number: msgspec.msgpack.encode(_nested(number)),
        read=_unpacked,
    ),
    Case(
        name="gzip, json",
        codec="[gzip, json]",
        write=lambda number: gzip.compress(_json(number), mtime=0),
        read=lambda value: json.loads(gzip.decompress(value)),
    ),
    Case(
        name="strip, zlib, msgpack",
        codec='[{strip: ":1"}, zlib, msgpack]',
        write=lambda number: zlib.compress(_packed(number)) + b":1",
        read=lambda value: _unpacked(zlib.decompress(value[:-2])),
    ),
    Case(
        name="base64, json",
        codec="[base64, json]",
        write=lambda number: base64.b64encode(_json(number)),
        read=lambda value: json.loads(base64.b64decode(value)),
    ),
    Case(
        name="hex, json",
        codec="[hex, json]",
        write=lambda number: _json(number).hex().encode(),
        read=lambda value: json.loads(bytes.fromhex(value.decode())),
    ),
    Case(name="hash", codec="hash", write=_hash, read=dict),
    Case(
        name="hash, member, gzip, json",
        codec="[hash, {member: data}, gzip, json]",
        write=lambda number: {"data": gzip.compress(_json(number), mtime=0), "state": b"DONE"},
        read=lambda fields: json.loads(gzip.decompress(fields[b"data"])),
    ),
    Case(
        name="json, member, json",
        codec="[json, {member: data}, json]",
        write=lambda number: json.dumps({"data": _json(number).decode(), "v": 1}).encode(),
        read=lambda value: json.loads(json.loads(value)["data"]),
    ),
)

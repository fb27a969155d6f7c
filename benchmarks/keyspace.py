"""A keyspace of clean records as the reference pair keeps them, and who looks at it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import redis

    from benchmarks.servers import Servers

_NAME = b"idem:acme:%08x-1111-4222-8333-444444444444"
_VALUE = (
    b'{"key":"%08x-1111-4222-8333-444444444444","scope":"acme","endpoint":"POST /v1/charges",'
    b'"client":"web","fingerprint":"053b1de0efa712b80fc172253afbe9ce","status":"completed",'
    b'"lease_until":null,"fence":%d,"epoch":1,"response_status":201,"response_headers":null,'
    b'"response_body":"ok","created_at":%d,"completed_at":%d,"expires_at":4102444800000}'
)
_CONFIGURATION = """\
version: 1
stores:
  payments:
    redis: {layout: reference, prefix: "idem:", ttl: 24h}
"""
_AT_ONCE = 10_000


def fill(client: redis.Redis, first: int, last: int) -> None:
    """Write the records from one number to another, all of them new and completed."""
    now = time.time_ns() // 1_000_000
    for start in range(first, last, _AT_ONCE):
        pipeline = client.pipeline(transaction=False)
        for number in range(start, min(start + _AT_ONCE, last)):
            pipeline.set(_NAME % number, _VALUE % (number, number, now, now + 153), ex=86_400)
        pipeline.execute()


def memkeys(servers: Servers) -> float:
    """Let redis-cli ask for the size of every key; give the seconds it took."""
    words, environ = servers.redis_cli("--memkeys")
    started = time.perf_counter()
    subprocess.run(words, env=environ, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def auditing(servers: Servers, place: Path, *more: str) -> subprocess.Popen[bytes]:
    """Start an audit of the keyspace, with its state in a folder."""
    file = place / "idemctl.yaml"
    file.write_text(_CONFIGURATION, "utf-8")
    words = [sys.executable, "-m", "idemctl", "audit", "--config", str(file), *more]
    environ = os.environ | servers.environ | {"IDEMCTL_STATE": str(place / "state")}
    return subprocess.Popen(words, env=environ, stdout=subprocess.PIPE)

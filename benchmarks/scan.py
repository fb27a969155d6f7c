"""A scan of values and TTLs beside `redis-cli --memkeys`, in one run on one machine.

The peer asks for the size of every key and reads no value. Prints the ratio of times with
both figures.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis
from tabulate import tabulate

from benchmarks.servers import running
from idemctl.bootstrap import RedisKeyspaceOpener, Workplace
from idemctl.run.collector import collect_rarely
from idemctl.run.run import Run

if TYPE_CHECKING:
    from benchmarks.servers import Servers

_TWIN = (
    b'{"key":"%08x-1111-4222-8333-444444444444","scope":"acme","endpoint":"POST /v1/charges",'
    b'"client":"web","fingerprint":"053b1de0efa712b80fc172253afbe9ce","status":"completed",'
    b'"lease_until":null,"fence":%d,"epoch":1,"response_status":201,"response_headers":null,'
    b'"response_body":"ok","created_at":1795981915726,"completed_at":1795981915879,'
    b'"expires_at":4102444800000}'
)
_AT_ONCE = 10_000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    collect_rarely()
    with running() as servers:
        version = _fill(servers, chosen.records)
        print(f"{version}, {os.cpu_count()} cores, {chosen.records:,} records, ", end="")
        print(f"median of {chosen.rounds}\n")
        ours, theirs = [], []
        for _ in range(chosen.rounds):
            ours.append(_scan(servers, chosen.records))
            theirs.append(_memkeys(servers))
        ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
        took = [f"{statistics.median(seconds):.2f} s" for seconds in (ours, theirs)]
        row = ("scan with value and TTL", took[0], "redis-cli --memkeys", took[1], f"{ratio:.2f}")
        headings = ("work", "idemctl", "peer", "took", "idemctl's time / peer's")
        print(tabulate([row], headings, disable_numparse=True))


def _fill(servers: Servers, records: int) -> str:
    client = redis.Redis.from_url(servers.redis_url)
    for start in range(0, records, _AT_ONCE):
        pipeline = client.pipeline(transaction=False)
        for number in range(start, min(start + _AT_ONCE, records)):
            name = b"idem:acme:%08x-1111-4222-8333-444444444444" % number
            pipeline.set(name, _TWIN % (number, number), ex=86_400)
        pipeline.execute()
    info: Any = client.info("server")
    client.close()
    return f"Valkey {info.get('valkey_version') or info['redis_version']}"


def _scan(servers: Servers, records: int) -> float:
    work = Workplace(config=None, stores=("payments",), environ=servers.environ, folder=Path.cwd())
    (target,) = (
        one for one in work.targets(Run(verb="bench")) if isinstance(one.opens, RedisKeyspaceOpener)
    )
    with closing(target.opens.open(writable=False)) as store:
        started = time.perf_counter()
        scanned = sum(len(batch) for batch in store.scan())
        took = time.perf_counter() - started
    assert scanned == records, scanned
    return took


def _memkeys(servers: Servers) -> float:
    words, environ = servers.redis_cli("--memkeys")
    started = time.perf_counter()
    subprocess.run(words, env=environ, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()

"""A scan of values and TTLs beside `redis-cli --memkeys`, in one run on one machine.

The peer asks for the size of every key and reads no value. Prints the ratio of times with
both figures.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis
from tabulate import tabulate

from benchmarks.keyspace import fill, memkeys
from benchmarks.servers import running
from idemctl.bootstrap import RedisKeyspaceOpener, Workplace
from idemctl.run.collector import collect_rarely
from idemctl.run.run import Run

if TYPE_CHECKING:
    from benchmarks.servers import Servers


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
            theirs.append(memkeys(servers))
        ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
        took = [f"{statistics.median(seconds):.2f} s" for seconds in (ours, theirs)]
        row = ("scan with value and TTL", took[0], "redis-cli --memkeys", took[1], f"{ratio:.2f}")
        headings = ("work", "idemctl", "peer", "took", "idemctl's time / peer's")
        print(tabulate([row], headings, disable_numparse=True))


def _fill(servers: Servers, records: int) -> str:
    with redis.Redis.from_url(servers.redis_url) as client:
        fill(client, 0, records)
        info: Any = client.info("server")
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


if __name__ == "__main__":
    main()

"""What an audit does to those who use Redis meanwhile, in one run on one machine.

A client reads and claims keys in a loop: alone, beside an audit at its usual pace, and beside
one at full pace. Prints what 99 and 50 of a hundred of its commands took at most.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis
from tabulate import tabulate

from benchmarks.keyspace import auditing, fill
from benchmarks.servers import running

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=600_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    chosen = parser.parse_args()
    with running() as servers, tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with redis.Redis.from_url(servers.redis_url) as client:
            fill(client, 0, chosen.records)
            info: Any = client.info("server")
            print(f"Valkey {info['valkey_version']}, {os.cpu_count()} cores, ", end="")
            print(f"{chosen.records:,} records\n")
            rows = [_row("alone", _used(client, _until(chosen.seconds)))]
            for name, words in (("usual pace", ()), ("full pace", ("--pace", "full"))):
                started = time.perf_counter()
                with auditing(servers, place, "-q", *words) as process:
                    took = _used(client, _while(process))
                seconds = time.perf_counter() - started
                rows.append(_row(f"audit at {name}, {seconds:.0f} s", took))
    print(tabulate(rows, ("beside", "commands", "p99", "p50"), disable_numparse=True))


def _until(seconds: float) -> Callable[[], bool]:
    ends_at = time.perf_counter() + seconds
    return lambda: time.perf_counter() < ends_at


def _while(process: subprocess.Popen[bytes]) -> Callable[[], bool]:
    return lambda: process.poll() is None


def _used(client: redis.Redis, goes_on: Callable[[], bool]) -> list[float]:
    """Read a key, claim another, and so on; give the seconds that each command took."""
    took: list[float] = []
    number = 0
    while goes_on():
        for _ in range(100):
            number += 1
            before = time.perf_counter()
            client.get(b"other:%d" % number)
            between = time.perf_counter()
            client.set(b"other:%d" % number, b"1", nx=True, ex=60)
            took += [between - before, time.perf_counter() - between]
    return took


def _row(name: str, took: list[float]) -> tuple[str, ...]:
    took.sort()
    shares = (0.99, 0.5)
    figures = [f"{took[int(share * len(took))] * 1000:.2f} ms" for share in shares]
    return (name, f"{len(took):,}", *figures)


if __name__ == "__main__":
    main()

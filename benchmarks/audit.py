"""A whole audit of Redis's side beside `redis-cli --memkeys`, in one run on one machine.

Every record is clean, and every check is made. Prints the ratio of times with both figures, and
how much more memory the audit of all records takes than that of the first ten thousand.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis
from tabulate import tabulate

from benchmarks.keyspace import auditing, fill, memkeys
from benchmarks.servers import running

if TYPE_CHECKING:
    from benchmarks.servers import Servers

_FEW = 10_000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    with running() as servers, tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        client = redis.Redis.from_url(servers.redis_url)
        fill(client, 0, _FEW)
        client.config_set("appendonly", "yes")
        _, few_kilobytes = _audited(servers, place)
        fill(client, _FEW, chosen.records)
        info: Any = client.info()
        print(f"Valkey {info['valkey_version']}, {os.cpu_count()} cores, ", end="")
        print(f"{chosen.records:,} records, median of {chosen.rounds}\n")
        ours, theirs, most_kilobytes = [], [], 0
        for _ in range(chosen.rounds):
            took, kilobytes = _audited(servers, place)
            ours.append(took)
            most_kilobytes = max(most_kilobytes, kilobytes)
            theirs.append(memkeys(servers))
        client.close()
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    rows = [
        (
            "audit of Redis's side",
            f"{statistics.median(ours):.2f} s",
            "redis-cli --memkeys",
            f"{statistics.median(theirs):.2f} s",
            f"{ratio:.2f}",
        ),
        (
            "its peak memory",
            f"{most_kilobytes / 1024:.0f} MB",
            f"of {_FEW:,} records",
            f"{few_kilobytes / 1024:.0f} MB",
            f"{most_kilobytes / few_kilobytes:.2f}",
        ),
    ]
    print(tabulate(rows, ("work", "idemctl", "beside", "", "ratio"), disable_numparse=True))


def _audited(servers: Servers, place: Path) -> tuple[float, int]:
    """Audit; give the seconds it took, and the most kilobytes it had."""
    started = time.perf_counter()
    with auditing(servers, place, "--pace", "full", "-o", "json") as process:
        assert process.stdout is not None
        said = json.load(process.stdout)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    took = time.perf_counter() - started
    assert (process.returncode, said["items"]) == (0, []), said["items"]
    return took, usage.ru_maxrss


if __name__ == "__main__":
    main()

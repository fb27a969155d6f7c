"""gc beside one plain DELETE and beside the usual loop, in one run on one machine.

Prints ratios with both figures: a ratio of 1 is as fast as the peer. Absolute figures are
context; this machine is as noisy as it is. The plain DELETE is unsafe to run beside
traffic, and so is the loop: they are the limit, and the habit.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from tabulate import tabulate

from benchmarks.servers import running
from idemctl.bootstrap import PostgresTableOpener, Workplace
from idemctl.domain.brakes import Brake
from idemctl.operations.gc import Options, gc
from idemctl.run.pace import PaceName
from idemctl.run.run import Run
from idemctl.sandbox.seed.postgres import schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.servers import Servers
    from idemctl.domain.collection import Collection

    Connection = psycopg.Connection[tuple[object, ...]]

_FILL = """
INSERT INTO processed_events
    (idempotency_key, scope, endpoint, client, fingerprint, status, response_status,
     response_body, created_at, completed_at, expires_at)
SELECT gen_random_uuid()::text, 'tenant' || g % 50, 'POST /v1/charges', 'client' || g % 100,
       md5(g::text), 'completed', 200, repeat('x', 120), now() - interval '7 days',
       now() - interval '7 days',
       CASE WHEN g % 5 = 0 THEN now() + interval '1 day' ELSE {expired} END
  FROM generate_series(1, {rows}) g
"""
_EXPIRIES = {
    "spread": "now() - interval '20 hours' + g * interval '50 milliseconds'",
    "all equal": "now() - interval '1 hour'",
}
_LOOP = """
DELETE FROM processed_events WHERE (scope, idempotency_key) IN (
    SELECT scope, idempotency_key FROM processed_events WHERE expires_at < %s LIMIT 1000)
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory-rows", type=int, nargs=2, default=(10_000, 1_000_000))
    chosen = parser.parse_args()
    with running() as servers, psycopg.connect(servers.dsn, autocommit=True) as connection:
        connection.execute(schema())
        version = connection.execute("SHOW server_version").fetchone()
        print(f"PostgreSQL {version[0] if version else '?'}, {os.cpu_count()} cores,", end=" ")
        print(f"{chosen.rows:,} rows of which {chosen.rows * 4 // 5:,} expired,", end=" ")
        print(f"median of {chosen.rounds}, gc at --pace full\n")
        _speed(servers, connection, chosen.rows, chosen.rounds)
        _memory(servers, connection, chosen.memory_rows)


def _speed(servers: Servers, connection: Connection, rows: int, rounds: int) -> None:
    lines = []
    for name, expired in _EXPIRIES.items():
        times: dict[str, list[float]] = {"gc": [], "one DELETE": [], "loop": []}
        longest: list[float] = []

        def collect(longest: list[float] = longest) -> int:
            outcome = _gc(servers)
            longest.append(outcome.longest_batch_ms)
            return outcome.deleted

        ways: dict[str, Callable[[], int]] = {
            "gc": collect,
            "one DELETE": lambda: (
                connection.execute("DELETE FROM processed_events WHERE expires_at < now()").rowcount
            ),
            "loop": lambda: _loop(connection),
        }
        for _ in range(rounds):
            for way, work in ways.items():
                _fill(connection, rows, expired)
                started = time.perf_counter()
                deleted = work()
                times[way].append(time.perf_counter() - started)
                assert deleted == rows * 4 // 5, (way, deleted)
        gc_seconds = statistics.median(times["gc"])
        for peer in ("one DELETE", "loop"):
            seconds = statistics.median(times[peer])
            ratio = statistics.median(
                theirs / ours for theirs, ours in zip(times[peer], times["gc"], strict=True)
            )
            lines.append(
                (name, f"{gc_seconds:.2f} s", peer, f"{seconds:.2f} s", f"{ratio:.2f}",
                 f"{max(longest):.0f} ms")
            )  # fmt: skip
    headings = ("expiries", "gc", "peer", "took", "gc's speed / peer's", "longest batch")
    print(tabulate(lines, headings, disable_numparse=True))


def _gc(servers: Servers) -> Collection:
    work = Workplace(config=None, stores=("payments",), environ=servers.environ, folder=Path.cwd())
    run = Run(verb="gc", pace_name=PaceName.FULL)
    targets = [one for one in work.targets(run) if isinstance(one.opens, PostgresTableOpener)]
    options = Options(apply=True, despite=frozenset({Brake.VOLUME}))
    (collected,) = gc(targets, options, run).targets
    return collected.collection


def _loop(connection: Connection) -> int:
    cutoff = connection.execute("SELECT now()").fetchone()
    deleted = 0
    while True:
        gone = connection.execute(_LOOP, cutoff).rowcount
        if not gone:
            return deleted
        deleted += gone


def _fill(connection: Connection, rows: int, expired: str) -> None:
    connection.execute("TRUNCATE processed_events")
    connection.execute(_FILL.format(rows=rows, expired=expired).encode())
    connection.execute("VACUUM ANALYZE processed_events")


def _memory(servers: Servers, connection: Connection, sizes: tuple[int, int]) -> None:
    peaks = []
    for rows in sizes:
        _fill(connection, rows, _EXPIRIES["spread"])
        words = ["gc", "--apply", "--pace", "full", "--store", "payments", "-q"]
        words += ["--despite", "volume"]
        process = subprocess.Popen(
            [sys.executable, "-m", "idemctl", *words], env={**os.environ, **servers.environ}
        )
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0, status
        peaks.append(usage.ru_maxrss / 1024)
    small, large = peaks
    print(
        f"\npeak memory of idemctl gc --apply: {small:.0f} MiB at {sizes[0]:,} rows, "
        f"{large:.0f} MiB at {sizes[1]:,}: {large / small:.2f} times"
    )


if __name__ == "__main__":
    main()

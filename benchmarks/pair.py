"""reconcile beside what a wiki page says, in one run on one machine.

Refilling Redis after a flush, beside `psql | redis-cli --pipe` and a redis-py pipeline; comparing
both ways, beside a loop over a server-side cursor and SCAN. The peers are unsafe beside
traffic, and know no TTL: they are the limit, and the habit. The loop compares whole records,
bodies included, which reconcile does not. Prints ratios with both figures.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import redis
from tabulate import tabulate

from benchmarks.servers import psql, running
from idemctl.bootstrap import Workplace
from idemctl.operations.reconcile import Options, reconcile
from idemctl.run.pace import PaceName
from idemctl.run.pairing import Sweep, SweepTask
from idemctl.run.run import Run
from idemctl.run.shards import ShardedWalk
from idemctl.sandbox.seed.postgres import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from benchmarks.servers import Servers

    Connection = psycopg.Connection[Any]

_ROWS = """
INSERT INTO processed_events
    (idempotency_key, scope, endpoint, client, fingerprint, status, response_status,
     response_body, created_at, completed_at, expires_at)
SELECT gen_random_uuid()::text, CASE WHEN g %% 3 > 0 THEN 'tenant' || g %% 50 ELSE '' END,
       'POST /v1/charges', 'client' || g %% 100, md5(g::text) || md5((-g)::text), 'completed', 201,
       repeat('x', 40), now() - g %% 3600 * interval '1 second',
       now() - g %% 3600 * interval '1 second', now() + interval '7 days'
  FROM generate_series(1, %s) g
"""
_TWIN = """
SELECT 'idem:' || CASE WHEN scope <> '' THEN scope || ':' ELSE '' END || idempotency_key AS k,
       json_build_object(
           'key', idempotency_key, 'scope', scope, 'endpoint', endpoint, 'client', client,
           'fingerprint', fingerprint, 'status', status, 'fence', fence, 'epoch', epoch,
           'response_status', response_status, 'response_headers', response_headers,
           'response_body', response_body,
           'lease_until', (extract(epoch FROM lease_until) * 1000)::int8,
           'created_at', (extract(epoch FROM created_at) * 1000)::int8,
           'completed_at', (extract(epoch FROM completed_at) * 1000)::int8,
           'expires_at', (extract(epoch FROM expires_at) * 1000)::int8)::text AS v,
       (extract(epoch FROM completed_at + interval '24 hours') * 1000)::int8::text AS until
  FROM processed_events WHERE expires_at > now()
"""
# psql ends each row with the line feed that the last carriage return waits for.
_AS_RESP = rf"""
SELECT E'*5\r\n$3\r\nSET\r\n$' || octet_length(k) || E'\r\n' || k
       || E'\r\n$' || octet_length(v) || E'\r\n' || v
       || E'\r\n$4\r\nPXAT\r\n$' || octet_length(until) || E'\r\n' || until || E'\r'
  FROM ({_TWIN}) AS twin
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    with running() as servers:
        bench = _Bench(servers, chosen.workers)
        bench.fill(chosen.records)
        print(f"{bench.versions()}, {os.cpu_count()} cores, {chosen.records:,} records,", end=" ")
        print(f"median of {chosen.rounds}, reconcile at --pace full, {chosen.workers} workers\n")
        lines = [
            *bench.refill(chosen.records, chosen.rounds),
            *bench.compare(chosen.records, chosen.rounds),
        ]
        headings = ("work", "idemctl", "peer", "took", "idemctl's speed / peer's", "longest hold")
        print(tabulate(lines, headings, disable_numparse=True))


class _Bench:
    """The sandbox's pair, and the ways to fill and to compare it."""

    def __init__(self, servers: Servers, workers: int) -> None:
        self._servers = servers
        self._workers = workers
        self._connection: Connection = psycopg.connect(servers.dsn, autocommit=True)
        self._connection.execute(schema())
        self._client = redis.Redis.from_url(servers.redis_url)
        work = Workplace(
            config=None, stores=("payments",), environ=servers.environ, folder=Path.cwd()
        )
        (self._pair,) = work.pairs(Run(verb="bench"))
        self._work = work

    def fill(self, records: int) -> None:
        """Write rows that Redis owes, all of them."""
        self._connection.execute(_ROWS.encode(), (records,))
        self._connection.execute("VACUUM ANALYZE processed_events")

    def versions(self) -> str:
        """Say which servers these are."""
        postgres = self._connection.execute("SHOW server_version").fetchone()
        info: Any = self._client.info("server")
        valkey = info.get("valkey_version") or info["redis_version"]
        return f"PostgreSQL {postgres[0] if postgres else '?'}, Valkey {valkey}"

    def refill(self, records: int, rounds: int) -> Iterator[tuple[str, ...]]:
        """Flush and refill, in each way."""
        longest = timedelta(0)

        def ours() -> int:
            nonlocal longest
            task = SweepTask(self._pair, Sweep.REFILL)
            filled = 0
            steps = ShardedWalk(task, self._workers, PaceName.FULL, watch=lambda: None)
            with closing(steps):
                for step in steps:
                    filled += step.filled
                    longest = max(longest, step.held_for)
            return filled

        ways = {
            "idemctl": ours,
            "psql | redis-cli --pipe": self._pipe,
            "redis-py pipeline": self._pipeline,
        }
        times = self._timed(ways, rounds, records, before=self._client.flushall)
        hold = f"{longest.total_seconds() * 1000:.0f} ms"
        yield from _lines("refill", times, hold)

    def compare(self, records: int, rounds: int) -> Iterator[tuple[str, ...]]:
        """Compare both ways where nothing differs."""

        def ours() -> int:
            options = Options(workers=self._workers)
            run = Run(verb="reconcile", pace_name=PaceName.FULL)
            (one,) = reconcile([self._pair], options, run, self._work.suspects).pairs
            assert one.comparison, one.failure
            assert not one.left_count, one.comparison
            return one.comparison.totals.equal

        ways = {"idemctl": ours, "cursor and pipelines": self._loop}
        yield from _lines("compare", self._timed(ways, rounds, records), "")

    def _timed(
        self,
        ways: Mapping[str, Callable[[], int]],
        rounds: int,
        records: int,
        before: Callable[[], object] = lambda: None,
    ) -> dict[str, list[float]]:
        times: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, work in ways.items():
                before()
                started = time.perf_counter()
                done = work()
                times[way].append(time.perf_counter() - started)
                assert done == records, (way, done)
        return times

    def _pipe(self) -> int:
        """Let psql write RESP into redis-cli."""
        reader = subprocess.Popen(
            [psql(), "-qAtX", "-c", _AS_RESP, self._servers.dsn], stdout=subprocess.PIPE
        )
        words, environ = self._servers.redis_cli("--pipe")
        pipe = subprocess.run(
            words,
            env=environ,
            stdin=reader.stdout,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        assert reader.wait() == 0
        (replies,) = re.findall(r"replies: (\d+)", pipe.stdout)
        assert "errors: 0" in pipe.stdout, pipe.stdout
        return int(replies)

    def _pipeline(self) -> int:
        """Read with a cursor and write with a pipeline of a thousand."""
        count = 0
        with self._connection.transaction(), self._connection.cursor("rows") as cursor:
            cursor.itersize = 1000
            cursor.execute(_TWIN.encode())
            while rows := cursor.fetchmany(1000):
                pipeline = self._client.pipeline(transaction=False)
                for name, value, until in rows:
                    pipeline.set(name, value, pxat=int(until))
                count += sum(map(bool, pipeline.execute()))
        return count

    def _loop(self) -> int:
        """Compare as a script does: each row with its twin, and each twin with its row."""
        equal = 0
        with self._connection.transaction(), self._connection.cursor("rows") as cursor:
            cursor.itersize = 1000
            cursor.execute(_TWIN.encode())
            while rows := cursor.fetchmany(1000):
                pipeline = self._client.pipeline(transaction=False)
                for name, _, _ in rows:
                    pipeline.get(name)
                    pipeline.pttl(name)
                replies = pipeline.execute()
                for (_, value, _), twin, left in zip(
                    rows, replies[::2], replies[1::2], strict=True
                ):
                    equal += left > 0 and json.loads(twin) == json.loads(value)
        names: list[bytes] = []
        known = 0
        for name in self._client.scan_iter("idem:*", count=1000):
            names.append(name)
            if len(names) == 1000:
                known += self._known(names)
                names = []
        assert known + self._known(names) == equal
        return equal

    def _known(self, names: list[bytes]) -> int:
        twins: Any = self._client.mget(names)
        values = [json.loads(twin) for twin in twins]
        rows = self._connection.execute(
            "SELECT idempotency_key, scope, status, fence FROM processed_events"
            " JOIN unnest(%s::text[], %s::text[]) AS wanted (k, s)"
            " ON idempotency_key = k AND scope = s",
            ([value["key"] for value in values], [value["scope"] for value in values]),
        ).fetchall()
        found = {(key, scope): (status, fence) for key, scope, status, fence in rows}
        return sum(
            found.get((value["key"], value["scope"])) == (value["status"], value["fence"])
            for value in values
        )


def _lines(work: str, times: Mapping[str, list[float]], hold: str) -> Iterator[tuple[str, ...]]:
    ours = times["idemctl"]
    for peer, theirs in times.items():
        if peer != "idemctl":
            ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
            took = [f"{statistics.median(seconds):.2f} s" for seconds in (ours, theirs)]
            yield work, took[0], peer, took[1], f"{ratio:.2f}", hold


if __name__ == "__main__":
    main()

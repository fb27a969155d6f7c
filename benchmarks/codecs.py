"""An audit of records of every codec beside a script, in one run on one machine.

The script lists the keys, asks for value and TTL of a thousand at a time over a redis-py
pipeline, and decodes them into dictionaries: it judges nothing. Prints records a second.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis
from tabulate import tabulate

from benchmarks.records import CASES
from benchmarks.servers import running
from idemctl.bootstrap import Workplace
from idemctl.domain.records import Status
from idemctl.operations.audit import audit
from idemctl.run.audited import Options
from idemctl.run.collector import collect_rarely
from idemctl.run.pace import PaceName
from idemctl.run.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.records import Case
    from benchmarks.servers import Servers

    _Ways = Sequence[Callable[[], int]]

_AT_ONCE = 1_000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="cases whose name holds this")
    chosen = parser.parse_args()
    collect_rarely()
    with running() as servers, tempfile.TemporaryDirectory() as folder:
        client = redis.Redis.from_url(servers.redis_url)
        info: Any = client.info("server")
        version = f"Valkey {info.get('valkey_version') or info['redis_version']}"
        print(f"{version}, {os.cpu_count()} cores, {chosen.records:,} records, ", end="")
        print(f"median of {chosen.rounds}, records a second\n")
        rows = [
            _row(case, _ways(case, servers, client, Path(folder)), client, chosen)
            for case in CASES
            if (chosen.only or "") in case.name
        ]
        client.close()
    headings = ("codec", "reading", "audit", "redis-py pipeline", "audit / peer")
    print(tabulate(rows, headings, disable_numparse=True))


def _row(
    case: Case, ways: _Ways, client: redis.Redis, chosen: argparse.Namespace
) -> tuple[str, ...]:
    _fill(case, client, chosen.records)
    speeds: list[list[float]] = [[] for _ in ways]
    for _ in range(chosen.rounds):
        for way, found in zip(ways, speeds, strict=True):
            started = time.perf_counter()
            seen = way()
            found.append(chosen.records / (time.perf_counter() - started))
            assert seen == chosen.records, seen
    reading, whole, peer = speeds
    ratio = statistics.median(a / b for a, b in zip(whole, peer, strict=True))
    figures = [f"{statistics.median(one):,.0f}" for one in (reading, whole, peer)]
    return (case.name, *figures, f"{ratio:.2f}")


def _ways(case: Case, servers: Servers, client: redis.Redis, folder: Path) -> _Ways:
    work = _workplace(case, servers, folder)
    return (lambda: _read(work), lambda: _audit(work), lambda: _script(case, client))


def _fill(case: Case, client: redis.Redis, records: int) -> None:
    client.flushall()
    for start in range(0, records, 10 * _AT_ONCE):
        pipeline = client.pipeline(transaction=False)
        for number in range(start, min(start + 10 * _AT_ONCE, records)):
            name = b"bench:%08x-1111-4222-8333-444444444444" % number
            value = case.write(number)
            if isinstance(value, bytes):
                pipeline.set(name, value, ex=86_400)
            else:
                pipeline.hset(name, mapping=dict(value))
                pipeline.expire(name, 86_400)
        pipeline.execute()


def _workplace(case: Case, servers: Servers, folder: Path) -> Workplace:
    (folder / "bench.yaml").write_text(case.layout, "utf-8")
    (folder / "idemctl.yaml").write_text(
        "version: 1\nstores:\n  bench:\n"
        "    redis: {url_env: REDIS_URL, layout: bench.yaml, ttl: 24h}\n",
        "utf-8",
    )
    os.chdir(folder)
    environ = {"REDIS_URL": servers.redis_url, "IDEMCTL_STATE": str(folder)}
    return Workplace(config=folder / "idemctl.yaml", stores=(), environ=environ, folder=folder)


def _read(work: Workplace) -> int:
    (target,) = work.targets(Run(verb="bench"))
    with closing(target.opens.open(writable=False)) as store:
        return sum(len(batch) for batch in store.scan())


def _audit(work: Workplace) -> int:
    run = Run(verb="audit", pace_name=PaceName.FULL)
    outcome = audit(
        work.targets(run), [], Options(), run, repeats=work.repeats, suspects=work.suspects
    )
    (place,) = outcome.places
    assert not outcome.failures, outcome.failures
    assert place.overview is not None
    assert not place.overview.by_status[Status.MALFORMED], place.findings
    return place.overview.seen_count


def _script(case: Case, client: redis.Redis) -> int:
    """Read as a script does: a thousand keys, their values and TTLs, then the next."""
    seen = 0
    names: list[Any] = []
    for name in client.scan_iter("bench:*", count=_AT_ONCE):
        names.append(name)
        if len(names) == _AT_ONCE:
            seen += _of_script(case, client, names)
            names = []
    return seen + _of_script(case, client, names)


def _of_script(case: Case, client: redis.Redis, names: list[Any]) -> int:
    pipeline = client.pipeline(transaction=False)
    is_hash = case.codec.startswith(("hash", "[hash"))
    for name in names:
        (pipeline.hgetall if is_hash else pipeline.get)(name)
        pipeline.pttl(name)
    replies = pipeline.execute()
    return len([case.read(value) for value in replies[::2]])


if __name__ == "__main__":
    main()

"""The harness: Redis is flushed eight times while an application works and a repair runs.

A repair is a function that puts back into Redis what Postgres holds. It runs again and again;
the oracle of the traffic says whether it ever brought back what was already dead.
"""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import psycopg
import redis

from idemctl.sandbox.faults import flush
from idemctl.sandbox.seed import seed
from idemctl.sandbox.traffic import Traffic
from tests.cli.places import await_that

if TYPE_CHECKING:
    from collections.abc import Callable

    from idemctl.sandbox.traffic import Ledger

FLUSHES = 8
RECORDS = 3_000
HOT_KEYS = 300
WORKERS = 8
PAUSE_SECONDS = 0.03
CHUNK = 200

_WITHIN_SECONDS = 30.0
_OPERATIONS_BETWEEN = 150
_READS_BETWEEN = 3_000
_LIVE_ROWS = b"""
SELECT scope, idempotency_key, status, lease_until, fence, epoch, expires_at,
       least(expires_at, coalesce(completed_at, created_at) + interval '24 hours') AS until
  FROM processed_events
 WHERE (scope, idempotency_key) > (%s, %s)
   AND CASE status WHEN 'in_progress' THEN lease_until ELSE expires_at END > clock_timestamp()
 ORDER BY scope, idempotency_key LIMIT %s"""


def flush_under_traffic(dsn: str, redis_url: str, repair: Callable[[], None]) -> Ledger:
    """Let an application work, flush, and repair; give what the application saw.

    Every other flush comes while the repair is in the middle of its work.
    """
    manifest = seed(dsn=dsn, redis_url=redis_url, records=RECORDS, seed=5, faults=False)
    half = manifest.stores["payments"]["redis"].record_count // 2
    traffic = Traffic(dsn=dsn, redis_url=redis_url, workers=WORKERS, keys=HOT_KEYS, seed=5)
    repairs = Repairs(repair)
    traffic.start()
    try:
        with redis.Redis.from_url(redis_url) as client:
            repairs.begin()
            for at in range(FLUSHES):
                flush(redis_url)
                # Only the repair brings back what the application does not touch.
                await_that(
                    lambda: repairs.failed or client.dbsize() > half,
                    "half of what was lost",
                    within=_WITHIN_SECONDS,
                )
                if at % 2:
                    await_more(traffic)
        repairs.stop()
        await_more(traffic)
    finally:
        try:
            repairs.stop()
        finally:
            ledger = traffic.stop()
    return ledger


def await_more(traffic: Traffic) -> None:
    """Wait until the application has written and read a good deal more."""
    before = traffic.ledger()

    def enough() -> bool:
        now = traffic.ledger()
        return (
            now.read_count >= before.read_count + _READS_BETWEEN
            and sum(now.operations.values())
            >= sum(before.operations.values()) + _OPERATIONS_BETWEEN
        )

    await_that(enough, "traffic", within=_WITHIN_SECONDS)


class Repairs:
    """A thread that runs a repair again and again; a failure ends it, and is raised by `stop`."""

    def __init__(self, repair: Callable[[], None]) -> None:
        self._repair = repair
        self._begun = threading.Event()
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    @property
    def failed(self) -> bool:
        return self._failure is not None

    def begin(self) -> None:
        """Let the first run begin, and return when it has."""
        self._thread.start()
        assert self._begun.wait(_WITHIN_SECONDS)

    def stop(self) -> None:
        """Let the run that has begun come to its end, and begin no other."""
        self._stopping.set()
        if self._begun.is_set():
            self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        while not self._stopping.is_set() and not self.failed:
            self._begun.set()
            try:
                self._repair()
            except BaseException as error:  # noqa: BLE001 - It is raised by `stop`.
                self._failure = error


def blind_set(dsn: str, redis_url: str) -> None:
    """Read live rows, then set them: what most scripts do."""
    _refill(dsn, redis_url, locked=False, only_absent=False)


def set_nx(dsn: str, redis_url: str) -> None:
    """Read live rows, then set what is absent: better, and still wrong."""
    _refill(dsn, redis_url, locked=False, only_absent=True)


def set_nx_under_lock(dsn: str, redis_url: str) -> None:
    """Do the same while the rows are held: the application cannot go on meanwhile."""
    _refill(dsn, redis_url, locked=True, only_absent=True)


def _refill(dsn: str, redis_url: str, *, locked: bool, only_absent: bool) -> None:
    lock = b" FOR SHARE SKIP LOCKED" if locked else b""
    with psycopg.connect(dsn) as connection, redis.Redis.from_url(redis_url) as client:
        after = ("", "")
        while True:
            given = (*after, CHUNK)
            rows = connection.execute(_LIVE_ROWS + lock, given).fetchall()
            # Whoever holds no lock is overtaken here; the one who does pays in time alone.
            time.sleep(PAUSE_SECONDS)
            with client.pipeline(transaction=False) as pipeline:
                for row in rows:
                    name, value, until_ms = _twin(row)
                    pipeline.set(name, value, pxat=until_ms, nx=only_absent)
                pipeline.execute()
            connection.commit()
            if not rows:
                return
            after = rows[-1][:2]


def _twin(row: tuple[Any, ...]) -> tuple[str, bytes, int]:
    scope, key, status, lease_until, fence, epoch, expires_at, until = row
    value = {
        "key": key,
        "scope": scope,
        "status": status,
        "lease_until": lease_until and int(lease_until.timestamp() * 1000),
        "fence": fence,
        "epoch": epoch,
        "expires_at": int(expires_at.timestamp() * 1000),
    }
    name = f"idem:{scope}:{key}" if scope else f"idem:{key}"
    return name, json.dumps(value).encode(), int(until.timestamp() * 1000)

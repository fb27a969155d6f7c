"""The threads of the traffic: workers that serve requests, readers that only look."""

from __future__ import annotations

import heapq
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from idemctl.sandbox.traffic.application import Application, Request
from idemctl.sandbox.traffic.ledger import IN_PROGRESS

if TYPE_CHECKING:
    import random
    import threading
    from collections.abc import Sequence

    import psycopg
    import redis

    from idemctl.sandbox.traffic.application import Record
    from idemctl.sandbox.traffic.ledger import Key
    from idemctl.sandbox.traffic.oracle import Oracle

OUTCOMES = {"release": 0.76, "complete": 0.12, "fail": 0.12}
"""What becomes of a request that does not crash; a released key is free at once."""
SHORT_LEASE_SHARE = 0.4
SHORT_LEASE_SECONDS = (0.15, 1.0)
"""Leases that end under everybody's eyes, so that keys are taken over."""
LONG_LEASE_SECONDS = (5.0, 12.0)
"""Leases as they should be: long enough for a tool to think the record worth a repair."""
PROMISE_SECONDS = (0.15, 12.0)
CRASH_SHARES = {"short": 0.1, "long": 0.02}
"""How often a worker stops for good at each place where it can; a long lease stays after it."""
OVERSTAY_SHARE = 0.1
"""How often a worker goes on after its lease is over, not knowing it."""
SLOW_SHARE = 0.5
"""How many requests with a long lease take so long that the worker serves others meanwhile."""
SLOW_SECONDS = (0.1, 3.0)

_LONGEST_OVERSTAY_SECONDS = 0.4
_WORK_SECONDS = 0.01
_RENEWALS = (0, 0, 0, 1, 2)
_READ_AT_ONCE = 16
_BREATH_SECONDS = 0.001
"""What a reader leaves to others: the stores, the workers and a tool may share one core."""
_ENDPOINTS = ("POST /v1/charges", "POST /v1/bookings", "POST /v1/refunds")
_CLIENTS = ("web", "ios-app", "android-app", "billing")


class _Crashed(Exception):
    """The process is gone; what it had begun stays as it is."""


class _Job(NamedTuple):
    """A key in a worker's hands."""

    record: Record
    lease: timedelta
    crash_share: float


class _Slow(NamedTuple):
    """A job that is gone on with later."""

    due_at: float
    job: _Job


class Worker:
    """Serves one request after another on keys that everybody wants."""

    def __init__(
        self,
        connection: psycopg.Connection,
        client: redis.Redis,
        *,
        oracle: Oracle,
        keys: Sequence[Key],
        rng: random.Random,
        stopping: threading.Event,
    ) -> None:
        self._application = Application(connection, client, oracle)
        self._client = client
        self._oracle = oracle
        self._keys = keys
        self._rng = rng
        self._stopping = stopping
        self._slow: list[_Slow] = []

    def run(self) -> None:
        """Serve until the traffic stops; what is slow then stays in progress."""
        while not self._stopping.is_set():
            try:
                if self._slow and self._slow[0].due_at <= time.monotonic():
                    self._end(heapq.heappop(self._slow).job)
                else:
                    self._serve(self._rng.choice(self._keys))
            except _Crashed as crash:
                self._oracle.count(f"crash after {crash}")

    def _serve(self, key: Key) -> None:
        """Answer one request: from Redis where that is enough, else by the rules of Postgres."""
        (found,) = self._oracle.read(self._client, [key])
        answer = self._answer(found)
        if answer is not None:
            self._oracle.count(answer)
            self._work()
            return
        is_short = self._chance(SHORT_LEASE_SHARE)
        lease = self._between(SHORT_LEASE_SECONDS if is_short else LONG_LEASE_SECONDS)
        record = self._application.claim(self._request(key), lease=lease)
        if record is None:
            self._oracle.count("conflict")
            return
        job = self._begin(_Job(record, lease, CRASH_SHARES["short" if is_short else "long"]))
        if job is None:
            return
        if not is_short and self._chance(SLOW_SHARE):
            due_at = time.monotonic() + self._between(SLOW_SECONDS).total_seconds()
            heapq.heappush(self._slow, _Slow(due_at, job))
        else:
            self._end(job)

    def _answer(self, found: dict[str, Any] | None) -> str | None:
        """Say what a record in Redis means for a request; None leaves it to Postgres."""
        if found is None or not isinstance(found.get("expires_at"), int):
            return None
        if found.get("status") != IN_PROGRESS:
            return "replay" if found["expires_at"] > self._oracle.clock() else None
        lease_until = found.get("lease_until")
        is_live = isinstance(lease_until, int) and lease_until > self._oracle.clock()
        return "conflict" if is_live else None

    def _begin(self, job: _Job) -> _Job | None:
        """Tell Redis of the lock, and keep it for a while; None when it is lost."""
        self._may_crash(job, "claim")
        self._application.publish(job.record)
        for _ in range(self._rng.choice(_RENEWALS)):
            self._work()
            renewed = self._application.renew(job.record, lease=job.lease)
            if renewed is None:
                return None
            job = job._replace(record=renewed)
            self._may_crash(job, "renew")
            self._application.publish(renewed)
        return job

    def _end(self, job: _Job) -> None:
        self._work()
        self._may_crash(job, "work")
        lease_seconds = job.lease.total_seconds()
        if lease_seconds < _LONGEST_OVERSTAY_SECONDS and self._chance(OVERSTAY_SHARE):
            self._oracle.count("overstay")
            self._stopping.wait(1.5 * lease_seconds)
        (outcome,) = self._rng.choices(list(OUTCOMES), list(OUTCOMES.values()))
        if outcome == "release":
            self._release(job)
        else:
            self._finish(job, outcome)

    def _finish(self, job: _Job, outcome: str) -> None:
        act = self._application.complete if outcome == "complete" else self._application.fail
        body = f'{{"id": "ch_{self._rng.randbytes(12).hex()}"}}'
        finished = act(job.record, promise=self._between(PROMISE_SECONDS), body=body)
        if finished is not None:
            self._may_crash(job, outcome)
            self._application.publish(finished)

    def _release(self, job: _Job) -> None:
        if self._application.release(job.record):
            self._may_crash(job, "release")
            self._application.withdraw(job.record)

    def _request(self, key: Key) -> Request:
        return Request(
            key,
            endpoint=self._rng.choice(_ENDPOINTS),
            client=self._rng.choice(_CLIENTS),
            fingerprint=self._rng.randbytes(32).hex(),
        )

    def _work(self) -> None:
        self._stopping.wait(self._rng.random() * _WORK_SECONDS)

    def _may_crash(self, job: _Job, done: str) -> None:
        if self._chance(job.crash_share):
            raise _Crashed(done)

    def _chance(self, share: float) -> bool:
        return self._rng.random() < share

    def _between(self, seconds: tuple[float, float]) -> timedelta:
        """Draw a duration: most are short, a few are long."""
        shortest, longest = seconds
        return timedelta(seconds=shortest * (longest / shortest) ** self._rng.random())


class Reader:
    """Looks keys up in Redis, a few at once, again and again."""

    def __init__(
        self,
        client: redis.Redis,
        *,
        oracle: Oracle,
        keys: Sequence[Key],
        rng: random.Random,
        stopping: threading.Event,
    ) -> None:
        self._client = client
        self._oracle = oracle
        self._keys = keys
        self._rng = rng
        self._stopping = stopping

    def run(self) -> None:
        """Look until the traffic stops."""
        at_once = min(_READ_AT_ONCE, len(self._keys))
        while not self._stopping.is_set():
            self._oracle.read(self._client, self._rng.sample(self._keys, at_once))
            self._stopping.wait(_BREATH_SECONDS)

"""The writer: puts rows into both stores and counts what it put there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from idemctl.sandbox.seed import postgres
from idemctl.sandbox.seed.manifest import Side
from idemctl.sandbox.seed.redis import PREFIXES
from idemctl.sandbox.seed.rows import REDIS_TTL, STORE_TTL, WINDOW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import psycopg

    from idemctl.sandbox.seed.redis import Bulk
    from idemctl.sandbox.seed.rows import (
        Delivery,
        Message,
        OutboxEvent,
        Payment,
        Webhook,
        WorkflowRun,
        WorkflowStep,
    )

_TABLES = {
    "payments": (postgres.PAYMENTS,),
    "webhooks": (postgres.WEBHOOKS,),
    "workflows": (postgres.RUNS, postgres.STEPS),
    "outbox": (postgres.OUTBOX,),
}
_STATUSES = ("in_progress", "completed", "failed")


@dataclass(slots=True)
class _Tally:
    by_status: Counter[str] = field(default_factory=Counter)
    expired_count: int = 0
    byte_count: int = 0


class Writer:
    """Writes to Postgres and Redis, with a count by store, side and status.

    What belongs to a pair is written to each side by a call of its own: a fault is often
    that only one of the two was made.
    """

    def __init__(
        self,
        connection: psycopg.Connection,
        bulk: Bulk,
        *,
        now: int,
        progress: Callable[[str, int], None] | None,
    ) -> None:
        self.now = now
        self._connection = connection
        self._bulk = bulk
        self._progress = progress
        self._postgres = {store: _Tally() for store in _TABLES}
        self._redis = {store: _Tally() for store in PREFIXES}
        self._written: Counter[str] = Counter()
        self._fence = 0
        self._event_id = 0

    @property
    def next_fence(self) -> int:
        """The number that the fence's sequence gives next."""
        return self._fence + 1

    @property
    def next_event_id(self) -> int:
        """The number that the outbox's sequence gives next."""
        return self._event_id + 1

    def payments(self, rows: Sequence[Payment]) -> None:
        """Write rows of `processed_events`, without their twins."""
        postgres.copy_rows(self._connection, postgres.PAYMENTS, rows)
        self._count(
            "payments",
            (row.status if row.status in _STATUSES else "malformed" for row in rows),
            expired_count=sum(
                row.expires_at is not None
                and row.expires_at < self.now
                and row.status in ("completed", "failed")
                for row in rows
            ),
        )
        self._fence = max(self._fence, max((row.fence for row in rows), default=0))
        self.report("payments", len(rows))

    def twins(self, rows: Iterable[Payment]) -> None:
        """Write to Redis what is expected there of these payments."""
        for row in rows:
            until = row.redis_until()
            if until > self.now:
                self.twin(row, until_ms=until // 1000)

    def twin(self, row: Payment, *, until_ms: int | None, name: bytes | None = None) -> None:
        """Write one payment to Redis, to expire then; with `None`, never."""
        self._fence = max(self._fence, row.fence)
        self.value(
            "payments",
            name or _name(row),
            _twin_value(row),
            status=row.status,
            until_ms=until_ms,
        )

    def broken_twin(self, row: Payment) -> None:
        """Write a twin that was cut off in the middle."""
        whole = _twin_value(row)
        self.value(
            "payments",
            _name(row),
            whole[: len(whole) // 2],
            status="malformed",
            until_ms=row.redis_until() // 1000,
        )

    def hash_twin(self, row: Payment) -> None:
        """Write a twin as a hash, as another version of the application did."""
        name = PREFIXES["payments"] + _name(row)
        fields = (b"status", row.status.encode(), b"fingerprint", (row.fingerprint or "").encode())
        self._bulk.command(b"HSET", name, *fields)
        self._bulk.command(b"PEXPIREAT", name, b"%d" % (row.redis_until() // 1000))
        self._count_key("payments", "malformed", len(name) + sum(map(len, fields)))

    def webhooks(self, rows: Sequence[Webhook]) -> None:
        """Write rows of `seen_events`, and the flags that are expected of them in Redis."""
        postgres.copy_rows(self._connection, postgres.WEBHOOKS, rows)
        self._count(
            "webhooks",
            ("completed" for _ in rows),
            expired_count=sum(row.created_at + STORE_TTL < self.now for row in rows),
        )
        for row in rows:
            until = row.created_at + REDIS_TTL
            if until > self.now:
                name = row.idempotency_key.encode()
                self.value("webhooks", name, b"1", status="unknown", until_ms=until // 1000)
        self.report("webhooks", len(rows))

    def messages(self, rows: Sequence[Message]) -> None:
        """Write responses cached under their URL."""
        for row in rows:
            value = msgspec.json.encode(
                {
                    "status": "completed",
                    "response_status": 202,
                    "response_body": row.response_body,
                    "created_at": row.created_at // 1000,
                }
            )
            until_ms = (row.created_at + REDIS_TTL) // 1000
            self.value("messages", row.path.encode(), value, status="completed", until_ms=until_ms)
        self.report("messages", len(rows))

    def deliveries(self, rows: Sequence[Delivery], *, ttl: int = WINDOW) -> None:
        """Write the digests of deliveries, each kept for `ttl` from its receipt."""
        for row in rows:
            until_ms = (row.received_at + ttl) // 1000
            self.value("deliveries", row.name.encode(), b"1", status="unknown", until_ms=until_ms)
        self.report("deliveries", len(rows))

    def workflows(self, runs: Sequence[WorkflowRun], steps: Sequence[WorkflowStep]) -> None:
        """Write runs and their steps."""
        postgres.copy_rows(self._connection, postgres.RUNS, runs)
        postgres.copy_rows(self._connection, postgres.STEPS, steps)
        self._count(
            "workflows",
            ("in_progress" if run.status == "running" else run.status for run in runs),
            expired_count=sum(
                run.finished_at is not None and run.finished_at + STORE_TTL < self.now
                for run in runs
            ),
        )
        self.report("workflows", len(runs))

    def outbox(self, rows: Sequence[OutboxEvent]) -> None:
        """Write events."""
        postgres.copy_rows(self._connection, postgres.OUTBOX, rows)
        self._count(
            "outbox",
            ("in_progress" if row.dispatched_at is None else "completed" for row in rows),
            expired_count=sum(
                row.dispatched_at is not None and row.dispatched_at + STORE_TTL < self.now
                for row in rows
            ),
        )
        self._event_id = max(self._event_id, max((row.id for row in rows), default=0))
        self.report("outbox", len(rows))

    def value(
        self, store: str, name: bytes, value: bytes, *, status: str, until_ms: int | None
    ) -> None:
        """Write a string under the prefix of the store."""
        whole = PREFIXES[store] + name
        self._bulk.set(whole, value, until_ms=until_ms)
        self._count_key(store, status, len(whole) + len(value))

    def allow_missing_expiry(self) -> None:
        """Loosen `processed_events`, so that an expiry may be NULL."""
        postgres.allow_missing_expiry(self._connection)

    def report(self, store: str, count: int) -> None:
        """Count records as written, and tell the progress."""
        self._written[store] += count
        if self._progress is not None and count:
            self._progress(store, self._written[store])

    def finish(self) -> tuple[int, dict[str, dict[str, Side]]]:
        """Wait for both stores; give the number of records, and what each side holds."""
        self._bulk.finish()
        postgres.finish(self._connection, fence=self._fence, event_id=self._event_id)
        sides: dict[str, dict[str, Side]] = {}
        for store, tally in self._postgres.items():
            tally.byte_count = postgres.size_of(self._connection, *_TABLES[store])
            sides[store] = {"postgres": _side(tally)}
        for store, tally in self._redis.items():
            sides.setdefault(store, {})["redis"] = _side(tally)
        return self._written.total(), sides

    def _count(self, store: str, statuses: Iterable[str], *, expired_count: int) -> None:
        self._postgres[store].by_status.update(statuses)
        self._postgres[store].expired_count += expired_count

    def _count_key(self, store: str, status: str, byte_count: int) -> None:
        tally = self._redis[store]
        tally.by_status[status] += 1
        tally.byte_count += byte_count


def _side(tally: _Tally) -> Side:
    return Side(
        by_status=dict(sorted(tally.by_status.items())),
        expired_count=tally.expired_count,
        protected_count=tally.by_status["in_progress"],
        byte_count=tally.byte_count,
    )


def _name(row: Payment) -> bytes:
    """Give the name of a payment's twin, behind the prefix."""
    name = f"{row.scope}:{row.idempotency_key}" if row.scope else row.idempotency_key
    return name.encode()


def _twin_value(row: Payment) -> bytes:
    """Write what the application writes: the record as JSON, times in milliseconds.

    A lease is rounded up: nobody may take it for over while its owner works.
    """
    headers = row.response_headers
    lease = None if row.lease_until is None else -(-row.lease_until // 1000)
    return msgspec.json.encode(
        {
            "key": row.idempotency_key,
            "scope": row.scope,
            "endpoint": row.endpoint,
            "client": row.client,
            "fingerprint": row.fingerprint,
            "status": row.status,
            "lease_until": lease,
            "fence": row.fence,
            "epoch": row.epoch,
            "response_status": row.response_status,
            "response_headers": None if headers is None else msgspec.Raw(headers),
            "response_body": row.response_body,
            "created_at": _milliseconds(row.created_at),
            "completed_at": _milliseconds(row.completed_at),
            "expires_at": _milliseconds(row.expires_at),
        }
    )


def _milliseconds(micros: int | None) -> int | None:
    return None if micros is None else micros // 1000

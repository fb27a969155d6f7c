"""The rows that the seed writes, field by field as their tables have them.

A million of them are made, so they are named tuples: a third of the cost of a dataclass.
Instants are whole microseconds since 1970 in UTC; `FOREVER` is Postgres's `infinity`.
"""

from __future__ import annotations

from typing import NamedTuple

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

FOREVER = 2**63 - 1
REDIS_TTL = 24 * HOUR
"""How long the pairs keep a twin in Redis after writing it."""
STORE_TTL = 7 * DAY
"""The promise of webhooks, workflows and outbox, which store no expiry of their own."""
WINDOW = HOUR
"""How long a delivery's digest is kept, and the width of the window in its key."""


class Payment(NamedTuple):
    """A row of `processed_events`; also what its twin in Redis says."""

    idempotency_key: str
    scope: str
    endpoint: str
    client: str
    fingerprint: str | None
    status: str
    lease_until: int | None
    fence: int
    epoch: int
    response_status: int | None
    response_headers: str | None
    response_body: str | None
    created_at: int
    completed_at: int | None
    expires_at: int | None
    hit_count: int
    last_hit_at: int | None

    def redis_until(self) -> int:
        """Give the instant until which this record is expected in Redis."""
        written_at = self.created_at if self.completed_at is None else self.completed_at
        until = written_at + REDIS_TTL
        return until if self.expires_at is None else min(until, self.expires_at)


class Webhook(NamedTuple):
    """A row of `seen_events`."""

    idempotency_key: str
    created_at: int


class Message(NamedTuple):
    """A cached response under a URL; `path` begins with its method: `POST:/api/…`."""

    path: str
    response_body: str
    created_at: int


class Delivery(NamedTuple):
    """The digest of a delivery's body."""

    digest: str
    received_at: int

    @property
    def name(self) -> str:
        """The key behind the prefix: window and digest."""
        return f"{self.received_at // WINDOW}:{self.digest}"


class WorkflowRun(NamedTuple):
    """A row of `workflow_runs`."""

    run_id: str
    key: str
    status: str
    created_at: int
    finished_at: int | None


class WorkflowStep(NamedTuple):
    """A row of `workflow_steps`."""

    run_id: str
    step: str
    ordinal: int
    attempt: int
    status: str
    started_at: int
    finished_at: int | None


class OutboxEvent(NamedTuple):
    """A row of `outbox_events`."""

    id: int
    key: str
    aggregate: str
    sequence: int
    created_at: int
    deadline_at: int
    dispatched_at: int | None
    attempts: int

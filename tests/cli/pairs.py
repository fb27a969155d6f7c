"""A seeded pair to lose records of, and to look into with bare drivers."""

from __future__ import annotations

import hashlib
import json
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import psycopg

from idemctl.sandbox.configuration import CONFIGURATION
from idemctl.sandbox.seed import seed

if TYPE_CHECKING:
    import redis

    from tests.cli.places import Place

PAYMENTS = ("--store", "payments", "--pace", "full")
_TABLES = ("processed_events", "seen_events", "workflow_runs", "workflow_steps", "outbox_events")


@dataclass(kw_only=True)
class Pairs:
    """The sandbox's six stores, whole and healthy to begin with."""

    place: Place
    dsn: str
    redis_url: str
    connection: psycopg.Connection[Any]
    client: redis.Redis
    admin: psycopg.Connection[Any]
    """A superuser's, to the maintenance database."""
    stack: ExitStack = field(default_factory=ExitStack)
    """What is undone at the end of the test."""

    def session(self) -> psycopg.Connection[Any]:
        """Open one more, that lasts as long as the test."""
        return self.stack.enter_context(closing(psycopg.connect(self.dsn)))

    def seed(self, records: int = 5_000) -> None:
        seed(dsn=self.dsn, redis_url=self.redis_url, records=records, seed=11, faults=False)
        self.configure()
        self.place.lead(DATABASE_URL=self.dsn, REDIS_URL=self.redis_url)
        # Whatever other tests flushed on this server is no past of this one.
        self.client.config_resetstat()

    def configure(self, *changes: tuple[str, str]) -> None:
        """Write the sandbox's configuration, changed."""
        text = CONFIGURATION
        for said, instead in changes:
            assert said in text
            text = text.replace(said, instead)
        self.place.configure(text)

    def diagnose(self, *words: str) -> dict[str, Any]:
        done = self.place.main("diagnose", *(words or PAYMENTS), "-o", "json")
        return done.document

    def names(self, pattern: str = "idem:*") -> list[Any]:
        return sorted(self.client.scan_iter(pattern, count=1_000))

    def write(self, key: str) -> None:
        """Write a payment as the application does: Postgres first, then its twin."""
        self.connection.execute(
            "INSERT INTO processed_events (idempotency_key, endpoint, status, completed_at,"
            " expires_at) VALUES (%s, 'POST /v1/charges', 'completed', clock_timestamp(),"
            " now() + interval '7 days')",
            (key,),
        )
        self.client.set(f"idem:{key}", json.dumps({"key": key, "status": "completed"}), ex=86_400)

    def uptime(self) -> int:
        info: Any = self.client.info("server")
        return int(info["uptime_in_seconds"])

    def now(self) -> datetime:
        [(now,)] = self.connection.execute("SELECT clock_timestamp()").fetchall()
        assert isinstance(now, datetime)
        return now.astimezone(UTC)

    def digests(self) -> dict[str, str]:
        """Tell each table by everything that stands in it."""
        return {
            table: hashlib.sha256(
                repr(
                    self.connection.execute(
                        f"SELECT t::text FROM {table} t ORDER BY 1".encode()
                    ).fetchall()
                ).encode()
            ).hexdigest()
            for table in _TABLES
        }

    def dumps(self, pattern: str) -> dict[Any, tuple[Any, Any]]:
        """Everything that Redis holds under a pattern, to the byte and the millisecond."""
        return {
            name: (self.client.dump(name), self.client.pexpiretime(name))
            for name in self.names(pattern)
        }


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


SECOND = timedelta(seconds=1)

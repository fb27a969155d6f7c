"""Lives through claims of gcp-pubsub-idempotency, in Redis and in Postgres."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import psycopg
import redis
from driver import dsn, redis_url, run
from gcp_pubsub_idempotency.backends.redis import RedisLock
from gcp_pubsub_idempotency.backends.sql import SqlLock
from gcp_pubsub_idempotency.ports import HeldByOther

if TYPE_CHECKING:
    from driver import Told

LEASE = timedelta(minutes=15)


def live(told: Told) -> None:
    table = SqlLock(lambda: psycopg.connect(dsn()))
    table.create_table()
    for side, lock in (
        ("redis", RedisLock(redis.Redis.from_url(redis_url()))),
        ("postgres", table),
    ):
        for number in range(5):
            won = lock.claim(f"done/{number}:\u00e9", LEASE)
            assert lock.complete(won.claim)
            told.has(side, f"done/{number}:\u00e9", "completed")
        lock.claim("at work", LEASE)
        told.has(side, "at work", "in_progress")
        # Somebody else comes meanwhile.
        assert isinstance(lock.claim("at work", LEASE), HeldByOther)
        # The handler failed: the claim is given back, and is nobody's.
        lock.release(lock.claim("failed", LEASE).claim)
        told.has(side, "failed", "in_progress")
        told.crash(side, "crashed", "in_progress", lambda key, lock=lock: lock.claim(key, LEASE))


run(live)

"""Lives through requests of fastidempotent, on both of its backends."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from driver import dsn, redis_url, run
from fastidempotent.backends.postgres import PostgresBackend
from fastidempotent.backends.redis import RedisBackend
from fastidempotent.models import IdempotencyRecord, IdempotencyStatus

if TYPE_CHECKING:
    from driver import Told

LEASE = 30


def backend(side: str) -> Any:
    if side == "redis":
        return RedisBackend(redis_url())
    return PostgresBackend(dsn().replace("postgresql://", "postgresql+asyncpg://"))


def record(key: str) -> IdempotencyRecord:
    now = datetime.now(UTC)
    return IdempotencyRecord(
        key=key,
        fingerprint="f" * 64,
        status=IdempotencyStatus.COMPLETE,
        status_code=201,
        response_headers={"a": "b"},
        response_body=b"\x00\xff",
        created_at=now,
        expires_at=now + timedelta(hours=1),
    )


async def begin(side: str, key: str) -> None:
    store = backend(side)
    await store.init()
    assert await store.acquire_lock(key, LEASE)


async def live_on(told: Told, side: str) -> None:
    store = backend(side)
    await store.init()
    for number in range(5):
        key = f"POST:/v1/pay:done-{number}:\u00e9"
        assert await store.acquire_lock(key, LEASE)
        await store.set(record(key))
        told.has(side, key, "completed")
    assert await store.acquire_lock("POST:/v1/pay:at work", LEASE)
    told.has(side, "POST:/v1/pay:at work", "in_progress")
    # Somebody else comes meanwhile.
    assert not await store.acquire_lock("POST:/v1/pay:at work", LEASE)
    # The handler failed: nothing is remembered.
    assert await store.acquire_lock("POST:/v1/pay:failed", LEASE)
    await store.release_lock("POST:/v1/pay:failed")
    await store.close()


def live(told: Told) -> None:
    for side in ("redis", "postgres"):
        asyncio.run(live_on(told, side))
        told.crash(
            side, "POST:/v1/pay:crashed", "in_progress",
            lambda key, side=side: asyncio.run(begin(side, key)),
        )  # fmt: skip


run(live)

"""Lives through claims of idemkit, in Redis and in Postgres."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any

import asyncpg
from driver import dsn, redis_url, run
from idemkit.backends.postgres import PostgresBackend, _schema_sql
from idemkit.backends.redis import RedisBackend

if TYPE_CHECKING:
    from driver import Told

LEASE = 30.0


def backend(side: str) -> Any:
    return (
        RedisBackend.from_url(redis_url()) if side == "redis" else PostgresBackend.from_url(dsn())
    )


def key_of(name: str) -> str:
    """Make a key as its core does: a digest."""
    return hashlib.sha256(name.encode()).hexdigest()


async def begin(side: str, name: str) -> None:
    async with backend(side) as store:
        await store.claim(key_of(name), "f" * 64, 1, LEASE)


async def live_on(told: Told, side: str) -> None:
    async with backend(side) as store:
        for number in range(5):
            key = key_of(f"done {number}")
            claimed = await store.claim(key, "f" * 64, 1, LEASE)
            assert await store.complete(
                key, claimed.our_claim_token, 201, {"a": "b"}, b"\x00\xff", 86_400.0
            )
            told.has(side, key, "completed")
        key = key_of("at work")
        await store.claim(key, "f" * 64, 1, LEASE)
        told.has(side, key, "in_progress")
        # The same key comes again with another body, while it is at work.
        again = await store.claim(key, "g" * 64, 1, LEASE)
        assert again.our_claim_token is None
        # The handler failed: nothing is remembered.
        key = key_of("failed")
        claimed = await store.claim(key, "f" * 64, 1, LEASE)
        assert await store.release(key, claimed.our_claim_token)


async def make_table() -> None:
    connection = await asyncpg.connect(dsn())
    await connection.execute(_schema_sql("idemkit_records"))
    await connection.close()


def live(told: Told) -> None:
    asyncio.run(make_table())
    for side in ("redis", "postgres"):
        asyncio.run(live_on(told, side))
        told.crash(
            side, key_of("crashed"), "in_progress",
            lambda _, side=side: asyncio.run(begin(side, "crashed")),
        )  # fmt: skip


run(live)

"""Consumes events as nodii-idempotency's consumers do, in the transaction of their work."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import asyncpg
from driver import dsn, run
from nodii_idempotency.durable import apply_consumer_dedup_migration, claim_event

if TYPE_CHECKING:
    from driver import Told


async def consume(event: str, *, is_bad: bool = False) -> bool:
    connection = await asyncpg.connect(dsn())
    try:
        async with connection.transaction():
            first = await claim_event(connection, event_id=event, topic="orders")
            if is_bad:
                raise ZeroDivisionError
            return first.claimed
    finally:
        await connection.close()


async def live_on(told: Told) -> None:
    connection = await asyncpg.connect(dsn())
    await apply_consumer_dedup_migration(connection)
    await connection.close()
    for number in range(5):
        event = f"evt {number}:\u00e9"
        assert await consume(event)
        # It is delivered again.
        assert not await consume(event)
        told.has("postgres", event, "completed")
    # What failed was rolled back.
    try:
        await consume("failed", is_bad=True)
    except ZeroDivisionError:
        return


async def begin(event: str) -> None:
    connection = await asyncpg.connect(dsn())
    await connection.transaction().start()
    await claim_event(connection, event_id=event, topic="orders")


def live(told: Told) -> None:
    asyncio.run(live_on(told))
    # A crash takes the claim along: it was never committed.
    told.crash("postgres", "crashed", None, lambda event: asyncio.run(begin(event)))


run(live)

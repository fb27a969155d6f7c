"""Lives through sagas and webhooks of nodii-idempotency, in Redis."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import redis
import redis.asyncio
from driver import redis_url, run
from nodii_idempotency import init_idempotency, wrap_for_saga_step, wrap_for_webhook

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from driver import Told

client = redis.Redis.from_url(redis_url())


def keys() -> set[str]:
    return {name.decode().partition(":idempotency:")[2] for name in client.scan_iter("nodii:*")}


async def begin() -> None:
    await init_idempotency(redis=redis.asyncio.Redis.from_url(redis_url()), service_id="pay")


async def webhook(event: str, handler: Callable[[], Awaitable[object]]) -> object:
    return await wrap_for_webhook(
        source="stripe", event_id=event, handler=handler, tenant_id="acme"
    )


async def work() -> dict[str, int]:
    return {"done": 1}


async def fail() -> None:
    raise ZeroDivisionError


async def crash() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def live_on(told: Told) -> None:
    await begin()
    for number in range(5):
        before = keys()
        event = f"evt_{number}"
        assert await webhook(event, work) == await webhook(event, work)
        [key] = keys() - before
        told.has("redis", key, "completed")
    before = keys()
    await wrap_for_saga_step(saga_id="s", step_name="pay", serialized_input="{}", handler=work)
    [key] = keys() - before
    told.has("redis", key, "completed")
    # A failure on the way is no answer: nothing is remembered.
    before = keys()
    try:
        await webhook("failed", fail)
    except ZeroDivisionError:
        assert keys() == before


async def die() -> None:
    await begin()
    await webhook("crashed", crash)


def live(told: Told) -> None:
    asyncio.run(live_on(told))
    before = keys()
    told.crash("redis", "", None, lambda _: die_alone())
    [key] = keys() - before
    told.has("redis", key, "in_progress")


def die_alone() -> None:
    import nodii_idempotency.init as own

    own._resolved = None  # What the parent had was for the parent.
    asyncio.run(die())


run(live)

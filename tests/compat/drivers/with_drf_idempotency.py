"""Lives through requests of drf-idempotency, on both of its backends."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from driver import redis_url, run, set_up_django

if TYPE_CHECKING:
    from drf_idempotency.backends.base import BaseBackend
    from driver import Told

LEASE, TTL = timedelta(seconds=30), timedelta(hours=24)
set_up_django("drf_idempotency")


def backend(side: str) -> BaseBackend:
    # Its models want Django to be set up.
    from drf_idempotency.backends.database import DatabaseBackend
    from drf_idempotency.backends.redis import RedisBackend

    return RedisBackend(url=redis_url()) if side == "redis" else DatabaseBackend()


def live_on(told: Told, side: str) -> None:
    store = backend(side)
    for number in range(5):
        key = f"done {number}:\u00e9"
        assert store.acquire_or_get(key, "f" * 64, lock_ttl=LEASE).acquired
        store.complete(key, status_code=201, headers={"a": "b"}, body=b"\x00\xff", ttl=TTL)
        told.has(side, key, "completed")
    assert store.acquire_or_get("at work", "f" * 64, lock_ttl=LEASE).acquired
    told.has(side, "at work", "in_progress")
    # The same key comes again with another body.
    assert not store.acquire_or_get("at work", "g" * 64, lock_ttl=LEASE).acquired
    # The handler failed: nothing is remembered.
    store.acquire_or_get("failed", "f" * 64, lock_ttl=LEASE)
    store.fail("failed")


def begin(side: str, key: str) -> None:
    from django.db import connection

    # A process of its own has a connection of its own.
    connection.close()
    backend(side).acquire_or_get(key, "f" * 64, lock_ttl=LEASE)


def live(told: Told) -> None:
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    for side in ("redis", "postgres"):
        live_on(told, side)
        connection.close()
        told.crash(side, "crashed", "in_progress", lambda key, side=side: begin(side, key))


run(live)

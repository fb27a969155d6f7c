"""Lives through requests of asgi-idempotency-header, on its Redis backend."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from driver import redis_url, run
from idempotency_header_middleware import IdempotencyHeaderMiddleware
from idempotency_header_middleware.backends import RedisBackend
from redis.asyncio import Redis

if TYPE_CHECKING:
    from driver import Told


class Application:
    """Answers as its path says: with JSON, with text, or never."""

    def __init__(self) -> None:
        self.started = asyncio.Event()

    async def __call__(self, scope: Any, _receive: Any, send: Any) -> None:
        if scope["path"] == "/slow":
            self.started.set()
            await asyncio.Event().wait()
        kind = b"text/plain" if scope["path"] == "/text" else b"application/json"
        headers = [(b"content-type", kind)]
        await send({"type": "http.response.start", "status": 201, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps({"a": "b"}).encode()})


class Client:
    def __init__(self) -> None:
        self.redis = Redis.from_url(redis_url())
        self.application = Application()
        self.middleware = IdempotencyHeaderMiddleware(self.application, RedisBackend(self.redis))

    async def post(self, path: str, key: str) -> int:
        """Ask once; give the status of the answer."""
        said: list[Any] = []

        async def send(message: Any) -> None:
            said.append(message)

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        headers = [(b"idempotency-key", key.encode("latin-1"))]
        scope = {"type": "http", "method": "POST", "path": path, "headers": headers}
        await self.middleware(scope, receive, send)
        return int(said[0]["status"])


async def begin(key: str) -> None:
    client = Client()
    work = asyncio.create_task(client.post("/slow", key))
    await client.application.started.wait()
    work.cancel()


async def live_on(told: Told) -> None:
    client = Client()
    for number in range(5):
        key = f"done {number}:\u00e9"
        assert await client.post("/", key) == 201
        # It comes again, and is replayed.
        assert await client.post("/", key) == 201
        told.has("redis", key, "completed")
    work = asyncio.create_task(client.post("/slow", "at work"))
    await client.application.started.wait()
    told.has("redis", "at work", "in_progress")
    # Somebody else comes meanwhile.
    assert await client.post("/", "at work") == 409
    # What is no JSON is not remembered.
    assert await client.post("/text", "text") == 201
    # Its response was kept for a day, and its key for good: it is answered with 409 for ever.
    assert await client.post("/", "long ago") == 201
    responses = [f"idempotency-key-responseslong ago{end}" for end in ("", "status-code")]
    await client.redis.delete(*responses)
    assert await client.post("/", "long ago") == 409
    told.has("redis", "long ago", "in_progress")
    work.cancel()
    await client.redis.aclose()


def live(told: Told) -> None:
    asyncio.run(live_on(told))
    told.crash("redis", "crashed", "in_progress", lambda key: asyncio.run(begin(key)))


run(live)

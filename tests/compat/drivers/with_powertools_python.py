"""Lives through calls of functions that Powertools keeps idempotent, in Redis."""

from __future__ import annotations

import os
import signal
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import redis
from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig, idempotent
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
)
from aws_lambda_powertools.utilities.idempotency.persistence.redis import (
    RedisCachePersistenceLayer,
)
from driver import redis_url, run

if TYPE_CHECKING:
    from driver import Told

client = redis.Redis.from_url(redis_url())
layer = RedisCachePersistenceLayer(client=client)
config = IdempotencyConfig(event_key_jmespath="order")
context = SimpleNamespace(
    function_name="pay", memory_limit_in_mb=128, aws_request_id="1",
    invoked_function_arn="arn", get_remaining_time_in_millis=lambda: 30_000,
)  # fmt: skip


@idempotent(persistence_store=layer, config=config)
def handler(event: dict[str, str], context: object) -> dict[str, object]:
    match event["does"]:
        case "fail":
            raise ZeroDivisionError
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)
    return {"statusCode": 201, "order": event["order"]}


def names() -> set[str]:
    return {
        name.decode().partition("#")[2] for name in client.scan_iter("*") if b":lock" not in name
    }


def live(told: Told) -> None:
    for number in range(5):
        before = names()
        event = {"order": f"done {number}", "does": "work"}
        assert handler(event, context) == handler(event, context)
        [key] = names() - before
        told.has("redis", key, "completed")
    before = names()
    try:
        handler({"order": "failed", "does": "fail"}, context)
    except ZeroDivisionError:
        assert names() == before
    told.crash("redis", "", None, lambda _: handler({"order": "crashed", "does": "crash"}, context))
    [key] = names() - before
    told.has("redis", key, "in_progress")
    # Somebody retries meanwhile.
    try:
        handler({"order": "crashed", "does": "work"}, context)
    except IdempotencyAlreadyInProgressError:
        return
    sys.exit("a crashed call was run again at once")


run(live)

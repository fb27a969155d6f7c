"""audit through layouts of other libraries, on what they leave behind."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
import redis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.places import Place

FULL = ("--pace", "full", "-o", "json")
UUID = "0b9d3e6e-5d0f-4e0a-9d51-3a7c1c5f8e2"
POLICIES = """\
version: 1
endpoints:
  - {endpoint: "POST:/api/messages", ttl: 12h}
  - {endpoint: "POST:/api/reminders", ttl: 3h}
"""


pytestmark = pytest.mark.usefixtures("durable")


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as one:
        yield one


def items(place: Place, redis_url: str, store: str) -> list[dict[str, Any]]:
    place.configure(f"version: 1\nstores:\n  theirs:\n    redis: {{url_env: REDIS_URL, {store}}}\n")
    place.lead(REDIS_URL=redis_url)
    done = place.main("audit", *FULL)
    assert done.document["errors"] == []
    found: list[dict[str, Any]] = done.document["items"]
    return found


def test_node_idempotency_turns_retries_away_for_a_day(
    place: Place, redis_url: str, client: redis.Redis
) -> None:
    for number, status in enumerate(("IN_PROGRESS", "COMPLETE", "COMPLETE")):
        record = {
            "status": status,
            "fingerPrint": "053b1de0efa712b80fc172253afbe9ce",
            "response": {"additional": {"statusCode": 201}},
        }
        name = f"node-idempotency:POST:/orders:{UUID}{number}"
        client.set(name, json.dumps(record), ex=86_400)
    [item] = items(place, redis_url, "layout: node-idempotency, ttl: 24h")
    assert (item["code"], item["count"]) == ("in-progress-ttl-too-long", 1)
    assert item["sample"] == [{"key": f"{UUID}0"}]
    assert item["evidence"].endswith("a result is kept for 1d")


def test_a_lock_that_never_ends_is_a_claim(
    place: Place, redis_url: str, client: redis.Redis
) -> None:
    client.set(f"idempotent:lock:{UUID}1", "1", ex=30)
    client.set(f"idempotent:lock:{UUID}2", "1")
    [item] = items(place, redis_url, "layout: fastidempotent, ttl: 24h")
    assert (item["code"], item["sample"]) == ("claim-without-ttl", [{"key": f"{UUID}2"}])


def test_php_values_are_counted_and_never_decoded(
    place: Place, redis_url: str, client: redis.Redis
) -> None:
    for number in range(3):
        value = b'O:8:"Response":1:{s:6:"status";i:200;}'
        client.set(f"idempotency:user:{UUID}{number}", value, ex=3_600)
    [item] = items(place, redis_url, "layout: laravel-square1")
    assert (item["code"], item["severity"], item["count"]) == ("value-opaque", "info", 3)
    done = place.main("audit", *FULL)
    assert (done.status, done.summary["info"]) == (0, 1)


@pytest.mark.parametrize("has_policies", [True, False])
def test_a_policy_says_how_long_a_key_has_to_be_there(
    place: Place, redis_url: str, client: redis.Redis, has_policies: bool
) -> None:
    now = int(time.time() * 1000)
    for number, (path, hours) in enumerate((("messages", 12), ("messages", 3), ("reminders", 3))):
        record = {"status": "completed", "response_status": 202, "created_at": now}
        name = f"path:POST:/api/{path}/idem-{UUID}{number}"
        client.set(name, json.dumps(record), ex=hours * 3_600)
    (place.folder / "policies.yaml").write_text(POLICIES)
    store = "    redis: {url_env: REDIS_URL, layout: url-path}\n"
    store += "    policies: policies.yaml\n" if has_policies else ""
    place.configure(f"version: 1\nstores:\n  theirs:\n{store}")
    place.lead(REDIS_URL=redis_url)
    done = place.main("audit", *FULL)
    found = [(item["code"], item["sample"][0]["key"]) for item in done.document["items"]]
    assert found == ([("key-ends-too-early", f"{UUID}1")] if has_policies else [])
    (side,) = done.summary["places"]
    blind = {one["code"]: one["why"] for one in side["cannot_judge"]}
    assert blind.get("key-ends-too-early") == (
        None if has_policies else "no ttl in the configuration"
    )


def test_express_idempotency_keeps_the_credentials_of_its_clients(
    place: Place, redis_url: str, client: redis.Redis
) -> None:
    for number, headers in enumerate(
        (
            {"authorization": "Bearer hunter2", "cookie": "sid=hunter2"},
            {"authorization": "Bearer hunter2"},
            {"accept": "*/*", "vary": "cookie, authorization"},
        )
    ):
        request = {"method": "POST", "url": "/orders", "headers": headers, "body": {}, "query": {}}
        response = {"statusCode": 201, "body": "", "headers": {"set-cookie": "sid=hunter2"}}
        record = {"request": request, "response": response if number == 0 else {"statusCode": 201}}
        client.set(f"{UUID}{number}", json.dumps(record), ex=86_400)
    [item] = items(place, redis_url, "layout: express-idempotency, ttl: 24h")
    assert (item["code"], item["count"]) == ("credentials-stored", 2)
    assert sorted(one["key"] for one in item["sample"]) == [f"{UUID}0", f"{UUID}1"]
    assert item["evidence"].startswith("of 3 records that were looked at: authorization in 2, ")
    assert {"cookie in 1", "set-cookie in 1"} <= set(item["evidence"].split(", "))
    assert "hunter2" not in repr(item)


def test_a_lock_that_was_not_given_back_is_told_from_one_that_is_in_use(
    place: Place, redis_url: str, client: redis.Redis
) -> None:
    for number in range(4):
        record = {":status": 201, ":headers": {}, ":response": ["{}"]}
        client.set(f"idempotency_keys:{UUID}{number}", json.dumps(record), ex=86_400)
    client.set(f"idempotency_keys:lock:{UUID}2", "1795967436.1", ex=300)
    client.set(f"idempotency_keys:lock:{UUID}9", "1795967436.1", ex=300)
    [item] = items(place, redis_url, "layout: idempotent-request, ttl: 24h")
    assert (item["code"], item["count"]) == ("lock-outlives-record", 1)
    assert item["sample"] == [{"key": f"{UUID}2"}]

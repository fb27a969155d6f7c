"""audit of records that take much room, in both stores of a pair."""

from __future__ import annotations

import json
import random
import string
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.cli.pairs import Pairs


def noise(size: int) -> str:
    """Make a text that Postgres cannot pack: what counts is what is stored."""
    return "".join(random.Random(size).choices(string.ascii_letters + string.digits, k=size))


def grow(pairs: Pairs, body: str) -> str:
    """Give a completed payment that response, in both stores; return its key."""
    row: Any = pairs.connection.execute(
        "UPDATE processed_events SET response_body = %s WHERE idempotency_key ="
        " (SELECT min(idempotency_key) FROM processed_events WHERE status = 'completed'"
        " AND created_at > now() - interval '12 hours') RETURNING idempotency_key",
        (body,),
    ).fetchone()
    (name,) = [name for name in pairs.names() if name.decode().endswith(row[0])]
    held: Any = pairs.client.get(name)
    grown = json.loads(held) | {"response_body": body}
    pairs.client.set(name, json.dumps(grown), keepttl=True)
    return str(row[0])


@pytest.mark.usefixtures("durable")
def test_a_big_response_is_named_in_both_stores(pairs: Pairs) -> None:
    words = ("audit", "--store", "payments", "--pace", "full", "-o", "json")
    grow(pairs, noise(99_000))
    assert pairs.place.main(*words).document["items"] == []
    key = grow(pairs, noise(150_000))
    items = pairs.place.main(*words).document["items"]
    assert [(one["code"], one["side"], one["count"]) for one in items] == [
        ("big-value", "postgres", 1),
        ("big-value", "redis", 1),
    ]
    assert {one["sample"][0]["key"] for one in items} == {key}

"""audit of what a Redis server says: each code where it must fire, and as near as it must not."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.alone import serve
from tests.cli.circumstances_redis import REDIS
from tests.cli.test_audit_circumstances import CODES
from tests.stores.redis.servers import own_folder, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.alone import Alone
    from tests.cli.circumstances import Case
    from tests.cli.places import Done, Place

OF_SERVERS = {case.code for case in REDIS}


@pytest.fixture
def server(place: Place) -> Iterator[Callable[..., Alone]]:
    """Start a Valkey for the test alone, with options of its own."""
    with own_folder() as home, ExitStack() as running:
        yield lambda *options: serve(place, home, running, *options)


def found(done: Done) -> dict[str, dict[str, Any]]:
    assert done.document["errors"] == []
    return {item["code"]: item for item in done.document["items"] if item["code"] in CODES}


def unjudged(done: Done) -> dict[str, str]:
    (side,) = done.summary["places"]
    return {one["code"]: one["why"] for one in side["cannot_judge"] if one["code"] in CODES}


@pytest.mark.parametrize("case", REDIS, ids=lambda case: case.code)
def test_a_sick_server_is_told_from_one_that_is_nearly_so(
    server: Callable[..., Alone], case: Case[Alone]
) -> None:
    alone = server(*case.options)
    assert found(alone.audit()) == {}
    case.near(alone)
    assert case.code not in found(alone.audit())
    case.sick(alone)
    done = alone.audit()
    item = found(done)[case.code]
    assert (item["store"], item["side"]) == ("deliveries", "redis")
    assert item["count"] == case.count or (case.count < 0 and item["count"] > 1)
    assert case.says in item["evidence"]
    assert unjudged(done) == {}


def test_who_may_not_ask_is_told_which_right_is_missing_and_nothing_is_found(
    server: Callable[..., Alone],
) -> None:
    alone = server("--appendonly", "no", "--maxmemory", "0", "--maxmemory-policy", "allkeys-lru")
    assert set(found(alone.audit())) == {
        "eviction-enabled", "memory-unlimited", "persistence-off",
    }  # fmt: skip
    rights = ("~body:*", "+@read", "+time", "+scan", "+dbsize")
    say(alone.client, "ACL", "SETUSER", "bob", "on", ">x", *rights)
    alone.lead(alone.port, "bob:x@")
    done = alone.audit()
    assert found(done) == {}
    why = "this user may not run INFO; ACL SETUSER bob +info"
    # No replica is named, so none can be missed.
    assert unjudged(done) == dict.fromkeys(OF_SERVERS - {"replica-missing"}, why)
    assert alone.audit("--strict").status == 10

    say(alone.client, "ACL", "SETUSER", "bob", "+info")
    done = alone.audit()
    # What stands in INFO is seen; whether there are snapshots is not.
    assert set(found(done)) == {"eviction-enabled", "memory-unlimited", "append-only-off"}
    why = "this user may not run CONFIG GET; ACL SETUSER bob +config|get"
    assert unjudged(done) == {"persistence-off": why}

    say(alone.client, "ACL", "SETUSER", "bob", "+config|get")
    done = alone.audit()
    assert set(found(done)) == {"eviction-enabled", "memory-unlimited", "persistence-off"}
    assert unjudged(done) == {}


def test_a_full_server_is_looked_at_and_named(server: Callable[..., Alone]) -> None:
    alone = server()
    alone.fill(1.0)
    alone.refuse("SET", "one", "more")
    done = alone.audit()
    assert done.status == 3
    assert [(one["code"], one["severity"]) for one in done.document["items"]] == [
        ("memory-full", "critical"),
        ("writes-refused", "error"),
    ]


def test_an_old_connection_to_a_replica_is_found_by_what_was_refused(
    server: Callable[..., Alone],
) -> None:
    alone = server()
    alone.follow_well()
    alone.refuse("SET", "body:x", "1")
    items = found(alone.audit())
    assert set(items) == {"server-is-replica", "writes-refused"}
    assert "1 because it is a replica, or was one (READONLY)" in items["writes-refused"]["evidence"]

"""`idemctl sandbox inject`, as a person types it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import redis

if TYPE_CHECKING:
    from pathlib import Path

    from idemctl.sandbox.servers import Sandbox
    from tests.cli.places import Place


def test_inject_flush_empties_redis_and_counts_what_is_gone(
    place: Place, sandbox: Sandbox, redis_url: str
) -> None:
    here = ("--folder", str(sandbox.folder))
    with redis.Redis.from_url(redis_url) as client:
        client.mset({f"idem:{at}": "1" for at in range(1_200)})
        done = place.main("sandbox", "inject", "flush", *here)
        assert client.dbsize() == 0
    assert (done.status, done.out) == (0, "flush: 1,200 keys of Redis are gone\n")

    again = place.main("sandbox", "inject", "flush", *here, "-o", "json")
    assert again.document["schema"] == "idemctl/sandbox-inject/v1"
    assert again.summary == {"fault": "flush", "keys": 0}


def test_an_unknown_fault_changes_nothing_and_lists_the_known_ones(
    place: Place, sandbox: Sandbox, redis_url: str
) -> None:
    with redis.Redis.from_url(redis_url) as client:
        client.set("idem:a", "1")
        done = place.main("sandbox", "inject", "flood", "--folder", str(sandbox.folder))
        assert client.dbsize() == 1
    assert done.status == 2
    assert done.err == "idemctl sandbox inject: there is no fault 'flood'\n  known: flush\n"


def test_a_fault_without_a_name_is_a_usage_error(place: Place) -> None:
    assert place.main("sandbox", "inject").status == 2


def test_without_a_sandbox_nothing_can_be_injected(place: Place, tmp_path: Path) -> None:
    done = place.main("sandbox", "inject", "flush", "--folder", str(tmp_path / "none"))
    assert done.status == 5
    assert done.err.endswith("\n  idemctl sandbox up\n")

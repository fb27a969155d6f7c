"""diagnose on a real pair: flushed, evicted, with holes, healthy, out of reach."""

from __future__ import annotations

import contextlib
import json
import random
import socket
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.failures import CANARY
from tests.cli.pairs import PAYMENTS, SECOND, instant
from tests.cli.places import await_that

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.pairs import Pairs

PROCEEDS = ("on_redis_miss: postgres", "on_redis_miss: proceed")


def test_a_healthy_pair_is_normal_and_stays_as_it_is(pairs: Pairs) -> None:
    before = pairs.dumps("*"), pairs.digests()
    done = pairs.place.main("diagnose", "-o", "json", "--pace", "full")
    assert (done.status, done.err) == (0, "")
    assert done.document["items"] == []
    stores = {one["store"]: one for one in done.summary["stores"]}
    assert {name: one["verdict"] for name, one in stores.items()} == {
        **dict.fromkeys(("payments", "webhooks"), "normal"),
        **dict.fromkeys(("messages", "deliveries", "workflows", "outbox"), "unknown"),
    }
    assert stores["payments"]["missing"] == 0
    assert stores["payments"]["sampled"] >= 1_000
    assert stores["payments"]["rows_read"] == 3_000
    assert done.summary["cannot_judge"] == 4
    assert done.summary["not_looked_at"]
    assert (pairs.dumps("*"), pairs.digests()) == before


def test_a_flush_is_told_by_both_signs(pairs: Pairs) -> None:
    pairs.client.flushall()
    done = pairs.place.main("diagnose", *PAYMENTS, "-o", "json")
    assert done.status == 3
    [item] = done.document["items"]
    evidence = item["evidence"]
    assert (item["code"], item["severity"], item["store"]) == ("flushed", "critical", "payments")
    assert (evidence["missing_share"], evidence["flush_calls"], evidence["signs"]) == (1.0, 1, 2)
    assert evidence["missing"] == evidence["sampled"] > 1_000
    assert (item["failure_mode"], item["runbook"]) == ("store-data-loss", "store-data-loss")
    assert item["next"] == "idemctl runbook run store-data-loss --store payments"
    assert item["blind_window"] is None
    assert done.summary["verdict"] == "flushed"


def test_the_instant_of_a_flush_is_right_to_a_few_seconds(pairs: Pairs) -> None:
    pairs.configure(PROCEEDS)
    pairs.write("before")
    before = pairs.now()
    pairs.client.flushdb()
    after = pairs.now()
    pairs.write("after")
    facts: dict[str, Any] = {}

    def both_have_settled() -> bool:
        facts.update(pairs.diagnose())
        return bool(facts["items"][0]["evidence"]["lost_before"])

    await_that(both_have_settled, "the record after the flush is old enough", within=20)
    [item] = facts["items"]
    assert item["code"] == "flushed"
    lost_after = instant(item["evidence"]["lost_after"])
    lost_before = instant(item["evidence"]["lost_before"])
    assert lost_after <= before
    assert after <= lost_before + SECOND / 1_000
    assert lost_before - lost_after < 5 * SECOND
    assert item["blind_window"]["opened_at"] == item["evidence"]["lost_after"]
    table = pairs.place.main("diagnose", *PAYMENTS).out
    assert "payments: blind window: from " in table


def test_a_partial_loss_is_no_flush(pairs: Pairs) -> None:
    names = pairs.names()
    lost = random.Random(3).sample(names, len(names) // 20)
    assert pairs.client.delete(*lost) == len(lost)
    document = pairs.diagnose()
    [item] = document["items"]
    assert (document["exit"], item["code"], item["runbook"]) == (3, "incomplete", None)
    assert 0.02 < item["evidence"]["missing_share"] < 0.1
    assert item["evidence"]["signs"] == 0
    assert item["next"] == "idemctl reconcile --store payments"


def test_a_flush_whose_count_was_reset_is_suspected_by_the_pair(pairs: Pairs) -> None:
    # Or else it may have been the start of the server, which was after that of the payments.
    await_that(lambda: pairs.uptime() > 8, "the server is up for a while", within=20)
    pairs.write("newest")
    pairs.client.flushall()
    pairs.client.config_resetstat()
    await_that(
        lambda: pairs.diagnose()["items"][0]["code"] == "suspected",
        "the newest record is old enough",
        within=20,
    )
    document = pairs.diagnose()
    [item] = document["items"]
    assert document["exit"] == 3
    assert (item["evidence"]["pair_sign"], item["evidence"]["server_sign"]) == (True, False)
    assert item["why"].startswith("one sign, the pair: ")
    assert item["runbook"] == "store-data-loss"


def test_a_flush_of_which_a_part_came_back_is_suspected_by_the_server(pairs: Pairs) -> None:
    kept = dict(list(pairs.dumps("idem:*").items())[::2])
    pairs.client.flushall()
    for name, (value, until) in kept.items():
        pairs.client.restore(name, until, value, absttl=True)
    [item] = pairs.diagnose()["items"]
    assert item["code"] == "suspected"
    assert (item["evidence"]["pair_sign"], item["evidence"]["server_sign"]) == (False, True)


@pytest.fixture
def evicting(pairs: Pairs) -> Iterator[Pairs]:
    """Let the server run out of memory until a third of the payments is gone, oldest first."""
    before: Any = pairs.client.config_get("maxmemory*")
    wanted = len(pairs.names()) * 2 // 3
    pairs.client.config_set("maxmemory-policy", "volatile-ttl")
    info: Any = pairs.client.info("memory")
    memory = info["used_memory"]
    while len(pairs.names()) > wanted:
        memory -= 20_000
        pairs.client.config_set("maxmemory", memory)
        pairs.client.set("idem:newest", "{}", ex=86_400)
    yield pairs
    for name in ("maxmemory", "maxmemory-policy"):
        pairs.client.config_set(name, before[name])


def test_an_eviction_is_no_flush_though_either_sign_alone_says_so(evicting: Pairs) -> None:
    """The control: the oldest are missing, and a flush was counted. Both are not enough here."""
    evicting.client.select(9)
    evicting.client.flushdb()
    evicting.client.select(0)
    document = evicting.diagnose()
    [item] = document["items"]
    evidence = item["evidence"]
    assert evidence["pair_sign"]
    assert evidence["flush_calls"] == 1

    assert (document["exit"], item["code"], item["runbook"]) == (3, "evicted", None)
    assert evidence["evicted_keys"] > 0
    assert not evidence["server_sign"]


def test_a_flush_elsewhere_on_the_server_is_none_here(pairs: Pairs) -> None:
    """The control: the server's sign alone says that this pair was flushed."""
    pairs.client.select(9)
    pairs.client.flushdb()
    pairs.client.select(0)
    document = pairs.diagnose()
    assert document["summary"]["flush_calls"] == 1
    assert (document["exit"], document["summary"]["verdict"]) == (0, "normal")


@pytest.mark.parametrize("store", ["messages", "outbox"])
def test_a_store_alone_cannot_be_judged_and_is_no_finding(pairs: Pairs, store: str) -> None:
    done = pairs.place.main("diagnose", "--store", store, "-o", "json")
    assert done.status == 10
    assert done.document["items"] == []
    [said] = done.summary["stores"]
    assert said["verdict"] == "unknown"
    assert "alone: there is no other store to judge it by" in said["why"]


def test_an_empty_pair_cannot_be_judged(pairs: Pairs) -> None:
    pairs.connection.execute("TRUNCATE processed_events")
    done = pairs.place.main("diagnose", *PAYMENTS)
    assert done.status == 10
    assert "cannot judge" in done.out
    assert "too few to judge by" in done.out


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_server_that_is_down_is_named_and_its_password_is_not(pairs: Pairs, form: str) -> None:
    pairs.place.lead(REDIS_URL=f"redis://:{CANARY}@127.0.0.1:1/0")
    done = pairs.place.main("diagnose", *PAYMENTS, "-o", form)
    assert done.status == 10
    assert "redis idem:*: cannot reach Redis: connection refused" in done.err
    assert CANARY not in done.out + done.err
    if form == "json":
        assert json.loads(done.out)["errors"][0]["status"] == "unreachable"


def test_one_pair_out_of_reach_keeps_nobody_from_the_other(pairs: Pairs) -> None:
    pairs.configure(("url_env: REDIS_URL, layout: bare", "url_env: OTHER_URL, layout: bare"))
    pairs.place.lead(OTHER_URL="redis://127.0.0.1:1/0")
    document = pairs.diagnose("--store", "payments", "--store", "webhooks", "--pace", "full")
    assert document["exit"] == 10
    assert [one["verdict"] for one in document["summary"]["stores"]] == ["normal"]
    assert len(document["errors"]) == 1
    [item] = document["items"]
    assert (item["code"], item["store"]) == ("store-unavailable", "webhooks")
    assert item["next"] == "idemctl doctor --store webhooks"


def test_a_server_that_hangs_is_not_waited_for_by_each_store_again(pairs: Pairs) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        pairs.place.lead(REDIS_URL=f"redis://:{CANARY}@127.0.0.1:{port}/0?socket_timeout=0.3")
        done = pairs.place.main("diagnose", "-o", "json", "--pace", "full")
        mute.setblocking(False)
        calls = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                mute.accept()[0].close()
                calls += 1
    document = json.loads(done.out)
    assert done.status == 10
    assert calls == 2, "to compare the first pair, and to look at its records"
    silent = [one["store"] for one in document["items"] if one["code"] == "store-unavailable"]
    assert sorted(silent) == ["deliveries", "messages", "payments", "webhooks"]
    assert [one["message"].split(": ", 1)[1] for one in document["errors"]] == [
        "cannot reach Redis: no answer in time",
        "redis idem:*: cannot reach Redis: no answer in time",
    ]
    assert CANARY not in done.out + done.err

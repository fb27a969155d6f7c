"""store accept on a real pair: what comes after a restore comes after all that was before."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.cli.test_store import beats, shown, writes

if TYPE_CHECKING:
    from tests.cli.pairs import Pairs

ONE = ("--store", "payments", "--pace", "full")
ACCEPT = ("store", "accept", "--apply", "--confirm", "payments")
FREEZE = ("store", "freeze", "--for", "4h", "--reason", "restoring", "--apply")


def numbers(pairs: Pairs) -> tuple[int, int]:
    """Take the epoch and the fence of a record that the application writes now."""
    [numbers] = pairs.connection.execute(
        "INSERT INTO processed_events (idempotency_key, status, expires_at)"
        " VALUES (gen_random_uuid()::text, 'completed', now() + interval '1 day')"
        " RETURNING epoch, fence"
    ).fetchall()
    return int(numbers[0]), int(numbers[1])


def plant(pairs: Pairs, **numbers: int) -> None:
    """Let Redis hold what a Postgres that went back in time forgot."""
    record = {"key": "newer", "status": "completed", **numbers}
    pairs.client.set("idem:newer", json.dumps(record), ex=86_400)


def test_epoch_and_fence_go_past_the_largest_that_anything_holds(pairs: Pairs) -> None:
    assert pairs.place.main("store", "beat", "--apply", *ONE).status == 0
    assert pairs.place.main(*FREEZE, *ONE).status == 0
    plant(pairs, epoch=7, fence=12_345)
    done = pairs.place.main(*ACCEPT, *ONE, "-o", "json")
    assert done.status == 0, done.err
    assert (done.summary["epoch"], done.summary["fence"]) == (8, 12_345)
    epoch, fence = numbers(pairs)
    assert epoch == 8
    assert fence > 12_345
    # The next one still comes after it.
    assert numbers(pairs)[1] == fence + 1
    assert beats(pairs) == [2, 2, 2]
    item = shown(pairs)
    assert (item["frozen"], item["witness"]["verdict"]) == (False, "normal")
    assert {one["witness"]["epoch"] for one in item["copies"]} == {8}
    assert pairs.place.main("gc", "--apply", *ONE).status == 0


def test_a_sequence_that_is_ahead_of_all_is_left_where_it_is(pairs: Pairs) -> None:
    before = numbers(pairs)
    done = pairs.place.main(*ACCEPT, *ONE)
    assert done.status == 0
    assert "public.processed_events_fence is past the highest fence seen" in done.out
    assert numbers(pairs) == (before[0] + 1, before[1] + 1)


def test_the_witness_tells_of_a_fence_that_no_record_holds_any_more(pairs: Pairs) -> None:
    pairs.connection.execute("SELECT setval('processed_events_fence', 50000)")
    assert pairs.place.main("store", "beat", "--apply", *ONE).status == 0
    pairs.connection.execute("SELECT setval('processed_events_fence', 10)")
    assert pairs.place.main(*ACCEPT, *ONE).status == 0
    assert numbers(pairs)[1] > 50_000


def test_accepting_begins_the_witness_anew_whoever_wrote_it(pairs: Pairs) -> None:
    assert pairs.place.main("store", "beat", "--apply", *ONE).status == 0
    stranger: Any = json.loads(pairs.client.get("idemctl:{payments}:witness") or b"")
    stranger |= {"nonce": "another", "beats": 40, "epoch": 3}
    pairs.client.set("idemctl:{payments}:witness", json.dumps(stranger))
    done = pairs.place.main("store", "beat", "--apply", *ONE)
    assert done.status == 10
    assert "the copy in Redis belongs to another store" in done.out
    assert pairs.place.main(*ACCEPT, *ONE).status == 0
    assert beats(pairs) == [41, 41, 41]
    assert numbers(pairs)[0] == 4
    assert shown(pairs)["witness"]["verdict"] == "normal"


def test_without_its_name_nothing_is_acknowledged(pairs: Pairs) -> None:
    before = writes(pairs), pairs.digests()
    for words, says in (
        (("--apply",), "say it with --confirm payments"),
        (("--apply", "--confirm", "webhooks"), "--confirm webhooks names another"),
    ):
        done = pairs.place.main("store", "accept", *words, *ONE)
        assert done.status == 2
        assert says in done.err
    assert (writes(pairs)["cmdstat_eval"], pairs.digests()) == (
        before[0]["cmdstat_eval"],
        before[1],
    )
    assert numbers(pairs)[0] == 1


def test_stores_are_acknowledged_one_at_a_time(pairs: Pairs) -> None:
    done = pairs.place.main("store", "accept")
    assert done.status == 2
    assert "one store at a time" in done.err


def test_a_layout_without_epoch_and_fence_says_what_that_means(pairs: Pairs) -> None:
    done = pairs.place.main(
        "store", "accept", "--apply", "--confirm", "webhooks", "--store", "webhooks"
    )
    assert done.status == 0
    assert "webhooks: no epoch: nothing tells records of before from those" in done.out
    assert "webhooks: no fence that comes from a sequence: nothing to move" in done.out


def test_what_cannot_be_read_may_hold_a_higher_number(pairs: Pairs) -> None:
    pairs.place.lead(REDIS_URL="redis://127.0.0.1:1/0")
    assert pairs.place.main(*ACCEPT, *ONE).status == 10
    assert numbers(pairs)[0] == 1


def test_a_store_that_can_have_no_witness_is_not_acknowledged(pairs: Pairs) -> None:
    done = pairs.place.main("store", "accept", "--store", "messages")
    assert done.status == 78
    assert "messages: no witness: the store has no Postgres" in done.err

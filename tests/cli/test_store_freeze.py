"""store freeze and thaw on a real pair: any one copy stops whoever writes, and also midway."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.places import LARGE_EXPIRED, PAYMENTS, await_that

if TYPE_CHECKING:
    from tests.cli.pairs import Pairs
    from tests.cli.places import Database, Place

ONE = ("--store", "payments", "--pace", "full")
FREEZE = ("store", "freeze", "--for", "4h", "--reason", "restoring Postgres", "--apply")
THAW = ("store", "thaw", "--apply")
KEY = "idemctl:{payments}:freeze"
WRITERS = (
    ("gc", "--apply"),
    ("reconcile", "--apply", "--yes"),
    ("store", "beat", "--apply"),
)


def remove(pairs: Pairs, place: str) -> None:
    match place:
        case "postgres":
            pairs.connection.execute("DELETE FROM idemctl.idemctl_freeze")
        case "redis":
            pairs.client.delete(KEY)
        case "folder":
            (pairs.place.state / "freezes" / "payments.json").unlink()


def copies(pairs: Pairs) -> list[bool]:
    [(rows,)] = pairs.connection.execute("SELECT count(*) FROM idemctl.idemctl_freeze").fetchall()
    file = pairs.place.state / "freezes" / "payments.json"
    return [rows == 1, bool(pairs.client.exists(KEY)), file.exists()]


@pytest.mark.parametrize("kept", ["postgres", "redis", "folder"])
def test_any_one_copy_stops_every_verb_that_writes(pairs: Pairs, kept: str) -> None:
    assert pairs.place.main(*FREEZE, *ONE).status == 0
    assert copies(pairs) == [True, True, True]
    for other in {"postgres", "redis", "folder"} - {kept}:
        remove(pairs, other)
    before = pairs.dumps("idem:*"), pairs.digests()
    for words in WRITERS:
        done = pairs.place.main(*words, *ONE)
        assert done.status == 5, words
        assert "payments: frozen by " in done.err
        assert ": restoring Postgres (since " in done.err
        assert "idemctl store thaw --store payments --apply" in done.err
    assert (pairs.dumps("idem:*"), pairs.digests()) == before
    # Who only looks is stopped by nothing.
    assert pairs.place.main("gc", *ONE).status == 0
    assert pairs.place.main("diagnose", *ONE).status == 0


def test_without_a_copy_the_same_verbs_write(pairs: Pairs) -> None:
    """The control."""
    assert pairs.place.main(*FREEZE, *ONE).status == 0
    done = pairs.place.main(*THAW, *ONE)
    assert done.status == 0
    assert copies(pairs) == [False, False, False]
    for words in WRITERS:
        assert pairs.place.main(*words, *ONE).status == 0, words
    [(left,)] = pairs.connection.execute(
        "SELECT count(*) FROM processed_events"
        " WHERE status <> 'in_progress' AND expires_at < now() - interval '1 minute'"
    ).fetchall()
    assert left == 0


def test_another_store_is_not_frozen_with_it(pairs: Pairs) -> None:
    assert pairs.place.main(*FREEZE, *ONE).status == 0
    done = pairs.place.main(
        "gc", "--apply", "--store", "payments", "--store", "webhooks", "-o", "json"
    )
    assert done.status == 5
    assert [one["store"] for one in done.summary["stores"]] == ["webhooks"]
    assert [one["status"] for one in done.document["errors"]] == ["refused"]


def test_a_freeze_ends_by_itself_by_the_clock_of_the_store(pairs: Pairs) -> None:
    words = ("store", "freeze", "--for", "2s", "--reason", "drill", "--apply")
    assert pairs.place.main(*words, *ONE).status == 0
    assert pairs.place.main("gc", "--apply", *ONE).status == 5
    began = time.monotonic()
    await_that(
        lambda: pairs.place.main("gc", "--apply", *ONE).status == 0, "the freeze is over", within=10
    )
    assert time.monotonic() - began < 5


def test_the_clock_of_this_host_ends_no_freeze(pairs: Pairs) -> None:
    assert pairs.place.main(*FREEZE, *ONE).status == 0
    for place in ("postgres", "redis"):
        remove(pairs, place)
    file = pairs.place.state / "freezes" / "payments.json"
    document = json.loads(file.read_bytes())
    # Two seconds ahead of the stores, whatever this host thinks.
    document["until"] = (pairs.now() + timedelta(seconds=2)).isoformat()
    file.write_text(json.dumps(document), "utf-8")
    assert pairs.place.main("gc", "--apply", *ONE).status == 5
    document["until"] = (pairs.now() - timedelta(seconds=2)).isoformat()
    file.write_text(json.dumps(document), "utf-8")
    assert pairs.place.main("gc", "--apply", *ONE).status == 0


def test_a_copy_that_cannot_be_read_may_say_so_and_nothing_is_written(pairs: Pairs) -> None:
    before = pairs.digests()
    pairs.place.lead(REDIS_URL="redis://127.0.0.1:1/0")
    done = pairs.place.main("gc", "--apply", *ONE)
    assert done.status == 10
    assert "cannot reach Redis" in done.err
    assert pairs.digests() == before


def test_freezing_with_a_store_down_says_where_it_did_not(pairs: Pairs) -> None:
    url = pairs.redis_url
    pairs.place.lead(REDIS_URL="redis://127.0.0.1:1/0")
    done = pairs.place.main(*FREEZE, *ONE)
    assert done.status == 4
    assert "redis idemctl:{payments}:* has no copy; run again when it answers" in done.out
    assert copies(pairs) == [True, False, True]
    pairs.place.lead(REDIS_URL=url)
    assert pairs.place.main("gc", "--apply", *ONE).status == 5

    assert pairs.place.main(*FREEZE, *ONE).status == 0
    pairs.place.lead(REDIS_URL="redis://127.0.0.1:1/0")
    done = pairs.place.main(*THAW, *ONE)
    assert done.status == 4
    assert "may still hold one, which stops everybody" in done.out
    assert copies(pairs) == [False, True, False]
    pairs.place.lead(REDIS_URL=url)
    assert pairs.place.main("gc", "--apply", *ONE).status == 5
    assert pairs.place.main(*THAW, *ONE).status == 0
    assert pairs.place.main("gc", "--apply", *ONE).status == 0


def test_with_no_store_that_tells_the_time_nothing_is_frozen(pairs: Pairs) -> None:
    pairs.place.lead(REDIS_URL="redis://127.0.0.1:1/0", DATABASE_URL="host=127.0.0.1 port=1")
    assert pairs.place.main(*FREEZE, *ONE).status == 10
    assert copies(pairs) == [False, False, False]


def test_without_a_schema_a_pair_is_frozen_through_redis(pairs: Pairs) -> None:
    pairs.configure(("state: {schema: idemctl}\n", ""))
    assert pairs.place.main(*FREEZE, *ONE).status == 0
    assert copies(pairs) == [False, True, True]
    remove(pairs, "folder")
    assert pairs.place.main("gc", "--apply", *ONE).status == 5


def test_a_copy_that_no_other_host_reads_is_only_half_a_freeze(
    large: Database, place: Place
) -> None:
    done = place.main(*FREEZE, "--store", "payments")
    assert done.status == 4
    assert "payments: only this host reads its state folder: state.schema is not" in done.out
    collect = ("gc", "--apply", "--store", "payments", "--despite", "volume")
    assert place.main(*collect).status == 5
    assert large.count("processed_events") == 40_000
    assert place.main(*THAW, "--store", "payments").status == 4
    assert place.main(*collect).status == 0


@pytest.mark.parametrize("workers", [(), ("--workers", "2")])
def test_a_freeze_in_the_middle_stops_gc_between_two_batches(
    slow: Database, place: Place, redis_url: str, workers: tuple[str, ...]
) -> None:
    place.configure(PAYMENTS + "state: {schema: idemctl}\n")
    words = ("--store", "payments", "--despite", "volume", *workers, "-o", "json")
    process = place.start("gc", "--apply", *words)
    place.await_journal(2)
    assert place.main(*FREEZE, "--store", "payments").status == 0
    done = place.end(process)
    assert done.status == 5, done.err
    assert done.summary["why_stopped"] == "frozen"
    assert 0 < done.summary["deleted"] < LARGE_EXPIRED
    assert done.summary["deleted"] == sum(one["deleted"] for one in place.batches())
    assert "payments: frozen by " in done.err
    assert slow.count("processed_events") == 40_000 - done.summary["deleted"]
    slow.await_no_backend()


def test_a_freeze_in_the_middle_stops_a_refill(pairs: Pairs) -> None:
    names = pairs.names()
    pairs.client.flushall()
    process = pairs.place.start(
        "reconcile", "--apply", "--yes", "--store", "payments", "-o", "json"
    )
    await_that(
        lambda: any(one["event"] == "start" for one in pairs.place.journal()), "reconcile began"
    )
    assert pairs.place.main(*FREEZE, "--store", "payments").status == 0
    done = pairs.place.end(process)
    assert done.status == 5, (done.out, done.err)
    assert "payments: frozen by " in done.err
    assert len(pairs.names()) < len(names)


def test_a_reason_that_says_nothing_is_refused(pairs: Pairs) -> None:
    words = ("store", "freeze", "--for", "4h", "--reason", " ", "--apply")
    done = pairs.place.main(*words, *ONE)
    assert done.status == 2
    assert "--reason: say why" in done.err


def test_several_stores_are_frozen_by_name_only(pairs: Pairs) -> None:
    done = pairs.place.main(*FREEZE)
    assert done.status == 2
    assert "name them: --store payments" in done.err


def test_show_tells_of_a_freeze(pairs: Pairs) -> None:
    assert pairs.place.main(*FREEZE, *ONE).status == 0
    done = pairs.place.main("store", "show", *ONE, "-o", "json")
    assert done.status == 0
    assert done.summary["frozen"] == ["payments"]
    item: dict[str, Any] = done.document["items"][-1]
    untils = [datetime.fromisoformat(one["freeze"]["until"]) for one in item["copies"]]
    assert len(untils) == 3
    assert all(
        timedelta(hours=3) < until - datetime.now(UTC) < timedelta(hours=5) for until in untils
    )

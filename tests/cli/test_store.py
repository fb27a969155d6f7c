"""store show and beat on a real pair: what is kept and shown, and that looking is only that."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.bootstrap.layouts import preset
from idemctl.domain.secrets import Secret
from idemctl.stores.redis.keyspace import RedisKeyspace
from tests.cli.failures import CANARY
from tests.cli.places import await_that

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.pairs import Pairs
    from tests.cli.places import Database, Place

ONE = ("--store", "payments", "--pace", "full")
KEY = "idemctl:{payments}:witness"


def beats(pairs: Pairs) -> list[int | None]:
    """Read all three copies with nothing of idemctl's."""
    row = pairs.connection.execute("SELECT hb FROM idemctl.idemctl_witness").fetchone()
    text: Any = pairs.client.get(KEY)
    file = pairs.place.state / "witnesses" / "payments.json"
    return [
        row and row[0],
        text and json.loads(text)["beats"],
        json.loads(file.read_bytes())["beats"] if file.exists() else None,
    ]


def shown(pairs: Pairs) -> dict[str, Any]:
    done = pairs.place.main("store", "show", *ONE, "-o", "json")
    [item] = [one for one in done.document["items"] if one["code"] == "witness"]
    return dict(item)


@pytest.fixture
def undisturbed(pairs: Pairs) -> Iterator[Pairs]:
    """A pair on whose server no autovacuum takes numbers of transactions."""
    pairs.admin.execute("ALTER SYSTEM SET autovacuum = off")
    pairs.admin.execute("SELECT pg_reload_conf()")
    at_work = "SELECT count(*) FROM pg_stat_activity WHERE backend_type ~ '^autovacuum'"
    await_that(lambda: pairs.admin.execute(at_work).fetchone() == (0,), "autovacuum rests")
    yield pairs
    pairs.admin.execute("ALTER SYSTEM RESET autovacuum")
    pairs.admin.execute("SELECT pg_reload_conf()")


def writes(pairs: Pairs) -> dict[str, Any]:
    """Count what Redis was told but reading, and what Postgres gave a number."""
    stats: Any = pairs.client.info("commandstats")
    [(xid,)] = pairs.connection.execute(
        "SELECT pg_snapshot_xmax(pg_current_snapshot())::text"
    ).fetchall()
    told = ("cmdstat_set", "cmdstat_eval", "cmdstat_del")
    return {"xid": xid} | {name: stats.get(name, {}).get("calls", 0) for name in told}


def test_every_beat_raises_all_copies_and_gc_and_reconcile_beat_too(pairs: Pairs) -> None:
    assert beats(pairs) == [None, None, None]
    for number, words in enumerate(
        (("store", "beat", "--apply"), ("gc", "--apply"), ("reconcile", "--apply", "--yes")), 1
    ):
        done = pairs.place.main(*words, *ONE)
        assert done.status == 0, done.err
        assert beats(pairs) == [number, number, number]
    assert pairs.client.ttl(KEY) == -1
    item = shown(pairs)
    assert item["witness"]["verdict"] == "normal"
    assert [one["witness"]["beats"] for one in item["copies"]] == [3, 3, 3]
    assert (item["epoch"], item["fence"]) == (1, 3_000)


@pytest.mark.parametrize(
    "words",
    [
        ("store", "beat"),
        ("store", "freeze", "--for", "4h", "--reason", "drill"),
        ("store", "thaw"),
        ("store", "accept"),
        ("store", "show"),
    ],
)
def test_without_apply_nothing_is_written_anywhere(
    undisturbed: Pairs, words: tuple[str, ...]
) -> None:
    pairs = undisturbed
    assert pairs.place.main("store", "beat", "--apply", *ONE).status == 0
    files = sorted(pairs.place.state.rglob("*"))
    before = writes(pairs), pairs.dumps("*"), beats(pairs), pairs.digests()
    assert pairs.place.main(*words, *ONE).status == 0
    assert (writes(pairs), pairs.dumps("*"), beats(pairs), pairs.digests()) == before
    assert sorted(pairs.place.state.rglob("*")) == files


def test_the_counters_would_show_a_write(pairs: Pairs) -> None:
    """The control of the test above: with --apply all of them move."""
    before = writes(pairs)
    assert pairs.place.main("store", "beat", "--apply", *ONE).status == 0
    after = writes(pairs)
    assert after["cmdstat_eval"] > before["cmdstat_eval"]
    assert after["xid"] != before["xid"]


def test_nothing_of_idemctl_is_taken_for_a_record(pairs: Pairs) -> None:
    for words in (("beat",), ("freeze", "--for", "1h", "--reason", "drill")):
        assert pairs.place.main("store", *words, "--apply", *ONE).status == 0
    assert len(pairs.names("idemctl:*")) == 2
    layout = preset("bare").redis
    assert layout is not None
    for prefix in ("idem", "i"):
        keyspace = RedisKeyspace(
            url=Secret(pairs.redis_url),
            prefix=prefix,
            layout=layout,
            writable=False,
            application="test",
        )
        with closing(keyspace):
            found = [key for batch in keyspace.scan() for key in batch.keys]
            listed = [name for page in keyspace.names() for name in page]
        assert len(found) == len(pairs.names("idem:*")) > 1_000
        assert sorted(listed) == pairs.names("idem:*")


def test_without_a_schema_there_is_no_witness_and_what_needs_one_says_so(pairs: Pairs) -> None:
    pairs.configure(("state: {schema: idemctl}\n", ""))
    done = pairs.place.main("store", "beat", "--apply", *ONE)
    assert done.status == 78
    assert "payments: no witness: state.schema is not configured" in done.err
    assert "idemctl schema own | psql" in done.err
    assert pairs.place.main("gc", "--apply", *ONE).status == 0
    assert beats(pairs) == [None, None, None]
    assert shown(pairs)["why_no_witness"].startswith("state.schema is not configured")


def test_a_schema_without_its_tables_names_what_makes_them(pairs: Pairs) -> None:
    pairs.connection.execute("DROP SCHEMA idemctl CASCADE")
    for words in (("store", "beat", "--apply"), ("gc", "--apply")):
        done = pairs.place.main(*words, *ONE)
        assert done.status == 78
        assert "idemctl schema own | psql" in done.err


def test_a_side_that_is_down_keeps_nobody_from_seeing_the_rest(pairs: Pairs) -> None:
    assert pairs.place.main("store", "beat", "--apply", *ONE).status == 0
    pairs.place.lead(REDIS_URL=f"redis://:{CANARY}@127.0.0.1:1/0")
    done = pairs.place.main("store", "show", *ONE, "-o", "json")
    assert done.status == 10
    assert CANARY not in done.out + done.err
    kinds = [one["code"] for one in done.document["items"]]
    assert kinds == ["store", "witness"]
    item = done.document["items"][1]
    assert item["witness"] is None
    assert [one["error"] is None for one in item["copies"]] == [True, False, True]
    assert item["copies"][0]["witness"]["beats"] == 1
    table = pairs.place.main("store", "show", *ONE)
    assert "payments: cannot judge: a copy cannot be read" in table.out


def test_a_witness_removed_by_hand_is_one_sign_and_no_flush(pairs: Pairs) -> None:
    """The control: who asked the witness alone would say that Redis was flushed."""
    assert pairs.place.main("store", "beat", "--apply", *ONE).status == 0
    pairs.client.delete(KEY)
    item = shown(pairs)
    assert item["witness"]["copies"] == "redis-missing"
    assert item["witness"]["verdict"] == "unknown"
    assert item["witness"]["missing_in_redis"] == {"asked": 200, "missing": 0}
    done = pairs.place.main("store", "beat", "--apply", *ONE)
    assert done.status == 10
    assert "next: idemctl reconcile --apply --store payments" in done.out
    # gc does its work, says so, and hides nothing.
    done = pairs.place.main("gc", "--apply", *ONE)
    assert done.status == 0
    assert "witness: cannot judge: the copy in Redis is gone" in done.out
    assert beats(pairs)[1] is None
    # Once Redis was seen to be whole, the witness is written again.
    assert pairs.place.main("reconcile", "--apply", "--yes", *ONE).status == 0
    assert beats(pairs) == [2, 2, 2]
    assert shown(pairs)["witness"]["verdict"] == "normal"


def test_a_stranger_in_the_key_is_no_witness(pairs: Pairs) -> None:
    pairs.client.set(KEY, "hello")
    done = pairs.place.main("store", "beat", "--apply", *ONE)
    assert done.status == 10
    assert "idemctl:{payments}:witness holds something else" in done.err


def test_a_store_of_postgres_alone_keeps_two_copies(large: Database, place: Place) -> None:
    text = (place.folder / "idemctl.yaml").read_text("utf-8")
    place.configure(text + "state: {schema: idemctl}\n")
    for _ in range(2):
        done = place.main("store", "beat", "--apply", "--store", "payments")
        assert done.status == 0, done.err
    assert large.ask("SELECT hb FROM idemctl.idemctl_witness") == [(2,)]
    large.observer.execute("UPDATE idemctl.idemctl_witness SET hb = 1")
    done = place.main("store", "beat", "--store", "payments", "-o", "json")
    [item] = done.document["items"]
    assert (item["copies"], item["verdict"]) == ("postgres-behind", "unknown")

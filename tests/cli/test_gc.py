"""gc at the command line: what it changes, and what it must not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import redis

from idemctl.sandbox.configuration import CONFIGURATION
from idemctl.sandbox.seed import seed
from tests.cli.places import LARGE_EXPIRED, LARGE_KEPT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.places import Database, Place

TABLES = ("processed_events", "seen_events", "workflow_runs", "workflow_steps", "outbox_events")
STORES = ("--store", "payments", "--store", "webhooks", "--store", "workflows", "--store", "outbox")
# Written by hand from the promise: what ended before now, finished, is over.
EXPIRED = {
    "processed_events": (
        "idempotency_key",
        "expires_at < now() AND status IN ('completed', 'failed')",
    ),
    "seen_events": ("idempotency_key", "created_at + interval '604800 s' < now()"),
    "workflow_runs": (
        "key",
        "finished_at + interval '604800 s' < now() AND status IN ('completed', 'failed')",
    ),
    "outbox_events": ("key", "dispatched_at + interval '604800 s' < now()"),
}
STORE_OF = {
    "processed_events": "payments",
    "seen_events": "webhooks",
    "workflow_runs": "workflows",
    "outbox_events": "outbox",
}


def digest(database: Database) -> list[Any]:
    return [
        database.ask(
            f"SELECT md5(string_agg(row::text, E'\\n' ORDER BY row::text)) FROM {table} AS row"
        )
        for table in TABLES
    ]


def counters(database: Database) -> list[Any]:
    """What the server counts: rows written, and the next transaction that writes."""
    database.await_no_backend()
    database.observer.execute("SELECT pg_stat_clear_snapshot()")
    return database.ask(
        "SELECT sum(n_tup_ins), sum(n_tup_upd), sum(n_tup_del),"
        " pg_snapshot_xmax(pg_current_snapshot())::text FROM pg_stat_user_tables"
    )


def unchanged(database: Database, act: Callable[[], object], *, tries: int = 3) -> bool:
    """Tell whether nothing was written while something ran, other than by the server itself.

    An autovacuum of the server's own takes a transaction number now and then, so one quiet
    run of several is enough: a run that writes is never quiet.
    """
    for _ in range(tries):
        rows, numbers = digest(database), counters(database)
        act()
        if (rows, numbers) == (digest(database), counters(database)):
            return True
    return False


def keys(database: Database, table: str, where: str = "true") -> set[str]:
    column, _ = EXPIRED[table]
    return {row[0] for row in database.ask(f"SELECT {column} FROM {table} WHERE {where}")}


@pytest.mark.parametrize("words", [(), ("--workers", "2", "--store", "payments")])
def test_a_look_writes_nothing(seeded: Database, place: Place, words: tuple[str, ...]) -> None:
    assert unchanged(seeded, lambda: place.main("gc", "-o", "json", *words))
    assert not place.state.exists()


def test_collecting_writes_and_is_seen(seeded: Database, place: Place) -> None:
    assert not unchanged(seeded, lambda: place.main("gc", "--apply", *STORES), tries=1)


def test_a_look_sends_redis_no_command_that_writes(place: Place, dsn: str, redis_url: str) -> None:
    seed(dsn=dsn, redis_url=redis_url, records=1_000, seed=3, faults=True)
    place.configure(CONFIGURATION)
    place.lead(DATABASE_URL=dsn, REDIS_URL=redis_url)
    with redis.Redis.from_url(redis_url) as client:
        writes = {name for name, facts in client.command().items() if "write" in facts["flags"]}

        def written() -> set[str]:
            used = {name.removeprefix("cmdstat_") for name in client.info("commandstats")}
            assert "scan" in used
            return used & writes

        def held() -> dict[bytes, tuple[bytes | None, int]]:
            return {
                name: (client.dump(name), client.pexpiretime(name)) for name in client.scan_iter()
            }

        before = held()
        client.config_resetstat()
        done = place.main("gc", "-o", "json", "--pace", "full")
        assert done.status == 0
        assert done.summary["candidates"] > 0
        assert written() == set()
        assert held() == before
        client.set("control", "1")
        assert written() == {"set"}


def test_exactly_the_expired_go(seeded: Database, place: Place) -> None:
    before = {table: keys(seeded, table) for table in EXPIRED}
    over = {table: keys(seeded, table, where) for table, (_, where) in EXPIRED.items()}
    steps = set(seeded.ask("SELECT run_id, ordinal, attempt FROM workflow_steps"))
    gone_runs = {
        row[0]
        for row in seeded.ask(
            f"SELECT run_id FROM workflow_runs WHERE {EXPIRED['workflow_runs'][1]}"
        )
    }
    gone_steps = {step for step in steps if step[0] in gone_runs}
    assert all(over.values())
    assert all(over[table] < before[table] for table in EXPIRED)
    assert gone_steps
    assert gone_steps < steps

    done = place.main("gc", "--apply", "-o", "json", *STORES)

    assert done.status == 0, done.err
    assert {table: keys(seeded, table) for table in EXPIRED} == {
        table: before[table] - over[table] for table in EXPIRED
    }
    left = set(seeded.ask("SELECT run_id, ordinal, attempt FROM workflow_steps"))
    assert left == steps - gone_steps
    by_store = {one["store"]: one["deleted"] for one in done.summary["stores"]}
    assert by_store == {STORE_OF[table]: len(rows) for table, rows in over.items()}
    assert done.summary["children_deleted"] == len(gone_steps)
    assert done.summary["deleted"] == sum(len(rows) for rows in over.values())


def test_a_look_announces_what_collecting_does(seeded: Database, place: Place) -> None:
    look = place.main("gc", "-o", "json").document
    done = place.main("gc", "--apply", "-o", "json", *STORES).document
    told, went = (
        [
            [item[name] for name in ("store", "pattern", "place", "count", "promise")]
            for item in one["items"]
            if item["code"] == "expired"
        ]
        for one in (look, done)
    )
    assert told == went
    assert done["summary"]["deleted"] == look["summary"]["candidates"]


def test_two_workers_find_and_do_what_one_does(
    seeded: Database, place: Place, databases: Any, seeded_template: str
) -> None:
    def results(*words: str) -> tuple[Any, Any]:
        document = place.main("gc", "-o", "json", *words).document
        items = [
            {name: value for name, value in item.items() if name != "why"}
            for item in document["items"]
        ]
        measured = {"cutoff", "batches", "longest_batch_ms", "clock_ahead_s", "brakes"}
        stores = [
            {name: value for name, value in store.items() if name not in measured}
            for store in document["summary"]["stores"]
        ]
        return items, stores

    two, one = ("--workers", "2"), ("--workers", "1")
    some = ("--store", "payments", "--store", "workflows")
    assert results(*two, "--store", "payments") == results(*one, "--store", "payments")
    alone = results("--apply", *one, *some)
    kept = digest(seeded)
    other = databases.create(seeded_template)
    place.lead(DATABASE_URL=databases.dsn(other))
    together = results("--apply", *two, *some)
    assert together == alone
    with psycopg.connect(databases.dsn(other), autocommit=True) as observer:
        assert digest(replace(seeded, observer=observer)) == kept
    databases.drop(other)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_no_more_go_than_a_limit_allows(large: Database, place: Place, workers: str) -> None:
    words = ("--apply", "--pace", "full", "--workers", workers)
    done = place.main("gc", *words, "--limit", "1001", "-o", "json")
    assert (done.status, done.summary["deleted"]) == (0, 1001)
    assert done.summary["why_stopped"] == "limit"
    assert large.count("processed_events") == LARGE_EXPIRED + LARGE_KEPT - 1001
    told = place.main("gc", *words, "--limit", "1")
    assert "stopped at the limit of 1 record; the oldest left expired 20" in told.out
    assert large.count("processed_events") == LARGE_EXPIRED + LARGE_KEPT - 1002


def test_the_run_is_in_journal_and_history(seeded: Database, place: Place) -> None:
    done = place.main("gc", "--apply", "-o", "json", *STORES)
    events = place.journal()
    assert [one["event"] for one in (events[0], events[-1])] == ["start", "end"]
    assert events[0]["run_id"] == done.document["run_id"]
    assert events[-1]["exit"] == 0
    assert sum(one["deleted"] for one in place.batches()) == done.summary["deleted"]
    shown = place.main("store", "show", "-o", "json").document
    sides = [item for item in shown["items"] if item["code"] == "store"]
    assert {item["last_gc_run"] for item in sides} == {done.document["run_id"]}


def test_consent_has_no_environment_variable(seeded: Database, place: Place) -> None:
    place.lead(IDEMCTL_APPLY="1")
    before = digest(seeded)
    done = place.main("gc", "-o", "json", *STORES)
    assert done.summary["apply"] is False
    assert digest(seeded) == before


def test_a_state_folder_that_cannot_be_used_stops_the_run_before_it_deletes(
    seeded: Database, place: Place
) -> None:
    place.state.write_text("a file")
    before = digest(seeded)
    done = place.main("gc", "--apply", "-o", "json", *STORES)
    assert done.status == 78
    assert done.document["errors"][0]["message"].startswith(f"state folder {place.state}: ")
    assert digest(seeded) == before


def test_a_history_that_cannot_be_kept_does_not_lose_the_report(
    seeded: Database, place: Place
) -> None:
    (place.state / "history.jsonl").mkdir(parents=True)
    done = place.main("gc", "--apply", "-o", "json", *STORES)
    assert done.status == 78
    assert done.document["exit"] == 78
    assert done.summary["deleted"] > 0
    assert [one["status"] for one in done.document["errors"]] == ["config"]
    assert done.err.count("\n") == 2


LONGER = """\
version: 1
endpoints:
  - {endpoint: POST /v1/charges, ttl: 30d}
  - {endpoint: POST /v1/refunds, ttl: 1h}
"""


def test_a_policy_keeps_longer_and_never_shortens(large: Database, place: Place) -> None:
    large.ask("DELETE FROM processed_events WHERE idempotency_key > 'evt-2' RETURNING 1")
    large.ask(
        "UPDATE processed_events SET endpoint = 'POST /v1/refunds', created_at = now()"
        " - interval '9 days', expires_at = CASE WHEN idempotency_key LIKE '%5'"
        " THEN now() - interval '1 minute' ELSE now() + interval '1 minute' END,"
        " status = 'completed' WHERE idempotency_key LIKE 'evt-1%' RETURNING 1"
    )
    refunds = "processed_events WHERE endpoint = 'POST /v1/refunds'"
    charges = large.count("processed_events WHERE endpoint = 'POST /v1/charges'")
    over, alive = large.count(f"{refunds} AND expires_at < now()"), large.count(refunds)
    alive -= over
    place.configure(PAYMENTS_WITH_POLICIES)
    (place.folder / "policies.yaml").write_text(LONGER)

    done = place.main("gc", "--apply", "-o", "json", "--pace", "full")

    assert done.status == 0, done.err
    assert done.summary["deleted"] == over
    assert large.count("processed_events WHERE endpoint = 'POST /v1/charges'") == charges
    assert large.count(refunds) == alive
    promises = {item["promise"] for item in done.document["items"] if item["code"] == "live"}
    assert promises == {"policy", "stored expiry"}

    (place.folder / "policies.yaml").write_text("version: 1\nendpoints: []\n")
    assert place.main("gc", "-o", "json", "--pace", "full").summary["candidates"] > 0


PAYMENTS_WITH_POLICIES = """\
version: 1
stores:
  payments:
    postgres: {dsn_env: DATABASE_URL, layout: reference, table: public.processed_events}
    ttl: 7d
    policies: policies.yaml
"""


def test_the_promise_that_spoke_is_told_for_each_group(large: Database, place: Place) -> None:
    place.configure(PAYMENTS_WITH_POLICIES)
    (place.folder / "policies.yaml").write_text(LONGER)
    words = ("gc", "--pace", "full")
    told = place.main(*words, "--explain").out
    _, told = told.split("which promise spoke")
    said = [" ".join(line.split()) for line in told.splitlines()]
    by_policy = "policy: POST /v1/charges 30d, POST /v1/refunds 1h"
    assert any(line.endswith(f"live {by_policy}") for line in said)
    assert any(line.endswith("in-progress status, whatever was promised") for line in said)
    assert "which promise spoke" not in place.main(*words).out


def test_a_broken_policy_file_is_named_with_its_place(large: Database, place: Place) -> None:
    place.configure(PAYMENTS_WITH_POLICIES)
    (place.folder / "policies.yaml").write_text(
        "version: 1\nendpoints:\n  - {endpoint: a, ttl: 0s}\n"
    )
    done = place.main("gc", "--apply")
    assert done.status == 78
    assert f"{place.folder}/policies.yaml:3:24: " in done.err
    assert large.count("processed_events") == LARGE_EXPIRED + LARGE_KEPT


def test_a_partition_in_the_past_is_told_and_stays_where_it_is(
    large: Database, place: Place
) -> None:
    large.observer.execute(
        "ALTER TABLE processed_events RENAME TO was;"
        "CREATE TABLE processed_events (LIKE was INCLUDING DEFAULTS)"
        " PARTITION BY RANGE (expires_at);"
        "CREATE TABLE old PARTITION OF processed_events"
        " FOR VALUES FROM ('2020-1-1') TO ('2021-1-1');"
        "CREATE TABLE new PARTITION OF processed_events FOR VALUES FROM ('2021-1-1') TO (MAXVALUE);"
        "INSERT INTO processed_events (idempotency_key, status, expires_at) VALUES"
        " ('done', 'completed', '2020-6-1'), ('running', 'in_progress', '2020-6-1');"
        "ANALYZE processed_events"
    )
    detach = 'ALTER TABLE "public"."processed_events" DETACH PARTITION "public"."old" CONCURRENTLY;'
    for words, left in (((), 2), (("--apply",), 1), (("--apply",), 1)):
        done = place.main("gc", *words, "-o", "json")
        [store] = done.summary["stores"]
        [told] = store["partitions"]
        assert (told["partition"], told["until"]) == ('"public"."old"', "2021-01-01T00:00:00.000Z")
        assert (told["rows"], told["concurrently"], told["detach"]) == (2, True, detach)
        assert large.ask(told["count_kept"]) == [(1,)]
        assert large.count("old") == large.count("processed_events") == left
    assert f"then type: {detach}" in place.main("gc").out

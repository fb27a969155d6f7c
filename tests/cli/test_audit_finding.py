"""audit where no configuration names a store: it finds them, and says what it took for what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import redis

from idemctl.cli import audit as command
from idemctl.errors import ExitStatus
from idemctl.sandbox.seed import seed
from tests.cli.places import PAYMENTS
from tests.cli.test_layout_detect import write

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg

    from tests.cli.places import Done, Place

NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture
def found(place: Place, dsn: str, redis_url: str, durable: None) -> Place:
    """A place that leads to all six patterns, and nobody has said what they are."""
    seed(dsn=dsn, redis_url=redis_url, records=400, seed=5, faults=False)
    place.lead(DATABASE_URL=dsn, REDIS_URL=redis_url)
    return place


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as opened:
        yield opened


def audit(place: Place, *words: str) -> Done:
    return place.main("audit", "--pace", "full", "-o", "json", *words)


def places(done: Done) -> set[tuple[str, str, str]]:
    return {(one["pattern"], one["store"], one["place"]) for one in done.summary["places"]}


def judged(done: Done, store: str, side: str) -> dict[str, Any]:
    [one] = [
        place
        for place in done.summary["places"]
        if (place["store"], place["side"]) == (store, side)
    ]
    return {check["code"]: check["why"] for check in one["cannot_judge"]}


def test_all_six_patterns_are_found_and_audited(found: Place) -> None:
    done = audit(found)
    assert done.status == 0, done.err
    assert places(done) == {
        ("postgres-unique", "reference", "postgres public.processed_events"),
        ("redis-setnx", "reference", "redis idem:*"),
        ("postgres-unique", "bare", "postgres public.seen_events"),
        ("redis-setnx", "bare", "redis seen:*"),
        ("url-path", "url-path", "redis path:*"),
        ("body-hash", "body-hash", "redis body:*"),
        ("workflow", "workflow", "postgres public.workflow_runs"),
        ("outbox", "outbox", "postgres public.outbox_events"),
    }
    assert all(one["seen"] for one in done.summary["places"])
    assert done.summary["left_out"] == []


def test_what_was_taken_for_what_is_said_on_stderr(found: Place) -> None:
    said = audit(found, "--store", "reference").err.splitlines()
    assert said[0] == (
        "idemctl audit: warning: No configuration names a store; each place is taken for what it "
        "looks like."
    )
    assert (
        "idemctl audit: warning: postgres public.processed_events is taken for layout reference, "
        "as store reference."
    ) in said
    assert len(said) == 9
    assert audit(found, "-q").err == ""


def test_of_a_pair_that_was_only_found_the_difference_is_not_judged(
    found: Place, client: redis.Redis
) -> None:
    key = next(client.scan_iter(match="idem:*"))
    client.delete(key)
    for words in ((), ("--all",)):
        done = audit(found, *words)
        assert [item for item in done.document["items"] if item["code"] == "missing"] == []
        assert (
            "only known where idemctl.yaml says so" in judged(done, "reference", "redis")["missing"]
        )
        # It is a pair all the same: what one side would say again is asked of the other alone.
        assert "key-on-two-endpoints" not in judged(done, "reference", "redis")
        assert audit(found, *words, "--strict").status == ExitStatus.UNREACHABLE


def test_a_prefix_that_several_libraries_share_is_named_and_left_alone(
    place: Place, client: redis.Redis, redis_url: str
) -> None:
    place.lead(REDIS_URL=redis_url)
    for library in ("drf-idempotency", "midaz", "idemkit"):
        write(client, library)
    done = audit(place)
    assert done.summary["left_out"] == [
        {"place": "redis idempotency:*", "why": "is shared: drf-idempotency, midaz"}
    ]
    assert {store for _, store, _ in places(done)} == {"idemkit"}
    shared = "redis idempotency:* is shared: drf-idempotency, midaz"
    assert f"{shared}; it is left out. Name the right layout in idemctl.yaml.\n" in done.err
    told = " ".join(place.main("audit", "--pace", "full").out.split())
    assert f"{shared}; nothing of it was looked at" in told
    assert "in the part that was looked at" in told


def test_where_nothing_is_found_it_says_what_it_looked_at(
    place: Place, dsn: str, connection: psycopg.Connection[Any], client: redis.Redis, redis_url: str
) -> None:
    connection.execute("CREATE TABLE orders (id bigint, total numeric, idempotency_key text)")
    client.set("cart:1", "[]")
    place.lead(DATABASE_URL=dsn, REDIS_URL=redis_url)
    done = audit(place)
    assert done.status == ExitStatus.CONFIG
    assert done.err.startswith(
        "idemctl audit: nothing to work on: 1 tables and 1 keys were looked at, and no one layout "
        "fits\n"
    )
    assert "idemctl layout list" in done.err


def test_only_so_many_records_of_each_place_are_looked_at_without_all(
    found: Place, monkeypatch: pytest.MonkeyPatch, connection: psycopg.Connection[Any]
) -> None:
    connection.execute(
        "INSERT INTO seen_events (idempotency_key, created_at)"
        " SELECT 'more-' || n, now() FROM generate_series(1, 20000) AS n"
    )
    assert command._SAMPLE == 100_000
    monkeypatch.setattr(command, "_SAMPLE", 1_000)

    def seen(*words: str) -> tuple[bool, int]:
        [bare] = [
            one
            for one in audit(found, "--store", "bare", *words).summary["places"]
            if one["side"] == "postgres"
        ]
        return bare["sampled"], bare["seen"]

    is_sample, count = seen()
    assert is_sample
    assert 1_000 <= count < 10_000
    whole = connection.execute("SELECT count(*) FROM seen_events").fetchone()
    assert whole is not None
    assert seen("--all") == (False, whole[0])
    assert seen("--sample", "1000000") == (False, whole[0])
    wrong = audit(found, "--all", "--sample", "5")
    assert (wrong.status, wrong.document["errors"][0]["message"]) == (
        2,
        "--all and --sample contradict one another",
    )


def test_a_configuration_switches_finding_off(
    found: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_SAMPLE", 1)
    found.configure(PAYMENTS)
    done = audit(found)
    assert {store for _, store, _ in places(done)} == {"payments"}
    assert done.err == ""
    assert [one["sampled"] for one in done.summary["places"]] == [False]


def test_one_dead_server_leaves_the_other_audited(found: Place) -> None:
    found.lead(REDIS_URL=NOWHERE)
    done = audit(found)
    assert done.status == ExitStatus.UNREACHABLE
    assert {store for _, store, _ in places(done)} == {"reference", "bare", "workflow", "outbox"}
    [error] = done.document["errors"]
    assert error["message"] == "redis: cannot reach Redis: connection refused"
    assert not done.summary["whole"]
    found.lead(DATABASE_URL="postgresql://idemctl@127.0.0.1:1/x")
    both = audit(found)
    assert (both.status, len(both.document["errors"]), both.summary["places"]) == (10, 2, [])


def test_the_next_command_says_how_the_store_becomes_known(
    found: Place, connection: psycopg.Connection[Any]
) -> None:
    connection.execute(
        "ALTER TABLE processed_events DROP CONSTRAINT IF EXISTS processed_events_status_check;"
        "UPDATE processed_events SET status = 'odd'"
        " WHERE idempotency_key = (SELECT min(idempotency_key) FROM processed_events)"
    )
    [item] = [one for one in audit(found).document["items"] if one["code"] == "malformed-record"]
    assert item["next"] == "idemctl layout detect --write, then idemctl doctor --store reference"
    assert found.main("layout", "detect", "--write").status == 0
    assert found.main("doctor", "--store", "reference").status == 0
    [item] = [one for one in audit(found).document["items"] if one["code"] == "malformed-record"]
    assert item["next"] == "idemctl doctor --store reference"


def test_gc_shows_what_is_found_and_changes_nothing_by_a_guess(
    found: Place, connection: psycopg.Connection[Any]
) -> None:
    def left() -> Any:
        return connection.execute("SELECT count(*) FROM processed_events").fetchone()

    before = left()
    done = found.main("gc", "--pace", "full", "-o", "json")
    assert done.status == 0, done.err
    assert {item["store"] for item in done.document["items"]} >= {"reference", "bare", "outbox"}
    assert "is taken for layout reference, as store reference.\n" in done.err
    for words in (("gc", "--apply"), ("reconcile", "--apply", "--yes")):
        refused = found.main(*words)
        assert refused.status == ExitStatus.REFUSED
        assert "by a guess at its layout nothing is changed\n  idemctl layout detect --write" in (
            refused.err
        )
    assert left() == before
    assert found.main("layout", "detect", "--write").status == 0
    assert found.main("gc", "--apply", "--store", "reference", "--pace", "full").status == 0
    assert left() < before


def test_gc_says_which_server_kept_it_from_finding_stores(found: Place) -> None:
    found.lead(REDIS_URL=NOWHERE)
    done = found.main("gc", "--pace", "full", "-o", "json")
    [error] = done.document["errors"]
    assert (done.status, error["message"]) == (10, "redis: cannot reach Redis: connection refused")
    assert {item["store"] for item in done.document["items"]} >= {"reference", "bare"}


def test_store_show_tells_of_what_is_found(found: Place) -> None:
    done = found.main("store", "show", "-o", "json")
    assert done.status == 0, done.err
    assert {item["store"] for item in done.document["items"]} >= {"reference", "bare", "outbox"}
    assert "is taken for layout outbox, as store outbox." in done.err
    found.lead(REDIS_URL=NOWHERE)
    done = found.main("store", "show", "-o", "json")
    assert done.status == 10
    assert {item["store"] for item in done.document["items"]} >= {"reference", "bare", "outbox"}

"""reconcile at the command line: what it finds, what it writes, and what it must not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Never

import msgspec
import psycopg
import pytest
import redis

from idemctl.bootstrap import Workplace
from idemctl.domain.outcomes import WhyStopped
from idemctl.operations import reconcile
from idemctl.run.pairing import SweepTask
from idemctl.run.run import Run, Stopped
from idemctl.sandbox.seed import seed
from idemctl.stores.postgres import hold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.domain.sweeps import Swept
    from idemctl.sandbox.seed import Manifest
    from tests.cli.places import Place

PAIRS = """\
version: 1
stores:
  payments:
    postgres: {dsn_env: DATABASE_URL, layout: reference, table: public.processed_events}
    redis: {url_env: REDIS_URL, layout: reference, prefix: "idem:", ttl: 24h}
    write_order: postgres-first
    on_redis_miss: postgres
    ttl: 7d
  webhooks:
    postgres: {dsn_env: DATABASE_URL, layout: bare, table: public.seen_events}
    redis: {url_env: REDIS_URL, layout: bare, prefix: "seen:", ttl: 24h}
    write_order: postgres-first
    ttl: 7d
  outbox:
    postgres: {dsn_env: DATABASE_URL, layout: outbox, table: public.outbox_events}
    ttl: 7d
"""
FULL = ("--pace", "full")
APPLY = ("reconcile", "--apply", "--yes", *FULL, "-o", "json")


class Stores:
    """Both stores of the place, to look into with bare drivers."""

    def __init__(self, place: Place, dsn: str, redis_url: str) -> None:
        place.configure(PAIRS)
        place.lead(DATABASE_URL=dsn, REDIS_URL=redis_url)
        self.dsn = dsn
        self.redis_url = redis_url
        self.client = redis.Redis.from_url(redis_url)

    def seed(self, *, faults: bool, records: int = 3_000) -> Manifest:
        return seed(dsn=self.dsn, redis_url=self.redis_url, records=records, seed=5, faults=faults)

    def sql(self, statement: str) -> list[Any]:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def keys(self) -> dict[bytes, bytes | None]:
        """Everything that Redis holds, exactly."""
        return {name: self.client.dump(name) for name in self.names()}

    def names(self) -> list[Any]:
        """Every key; redis-py types them as text, whatever they are."""
        found: Any = self.client.keys("*")
        return list(found)

    def writes(self) -> int:
        """How many writing commands the server has counted."""
        stats: Any = self.client.info("commandstats")
        return sum(
            one["calls"]
            for name, one in stats.items()
            if name.removeprefix("cmdstat_") in {"set", "del", "pexpireat", "unlink", "eval"}
        )


@pytest.fixture
def stores(place: Place, dsn: str, redis_url: str) -> Iterator[Stores]:
    made = Stores(place, dsn, redis_url)
    yield made
    made.client.close()


def digest(stores: Stores) -> list[Any]:
    return stores.sql(
        "SELECT md5(string_agg(row::text, E'\\n' ORDER BY row::text)) FROM processed_events AS row"
    )


def test_a_healthy_pair_has_no_difference_and_old_rows_are_none(
    place: Place, stores: Stores
) -> None:
    manifest = stores.seed(faults=False)
    done = place.main("reconcile", *FULL, "-o", "json")
    assert done.status == 0, done.out
    assert done.document["items"] == []
    assert done.summary["missing"] == 0
    # Rows are kept for seven days, and Redis for one: most have no twin, and owe none.
    twins = sum(manifest.stores[name]["redis"].record_count for name in ("payments", "webhooks"))
    rows = sum(manifest.stores[name]["postgres"].record_count for name in ("payments", "webhooks"))
    assert done.summary["equal"] == done.summary["redis_scanned"] == twins < rows
    assert done.summary["postgres_scanned"] == rows


def test_every_planted_difference_is_found_and_no_other(place: Place, stores: Stores) -> None:
    manifest = stores.seed(faults=True)
    planted = {(one.code, one.store, one.side): one.count for one in manifest.faults}

    def planted_twins(*codes: str) -> int:
        return sum(planted[code, "payments", "redis"] for code in codes)

    done = place.main("reconcile", *FULL, "-o", "json")
    assert done.status == 3
    found = {
        name: done.summary[name]
        for name in ("missing", "stale", "divergent", "leaked", "ttl_differs", "malformed")
    }
    assert found == {
        "missing": planted_twins("missing"),
        "stale": planted_twins("stale"),
        "divergent": planted_twins("divergent"),
        "leaked": planted_twins("record-without-ttl"),
        "ttl_differs": planted_twins("ttl-beyond-policy", "ttl-unit-mix-up"),
        "malformed": planted_twins("malformed-record", "wrong-type"),
    }
    # Keys that are no text can have no row, and are kept like every orphan.
    orphans = planted_twins("orphan", "key-not-text")
    assert (done.summary["orphan"], done.summary["held"]) == (orphans, orphans)
    sample = {
        one.key for fault in manifest.faults if fault.code == "missing" for one in fault.sample
    }
    assert sample == {item["key"] for item in done.document["items"] if item["code"] == "missing"}


def test_looking_writes_nothing(place: Place, stores: Stores) -> None:
    stores.seed(faults=True)
    before = (digest(stores), stores.keys(), stores.writes())
    place.main("reconcile", *FULL)
    assert (digest(stores), stores.keys(), stores.writes()) == before


def test_after_a_flush_all_that_is_owed_is_there_again_and_ends_no_later_than_its_row(
    place: Place, stores: Stores
) -> None:
    stores.seed(faults=False)
    lost: dict[Any, Any] = {name: stores.client.get(name) for name in stores.names()}
    ends = {name: stores.client.pexpiretime(name) for name in lost}
    stores.client.flushdb()
    done = place.main(*APPLY, "--store", "payments", "--store", "webhooks")
    assert done.status == 0, done.out
    # The application looks into Postgres on a miss, as far as it says so.
    said = {
        one["store"]: (one["verdict"], bool(one["blind_window"])) for one in done.summary["stores"]
    }
    assert said == {"payments": ("flushed", False), "webhooks": ("flushed", True)}
    assert done.summary["applied"] == done.summary["missing"] > 0
    wanted = {name: value for name, value in lost.items() if name.startswith((b"idem:", b"seen:"))}
    for name, value in wanted.items():
        now: Any = stores.client.get(name)
        is_record = name.startswith(b"idem:")
        assert (msgspec.json.decode(now) if is_record else now) == (
            msgspec.json.decode(value) if is_record else value
        )
        until: Any = stores.client.pexpiretime(name)
        record = msgspec.json.decode(now) if is_record else {}
        if record.get("status") == "in_progress":
            # No longer than it takes until somebody else may try.
            assert 0 <= until - record["lease_until"] <= 1_000
        else:
            assert -1_000 <= until - ends[name] <= 0
    again = place.main("reconcile", *FULL, "-o", "json")
    assert (again.status, again.summary["missing"], again.document["items"]) == (0, 0, [])


def test_only_what_is_missing_is_written_and_bystanders_stay_as_they_are(
    place: Place, stores: Stores
) -> None:
    stores.seed(faults=True)
    before, rows = stores.keys(), digest(stores)
    done = place.main(*APPLY, "--store", "payments")
    after = stores.keys()
    assert done.status == 3
    assert done.summary["applied"] == done.summary["missing"] == len(after) - len(before)
    assert {name: after[name] for name in before} == before
    assert digest(stores) == rows


def test_a_row_that_somebody_holds_is_left_to_them(place: Place, stores: Stores) -> None:
    stores.seed(faults=False)
    [(key, scope)] = stores.sql(
        "SELECT idempotency_key, scope FROM processed_events WHERE status = 'completed'"
        " ORDER BY created_at DESC LIMIT 1"
    )
    stores.client.flushdb()
    with psycopg.connect(stores.dsn) as holder:
        holder.execute(
            "SELECT FROM processed_events WHERE idempotency_key = %s AND scope = %s FOR UPDATE",
            (key, scope),
        )
        done = place.main(*APPLY, "--store", "payments")
        assert done.summary["skipped_changed"] == 1
        assert done.status == 4
        name = f"idem:{scope}:{key}" if scope else f"idem:{key}"
        assert stores.client.get(name) is None
    assert place.main(*APPLY, "--store", "payments").status == 0


@pytest.mark.parametrize("apply", [[], ["--apply", "--yes"]], ids=["dry", "apply"])
def test_who_was_cut_off_before_the_comparison_knows_of_no_difference_and_says_so(
    place: Place, stores: Stores, apply: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stores.seed(faults=False)
    stores.client.flushall()

    def run_out_of_time(*_: Any) -> Never:
        raise Stopped(WhyStopped.DEADLINE)

    monkeypatch.setattr(reconcile, "gather", run_out_of_time)
    done = place.main("reconcile", *apply, "--store", "payments", "-o", "json")
    assert done.status == 4
    assert done.summary["why_stopped"] == "deadline"
    # What nobody looked at is unknown, and not zero.
    unknown = ("missing", "equal", "orphan", "unproven", "redis_scanned", "postgres_scanned")
    assert [done.summary[name] for name in unknown] == [None] * len(unknown)
    assert done.summary["applied"] == 0
    told = place.main("reconcile", *apply, "--store", "payments")
    assert "nothing was compared: run again" in told.out
    assert "no difference" not in told.out
    assert "nothing is left" not in told.out


def test_a_refill_that_was_cut_off_never_says_that_nothing_is_left(
    place: Place, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores.seed(faults=False)
    stores.client.flushall()
    monkeypatch.setattr(hold, "_FIRST_PAGES", 1)
    monkeypatch.setattr(hold, "_MOST_PAGES", 1)
    monkeypatch.setattr(reconcile, "compare", _never)
    walk = SweepTask.walk

    def until_the_first(self: SweepTask, *args: Any) -> Iterator[Swept]:
        _, run, _ = args
        for step in walk(self, *args):
            if step.filled:
                run.stop.ask(WhyStopped.DEADLINE)
            yield step

    monkeypatch.setattr(SweepTask, "walk", until_the_first)
    done = place.main("reconcile", "--apply", "--yes", "-o", "json", "--store", "payments")
    filled = done.summary["applied"]
    assert filled == len(stores.names()) > 0
    assert (done.status, done.summary["missing"]) == (4, None)
    stores.client.flushall()
    told = place.main("reconcile", "--apply", "--yes", "--store", "payments")
    assert "not everything was compared: run again to go on" in told.out
    assert "nothing is left" not in told.out


def _never(*_: Any, **__: Any) -> Never:
    raise AssertionError("nothing is compared after a refill that was cut off")


@pytest.mark.parametrize(
    ("order", "says"),
    [
        ("redis-first", "payments: the application writes Redis first"),
        ("unknown", "payments: the application may write Redis first"),
    ],
)
def test_without_a_promise_that_postgres_comes_first_nothing_is_written(
    place: Place, stores: Stores, order: str, says: str
) -> None:
    stores.seed(faults=False)
    stores.client.flushdb()
    place.configure(PAIRS.replace("postgres-first", order))
    done = place.main("reconcile", "--apply", "--yes", "--store", "payments")
    assert done.status == 5
    assert says in done.err
    assert "write_order" in done.err or "next requests" in done.err
    assert stores.client.dbsize() == 0


def test_without_a_terminal_it_asks_nobody_and_names_the_flag(place: Place, stores: Stores) -> None:
    stores.seed(faults=False, records=100)
    done = place.main("reconcile", "--apply", "--store", "payments")
    assert (done.status, done.out) == (2, "")
    assert "--yes" in done.err


def test_a_store_that_is_no_pair_cannot_be_reconciled(place: Place, stores: Stores) -> None:
    done = place.main("reconcile", "--store", "outbox")
    assert done.status == 78
    assert done.err.startswith("idemctl reconcile: outbox: not kept in both Postgres and Redis")


def test_a_second_reconcile_is_kept_away(place: Place, stores: Stores) -> None:
    stores.seed(faults=False, records=100)
    work = Workplace(config=None, stores=("payments",), environ=place.environ, folder=place.folder)
    (pair,) = work.pairs(Run(verb="reconcile"))
    other = pair.postgres.opens.open(writable=True)
    lock = other.lock("reconcile")
    try:
        done = place.main(*APPLY, "--store", "payments")
        assert done.status == 11
    finally:
        lock.release()
        other.close()


def test_a_store_that_is_down_is_named_and_no_password_is_shown(
    place: Place, stores: Stores
) -> None:
    stores.seed(faults=False, records=100)
    place.lead(REDIS_URL="redis://:canary-7f3@127.0.0.1:1/0")
    for words in (("reconcile",), ("reconcile", "--apply", "--yes", "--store", "payments")):
        done = place.main(*words)
        assert done.status == 10
        assert "redis idem:*: cannot reach Redis: connection refused" in done.err
        assert "nothing could be compared" in done.out
        assert "canary" not in done.out + done.err
    # Each pair that does not answer is named, not the first alone.
    said = place.main("reconcile", "-o", "json").document["errors"]
    assert [error["message"].partition(":*")[0] for error in said] == ["redis idem", "redis seen"]


def test_workers_come_to_the_same(place: Place, stores: Stores) -> None:
    stores.seed(faults=True)
    words = ("reconcile", *FULL, "-o", "json", "--store", "payments")
    whole = place.main(*words)
    shared = place.end(place.start(*words, "--workers", "2"), within=60)
    ignored = ("stores",)
    assert {k: v for k, v in shared.summary.items() if k not in ignored} == {
        k: v for k, v in whole.summary.items() if k not in ignored
    }

"""Streaming a table: every row once, nothing changed, memory bounded by the batch."""

from __future__ import annotations

import time
import tracemalloc
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from idemctl.domain.instants import FOREVER, LONG_PAST, MISSING
from idemctl.domain.records import Status
from idemctl.stores.answers import Shard
from idemctl.stores.postgres import rows as rows_module
from idemctl.stores.postgres import scan as scan_module
from idemctl.stores.postgres.connect import BatchFailed
from idemctl.stores.postgres.leaves import Leaf
from tests.stores.contract import looked
from tests.stores.postgres.tables import fill, make, names, open_table, promises, until
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from idemctl.domain.batch import Batch
    from tests.stores.postgres.tables import Session

EVENTS = "public.processed_events"


def seen(batches: Iterable[Batch]) -> Counter[bytes]:
    return Counter(key for batch in batches for key in batch.keys)


def scanned(dsn: str, table: str = EVENTS, layout: Any = LAYOUTS["reference"]) -> list[Batch]:
    with closing(open_table(dsn, table, layout, writable=False)) as store:
        return list(store.scan())


@pytest.mark.parametrize("count", [0, 1, 2, 3000])
def test_every_row_is_seen_once(database: str, application: Session, count: int) -> None:
    fill(application, expired=count, live=0)
    assert seen(scanned(database)) == Counter(name.encode() for name in names("expired", count))


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 100])
def test_shards_see_every_row_once_between_them(
    database: str, application: Session, shards: int
) -> None:
    fill(application, expired=1000, live=1000)
    with closing(open_table(database)) as store:
        total: Counter[bytes] = Counter()
        for index in range(shards):
            total += seen(store.scan(Shard(index, shards)))
    assert total == Counter(name.encode() for name in names("expired", 1000) | names("live", 1000))


@given(st.integers(0, 10**7), st.integers(1, 200))
def test_the_pages_of_all_shards_are_the_pages_of_the_table(pages: int, count: int) -> None:
    leaf = Leaf(schema="s", name="t", pages=pages, row_estimate=0, has_index=False)
    parts = sorted(
        (part.start, part.stop)
        for index in range(count)
        for part in leaf.pages_of(Shard(index, count))
    )
    assert [start for start, _ in parts] == [0, *(stop for _, stop in parts[:-1])][: len(parts)]
    assert (parts[-1][1] if parts else 0) == pages


@given(st.integers(0, 10**5), st.integers(0, 10**5), st.integers(2, 9))
def test_a_table_that_grows_between_two_measures_leaves_no_gap_between_shards(
    pages: int, more: int, count: int
) -> None:
    sizes = [pages + more * (index % 2) for index in range(count)]
    visited = set()
    for index, size in enumerate(sizes):
        leaf = Leaf(schema="s", name="t", pages=size, row_estimate=0, has_index=False)
        for part in leaf.pages_of(Shard(index, count)):
            visited |= {part.start // 512}
            assert part.stop - part.start == 512 or part.stop == size
    assert set(range(pages // 512)) <= visited


def test_dead_rows_and_empty_pages_are_not_seen(database: str, application: Session) -> None:
    fill(application, expired=2000, live=2000)
    application.execute(f"UPDATE {EVENTS} SET hit_count = 1 WHERE idempotency_key LIKE 'live%'")
    application.execute(f"DELETE FROM {EVENTS} WHERE idempotency_key LIKE 'expired%'")
    assert seen(scanned(database)) == Counter(name.encode() for name in names("live", 2000))


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.sets(
        st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=30), max_size=20
    )
)
def test_any_text_is_a_key_and_comes_back_exactly(
    database: str, application: Session, texts: set[str]
) -> None:
    application.execute(f"TRUNCATE {EVENTS}")
    with application.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {EVENTS} (idempotency_key, status, expires_at) VALUES (%s, 'x', now())",
            [(text,) for text in texts],
        )
    assert seen(scanned(database)) == Counter(text.encode() for text in texts)


def test_bytes_are_a_key_and_come_back_exactly(
    database: str, application: Session, schema: str
) -> None:
    application.execute(f"CREATE TABLE {schema}.b (idempotency_key bytea, created_at timestamptz)")
    written = [b"", b"\x00\xff", b"\\x41", bytes(range(256))]
    with application.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {schema}.b VALUES (%s, now())", [(one,) for one in written]
        )
    for output in ("hex", "escape"):
        dsn = f"{database}?options=-c%20bytea_output%3D{output}"
        assert seen(scanned(dsn, f"{schema}.b", LAYOUTS["bare"])) == Counter(written)


def test_every_column_of_the_layout_is_read(database: str, application: Session) -> None:
    application.execute(
        f"INSERT INTO {EVENTS} (idempotency_key, scope, endpoint, client, fingerprint, status,"
        " lease_until, fence, epoch, created_at, expires_at) VALUES ('k', 'tenant', 'POST /x',"
        " 'c', 'abc', 'in_progress', '2026-01-01 00:00:00.000001+00', 9223372036854775807, 7,"
        " '-infinity', 'infinity'), ('n', '', NULL, NULL, NULL, 'failed', NULL, -5, 0,"
        " '20000-01-01 00:00:00+00', NULL)"
    )
    (batch,) = scanned(database)
    record, other = batch.record(0), batch.record(1)
    assert (record.key, record.scope, record.endpoint) == (b"k", b"tenant", b"POST /x")
    assert (record.fingerprint, record.status) == (b"abc", Status.IN_PROGRESS)
    assert record.lease_until == datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC)
    assert (record.fence, record.epoch) == (2**63 - 1, 7)
    assert batch.counted_from.tolist() == [LONG_PAST, 568_971_820_800_000_000]
    assert batch.expires_at.tolist() == [FOREVER, MISSING]
    assert (other.endpoint, other.fingerprint, other.fence, other.epoch) == (None, None, -5, 0)
    assert batch.key_expires_at.tolist() == [MISSING, MISSING]
    assert min(batch.size) > 50


def test_a_large_body_is_counted_in_the_size_and_not_carried(
    database: str, application: Session
) -> None:
    fill(application, expired=1, live=0)
    application.execute(f"UPDATE {EVENTS} SET response_body = repeat('x', 1000)")
    (batch,) = scanned(database)
    assert batch.size[0] > 1000


def test_a_batch_is_bounded_by_its_pages_and_memory_by_the_batch(
    database: str, application: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_module, "_FIRST_PAGES", 2)
    monkeypatch.setattr(scan_module, "_MOST_PAGES", 8)

    def peak(count: int) -> tuple[int, int]:
        application.execute(f"TRUNCATE {EVENTS}")
        fill(application, expired=count, live=0)
        with closing(open_table(database)) as store:
            list(store.scan())
            tracemalloc.start()
            try:
                largest = max(len(batch) for batch in store.scan())
                return largest, tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    few, small = peak(3_000)
    many, large = peak(12_000)
    rows_in_a_page = 8192 // 64
    assert few <= many <= 8 * rows_in_a_page
    assert large < 1.5 * small


def test_a_scan_of_a_locked_table_cannot_judge_and_does_not_wait_long(
    database: str, application: Session, connection_to_database: Session
) -> None:
    fill(application)
    with closing(open_table(database)) as store:
        batches = store.scan()
        with connection_to_database.transaction():
            connection_to_database.execute(f"LOCK TABLE {EVENTS} IN ACCESS EXCLUSIVE MODE")
            began = time.monotonic()
            with pytest.raises(BatchFailed, match="locked by another session"):
                next(batches)
            assert time.monotonic() - began < 3


def test_a_range_that_takes_too_long_is_read_in_smaller_ones(
    database: str, application: Session, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A value that takes its time to be printed stands for a large one.
    application.execute(
        f"CREATE FUNCTION {schema}.slow(n int) RETURNS text LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_sleep(0.0006); RETURN n; END $$"
    )
    application.execute(
        f"CREATE TABLE {schema}.slow (n int, idempotency_key text GENERATED ALWAYS AS (n::text)"
        " STORED, created_at timestamptz DEFAULT now(), padding text)"
    )
    application.execute(
        f"INSERT INTO {schema}.slow (n, padding)"
        " SELECT n, repeat('x', 500) FROM generate_series(1, 100) n"
    )
    limits = scan_module.transaction.__wrapped__.__kwdefaults__  # type: ignore[attr-defined]  # `contextmanager` keeps the function it wraps.
    monkeypatch.setitem(limits, "statement_timeout", timedelta(milliseconds=40))
    monkeypatch.setattr(
        rows_module,
        "_text",
        lambda column: (
            psycopg.sql.SQL(f"convert_to({schema}.slow(n), 'UTF8')")
            if column == "idempotency_key"
            else psycopg.sql.SQL("''::bytea")
        ),
    )
    batches = scanned(database, f"{schema}.slow", LAYOUTS["bare"])
    assert len(batches) > 1
    assert sum(seen(batches).values()) == 100


# Nothing is changed.


def digest(session: Session) -> Any:
    return session.execute(
        f"SELECT md5(string_agg(e::text || ctid::text || xmin::text || xmax::text, ',' ORDER BY"
        f" ctid)), count(*) FROM {EVENTS} e"
    ).fetchone()


def written(session: Session, observer: Session) -> Any:
    """Read the counters of writes, once all sessions but these have given in theirs."""
    until(
        lambda: (
            not session.execute(
                "SELECT FROM pg_stat_activity WHERE datname = current_database()"
                " AND backend_type = 'client backend' AND pid <> ALL(%s)",
                [[session.info.backend_pid, observer.info.backend_pid]],
            ).rowcount
        ),
        "the store's sessions end",
    )
    session.execute("SELECT pg_stat_force_next_flush()")
    session.execute("SELECT pg_stat_clear_snapshot()")
    return session.execute(
        "SELECT tup_inserted, tup_updated, tup_deleted FROM pg_stat_database"
        " WHERE datname = current_database()"
    ).fetchone()


def next_transaction(session: Session) -> Any:
    found = session.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text").fetchone()
    assert found is not None
    return found[0]


def look(dsn: str, session: Session) -> None:
    with closing(open_table(dsn, writable=False)) as store:
        store.describe()
        assert seen(store.scan()).total() == 900
        looked(store.survey(promises(session)))
        assert store.oldest_expired(promises(session)) is not None
        lock = store.lock("gc")
        assert lock.is_held()
        lock.release()


def test_looking_writes_nothing(
    database: str, application: Session, connection_to_database: Session
) -> None:
    fill(application, expired=300, live=300, working=300)
    before = digest(application)
    counters = written(application, connection_to_database)
    look(database, application)
    assert digest(application) == before
    assert written(application, connection_to_database) == counters


def test_looking_takes_no_transaction_id(database: str, application: Session) -> None:
    fill(application, expired=300, live=300, working=300)
    # Autovacuum may take one at any moment, but not in each of several tries.
    taken = []
    for _ in range(5):
        before = next_transaction(application)
        look(database, application)
        taken.append(before != next_transaction(application))
        if not taken[-1]:
            break
    assert not all(taken)


def test_collecting_would_show_in_all_of_these(
    database: str, application: Session, connection_to_database: Session
) -> None:
    fill(application, expired=300, live=300, working=300)
    before, transaction = digest(application), next_transaction(application)
    counters = written(application, connection_to_database)
    with closing(open_table(database)) as store:
        list(store.collect(promises(application)))
    assert digest(application) != before
    assert next_transaction(application) != transaction
    after = written(application, connection_to_database)
    assert after[2] - counters[2] == 300


def test_a_table_that_grows_is_scanned_to_where_it_was(
    database: str, application: Session, schema: str
) -> None:
    table = f"{schema}.growing"
    make(application, table)
    fill(application, table, expired=500, live=0)
    with closing(open_table(database, table)) as store:
        batches = iter(store.scan())
        first = next(batches)
        fill(application, table, expired=0, live=5000)
        rest = seen(batches)
    standing = {name.encode() for name in names("expired", 500)}
    total = seen([first]) + rest
    assert {key: total[key] for key in standing} == dict.fromkeys(standing, 1)
    assert max(total.values()) == 1

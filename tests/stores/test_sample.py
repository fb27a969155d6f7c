"""A sample is a scan in another order: whole where it is read whole, from everywhere before."""

from __future__ import annotations

import itertools
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.domain.incident import Account
from idemctl.domain.secrets import Secret
from idemctl.errors import Unsupported
from idemctl.stores.postgres.table import PostgresTable
from tests.stores.worlds import LAYOUTS, MemoryWorld, PostgresWorld

if TYPE_CHECKING:
    import psycopg

    from idemctl.stores.memory import MemoryStore

ROWS = 20_000
FILL = (
    "INSERT INTO {} (idempotency_key, status, created_at, expires_at) SELECT lpad(n::text, 6, '0'),"
    " 'completed', now() - (20000 - n) * interval '1 second', now() + interval '1 day'"
    " FROM generate_series(1, 20000) n"
)
PARTITIONED = """\
CREATE SCHEMA parted;
CREATE TABLE parted.events (LIKE public.processed_events INCLUDING DEFAULTS)
    PARTITION BY RANGE (created_at);
CREATE TABLE parted.older PARTITION OF parted.events FOR VALUES FROM (MINVALUE) TO (now());
CREATE TABLE parted.empty PARTITION OF parted.events FOR VALUES FROM (now()) TO (MAXVALUE);
"""


def table(database: str, name: str) -> PostgresTable:
    return PostgresTable(
        dsn=Secret(database),
        table=name,
        layout=LAYOUTS["reference"],
        writable=False,
        application="idemctl test",
    )


@pytest.fixture
def partitioned(application: psycopg.Connection[Any]) -> Any:
    application.execute(PARTITIONED)
    yield application
    application.execute("DROP SCHEMA parted CASCADE")


def test_a_table_is_sampled_from_its_end_and_all_over(
    database: str, application: psycopg.Connection[Any]
) -> None:
    application.execute(FILL.format("public.processed_events").encode())
    with closing(table(database, "public.processed_events")) as store:
        whole = [list(map(int, batch.keys)) for batch in store.sample()]
        some = [key for keys in itertools.islice(whole, 12) for key in keys]

    assert Counter(key for keys in whole for key in keys) == Counter(range(1, ROWS + 1))
    assert max(whole[0]) == ROWS
    assert max(map(len, whole)) < ROWS / 20
    seen = sorted(some)
    gaps = [after - before for before, after in itertools.pairwise([0, *seen, ROWS])]
    assert max(gaps) < ROWS / 4


def test_all_partitions_are_sampled(database: str, partitioned: psycopg.Connection[Any]) -> None:
    partitioned.execute(FILL.format("parted.events").encode())
    partitioned.execute("INSERT INTO parted.empty SELECT * FROM parted.older LIMIT 0")
    with closing(table(database, "parted.events")) as store:
        seen = Counter(key for batch in store.sample() for key in batch.keys)
    assert len(seen) == ROWS
    assert set(seen.values()) == {1}


def test_an_empty_table_has_no_sample(database: str) -> None:
    with closing(table(database, "public.processed_events")) as store:
        assert list(store.sample()) == []


def test_memory_samples_in_that_order_too() -> None:
    world = MemoryWorld("bare")
    store: MemoryStore = world.open()
    store.rows = [{"idempotency_key": str(n), "created_at": store.clock()} for n in range(1_000)]
    batches = list(store.sample())
    assert Counter(int(key) for one in batches for key in one.keys) == Counter(range(1_000))
    order = [int(key) for one in batches for key in one.keys]
    assert order[0] == 999
    assert max(b - a for a, b in itertools.pairwise([0, *sorted(order[:100])])) < 50


def test_only_redis_has_an_account_of_its_own(
    database: str, application: psycopg.Connection[Any]
) -> None:
    with (
        closing(PostgresWorld("reference", database, application).open()) as store,
        pytest.raises(Unsupported, match="Postgres keeps no count of what was lost"),
    ):
        store.account()
    assert MemoryWorld("bare").open().account() == Account()

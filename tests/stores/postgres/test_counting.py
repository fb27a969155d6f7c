"""Counting what would go: exactly, and no further than it takes."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.stores.contract import looked
from tests.stores.postgres.tables import fill, make, open_table, promises

if TYPE_CHECKING:
    from tests.stores.postgres.tables import Session

EVENTS = "public.processed_events"


def rows_read(session: Session, act: Session, table: str) -> int:
    """What the server counts of a session's reads, once that is told."""
    with act.transaction():
        act.execute("SELECT pg_stat_force_next_flush()")
    session.execute("SELECT pg_stat_clear_snapshot()")
    query = (
        "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables"
        f" WHERE relid = '{table}'::regclass"
    )
    ((count,),) = session.execute(query.encode()).fetchall()
    return int(count)


@pytest.mark.parametrize("indexed", [True, False])
def test_counting_reads_no_more_rows_than_it_takes_to_know_that_it_is_too_much(
    database: str, application: Session, schema: str, indexed: bool
) -> None:
    table = f"{schema}.events"
    make(application, table)
    fill(application, table, expired=20_000, live=1_000)
    application.execute(f"ANALYZE {table}")
    if not indexed:
        application.execute(f"DROP INDEX {schema}.events_expires_at_idx")
    with closing(open_table(database, table)) as store:
        retention = promises(application)
        before = rows_read(application, store._connection, table)
        total = sum(chunk.candidates for chunk in store.count_expired(retention, 100))
        read = rows_read(application, store._connection, table) - before
        assert total == 101
        # In the heap, live rows lie between.
        assert 101 <= read <= 250
        # The control: a count of all reads them all.
        before = rows_read(application, store._connection, table)
        assert looked(store.survey(retention)).candidates == 20_000
        assert rows_read(application, store._connection, table) - before >= 21_000


@pytest.mark.parametrize("indexed", [True, False])
def test_what_is_not_too_much_is_counted_exactly(
    database: str, application: Session, schema: str, indexed: bool
) -> None:
    table = f"{schema}.events"
    make(application, table)
    fill(application, table, expired=3_000, live=100)
    if not indexed:
        application.execute(f"DROP INDEX {schema}.events_expires_at_idx")
    with closing(open_table(database, table)) as store:
        for at_most, counted in ((2_999, 3_000), (3_000, 3_000), (5_000, 3_000)):
            chunks = store.count_expired(promises(application), at_most)
            assert sum(chunk.candidates for chunk in chunks) == counted

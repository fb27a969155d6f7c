"""Rows to be held, who wants to change them meanwhile, and what they look like afterwards."""

from __future__ import annotations

from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import psycopg

from idemctl.layouts.transcript import transcript
from tests.stores.postgres.tables import open_table
from tests.stores.worlds import CATALOGUE, LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from idemctl.layouts.model import PostgresLayout
    from idemctl.layouts.transcript import Transcript
    from idemctl.stores.answers import Held
    from tests.stores.postgres.tables import Session

EVENTS = "public.processed_events"
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def reference() -> Transcript:
    """How the application's twins are written."""
    postgres, redis = CATALOGUE["reference"].postgres, CATALOGUE["reference"].redis
    assert postgres is not None
    assert redis is not None
    return transcript(postgres, redis)


@contextmanager
def holding(
    dsn: str,
    *,
    table: str = EVENTS,
    layout: PostgresLayout = LAYOUTS["reference"],
    written_after: datetime = LONG_AGO,
    twins: Transcript | None = None,
) -> Iterator[Generator[Held | None]]:
    """Open a table for writing, about to hold its rows."""
    twins = reference() if twins is None else twins
    with closing(open_table(dsn, table, layout)) as store:
        held = store.hold(twins, written_after=written_after)
        with closing(held):
            yield held


def steps(held: Generator[Held | None]) -> Iterator[Held]:
    """Go on from one step that holds rows to the next; in between they were free."""
    for step in held:
        if step is not None:
            yield step
            assert next(held) is None


def first(held: Generator[Held | None]) -> Held:
    """Hold the rows of the first step."""
    step = next(held)
    assert step is not None
    return step


def is_free(other: Session, statement: str) -> bool:
    """Try a statement of another session, and take it back; whether no lock was in its way."""
    try:
        with other.transaction(force_rollback=True):
            other.execute("SET LOCAL lock_timeout = '20ms'")
            other.execute(statement.encode())
    except psycopg.errors.LockNotAvailable:
        return False
    return True


def locked_keys(other: Session, table: str = EVENTS) -> set[str]:
    """Give the keys of the rows that another session could not change now."""
    every = {row[0] for row in other.execute(f"SELECT idempotency_key FROM {table}")}
    free = other.execute(
        f"SELECT idempotency_key FROM {table} FOR NO KEY UPDATE SKIP LOCKED"
    ).fetchall()
    return every - {row[0] for row in free}


def digest(session: Session, table: str = EVENTS) -> Any:
    """Sum up all rows, where they lie and which version of each is there."""
    found = session.execute(
        "SELECT md5(string_agg(concat_ws('|', tableoid, ctid, xmin, t::text), E'\\n'"
        f" ORDER BY tableoid, ctid)), count(*) FROM {table} t"
    ).fetchone()
    assert found is not None
    return found


def held_keys(held: Held) -> set[str]:
    return {key.decode() for key in held.batch.keys}

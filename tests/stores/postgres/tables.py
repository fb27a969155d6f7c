"""Tables of `processed_events`'s form, gc in a thread, and SQL with a planted bug."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from idemctl.domain.retention import Retention
from idemctl.domain.secrets import Secret
from idemctl.stores.answers import WHOLE
from idemctl.stores.postgres import queries
from idemctl.stores.postgres.collect import Collector
from idemctl.stores.postgres.connect import connect
from idemctl.stores.postgres.leaves import find_leaves, find_table
from idemctl.stores.postgres.table import PostgresTable
from tests.stores.contract import added
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from idemctl.domain.collection import Collection
    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.postgres.leaves import Leaf

Session = psycopg.Connection[Any]
REFERENCE = LAYOUTS["reference"]
GC = "gc under test"
_DEADLINE = 20.0
LONG = timedelta(seconds=_DEADLINE)


def make(session: Session, table: str, clause: str = "") -> None:
    """Make a table of the reference form, with its index."""
    session.execute(f"CREATE TABLE {table} (LIKE public.processed_events INCLUDING ALL) {clause}")


def fill(
    session: Session,
    table: str = "public.processed_events",
    *,
    expired: int = 40,
    live: int = 40,
    working: int = 0,
    expires: str = "now() - interval '1 day' - n * interval '1 second'",
    columns: str = "",
    values: str = "",
) -> None:
    """Insert records; live ones and expired ones take turns in the heap."""
    session.execute(
        f"INSERT INTO {table} (idempotency_key, status, expires_at{columns})"
        f" SELECT key, status, at{values} FROM ("
        f"  SELECT n, 'expired-' || n AS key, 'completed' AS status, {expires} AS at"
        f"    FROM generate_series(0, {expired - 1}) n UNION ALL"
        f"  SELECT n, 'live-' || n, 'completed', now() + interval '1 day'"
        f"    FROM generate_series(0, {live - 1}) n UNION ALL"
        f"  SELECT n, 'working-' || n, 'in_progress', {expires}"
        f"    FROM generate_series(0, {working - 1}) n"
        f" ) AS planted ORDER BY n, key"
    )


def keys(session: Session, table: str = "public.processed_events") -> set[str]:
    found = session.execute(f"SELECT idempotency_key FROM {table}")
    return {row[0] for row in found}


def names(prefix: str, count: int) -> set[str]:
    return {f"{prefix}-{number}" for number in range(count)}


def promises(
    session: Session,
    *,
    stored: bool = True,
    ttl: timedelta | None = None,
    policies: Mapping[str, timedelta] | None = None,
) -> Retention:
    row = session.execute("SELECT clock_timestamp()").fetchone()
    assert row is not None
    return Retention(
        cutoff=row[0],
        has_stored_expiry=stored,
        ttl=ttl,
        policy_ttls={name.encode(): one for name, one in (policies or {}).items()},
    )


def open_table(
    dsn: str,
    table: str = "public.processed_events",
    layout: PostgresLayout = REFERENCE,
    *,
    writable: bool = True,
    application: str = GC,
) -> PostgresTable:
    return PostgresTable(
        dsn=Secret(dsn), table=table, layout=layout, writable=writable, application=application
    )


@contextmanager
def opened(
    dsn: str,
    table: str = "public.processed_events",
    layout: PostgresLayout = REFERENCE,
    *,
    patience: timedelta | None = None,
) -> Iterator[tuple[Collector, list[Leaf]]]:
    """Open a collector past the store, with the patience that a test needs."""
    with connect(Secret(dsn), place=table, application=GC, writable=True) as connection:
        oid = find_table(connection, table, table).oid
        leaves = find_leaves(connection, oid, str(layout.expiry_column), table)
        chosen: dict[str, Any] = {} if patience is None else {"lock_patience": patience}
        yield Collector(connection, layout, table, **chosen), leaves


def collect(
    dsn: str,
    retention: Retention,
    table: str = "public.processed_events",
    layout: PostgresLayout = REFERENCE,
    *,
    patience: timedelta | None = None,
) -> Collection:
    """Collect all of a table; the sum accounts for every candidate."""
    with opened(dsn, table, layout, patience=patience) as (collector, leaves):
        return added(collector.collect(leaves, retention, WHOLE))


class InBackground:
    """Something that works in a thread, on a connection named `GC`, and will be held up."""

    def __init__(self, work: Callable[[], Any], observer: Session) -> None:
        self._work = work
        self._observer = observer
        self._result: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:  # noqa: BLE001 (handed to the test's own thread)
            self._error = error

    def wait_until_blocked(self) -> None:
        """Wait until the server says that it waits for a lock."""
        until(
            lambda: waits_for_a_lock(self._observer) or not self._thread.is_alive(),
            "gc waits for a lock",
        )
        assert self._thread.is_alive(), f"gc did not wait: {self._error or self._result}"

    def finish(self) -> Any:
        self._thread.join(_DEADLINE)
        assert not self._thread.is_alive(), "gc did not come to its end"
        if self._error is not None:
            raise self._error
        return self._result


def waits_for_a_lock(observer: Session) -> bool:
    return bool(
        observer.execute(
            "SELECT FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'",
            [GC],
        ).rowcount
    )


def until(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + _DEADLINE
    while not holds():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.002)


@contextmanager
def mutated(*changes: tuple[str, str, str]) -> Iterator[None]:
    """Change blocks of SQL: in each block, one text into another."""
    blocks = dict(queries._blocks())
    for block, old, new in changes:
        assert old in blocks[block], f"{block} has no {old}"
        blocks[block] = blocks[block].replace(old, new)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queries, "_blocks", lambda: blocks)
        yield


def walk_by(patch: pytest.MonkeyPatch, walk: str) -> None:
    """Force one of both walks."""
    patch.setattr(Collector, "_prefers_heap", lambda *_: walk == "heap")

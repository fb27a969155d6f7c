"""A look-up goes by the index, in short transactions, and leaves the connection free."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from psycopg import sql
from psycopg.pq import TransactionStatus

from idemctl.domain.secrets import Secret
from idemctl.stores.postgres.connect import BatchFailed, connect, transaction
from idemctl.stores.postgres.leaves import find_table
from idemctl.stores.postgres.look_up import Identity
from idemctl.stores.postgres.queries import query
from idemctl.stores.postgres.rows import fields
from tests.stores.postgres.tables import fill, make, open_table
from tests.stores.postgres.test_look_up import BARE, EVENTS, plain
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.answers import Wanted
    from tests.stores.postgres.tables import Session


def plan(
    dsn: str, table: str, layout: PostgresLayout, wanted: Wanted, *, settings_too: bool = True
) -> str:
    """Ask how the statement would be run, in a transaction with the same settings."""
    with connect(Secret(dsn), place="p", application="a", writable=False) as connection:
        found = find_table(connection, table, "p")
        identity = Identity(connection, found, layout, "p")
        statement = query(
            "look_up",
            fields=fields(layout),
            arrays=identity.asked(wanted)[0],
            table=found.identifier,
            matches=identity.matches(),
        )
        with transaction(connection, place="p") as cursor:
            if settings_too:
                cursor.execute(query("by_index"))
            lines = cursor.execute(sql.SQL("EXPLAIN ") + statement).fetchall()
    return "\n".join(line for (line,) in lines)


@pytest.mark.parametrize("analyzed", [False, True])
@pytest.mark.parametrize("count", [1, 1000])
def test_a_look_up_goes_by_the_index(
    database: str, application: Session, schema: str, count: int, *, analyzed: bool
) -> None:
    table, bytea = f"{schema}.events", f"{schema}.bytes"
    make(application, table)
    fill(application, table, expired=0, live=2000)
    application.execute(
        f"CREATE TABLE {bytea} (idempotency_key bytea UNIQUE, created_at timestamptz);"
        f"INSERT INTO {bytea} SELECT idempotency_key::bytea, now() FROM {table}"
    )
    if analyzed:
        application.execute(f"ANALYZE {table}, {bytea}")
    wanted = plain([b"live-%d" % number for number in range(count)])
    for name, layout in ((table, LAYOUTS["reference"]), (bytea, BARE)):
        chosen = plan(database, name, layout, wanted)
        assert "Index Scan" in chosen
        assert "Seq Scan" not in chosen


def test_left_to_itself_the_planner_would_read_the_table(
    database: str, application: Session, schema: str
) -> None:
    make(application, f"{schema}.events")
    fill(application, f"{schema}.events", expired=0, live=2000)
    wanted = plain([b"live-%d" % number for number in range(1000)])
    chosen = plan(database, f"{schema}.events", LAYOUTS["reference"], wanted, settings_too=False)
    assert "Seq Scan" in chosen


def test_the_settings_end_with_the_look_up(database: str, application: Session) -> None:
    fill(application, expired=0, live=1)
    with closing(open_table(database, writable=False)) as store:
        list(store.look_up([plain([b"live-0"])]))
        shown = store._connection.execute("SHOW enable_seqscan").fetchone()
    assert shown == ("on",)


def test_a_look_up_may_be_left_and_leaves_the_connection_free(
    database: str, application: Session
) -> None:
    fill(application, expired=0, live=2)

    def endless() -> Iterator[Wanted]:
        while True:
            yield plain([b"live-1"])

    with closing(open_table(database, writable=False)) as store:
        answers = store.look_up(endless())
        assert next(answers).batch.keys[0] == b"live-1"
        # Between two answers nothing is open that could hold a snapshot.
        assert store._connection.info.transaction_status is TransactionStatus.IDLE
        assert store.clock().tzinfo is not None
        assert next(answers).at.tolist() == [0]
        answers.close()  # type: ignore[attr-defined]  # It is a generator.
        assert sum(map(len, store.scan())) == 2


def test_a_request_that_fails_leaves_the_connection_free(
    database: str, application: Session, connection_to_database: Session
) -> None:
    fill(application, expired=0, live=2)

    def failing() -> Iterator[Wanted]:
        yield plain([b"live-0"])
        raise ZeroDivisionError

    with closing(open_table(database, writable=False)) as store:
        answers = store.look_up(failing())
        next(answers)
        with pytest.raises(ZeroDivisionError):
            next(answers)
        with connection_to_database.transaction():
            connection_to_database.execute(f"LOCK TABLE {EVENTS}")
            with pytest.raises(BatchFailed, match="locked by another session"):
                list(store.look_up([plain([b"live-0"])]))
        (found,) = store.look_up([plain([b"live-0"])])
    assert found.at.tolist() == [0]

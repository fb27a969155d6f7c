"""One run at a time, across hosts: the lock lives as long as its session."""

from __future__ import annotations

import os
import re
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from idemctl.errors import Locked, Refused
from idemctl.stores.postgres.queries import query
from tests.stores.postgres.tables import make, open_table, until

if TYPE_CHECKING:
    from idemctl.stores.postgres.lock import AdvisoryLock
    from tests.stores.postgres.tables import Session

HOLDER = "idemctl gc 2026-11-29T18-00-00"


def holders(session: Session) -> list[int]:
    found = session.execute(
        "SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
        " WHERE locktype = 'advisory' AND d.datname = current_database()"
    )
    return [row[0] for row in found]


@pytest.fixture(autouse=True)
def nobody_holds(application: Session) -> None:
    """Wait for the sessions of the test before."""
    until(lambda: not holders(application), "nobody holds a lock")


def held(lock: Any) -> bool:
    assert isinstance(lock.is_held(), bool)
    return bool(lock.is_held())


def test_a_second_lock_is_refused_and_names_who_holds_it(
    database: str, application: Session
) -> None:
    with (
        closing(open_table(database, application=HOLDER)) as one,
        closing(open_table(database)) as two,
    ):
        lock = one.lock("gc")
        (pid,) = holders(application)
        with pytest.raises(Locked) as refusal:
            two.lock("gc")
        assert re.fullmatch(
            rf"postgres public\.processed_events: another gc is at work here: {HOLDER},"
            rf" backend {pid}, since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC",
            refusal.value.message,
        )
        assert refusal.value.hint == "wait for it, or stop it with SIGTERM"
        assert held(lock)
        lock.release()
        until(lambda: not holders(application), "the session of the lock ends")
        two.lock("gc").release()


def test_a_refused_lock_leaves_no_session_behind(database: str, application: Session) -> None:
    with closing(open_table(database)) as one, closing(open_table(database)) as two:
        lock = one.lock("gc")
        for _ in range(3):
            with pytest.raises(Locked):
                two.lock("gc")
        until(
            lambda: (
                application.execute(
                    "SELECT FROM pg_stat_activity WHERE datname = current_database()"
                    " AND application_name LIKE 'gc%'"
                ).rowcount
                == 3
            ),
            "only the lock's session and one of each store is left",
        )
        lock.release()


@pytest.mark.parametrize("end", ["killed", "closed"])
def test_a_lock_whose_session_ends_is_lost_for_good(
    database: str, application: Session, superuser: Session, end: str
) -> None:
    with closing(open_table(database)) as one, closing(open_table(database)) as two:
        lock: AdvisoryLock = one.lock("gc")  # type: ignore[assignment]  # Looked into below.
        (pid,) = holders(application)
        if end == "killed":
            superuser.execute("SELECT pg_terminate_backend(%s)", [pid])
        else:
            lock._connection.close()
        until(lambda: not holders(application), "the session ends")
        assert not held(lock)
        other = two.lock("gc")
        assert not held(lock)
        assert held(other)
        lock.release()
        assert held(other)
        other.release()
        assert not held(lock)


def test_another_purpose_and_another_table_are_free(
    database: str, application: Session, schema: str
) -> None:
    make(application, f"{schema}.events")
    with (
        closing(open_table(database)) as here,
        closing(open_table(database, f"{schema}.events")) as there,
    ):
        locks = [here.lock("gc"), here.lock("reconcile"), there.lock("gc")]
        assert all(held(lock) for lock in locks)
        assert len(holders(application)) == 3
        for lock in locks:
            lock.release()


def test_a_table_is_the_same_however_it_is_named(database: str, application: Session) -> None:
    with (
        closing(open_table(database, "processed_events")) as one,
        closing(open_table(database, 'PUBLIC."processed_events"')) as two,
    ):
        lock = one.lock("gc")
        with pytest.raises(Locked):
            two.lock("gc")
        lock.release()


def test_the_lock_outlives_the_work_s_connection_and_needs_no_right_to_write(
    database: str, application: Session
) -> None:
    store = open_table(database, writable=False)
    lock = store.lock("gc")
    store.close()
    assert held(lock)
    assert len(holders(application)) == 1
    lock.release()


def test_a_holder_in_another_database_is_not_named(
    dsn: str, connection: Session, admin: Session
) -> None:
    connection.execute("CREATE TABLE public.processed_events (idempotency_key text)")
    connection.close()
    twin = f"twin_{os.getpid()}"
    original = urlsplit(dsn).path.removeprefix("/")
    admin.execute(
        sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER idemctl").format(
            sql.Identifier(twin), sql.Identifier(original)
        )
    )
    try:
        twin_dsn = dsn.replace(original, twin)
        with (
            closing(open_table(dsn, application="here")) as here,
            closing(open_table(twin_dsn, application="elsewhere")) as there,
            psycopg.connect(dsn, autocommit=True) as observer,
        ):
            locks = [there.lock("gc"), here.lock("gc")]
            assert len(holders(observer)) == 1
            with (
                closing(open_table(dsn)) as third,
                pytest.raises(Locked, match="at work here: here,"),
            ):
                third.lock("gc")
            for lock in locks:
                lock.release()
    finally:
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(twin)))


def test_a_pooler_in_between_is_refused(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A pooler shows in that the server's process is not the one that greeted the client.
    real = query

    def as_behind_a_pooler(name: str, **slots: Any) -> Any:
        statement = real(name, **slots)
        if name == "server":
            return sql.SQL("SELECT s.*, -1 FROM ({}) AS s").format(statement)
        return statement

    monkeypatch.setattr("idemctl.stores.postgres.lock.query", as_behind_a_pooler)
    with closing(open_table(database)) as store:
        with pytest.raises(
            Refused, match="through a connection pooler is not dependable"
        ) as refusal:
            store.lock("gc")
        assert "direct_dsn_env" in str(refusal.value.hint)

"""Connections: what can go wrong, said in one line, and never with a password."""

from __future__ import annotations

import socket
import threading
import traceback
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from idemctl.domain.secrets import Secret
from idemctl.errors import ConfigError, Denied, IdemctlError, Unreachable
from idemctl.layouts.instants import At
from idemctl.layouts.sides import Statuses
from idemctl.stores.postgres.connect import BatchFailed, connect, transaction, translated
from tests.stores.postgres.conftest import CANARY
from tests.stores.postgres.tables import open_table, until
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.stores.postgres.conftest import Stranger
    from tests.stores.postgres.tables import Session

QUOTED = quote(CANARY, safe="")
PIECES = {CANARY, QUOTED, "p@ss", "w:rd", "$(x)", "p%40ss"}


def refused(dsn: str, *, writable: bool = False) -> IdemctlError:
    with pytest.raises(IdemctlError) as refusal:
        connect(Secret(dsn), place="postgres t", application="a", writable=writable).close()
    return refusal.value


def assert_harmless(error: BaseException) -> None:
    """Look for the password wherever a message, a log or a traceback would show it."""
    assert isinstance(error, IdemctlError)
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
    shown = [
        str(error),
        repr(error),
        error.message,
        str(error.hint),
        repr(error.args),
        "".join(traceback.format_exception_only(error)),
    ]
    for text in shown:
        for piece in PIECES:
            assert piece not in text
    printed = "".join(traceback.format_exception(error, chain=True))
    assert "During handling" not in printed
    assert "\n" not in error.message
    assert "\n" not in str(error.hint)
    assert error.message.startswith("postgres ")
    assert error.hint


@pytest.fixture
def nobody_listens() -> Iterator[int]:
    """A port that is taken, so that nobody else can listen there, and where nobody does."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_a_server_that_is_down_is_unreachable(nobody_listens: int) -> None:
    error = refused(f"postgresql://u:{QUOTED}@127.0.0.1:{nobody_listens}/db")
    assert isinstance(error, Unreachable)
    assert error.message == "postgres t: cannot reach Postgres: connection refused"
    assert_harmless(error)


def test_a_server_that_does_not_answer_is_unreachable_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("idemctl.stores.postgres.connect._CONNECT_TIMEOUT_SECONDS", 2)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        error = refused(f"postgresql://u:{QUOTED}@127.0.0.1:{mute.getsockname()[1]}/db")
    assert isinstance(error, Unreachable)
    assert error.message == "postgres t: cannot reach Postgres: no answer in time"
    assert_harmless(error)


def test_something_else_than_postgres_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(5)
        port = other.getsockname()[1]

        def answer() -> None:
            client, _ = other.accept()
            with client:
                client.recv(1000)
                client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        error = refused(f"postgresql://u:{QUOTED}@127.0.0.1:{port}/db?sslmode=disable")
        thread.join()
    assert isinstance(error, Unreachable)
    assert_harmless(error)


def test_a_socket_that_is_not_there_is_unreachable() -> None:
    error = refused(f"postgresql://u:{QUOTED}@/db?host=/nowhere")
    assert isinstance(error, Unreachable)
    assert error.message.endswith("no server listens on that socket")
    assert_harmless(error)


def test_a_host_that_is_not_there_is_unreachable() -> None:
    error = refused(f"postgresql://u:{QUOTED}@no-such-host.invalid/db")
    assert isinstance(error, Unreachable)
    assert error.message.endswith("the host name is unknown")
    assert_harmless(error)


def test_a_wrong_password_is_denied(database: str) -> None:
    place = conninfo_to_dict(database)
    error = refused(
        f"postgresql://idemctl:{QUOTED}@{place['host']}:{place['port']}/{place['dbname']}"
    )
    assert isinstance(error, Denied)
    assert error.message == "postgres t: Postgres refused these credentials"
    assert_harmless(error)


def test_no_password_and_an_unknown_role_are_denied_alike(database: str) -> None:
    place = conninfo_to_dict(database)
    address = f"{place['host']}:{place['port']}/{place['dbname']}"
    for user in ("idemctl", f"nobody:{QUOTED}"):
        error = refused(f"postgresql://{user}@{address}")
        assert isinstance(error, Denied)
        assert_harmless(error)


def test_a_missing_database_is_a_wrong_configuration(stranger: Stranger) -> None:
    error = refused(stranger.dsn.rpartition("/")[0] + "/no_such_database")
    assert isinstance(error, ConfigError)
    assert error.message == ("postgres t: the database in the connection string does not exist")
    assert_harmless(error)


def test_a_right_password_full_of_special_characters_connects(stranger: Stranger) -> None:
    for dsn in (stranger.dsn, make_conninfo(stranger.dsn, connect_timeout=5)):
        with connect(Secret(dsn), place="t", application="a", writable=False) as connection:
            assert connection.info.user == stranger.name


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://u:{}@127.0.0.1:port/db",
        "postgresql://u:{}@127.0.0.1:99999/db",
        "postgresql://u:{}@[::1/db",
        "postgresql://u:{}%zz@127.0.0.1/db",
        "postgresql://u:{}@127.0.0.1/db?password2=x",
        "postgresql://u:{}@127.0.0.1/db?sslmode=never",
        "postgresql://u:{}@127.0.0.1,127.0.0.2:1,2,3/db",
        "host=127.0.0.1 password='{}",
        "host=127.0.0.1 password={} with spaces",
        "host=a,b port=1,2,3 password='{}'",
        "service=none password='{}'",
        "password={}",
        "{}",
        "postgresql://u:{}\udcff@127.0.0.1/db",
    ],
)
@pytest.mark.parametrize("password", [QUOTED, "p@ss w:rd'"], ids=["quoted", "raw"])
def test_a_malformed_string_is_told_without_its_password(dsn: str, password: str) -> None:
    error = refused(dsn.replace("{}", password))
    # A stray @ or : can make a string of another meaning; then nobody is there.
    assert isinstance(error, ConfigError | Unreachable)
    if password == QUOTED and dsn != "password={}":
        assert isinstance(error, ConfigError)
    assert_harmless(error)


def test_a_missing_table_is_a_wrong_configuration(database: str) -> None:
    for table in ("public.nothing", "nowhere.processed_events", "Processed_Events_2", "a.b.c.d"):
        with (
            closing(open_table(database, table)) as store,
            pytest.raises(ConfigError) as refusal,
        ):
            list(store.scan())
        assert table in refusal.value.message or "improper" in refusal.value.message
        assert_harmless(refusal.value)


@pytest.mark.parametrize("part", ["key", "expires", "counted_from", "endpoint", "status"])
def test_a_missing_column_is_a_wrong_configuration(
    database: str, application: Session, part: str
) -> None:
    layout = LAYOUTS["reference"]
    missing = {"field": "no_such_column", "is": "completed"}
    if part == "status":
        statuses = Statuses.model_validate({"completed": missing})
        layout = layout.model_copy(update={"status": statuses})
    else:
        is_instant = part in {"expires", "counted_from"}
        where = At(field="no_such_column") if is_instant else "no_such_column"
        layout = layout.model_copy(update={part: where})
    application.execute(
        "INSERT INTO processed_events (idempotency_key, status, expires_at)"
        " VALUES ('k', 'x', now())"
    )
    with (
        closing(open_table(database, layout=layout)) as store,
        pytest.raises(ConfigError, match="no_such_column") as refusal,
    ):
        list(store.scan())
    assert refusal.value.message == (
        'postgres public.processed_events: column "no_such_column" does not exist'
    )
    assert_harmless(refusal.value)


def test_a_column_of_another_type_is_a_wrong_configuration(
    database: str, application: Session, schema: str
) -> None:
    application.execute(f"CREATE TABLE {schema}.t (idempotency_key text, created_at text)")
    application.execute(f"INSERT INTO {schema}.t VALUES ('k', 'yesterday, I think')")
    with (
        closing(open_table(database, f"{schema}.t", LAYOUTS["bare"])) as store,
        pytest.raises(ConfigError) as refusal,
    ):
        list(store.scan())
    assert_harmless(refusal.value)


def test_a_server_that_ends_the_session_is_unreachable(
    database: str, application: Session, superuser: Session
) -> None:
    with closing(open_table(database)) as store:
        store.clock()
        superuser.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ="
            " 'gc under test'"
        )
        for _ in range(2):
            with pytest.raises(Unreachable) as refusal:
                store.clock()
            assert_harmless(refusal.value)


def test_a_secret_in_a_store_is_not_in_its_repr(stranger: Stranger) -> None:
    store = open_table(stranger.dsn)
    for piece in PIECES:
        assert piece not in repr(vars(store))


# Transactions.


def settings(session: Session) -> dict[str, str]:
    names = ("statement_timeout", "lock_timeout", "synchronous_commit", "TimeZone",
             "transaction_read_only", "transaction_isolation")  # fmt: skip
    return {
        name: session.execute("SELECT current_setting(%s)", [name]).fetchone()[0]  # type: ignore[index]  # Every setting has a row.
        for name in names
    }


def test_a_transaction_has_its_limits_and_leaves_none_behind(database: str) -> None:
    with connect(Secret(database), place="t", application="a", writable=False) as connection:
        for _ in range(2):
            with transaction(connection, place="t"):
                assert settings(connection) == {
                    "statement_timeout": "1s",
                    "lock_timeout": "100ms",
                    "synchronous_commit": "on",
                    "TimeZone": "UTC",
                    "transaction_read_only": "on",
                    "transaction_isolation": "read committed",
                }
        after = settings(connection)
        connection.rollback()
        assert (after["statement_timeout"], after["lock_timeout"]) == ("0", "0")


@pytest.mark.parametrize(
    "default",
    ["default_transaction_read_only=on", "default_transaction_isolation=serializable",
     "statement_timeout=1h", "lock_timeout=1h"],
)  # fmt: skip
def test_no_default_of_a_role_changes_what_a_transaction_may(database: str, default: str) -> None:
    dsn = f"{database}?options=-c%20{quote(default)}"
    with connect(Secret(dsn), place="t", application="a", writable=True) as connection:
        with transaction(connection, place="t"):
            found = settings(connection)
        assert found["transaction_read_only"] == "off"
        assert found["transaction_isolation"] == "read committed"
        assert (found["statement_timeout"], found["lock_timeout"]) == ("1s", "100ms")


def test_statements_are_never_prepared(database: str) -> None:
    with connect(Secret(database), place="t", application="a", writable=False) as connection:
        assert connection.prepare_threshold is None


def test_a_statement_that_takes_too_long_is_a_failed_batch(database: str) -> None:
    with connect(Secret(database), place="postgres t", application="a", writable=False) as one:
        with (
            pytest.raises(BatchFailed) as failure,
            transaction(
                one, place="postgres t", statement_timeout=timedelta(milliseconds=20)
            ) as cursor,
        ):
            cursor.execute("SELECT pg_sleep(5)")
        assert not failure.value.met_lock
        assert failure.value.message == "postgres t: a statement reached its time limit"
        with transaction(one, place="postgres t") as cursor:
            assert cursor.execute("SELECT 1").fetchone() == (1,)


def test_an_error_rolls_back_what_was_done_before_it(database: str, application: Session) -> None:
    with connect(Secret(database), place="postgres t", application="a", writable=True) as one:
        two = "INSERT INTO seen_events VALUES ('k'); SELECT no_such_column FROM seen_events"
        with pytest.raises(ConfigError), transaction(one, place="postgres t") as cursor:
            cursor.execute(two)
        found = application.execute("SELECT count(*) FROM seen_events").fetchone()
    assert found == (0,)


@pytest.mark.parametrize(
    ("state", "kind", "met_lock"),
    [
        ("55P03", BatchFailed, True),
        ("40P01", BatchFailed, True),
        ("40001", BatchFailed, True),
        ("57014", BatchFailed, False),
        ("23503", BatchFailed, False),
        ("P0001", BatchFailed, False),
        ("42501", BatchFailed, False),
        ("22003", BatchFailed, False),
        ("45000", BatchFailed, False),
        ("57P01", Unreachable, None),
        ("53300", Unreachable, None),
        ("XX000", Unreachable, None),
    ],
)
def test_what_a_function_in_the_server_raises_becomes_an_error_of_ours(
    database: str, application: Session, state: str, kind: type[IdemctlError], met_lock: bool | None
) -> None:
    with pytest.raises(psycopg.Error) as raised:
        application.execute(
            "DO $$ BEGIN RAISE EXCEPTION E'line one\\nline\\x1b[31m two'"
            f" USING ERRCODE = '{state}'; END $$"
        )
    error = translated(raised.value, "postgres t")
    assert isinstance(error, kind)
    assert "\n" not in error.message
    assert "\x1b" not in error.message
    if met_lock is not None:
        assert isinstance(error, BatchFailed)
        assert error.met_lock is met_lock


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("SELECT FROM pg_authid", Denied),
        ("SELECT FROM nowhere", ConfigError),
        ("SELECT 1 / 0", ConfigError),
        ("SELECT 'x'::int", ConfigError),
        ("SELECT nowhere.f()", ConfigError),
    ],
)
def test_what_the_server_itself_says_becomes_an_error_of_ours(
    application: Session, statement: str, kind: type[IdemctlError]
) -> None:
    with pytest.raises(psycopg.Error) as raised:
        application.execute(statement)
    assert type(translated(raised.value, "postgres t")) is kind


def test_sessions_are_named_for_administrators(database: str, application: Session) -> None:
    with connect(Secret(database), place="t", application="idemctl gc 42", writable=False):
        until(
            lambda: (
                application.execute(
                    "SELECT FROM pg_stat_activity WHERE application_name = 'idemctl gc 42'"
                ).rowcount
            ),
            "the session shows",
        )

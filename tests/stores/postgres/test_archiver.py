"""What gc deletes into an archive: every row, as it was, before its batch commits."""

from __future__ import annotations

import resource
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from idemctl.domain.archived import Shape, Taken
from idemctl.errors import IdemctlError, Unsupported
from idemctl.sandbox.seed.postgres import schema
from idemctl.state.archive import ArchiveFailed, ArchiveFolder, ArchiveReader, Void
from idemctl.stores.archiving import Unarchived
from idemctl.stores.postgres.statements import Statements
from tests.stores.contract import added
from tests.stores.postgres.tables import (
    REFERENCE,
    fill,
    keys,
    names,
    open_table,
    promises,
    walk_by,
)
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from pathlib import Path

    from psycopg import sql

    from idemctl.domain.collection import Collection
    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.postgres.leaves import Leaf
    from tests.stores.postgres.tables import Session

EVENTS = "public.processed_events"
DAY = timedelta(days=1)


@pytest.fixture
def application(dsn: str, connection: Session) -> Session:
    connection.execute(schema())
    return connection


@pytest.fixture
def folder(tmp_path: Path) -> ArchiveFolder:
    made = ArchiveFolder(tmp_path / "archive", "run")
    made.make()
    return made


def collected(
    dsn: str,
    session: Session,
    folder: ArchiveFolder,
    table: str = EVENTS,
    layout: PostgresLayout = REFERENCE,
    **promised: Any,
) -> Collection:
    with closing(open_table(dsn, table, layout)) as store, closing(folder.open("s")) as archive:
        return added(store.collect_into(archive, promises(session, **promised)))


def archived(folder: ArchiveFolder) -> list[Taken]:
    frames = (frame for file in folder.files() for frame in ArchiveReader(file).frames())
    return [frame for frame in frames if isinstance(frame, Taken)]


def rows(session: Session, table: str) -> set[bytes]:
    """All rows, in the server's own text form, past everything that is ours."""
    with (
        session.cursor() as cursor,
        cursor.copy(
            f"COPY (SELECT t::text FROM {table} t) TO STDOUT"
            " WITH (FORMAT csv, DELIMITER E'\\x01', QUOTE E'\\x02')"
        ) as copy,
    ):
        return {bytes(line).rstrip(b"\n") for line in copy}


@pytest.mark.parametrize("policies", [{}, {"POST /v1": DAY}])
@pytest.mark.parametrize("walk", ["heap", "index"])
def test_what_goes_is_in_the_archive_and_nothing_else(
    dsn: str, application: Session, folder: ArchiveFolder, walk: str, policies: dict[str, timedelta]
) -> None:
    fill(application, expired=2000, live=300, working=40)
    before = rows(application, EVENTS)
    with pytest.MonkeyPatch.context() as patch:
        walk_by(patch, walk)
        total = collected(dsn, application, folder, policies=policies)
    assert total.deleted == 2000
    gone = [row for taken in archived(folder) for row in taken.records]
    assert len(gone) == 2000
    assert set(gone) == before - rows(application, EVENTS)
    assert keys(application) == names("live", 300) | names("working", 40)
    [file] = folder.files()
    assert file.stat().st_mode & 0o777 == 0o600
    assert folder.folder.stat().st_mode & 0o777 == 0o700


def test_what_somebody_holds_is_in_no_archive(
    dsn: str, application: Session, folder: ArchiveFolder
) -> None:
    fill(application, expired=40, live=10)
    with psycopg.connect(dsn) as holder:
        holder.execute(
            "SELECT FROM processed_events WHERE idempotency_key = 'expired-7' FOR UPDATE"
        )
        total = collected(dsn, application, folder)
    assert (total.deleted, total.skipped_locked) == (39, 1)
    gone = [row for taken in archived(folder) for row in taken.records]
    assert len(gone) == 39
    assert not [row for row in gone if b"expired-7," in row]


def test_children_go_into_the_archive_with_their_parents(
    dsn: str, application: Session, folder: ArchiveFolder
) -> None:
    application.execute(
        "INSERT INTO workflow_runs SELECT 'r' || n, 'k' || n, 'completed', now(),"
        " now() - interval '9 days' FROM generate_series(1, 30) n"
    )
    application.execute(
        "INSERT INTO workflow_steps (run_id, step, ordinal, status)"
        " SELECT 'r' || n, 's', o, 'completed' FROM generate_series(1, 30) n,"
        " generate_series(1, 4) o"
    )
    before = rows(application, "workflow_runs"), rows(application, "workflow_steps")
    layout = LAYOUTS["workflow"]
    total = collected(
        dsn, application, folder, "public.workflow_runs", layout, stored=False,
        ttl=timedelta(days=7),
    )  # fmt: skip
    assert (total.deleted, total.children_deleted) == (30, 120)
    taken = archived(folder)
    assert {row for one in taken for row in one.records} == before[0]
    assert {row for one in taken for row in one.children} == before[1]
    frames = list(ArchiveReader(folder.files()[0]).frames())
    assert [one.table[1] for one in frames if isinstance(one, Shape)] == [
        "workflow_runs",
        "workflow_steps",
    ]


def test_rows_that_a_foreign_key_takes_along_are_no_secret_of_it(
    dsn: str, application: Session, folder: ArchiveFolder
) -> None:
    application.execute(
        "CREATE TABLE notes (scope text, k text, FOREIGN KEY (scope, k)"
        " REFERENCES processed_events (scope, idempotency_key) ON DELETE CASCADE)"
    )
    fill(application)
    with pytest.raises(Unsupported, match=r"rows of public\.notes .* reach no archive"):
        collected(dsn, application, folder)
    assert len(keys(application)) == 80
    assert folder.files() == []


def test_without_an_archive_no_statement_asks_for_rows(
    dsn: str, application: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(application)
    said: list[str] = []
    original = Statements._told

    def heard(self: Statements, statement: sql.Composed, leaf: Leaf) -> list[tuple[Any, ...]]:
        said.append(statement.as_string())
        return original(self, statement, leaf)

    monkeypatch.setattr(Statements, "_told", heard)
    with closing(open_table(dsn)) as store:
        walk_by(monkeypatch, "index")
        assert added(store.collect(promises(application))).deleted == 40
    assert said
    assert not [one for one in said if "leaf.*" in one or "NULL::text" in one]


def test_a_full_disk_rolls_the_batch_back_and_loses_nothing(
    dsn: str, application: Session, folder: ArchiveFolder
) -> None:
    fill(
        application, expired=4000, live=10, columns=", response_body",
        values=", array_to_string(ARRAY(SELECT md5(planted.key || g)"
        " FROM generate_series(1, 20) g), '')",
    )  # fmt: skip
    before = rows(application, EVENTS)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
    try:
        with pytest.raises(ArchiveFailed, match="File too large"):
            collected(dsn, application, folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    left = rows(application, EVENTS)
    gone = {row for taken in archived(folder) for row in taken.records}
    assert gone
    assert gone == before - left
    [file] = folder.files()
    reader = ArchiveReader(file)
    list(reader.frames())
    assert (reader.is_torn, reader.damaged, reader.has_end) == (False, 0, False)


def test_a_batch_that_cannot_commit_is_void(
    dsn: str, application: Session, folder: ArchiveFolder
) -> None:
    fill(application, expired=3, live=1)
    application.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$"
        " BEGIN RAISE EXCEPTION 'not this one'; END $$"
    )
    application.execute(
        "CREATE CONSTRAINT TRIGGER late AFTER DELETE ON processed_events"
        " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
        " WHEN (OLD.idempotency_key = 'expired-1') EXECUTE FUNCTION refuse()"
    )
    total = collected(dsn, application, folder)
    assert (total.deleted, total.failed) == (2, 1)
    [file] = folder.files()
    kept: list[bytes] = []
    pending: tuple[bytes, ...] = ()
    for frame in ArchiveReader(file).frames():
        if isinstance(frame, Void):
            pending = ()
        elif isinstance(frame, Taken):
            kept += pending
            pending = frame.records
    kept += pending
    assert len(kept) == 2
    assert not [row for row in kept if b"expired-1," in row]


def test_a_row_that_cannot_be_written_out_stops_the_run_and_stays(
    admin: Session, sandbox: Any, folder: ArchiveFolder
) -> None:
    admin.execute("DROP DATABASE IF EXISTS raw_bytes")
    admin.execute(
        "CREATE DATABASE raw_bytes OWNER idemctl ENCODING 'SQL_ASCII' LC_COLLATE 'C'"
        " LC_CTYPE 'C' TEMPLATE template0"
    )
    try:
        with psycopg.connect(sandbox.dsn("raw_bytes"), autocommit=True) as session:
            session.execute(schema())
            session.execute(
                rb"INSERT INTO processed_events (idempotency_key, status, expires_at)"
                rb" VALUES (E'\377\376\x01', 'completed', now() - interval '1 day')"
            )
            with pytest.raises(IdemctlError, match="invalid byte sequence"):
                collected(sandbox.dsn("raw_bytes"), session, folder)
            assert session.execute("SELECT FROM processed_events").rowcount == 1
        assert archived(folder) == []
    finally:
        admin.execute("DROP DATABASE raw_bytes WITH (FORCE)")


def test_what_is_no_table_of_postgres_goes_to_no_archive(
    application: Session, folder: ArchiveFolder
) -> None:
    with pytest.raises(Unsupported, match="go to no archive"):
        Unarchived().collect_into(folder.open("s"), promises(application))
    assert folder.files() == []

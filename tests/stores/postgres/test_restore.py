"""Records come back as they were, and nothing that is there is touched."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from idemctl.domain.archived import Origin, Restored, Shape, Taken
from idemctl.errors import Refused, Unsupported
from idemctl.sandbox.seed.postgres import schema
from idemctl.state.archive import ArchiveFolder, ArchiveReader, Heading
from idemctl.stores.postgres.connect import transaction
from idemctl.stores.postgres.row_text import fields_of
from tests.stores.contract import added
from tests.stores.postgres.tables import (
    LONG,
    REFERENCE,
    InBackground,
    fill,
    keys,
    mutated,
    names,
    open_table,
    promises,
)
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from pathlib import Path

    from idemctl.layouts.model import PostgresLayout
    from tests.stores.postgres.tables import Session

EVENTS = "public.processed_events"
# A value of every kind that has something to lose, and the type it is of.
VALUES = {
    "bytea": r"'\x00ff0a5c22'",
    "timestamptz": "'infinity'",
    "timestamp": "'-infinity'",
    "timestamptz[]": "ARRAY['2026-03-29 01:59:59.999999+01'::timestamptz, NULL, '-infinity']",
    "date": "'4714-11-24 BC'",
    "time with time zone": "'24:00:00-15:59'",
    "interval": "'-1 mons +2 days -00:00:00.000001'",
    "numeric": "'NaN'",
    "numeric(40, 20)": "1234567890.12345678901234567890",
    "double precision": "0.1::float8 + 0.2::float8",
    "real": "'-0'",
    "double precision[]": "'{NaN,-Infinity,4.9e-324,-0}'",
    "json": """'{"b": 1, "b" : 2,  "a":1.0}'""",
    "jsonb": r"""'{"k": "\\u2028 \" \\\\ \n", "n": 1e400}'""",
    "text": 'E\' ("a""b",\\\\)\\n\\t\\u2028\\x01\\ufeff \'',
    "text[]": '\'[2:3]={"a,\\"b",NULL}\'',
    "text[][]": '\'{{a,b},{"","NULL"}}\'',
    "character(5)": "'a'",
    "varchar(3)": "'  x'",
    '"char"': "'a'",
    "name": "'n'",
    "boolean": "true",
    "bit(5)": "B'10101'",
    "bit varying": "B''",
    "inet": "'10.0.0.1/8'",
    "cidr": "'10.0.0.0/8'",
    "macaddr8": "'08:00:2b:01:02:03:04:05'",
    "uuid": "'00000000-0000-0000-0000-000000000001'",
    "int4range": "'[1,5)'",
    "tstzmultirange": "'{[2026-01-01,infinity)}'",
    "point": "'(0.1,-0)'",
    "tsvector": "'''a b'':1A,2'",
    "pair": "ROW(E'a,\"\\n', NULL)",
    "pair[]": "ARRAY[ROW('', 1)::pair, NULL]",
    "mood": "'so, so'",
    "positive": "5",
    "pg_lsn": "'16/B374D848'",
    "oid": "4294967295",
    "regtype": "'text'",
    "money": "'-1234.56'",
}


@pytest.fixture
def application(dsn: str, connection: Session) -> Session:
    connection.execute(schema())
    return connection


@pytest.fixture
def folder(tmp_path: Path) -> ArchiveFolder:
    made = ArchiveFolder(tmp_path / "archive", "run")
    made.make()
    return made


class World:
    """One table, its archive, and the way there and back."""

    def __init__(
        self, dsn: str, session: Session, folder: ArchiveFolder, *, table: str = EVENTS,
        layout: PostgresLayout = REFERENCE, ttl: timedelta | None = None,
    ) -> None:  # fmt: skip
        self.dsn, self.session, self.folder = dsn, session, folder
        self.table, self.layout, self.ttl = table, layout, ttl

    def collect(self) -> int:
        promised = promises(self.session, stored=self.layout.expires is not None, ttl=self.ttl)
        with (
            closing(open_table(self.dsn, self.table, self.layout)) as store,
            closing(self.folder.open("s")) as archive,
        ):
            return added(store.collect_into(archive, promised)).deleted

    def undo(self, *, look: bool = False) -> Restored:
        total = Restored()
        with closing(open_table(self.dsn, self.table, self.layout, writable=not look)) as store:
            for file in self.folder.files():
                for frame in ArchiveReader(file).frames():
                    if isinstance(frame, Heading):
                        restorer = store.restorer(frame.origin)
                    elif isinstance(frame, Shape):
                        restorer.expect(frame)
                    elif isinstance(frame, Taken):
                        steps = restorer.look if look else restorer.restore
                        total += sum(steps(frame), start=Restored())
        return total

    def rows(self, table: str | None = None) -> list[Any]:
        return self.session.execute(
            f"SELECT t::text, md5(t::text) FROM {table or self.table} t ORDER BY 1"
        ).fetchall()


def counts(done: Restored) -> tuple[int, int, int, int]:
    return done.restored, done.same, done.renewed, done.refused


def test_every_type_comes_back_as_it_was(
    dsn: str, application: Session, folder: ArchiveFolder
) -> None:
    application.execute("CREATE TYPE pair AS (a text, b int)")
    application.execute("CREATE TYPE mood AS ENUM ('so, so')")
    application.execute("CREATE DOMAIN positive AS int CHECK (VALUE > 0)")
    columns = ", ".join(f"c{n} {type_}" for n, type_ in enumerate(VALUES))
    application.execute(
        "CREATE TABLE odd (LIKE processed_events INCLUDING ALL, gone int,"
        " \"we,ird \"\" leaf\" text DEFAULT 'x', leaf int DEFAULT 3, record text DEFAULT 'r',"
        " id bigint GENERATED ALWAYS AS IDENTITY,"
        f" twice text GENERATED ALWAYS AS (upper(status)) STORED, {columns})"
    )
    application.execute("ALTER TABLE odd DROP COLUMN gone")
    places = ", ".join(f"c{n}" for n in range(len(VALUES)))
    for key, values in (("full", ", ".join(VALUES.values())), ("null", "NULL" + ", NULL" * (
            len(VALUES) - 1))):  # fmt: skip
        application.execute(
            f"INSERT INTO odd (idempotency_key, status, expires_at, {places})"
            f" VALUES ('{key}', 'completed', now() - interval '1 day', {values})"
        )
    table = "public.odd"
    world = World(dsn, application, folder, table=table)
    before = world.rows()
    assert len(before) == 2
    assert world.collect() == 2
    assert world.rows() == []
    assert counts(world.undo(look=True)) == (2, 0, 0, 0)
    done = world.undo()
    assert (counts(done), done.altered) == ((2, 0, 0, 0), 0)
    assert world.rows() == before
    assert counts(world.undo()) == (0, 2, 0, 0)


def test_hostile_keys_come_back_as_they_were(
    dsn: str, application: Session, folder: ArchiveFolder
) -> None:
    hostile = [
        "",
        " ",
        "a,b",
        'a"b',
        "a\\b",
        "(",
        ")",
        "\x1b[31m",
        "\n",
        "é\u2028",
        "'",
        "%s",
        "{}",
    ]
    for key in hostile:
        application.execute(
            "INSERT INTO processed_events (idempotency_key, scope, status, expires_at)"
            " VALUES (%s, %s, 'completed', now() - interval '1 day')",
            [key, key],
        )
    world = World(dsn, application, folder)
    before = world.rows()
    assert world.collect() == len(hostile)
    assert counts(world.undo()) == (len(hostile), 0, 0, 0)
    assert world.rows() == before


def test_nothing_newer_is_overwritten(
    dsn: str, application: Session, folder: ArchiveFolder
) -> None:
    fill(application, expired=500, live=10)
    world = World(dsn, application, folder)
    assert world.collect() == 500
    fill(application, expired=0, live=0, working=0)
    application.execute(
        "INSERT INTO processed_events (idempotency_key, status, expires_at)"
        " SELECT 'expired-' || n, 'in_progress', now() + interval '1 day'"
        " FROM generate_series(0, 99) n"
    )
    newer = application.execute(
        "SELECT t::text FROM processed_events t WHERE status = 'in_progress' ORDER BY 1"
    ).fetchall()
    assert counts(world.undo(look=True)) == (400, 0, 100, 0)
    assert counts(world.undo()) == (400, 0, 100, 0)
    assert (
        application.execute(
            "SELECT t::text FROM processed_events t WHERE status = 'in_progress' ORDER BY 1"
        ).fetchall()
        == newer
    )


def race(world: World, dsn: str, observer: Session) -> tuple[Restored, str]:
    """Undo while somebody is about to commit the same key."""
    with psycopg.connect(dsn) as rival:
        rival.execute(
            "INSERT INTO processed_events (idempotency_key, status, expires_at)"
            " VALUES ('expired-0', 'in_progress', now() + interval '1 day')"
        )
        undo = InBackground(world.undo, observer)
        undo.start()
        undo.wait_until_blocked()
        rival.commit()
        done: Restored = undo.finish()
    [(status,)] = observer.execute(
        "SELECT status FROM processed_events WHERE idempotency_key = 'expired-0'"
    ).fetchall()
    return done, status


def test_what_comes_between_the_look_and_the_insert_stays(
    dsn: str, application: Session, folder: ArchiveFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient(monkeypatch)
    fill(application, expired=1, live=0)
    world = World(dsn, application, folder)
    assert world.collect() == 1
    done, status = race(world, dsn, application)
    assert (counts(done), status) == ((0, 0, 1, 0), "in_progress")


def test_a_naive_upsert_loses_the_same_race(
    dsn: str, application: Session, folder: ArchiveFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient(monkeypatch)
    fill(application, expired=1, live=0)
    world = World(dsn, application, folder)
    assert world.collect() == 1
    with mutated(
        (
            "restore",
            "ON CONFLICT DO NOTHING",
            "ON CONFLICT (scope, idempotency_key) DO UPDATE SET status = EXCLUDED.status",
        )
    ):
        _, status = race(world, dsn, application)
    assert status == "completed"


def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let undo wait for a lock as long as a test needs."""
    monkeypatch.setattr(
        "idemctl.stores.postgres.restore.transaction",
        partial(transaction, lock_timeout=LONG, statement_timeout=LONG),
    )


def test_children_come_back_with_their_parents_alone(
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
    world = World(
        dsn, application, folder, table="public.workflow_runs", layout=LAYOUTS["workflow"],
        ttl=timedelta(days=7),
    )  # fmt: skip
    before = world.rows(), world.rows("workflow_steps")
    assert world.collect() == 30
    application.execute("INSERT INTO workflow_runs VALUES ('new', 'k7', 'running', now(), NULL)")
    done = world.undo()
    assert (counts(done), done.children) == ((29, 0, 1, 0), 29 * 4)
    application.execute("DELETE FROM workflow_runs WHERE run_id = 'new'")
    done = world.undo()
    assert (counts(done), done.children) == ((1, 29, 0, 0), 4)
    assert (world.rows(), world.rows("workflow_steps")) == before


def test_rows_of_partitions_come_back_into_them(
    dsn: str, application: Session, folder: ArchiveFolder
) -> None:
    application.execute(
        "CREATE TABLE parted (LIKE processed_events INCLUDING DEFAULTS,"
        " UNIQUE (scope, idempotency_key)) PARTITION BY HASH (idempotency_key)"
    )
    application.execute(
        "CREATE TABLE p0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0)"
    )
    # The same columns in another order.
    application.execute(
        "CREATE TABLE p1 (idempotency_key text NOT NULL, expires_at timestamptz NOT NULL,"
        " LIKE processed_events INCLUDING DEFAULTS)".replace(
            "idempotency_key text NOT NULL, expires_at timestamptz NOT NULL, ", ""
        )
    )
    application.execute("ALTER TABLE p1 DROP COLUMN scope")
    application.execute("ALTER TABLE p1 ADD COLUMN scope text NOT NULL DEFAULT ''")
    application.execute(
        "ALTER TABLE parted ATTACH PARTITION p1 FOR VALUES WITH (MODULUS 2, REMAINDER 1)"
    )
    fill(application, "parted", expired=200, live=20)
    world = World(dsn, application, folder, table="public.parted")
    before = world.rows(), world.rows("p0"), world.rows("p1")
    assert world.collect() == 200
    assert counts(world.undo()) == (200, 0, 0, 0)
    assert (world.rows(), world.rows("p0"), world.rows("p1")) == before


def test_a_row_that_the_database_refuses_keeps_no_other_out(
    dsn: str, application: Session, folder: ArchiveFolder
) -> None:
    fill(application, expired=300, live=0)
    world = World(dsn, application, folder)
    assert world.collect() == 300
    application.execute("ALTER TABLE processed_events ADD CHECK (idempotency_key <> 'expired-77')")
    done = world.undo()
    assert counts(done) == (299, 0, 0, 1)
    assert len(done.troubles) == 1
    assert keys(application) == names("expired", 300) - {"expired-77"}


def test_what_a_trigger_changes_is_counted(
    dsn: str, application: Session, folder: ArchiveFolder
) -> None:
    fill(application, expired=3, live=0)
    world = World(dsn, application, folder)
    assert world.collect() == 3
    application.execute(
        "CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$"
        " BEGIN NEW.hit_count := 7; RETURN NEW; END $$"
    )
    application.execute(
        "CREATE TRIGGER touch BEFORE INSERT ON processed_events FOR EACH ROW"
        " WHEN (NEW.idempotency_key = 'expired-1') EXECUTE FUNCTION touch()"
    )
    done = world.undo()
    assert (counts(done), done.altered) == ((3, 0, 0, 0), 1)


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        ("DROP COLUMN client", "client text"),
        ("ALTER COLUMN hit_count TYPE bigint", "hit_count integer"),
    ],
)
def test_a_table_that_lost_a_column_is_refused_with_its_name(
    dsn: str, application: Session, folder: ArchiveFolder, change: str, lost: str
) -> None:
    fill(application, expired=3, live=0)
    world = World(dsn, application, folder)
    assert world.collect() == 3
    application.execute(f"ALTER TABLE processed_events {change}")
    with pytest.raises(Refused, match=f"has changed, and has no {lost}"):
        world.undo()


def test_a_column_that_was_added_takes_its_default(
    dsn: str, application: Session, folder: ArchiveFolder
) -> None:
    fill(application, expired=3, live=0)
    world = World(dsn, application, folder)
    assert world.collect() == 3
    application.execute("ALTER TABLE processed_events ADD COLUMN region text DEFAULT 'eu'")
    assert counts(world.undo()) == (3, 0, 0, 0)
    assert {row[0] for row in application.execute("SELECT region FROM processed_events")} == {"eu"}


def test_a_table_without_a_unique_key_is_refused(
    dsn: str, application: Session, folder: ArchiveFolder
) -> None:
    fill(application, expired=3, live=0)
    world = World(dsn, application, folder)
    assert world.collect() == 3
    application.execute("ALTER TABLE processed_events DROP CONSTRAINT processed_events_key")
    application.execute("CREATE UNIQUE INDEX ON processed_events (scope, lower(idempotency_key))")
    with pytest.raises(Unsupported, match="no unique index on idempotency_key, scope"):
        world.undo()


def test_an_archive_of_somewhere_else_is_refused(dsn: str, application: Session) -> None:
    del application
    with closing(open_table(dsn)) as store:
        for origin in (
            Origin(database="elsewhere", table=("public", "processed_events"), key="k"),
            Origin(database=str(psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]), table=("a", "b"),
                   key="k"),
        ):  # fmt: skip
            with pytest.raises(Refused, match="the archive is of"):
                store.restorer(origin)


@pytest.mark.parametrize(
    ("row", "fields"),
    [
        ("()", [None]),
        ('("")', [""]),
        ("(,)", [None, None]),
        ('(a,"b,c",)', ["a", "b,c", None]),
        ('("""",\\\\)'.replace(",\\\\", ',"\\\\"'), ['"', "\\"]),
    ],
)
def test_rows_are_taken_apart(row: str, fields: list[str | None]) -> None:
    assert fields_of(row) == fields


@pytest.mark.parametrize("row", ['("a', '("a"b)', "", '(a"b)'])
def test_what_is_no_row_is_refused(row: str) -> None:
    with pytest.raises(Refused, match="cannot be read"):
        fields_of(row)

"""What tests of the command line share: a folder to stand in, and databases to work on."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import redis
from psycopg import sql

import idemctl
from idemctl.sandbox.seed import seed
from idemctl.sandbox.seed.postgres import schema
from tests.cli.pairs import Pairs
from tests.cli.places import PAYMENTS, POSTGRES_ONLY, Database, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.sandbox.servers import Sandbox

_ROOT = Path(idemctl.__file__).parents[1]
_numbers = itertools.count(1)

# Of ten records seven expired an hour ago; the rest must stay: alive, in progress, endless.
_LARGE = """\
INSERT INTO processed_events (idempotency_key, endpoint, status, created_at, expires_at)
SELECT 'evt-' || n, 'POST /v1/charges',
       CASE WHEN n % 10 = 7 THEN 'in_progress' WHEN n % 2 = 0 THEN 'completed' ELSE 'failed' END,
       now() - interval '2 days',
       CASE WHEN n % 10 < 8 THEN now() - interval '1 hour'
            WHEN n % 10 = 8 THEN now() + interval '1 day' ELSE 'infinity' END
  FROM generate_series(1, 40000) AS n
"""


@pytest.fixture
def place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Place]:
    """A folder to run in, where nothing of this user's leads anywhere."""
    folder = tmp_path / "place"
    folder.mkdir()
    made = Place(folder=folder, environ={}, capture=capsys, patch=monkeypatch)
    monkeypatch.chdir(folder)
    # Dozens of processes start here, and sooner from compiled files.
    for name in ("NO_COLOR", "TERM", "PYTHONDONTWRITEBYTECODE"):
        monkeypatch.delenv(name, raising=False)
    made.environ = dict(os.environ)
    made.lead(
        PYTHONPATH=str(_ROOT),
        IDEMCTL_STATE=str(made.state),
        XDG_CONFIG_HOME=str(folder / "no-config"),
        COLUMNS="80",
    )
    yield made
    made.kill_started()


class Databases:
    """Filled once, then copied for each test."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        password = (sandbox.folder / "postgres.password").read_text("utf-8").strip()
        self.admin = psycopg.connect(
            f"host=127.0.0.1 port={sandbox.status().postgres.port} user=postgres dbname=postgres",
            password=password,
            autocommit=True,
        )
        self._names: list[str] = []

    def create(self, template: str = "template0") -> str:
        name = f"cli_{os.getpid()}_{next(_numbers)}"
        self.admin.execute(
            sql.SQL("CREATE DATABASE {} OWNER idemctl TEMPLATE {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
        self._names.append(name)
        return name

    def drop(self, name: str) -> None:
        self.admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
        self._names.remove(name)

    def dsn(self, name: str) -> str:
        return self._sandbox.dsn(name)

    def close(self) -> None:
        for name in list(self._names):
            self.drop(name)
        self.admin.close()


@pytest.fixture(scope="session")
def databases(sandbox: Sandbox) -> Iterator[Databases]:
    made = Databases(sandbox)
    yield made
    made.close()


@pytest.fixture(scope="session")
def seeded_template(databases: Databases, sandbox: Sandbox) -> str:
    name = databases.create()
    seed(
        dsn=databases.dsn(name),
        redis_url=sandbox.redis_url(db=9),
        records=2_000,
        seed=3,
        faults=True,
    )
    return name


@pytest.fixture(scope="session")
def large_template(databases: Databases) -> str:
    name = databases.create()
    with psycopg.connect(databases.dsn(name), autocommit=True) as connection:
        connection.execute(schema())
        connection.execute(_LARGE)
        connection.execute("VACUUM ANALYZE processed_events")
    return name


def _copy(databases: Databases, template: str, place: Place, config: str) -> Iterator[Database]:
    name = databases.create(template)
    dsn = databases.dsn(name)
    place.configure(config)
    place.lead(DATABASE_URL=dsn)
    with psycopg.connect(dsn, autocommit=True) as observer:
        yield Database(dsn=dsn, observer=observer)
    databases.drop(name)


@pytest.fixture
def looking(databases: Databases, seeded_template: str, place: Place) -> Place:
    """A place that leads to the same records, for tests that only look: it is no copy."""
    place.configure(POSTGRES_ONLY)
    place.lead(DATABASE_URL=databases.dsn(seeded_template))
    return place


@pytest.fixture
def seeded(databases: Databases, seeded_template: str, place: Place) -> Iterator[Database]:
    """Two thousand records of the four patterns that live in Postgres, faults among them."""
    yield from _copy(databases, seeded_template, place, POSTGRES_ONLY)


@pytest.fixture
def large(databases: Databases, large_template: str, place: Place) -> Iterator[Database]:
    """Forty thousand payments, of which seven in ten are expired."""
    yield from _copy(databases, large_template, place, PAYMENTS)


@pytest.fixture
def pairs(
    place: Place, dsn: str, redis_url: str, admin: psycopg.Connection[Any]
) -> Iterator[Pairs]:
    """The sandbox's stores, whole and healthy, with everything in place to lose some of it."""
    with (
        psycopg.connect(dsn, autocommit=True) as connection,
        redis.Redis.from_url(redis_url) as client,
    ):
        made = Pairs(
            place=place,
            dsn=dsn,
            redis_url=redis_url,
            connection=connection,
            client=client,
            admin=admin,
        )
        made.seed()
        with made.stack:
            yield made


@pytest.fixture
def slow(large: Database) -> Database:
    """The same, and each batch takes its time: what comes meanwhile comes in the middle."""
    large.observer.execute(
        "CREATE FUNCTION rest() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN PERFORM pg_sleep(0.02); RETURN NULL; END';"
        "CREATE TRIGGER rests BEFORE DELETE ON processed_events"
        " FOR EACH STATEMENT EXECUTE FUNCTION rest()"
    )
    return large

"""Schemas of their own for tests, and a stranger to the database."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from idemctl.stores.postgres import connect as connect_module
from tests.stores.postgres.tables import walk_by

if TYPE_CHECKING:
    from collections.abc import Iterator

# What a URL, a keyword string, a shell and a regular expression each take for something else.
CANARY = "p@ss/w:rd?#%&' \\\"é$(x)"
_numbers = itertools.count(1)


class Stranger(NamedTuple):
    """A role that may log in, and has no right to anything."""

    name: str
    dsn: str


@pytest.fixture
def schema(application: psycopg.Connection[Any]) -> Iterator[str]:
    """An empty schema, not on the search path."""
    name = f"s_{next(_numbers)}"
    application.execute(f"CREATE SCHEMA {name}")
    yield name
    application.execute(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def superuser_inside(
    database: str, superuser: psycopg.Connection[Any]
) -> Iterator[psycopg.Connection[Any]]:
    """A superuser's connection to the shared database."""
    with psycopg.connect(
        superuser.info.dsn,
        password=superuser.info.password,
        dbname=str(conninfo_to_dict(database)["dbname"]),
        autocommit=True,
    ) as connection:
        yield connection


@pytest.fixture
def stranger(
    database: str, superuser: psycopg.Connection[Any], superuser_inside: psycopg.Connection[Any]
) -> Iterator[Stranger]:
    """A role whose password is full of special characters, in the shared database."""
    name = f"stranger_{os.getpid()}_{next(_numbers)}"
    role = sql.Identifier(name)
    superuser.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(role, sql.Literal(CANARY)))
    place = conninfo_to_dict(database)
    address = f"{place['host']}:{place['port']}/{place['dbname']}"
    yield Stranger(name, f"postgresql://{name}:{quote(CANARY, safe='')}@{address}")
    superuser_inside.execute(sql.SQL("DROP OWNED BY {}").format(role))
    superuser.execute(sql.SQL("DROP ROLE {}").format(role))


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no statement time out on a slow machine where a test holds it up on purpose."""
    defaults = connect_module.transaction.__wrapped__.__kwdefaults__  # type: ignore[attr-defined]  # `contextmanager` keeps the function it wraps.
    monkeypatch.setitem(defaults, "statement_timeout", connect_module.STATEMENT_TIMEOUT * 60)


@pytest.fixture
def connection_to_database(database: str) -> Iterator[psycopg.Connection[Any]]:
    """Another session of the application, for what it holds meanwhile."""
    with psycopg.connect(database, autocommit=True) as connection:
        yield connection


@pytest.fixture(params=["heap", "index"])
def walk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both walks, one after the other."""
    walk_by(monkeypatch, request.param)
    return str(request.param)

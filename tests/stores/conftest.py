"""One database for the tests of stores, with the tables of the reference patterns, empty."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql

from idemctl.sandbox.seed.postgres import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.sandbox.servers import Sandbox

_TABLES = "processed_events, seen_events, workflow_runs, workflow_steps, outbox_events"


@pytest.fixture(scope="session")
def superuser(sandbox: Sandbox) -> Iterator[psycopg.Connection[Any]]:
    """A superuser's connection, for the whole session."""
    password = (sandbox.folder / "postgres.password").read_text("utf-8").strip()
    port = sandbox.status().postgres.port
    with psycopg.connect(
        f"host=127.0.0.1 port={port} user=postgres dbname=postgres",
        password=password,
        autocommit=True,
    ) as connection:
        yield connection


@pytest.fixture(scope="session")
def _database(sandbox: Sandbox, superuser: psycopg.Connection[Any]) -> Iterator[str]:
    name = f"test_stores_{os.getpid()}"
    superuser.execute(
        sql.SQL("CREATE DATABASE {} OWNER idemctl").format(sql.Identifier(name)),
    )
    with psycopg.connect(sandbox.dsn(name), autocommit=True) as connection:
        connection.execute(schema())
        # Other people's tables have NULLs where ours do not.
        connection.execute(
            "ALTER TABLE processed_events ALTER expires_at DROP NOT NULL,"
            " ALTER created_at DROP NOT NULL"
        )
    yield sandbox.dsn(name)
    superuser.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def _application(_database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(_database, autocommit=True) as connection:
        yield connection


@pytest.fixture
def database(_database: str, _application: psycopg.Connection[Any]) -> str:
    """The shared database, its tables emptied and without triggers."""
    _application.execute(f"TRUNCATE {_TABLES}")
    return _database


@pytest.fixture
def application(database: str, _application: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    """A session of the application whose tables these are."""
    return _application

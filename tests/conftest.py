"""What tests share: an environment without surprises, and real servers.

The servers come from `idemctl.sandbox`, once a session; every test gets a database of its
own and an empty Valkey.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import psycopg
import pytest
import redis
from psycopg import sql

from idemctl.sandbox.servers import Sandbox

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

_LEADS_SOMEWHERE = ("IDEMCTL_", "PG", "DATABASE_URL", "REDIS_URL", "FORCE_COLOR", "CLICOLOR")
_numbers = itertools.count(1)
_Report = TypeVar("_Report", pytest.TestReport, pytest.CollectReport)


def pytest_configure() -> None:
    """Let SIGTERM end a session as Ctrl-C does: with its servers stopped."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="a skipped test is a failure")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    return _unskipped(report, item.config)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    return _unskipped(report, collector.config)


def _unskipped(report: _Report, config: pytest.Config) -> _Report:
    """Fail what was skipped, where --no-skips says so; an expected failure is no skip."""
    if config.getoption("--no-skips") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which --no-skips forbids: {report.longreprtext}"
    return report


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what would lead a test to somebody's real stores, or to color."""
    for name in list(os.environ):
        if name.startswith(_LEADS_SOMEWHERE):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """One Postgres and one Valkey for the whole session."""
    # Under root the servers run as nobody, who must be able to reach the folder.
    home = Path(tempfile.mkdtemp(prefix="idemctl-test-", dir="/var/tmp"))
    home.chmod(0o755)
    servers = Sandbox(folder=home / "servers")
    try:
        servers.up(durable=False)
        yield servers
    finally:
        servers.down()
        shutil.rmtree(home)


@pytest.fixture
def admin(sandbox: Sandbox) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A superuser's connection, to the maintenance database."""
    password = (sandbox.folder / "postgres.password").read_text("utf-8").strip()
    port = sandbox.status().postgres.port
    with psycopg.connect(
        f"host=127.0.0.1 port={port} user=postgres dbname=postgres",
        password=password,
        autocommit=True,
    ) as connection:
        yield connection


@pytest.fixture
def dsn(sandbox: Sandbox, admin: psycopg.Connection[tuple[object, ...]]) -> Iterator[str]:
    """A new, empty database, owned by the role `idemctl`."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    identifier = sql.Identifier(name)
    admin.execute(sql.SQL("CREATE DATABASE {} OWNER idemctl").format(identifier))
    try:
        yield sandbox.dsn(name)
    finally:
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(identifier))


@pytest.fixture
def connection(dsn: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A bare connection to the test's database: the application's, or an observer's."""
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


@pytest.fixture
def redis_url(sandbox: Sandbox) -> Iterator[str]:
    """An empty Valkey."""
    url = sandbox.redis_url()
    with redis.Redis.from_url(url) as client:
        client.flushall()
        yield url
        client.flushall()


@pytest.fixture
def durable(redis_url: str) -> Iterator[None]:
    """Let the Valkey keep what it is told, as one does that nobody hurries."""
    with redis.Redis.from_url(redis_url) as client:
        client.config_set("appendonly", "yes")
        yield
        client.config_set("appendonly", "no")

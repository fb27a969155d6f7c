"""The sandbox's Valkey, or the Redis that was chosen instead: one configuration for both."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from idemctl.sandbox import processes
from idemctl.sandbox.folder import make_folder, make_password, write_file

if TYPE_CHECKING:
    from pathlib import Path

    from psutil import Process

    from idemctl.sandbox.account import Account
    from idemctl.sandbox.places import Places

PASSWORD = "redis"  # noqa: S105 - The name of the password's file.
_NAMES = frozenset({"valkey-server", "redis-server"})
_ANSWER_SECONDS = 2.0


def names(chosen: str | None) -> frozenset[str]:
    """Return the process names a server may have: the usual two, and the chosen file's."""
    return _NAMES | ({chosen.rpartition("/")[2]} if chosen else set())


def find(places: Places, chosen: str | None) -> Process | None:
    """Return the running server of this folder."""
    return processes.find(_pid_file(places), names=names(chosen), argument=_config(places))


def socket(places: Places) -> Path:
    """Return the unix socket."""
    return places.sockets / "valkey.sock"


def start(places: Places, account: Account, binary: Path, *, port: int, durable: bool) -> None:
    """Start the server on `port`; return when it answers, with its data loaded.

    Raises:
        PortTaken: somebody else listens there.
        Unreachable: it does not start or does not answer in time.
    """
    make_password(places, PASSWORD, account)
    make_folder(places.redis, account)
    processes.stop_inside(places.redis, uid=account.uid, names=names(str(binary)))
    with contextlib.suppress(FileNotFoundError):
        socket(places).unlink()
    write_file(_config(places), _settings(places, port=port, durable=durable), account)
    processes.start(
        [binary, _config(places)],
        account=account,
        folder=places.root,
        log=places.log("valkey"),
        is_ready=lambda: _answers(places),
    )


def _config(places: Places) -> Path:
    return places.root / "valkey.conf"


def _pid_file(places: Places) -> Path:
    return places.root / "valkey.pid"


def _settings(places: Places, *, port: int, durable: bool) -> str:
    lines = [
        "bind 127.0.0.1",
        f"port {port}",
        f'unixsocket "{socket(places)}"',
        "unixsocketperm 700",
        f'dir "{places.redis}"',
        f'pidfile "{_pid_file(places)}"',
        f'requirepass "{places.password(PASSWORD)}"',
        "maxmemory 1gb",
        "maxmemory-policy noeviction",
        # The command line is how we know our own process again.
        "set-proc-title no",
    ]
    lines += ["appendonly yes"] if durable else ["appendonly no", 'save ""']
    return "\n".join(lines) + "\n"


def _answers(places: Places) -> bool:
    client = redis.Redis(
        unix_socket_path=str(socket(places)),
        password=places.password(PASSWORD),
        socket_timeout=_ANSWER_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    with client:
        try:
            return bool(client.ping())
        except (redis.ConnectionError, redis.TimeoutError):
            return False

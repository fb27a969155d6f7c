"""Connections to Redis and Valkey: bytes, bounded in time, and without secrets.

A connection is made once. It never reconnects behind the back of what uses it: a cursor of
one server means nothing to the server that answers at the same address a second later.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import urlsplit

from redis import connection as driver
from redis import exceptions

from idemctl.errors import ConfigError
from idemctl.stores.redis.translation import refusal
from idemctl.stores.redis.watched import watched

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta
    from socket import socket
    from ssl import SSLSocket

    from idemctl.domain.secrets import Secret
    from idemctl.stores.redis.slots import Node

_TIMEOUTS = {"socket_connect_timeout": 5.0, "socket_timeout": 5.0}
"""Seconds; a URL may ask for others."""
_OURS: dict[str, object] = {
    # RESP2 has no pushes, so replies come in the order of the commands and nothing between.
    "protocol": 2,
    "decode_responses": False,
    "retry": None,
    "retry_on_error": [],
    "retry_on_timeout": False,
    "health_check_interval": 0,
    "client_name": None,
    "driver_info": None,
    "socket_read_size": 256 * 1024,
}
"""Options in which a URL has no say."""
_UNREADABLE = (TypeError, ValueError, AttributeError)
"""What redis-py raises for options that do not exist or have no such value."""
_OF_POOLS = ("max_connections", "timeout")
_HAS_DATABASE = re.compile(r"/?[0-9]*/?")


class Wire(Protocol):
    """What is used of redis-py's connection, TLS and ACL included: public, and no more."""

    @property
    def is_connected(self) -> bool:
        """Whether it was made and is not lost."""
        ...

    def connect(self) -> None:
        """Connect, authenticate and choose the database."""
        ...

    def disconnect(self) -> None:
        """Close it."""
        ...

    def can_read(self, timeout: float = 0) -> bool:
        """Whether something arrived; raises when the server closed it."""
        ...

    def send_packed_command(self, command: Sequence[bytes], check_health: bool = True) -> None:
        """Send bytes as they are."""
        ...

    @property
    def socket(self) -> socket:
        """What replies arrive on, once it was made."""
        ...


def connect(
    url: Secret, *, place: str, patience: timedelta | None = None, node: Node | None = None
) -> tuple[Wire, str]:
    """Open a connection.

    Args:
        url: `redis://`, `rediss://` or `unix://`, with redis-py's parameters.
        place: what errors call this store.
        patience: how long to wait for a reply, whatever the URL says.
        node: where to instead, as the same user and by TLS where the URL says so.

    Returns:
        The connection, and the user that it speaks for.

    Raises:
        Unreachable: no server answers, or it cannot answer now.
        Denied: it refuses these credentials.
        ConfigError: the URL cannot be read, or names no database there is.
    """
    kind, options = options_of(url, place)
    if node is not None:
        kind, options = _redirected(kind, options, node)
    ours = _OURS if patience is None else _OURS | {"socket_timeout": patience.total_seconds()}
    wire = _connected(kind, options | ours, url, place)
    return wire, str(options.get("username") or "default")


@contextmanager
def secured(url: Secret, *, place: str, node: Node | None = None) -> Iterator[SSLSocket | None]:
    """Agree on TLS, and say nothing; `None` where the URL asks for none. See `connect`.

    Raises:
        Unreachable: no server answers, or it is not trusted.
        ConfigError: the URL cannot be read, or names a file that is not there.
    """
    kind, options = options_of(url, place)
    if not issubclass(kind, driver.SSLConnection):
        yield None
        return
    if node is not None:
        kind, options = _redirected(kind, options, node)
    silent = {"redis_connect_func": lambda _: None}
    wire = _connected(kind, options | _OURS | silent, url, place)
    try:
        yield cast("SSLSocket", wire.socket)
    finally:
        wire.disconnect()


def options_of(url: Secret, place: str) -> tuple[type, dict[str, Any]]:
    """Give the class of connection that a URL asks for, and its options.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return _parsed(url.reveal())
    except (exceptions.RedisError, *_UNREADABLE):
        raise _unreadable(place) from None


def _connected(kind: type, options: dict[str, Any], url: Secret, place: str) -> Wire:
    try:
        wire = cast("Wire", _showing_its_socket(kind)(**_TIMEOUTS | options))
        wire.connect()
    except exceptions.RedisError as error:
        raise refusal(error, url.reveal(), place) from None
    except _UNREADABLE:
        raise _unreadable(place) from None
    return wire


def _redirected(kind: type, options: dict[str, Any], node: Node) -> tuple[type, dict[str, Any]]:
    """Lead to another server of the same cluster."""
    if options.pop("path", None) is not None:
        kind = driver.Connection
    return kind, options | {"host": node.host, "port": node.port}


def server_of(url: Secret) -> str:
    """Say where a URL leads that was connected to, without user or password.

    Of Sentinels it says what they watch, for another server may be the primary tomorrow.
    """
    behind = watched(url)
    if behind is not None:
        return str(behind)
    _, options = _parsed(url.reveal())
    where = options.get("path") or f"{options.get('host')}:{options.get('port')}"
    return f"{where}/{options.get('db', 0)}"


def database_of(url: Secret) -> int:
    """Give the number of the database that a URL leads to; there is a connection by it."""
    return int(_parsed(url.reveal())[1].get("db") or 0)


def _showing_its_socket(kind: type) -> type:
    """Extend a connection class where redis-py lets others extend it: where it connects.

    Its own way to read costs twice what a reply costs: two for each key of a scan.
    """

    class Shown(kind):  # type: ignore[misc] # Which of its classes, the URL says.
        def _connect(self) -> socket:
            made: socket = super()._connect()
            self.socket = made
            return made

    return Shown


def _unreadable(place: str) -> ConfigError:
    # The driver's own message repeats a part of the URL, password included.
    return ConfigError(
        f"{place}: the Redis URL cannot be read",
        hint="write redis://user:password@host:6379/0, rediss:// for TLS, or "
        "unix:///path?db=0; in a password write / as %2F, # as %23, ? as %3F, @ as %40",
    )


def _parsed(whole: str) -> tuple[type, dict[str, Any]]:
    """Take a URL apart; where redis-py would quietly go to another server, refuse."""
    parts = urlsplit(whole)
    if parts.fragment or "@" in parts.path + parts.query:
        raise ValueError("a password that is not percent-encoded ends the host's part early")
    if parts.scheme != "unix" and not _HAS_DATABASE.fullmatch(parts.path):
        raise ValueError("redis-py reads a path that is no number as database 0")
    options = driver.parse_url(whole)  # type: ignore[no-untyped-call] # Public, and untyped.
    kind = options.pop("connection_class", driver.Connection)
    return kind, {name: value for name, value in options.items() if name not in _OF_POOLS}

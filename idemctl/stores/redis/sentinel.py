"""Finds the primary behind Sentinels, which know who it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from idemctl.domain.secrets import Secret
from idemctl.errors import ConfigError, Denied, IdemctlError, Unreachable
from idemctl.stores.redis.bulk import Lane
from idemctl.stores.redis.slots import Node

if TYPE_CHECKING:
    from idemctl.stores.redis.bursts import Reply
    from idemctl.stores.redis.watched import Watched


def find_primary(primary: Watched, *, place: str, application: str) -> Node:
    """Ask one Sentinel after the other who the primary is.

    Raises:
        Unreachable: none of them answers.
        ConfigError: they answer, and watch nothing of that name.
    """
    failure: IdemctlError | None = None
    for sentinel in primary.sentinels:
        try:
            reply = _asked(sentinel, primary, place, application)
        except IdemctlError as error:
            failure = error
            continue
        match reply:
            case [host, port]:
                return Node(host.decode("utf-8", errors="replace"), int(port))
        failure = ConfigError(
            f"{place}: the Sentinels watch no primary named {primary.name!r}",
            hint="valkey-cli -p 26379 SENTINEL MASTERS lists those that they watch",
        )
    assert failure is not None, "there is a Sentinel"
    if isinstance(failure, Unreachable):
        raise Unreachable(
            f"{place}: no Sentinel tells who the primary is: {failure.message.rpartition(': ')[2]}",
            hint="check their addresses, and that they run",
        )
    raise failure


def _asked(sentinel: Node, primary: Watched, place: str, application: str) -> Reply:
    """Ask as nobody; where a Sentinel wants a password, with that of the primary."""
    parts = urlsplit(primary.url.reveal())
    _, _, host = parts.netloc.rpartition("@")
    nobody = Secret(urlunsplit((parts.scheme, host, "", parts.query, "")))
    try:
        return _told(nobody, sentinel, primary.name, place, application)
    except Denied:
        known = Secret(urlunsplit((parts.scheme, parts.netloc, "", parts.query, "")))
        return _told(known, sentinel, primary.name, place, application)


def _told(url: Secret, sentinel: Node, name: str, place: str, application: str) -> Reply:
    lane = Lane.open(url, place=place, application=application, writable=False, node=sentinel)
    try:
        return lane.demand(b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", name.encode())
    finally:
        lane.close()

"""What a Redis or Valkey server says of itself, and of this user's rights."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from idemctl.domain.keys import escape
from idemctl.stores.answers import Description
from idemctl.stores.redis.connect import server_of

if TYPE_CHECKING:
    from idemctl.domain.secrets import Secret
    from idemctl.stores.redis.bulk import Lane
    from idemctl.stores.redis.bursts import Reply

_FLOORS = {"Redis": (6, 2), "Valkey": (7, 2)}
_TELLS_READING = (7, 0)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBERS = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Which server answers, as its greeting and INFO say."""

    product: str
    version: str
    is_replica: bool
    is_cluster: bool

    @property
    def is_supported(self) -> bool:
        """Whether the version is at or above the floor."""
        return self._is_at_least(_FLOORS[self.product])

    @property
    def tells_reading(self) -> bool:
        """Whether a user may be given keys to be read and not written."""
        return self._is_at_least(_TELLS_READING)

    def _is_at_least(self, version: tuple[int, int]) -> bool:
        numbers = _NUMBERS.match(self.version)
        return numbers is not None and (int(numbers[1]), int(numbers[2])) >= version


def read_clock(lane: Lane) -> datetime:
    """Read the server's clock."""
    seconds, micros = lane.demand(b"TIME")
    return _EPOCH + timedelta(seconds=int(seconds), microseconds=int(micros))


def read_user(lane: Lane) -> bytes:
    """Ask for whom the connection speaks; where that may not be asked, the URL says it."""
    user = lane.tell(b"ACL", b"WHOAMI")
    return user if isinstance(user, bytes) else lane.user.encode(errors="surrogateescape")


def describe(lane: Lane, url: Secret, *, place: str) -> Description:
    """Look at version and role."""
    server = read_server(lane)
    return Description(
        product=server.product,
        version=server.version,
        supported=server.is_supported,
        place=place,
        user=escape(read_user(lane)),
        is_replica=server.is_replica,
        server=server_of(url),
        # A server counts the keys of a database, not those under a prefix.
        row_estimate=None,
        hides_rows=None,
    )


def read_server(lane: Lane) -> Server:
    """Ask for product, version and role.

    HELLO needs no right, and says all but Valkey's own version where it passes itself off
    as Redis; INFO says that too, where this user may ask.

    Raises:
        Denied: the server knows no HELLO, and refuses INFO to this user.
    """
    hello = _pairs(lane.tell(b"HELLO"))
    info = lane.tell(b"INFO", b"server")
    if not hello:
        lane.checked(info)
    facts = _lines(info)
    valkey = facts.get("valkey_version") or (
        hello.get("version") if hello.get("server") == "valkey" else None
    )
    role = hello.get("role") or _lines(lane.demand(b"INFO", b"replication")).get("role")
    mode = hello.get("mode") or facts.get("redis_mode") or facts.get("server_mode")
    return Server(
        product="Valkey" if valkey else "Redis",
        version=valkey or facts.get("redis_version") or hello.get("version") or "unknown",
        is_replica=role not in {"master", "primary"},
        is_cluster=mode == "cluster",
    )


def _pairs(reply: Reply) -> dict[str, str]:
    """Read a flat list of names and values; empty for an error."""
    if not isinstance(reply, list):
        return {}
    return {
        _text(name): _text(value)
        for name, value in zip(reply[::2], reply[1::2], strict=False)
        if isinstance(value, bytes)
    }


def _lines(reply: Reply) -> dict[str, str]:
    """Read `name:value` lines; empty for an error."""
    if not isinstance(reply, bytes):
        return {}
    pairs = (line.partition(":") for line in _text(reply).splitlines())
    return {name: value.strip() for name, _, value in pairs}


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")

"""What a URL says of Sentinels and of what they watch."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit, urlunsplit

from idemctl.domain.secrets import Secret
from idemctl.stores.redis.slots import Node

_PLAIN = {"redis-sentinel": "redis", "rediss-sentinel": "rediss"}
_PORT = 26_379


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A primary that Sentinels watch."""

    sentinels: tuple[Node, ...]
    name: str
    url: Secret
    """What is said beside that: user, password, database and options."""

    def __str__(self) -> str:
        """Say where that is, without user or password."""
        return f"{','.join(map(str, self.sentinels))}#{self.name}"


def watched(url: Secret) -> Watched | None:
    """Read `redis-sentinel://user:password@host:port,host:port/0#name`; `None` for another URL.

    Raises:
        ValueError: it names no Sentinel, or nothing that they watch.
    """
    parts = urlsplit(url.reveal())
    if parts.scheme not in _PLAIN:
        return None
    user, at, hosts = parts.netloc.rpartition("@")
    nodes = [urlsplit(f"//{host}") for host in hosts.split(",")]
    sentinels = tuple(Node(one.hostname, one.port or _PORT) for one in nodes if one.hostname)
    if not parts.fragment or len(sentinels) < len(nodes):
        raise ValueError("no Sentinel, or no name")
    plain = (_PLAIN[parts.scheme], f"{user}{at}{sentinels[0].host}", parts.path, parts.query, "")
    return Watched(sentinels=sentinels, name=unquote(parts.fragment), url=Secret(urlunsplit(plain)))

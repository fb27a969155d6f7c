"""The way to a Redis or Valkey server, as redis-py goes it."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from idemctl.domain.circumstances import Unseen
from idemctl.domain.keys import escape
from idemctl.errors import ExitStatus
from idemctl.stores.reaching import Address, dial, judge_certificate, resolve, shown
from idemctl.stores.redis.circumstances import read_circumstances
from idemctl.stores.redis.connect import options_of, secured
from idemctl.stores.redis.describe import read_server, read_user
from idemctl.stores.redis.opening import open_lane, read_watched
from idemctl.stores.redis.sentinel import find_primary
from idemctl.stores.redis.translation import is_not_permitted
from idemctl.stores.ways import Seen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from idemctl.domain.secrets import Secret
    from idemctl.stores.redis.bulk import Lane
    from idemctl.stores.redis.slots import Node
    from idemctl.stores.ways import Stretch

_PORT = 6379
_KEEPS_ALL = "noeviction"


class RedisWay:
    """See `stores.ways.Way`."""

    def __init__(self, *, url: Secret, named: str, application: str) -> None:
        """Take note of where to go.

        Args:
            url: as redis-py takes it.
            named: what it is called: the variable that holds it.
            application: shown to administrators.
        """
        self._url = url
        self._named = named
        self._application = application
        self._opened: Lane | None = None
        self._primary: Node | None = None

    def stretches(self) -> Sequence[Stretch]:
        """See `Way.stretches`; Sentinels are asked on the way who the primary is."""
        begin: tuple[Stretch, ...] = (
            ("name", lambda: resolve(self._addresses(), self._named)),
            ("tcp", lambda: dial(self._addresses(), self._named)),
        )
        if self._url.reveal().partition("://")[0].endswith("-sentinel"):
            begin += (("primary", self._find_primary),)
        return (
            *begin,
            ("tls", self._secure),
            ("login", self._log_in),
            ("version", self._version),
            ("answers", self._answers),
            ("role", self._role),
            ("eviction", self._eviction),
        )

    def close(self) -> None:
        """See `Closes.close`."""
        if self._opened is not None:
            self._opened.close()

    def _addresses(self) -> list[Address]:
        behind = read_watched(self._url, self._named)
        if behind is not None:
            return [
                Address(host=one.host, port=one.port, shown=shown(one.host, behind.url))
                for one in behind.sentinels
            ]
        _, options = options_of(self._url, self._named)
        named = options.get("path") or options.get("host")
        port = 0 if "path" in options else int(options.get("port") or _PORT)
        if named is None:
            return [Address(host="localhost", port=port, shown="localhost")]
        return [Address(host=str(named), port=port, shown=shown(str(named), self._url))]

    def _find_primary(self) -> Seen:
        behind = read_watched(self._url, self._named)
        assert behind is not None, "the URL says so"
        self._primary = find_primary(behind, place=self._named, application=self._application)
        return Seen(says=f"{behind.name} is {self._primary}")

    def _secure(self) -> Seen:
        behind = read_watched(self._url, self._named)
        url = self._url if behind is None else behind.url
        with secured(url, place=self._named, node=self._primary) as link:
            if link is None:
                return Seen(says="off: the URL does not begin with rediss")
            is_checked = link.context.verify_mode is ssl.CERT_REQUIRED
            names = "with" if link.context.check_hostname else "without"
            return judge_certificate(
                link,
                verified=f"{names} its host's name" if is_checked else None,
                unverified="ssl_cert_reqs in the URL",
            )

    def _log_in(self) -> Seen:
        self._opened = open_lane(
            self._url, place=self._named, application=self._application, writable=False
        )
        return Seen(says=f"as {escape(read_user(self._lane))}")

    def _version(self) -> Seen:
        server = read_server(self._lane)
        says = f"{server.product} {server.version}"
        if server.is_supported:
            return Seen(says=says)
        return Seen(
            says=f"{says} is too old",
            status=ExitStatus.REFUSED,
            fix="Redis 6.2 and Valkey 7.2 are the oldest that work",
        )

    def _answers(self) -> Seen:
        """Ask what a server refuses while it loads its data, or as a replica that is lost."""
        reply = self._lane.tell(b"DBSIZE")
        if is_not_permitted(reply):
            return Seen(says="it does")
        return Seen(says=f"keys in this database: {self._lane.checked(reply):,}")

    def _role(self) -> Seen:
        server = read_server(self._lane)
        kind = ", a node of a cluster" if server.is_cluster else ""
        if not server.is_replica:
            return Seen(says=f"primary{kind}")
        return Seen(
            says=f"a replica{kind}, which may be behind: what is missing here may be there; "
            "nothing is compared or written through it",
            is_judged=False,
            fix=f"let {self._named} lead to the primary",
        )

    def _eviction(self) -> Seen:
        policy = read_circumstances(self._lane).eviction_policy
        if isinstance(policy, Unseen):
            return Seen(says=policy.why, is_judged=False)
        if policy == _KEEPS_ALL:
            return Seen(says=f"maxmemory-policy is {policy}")
        return Seen(
            says=f"maxmemory-policy is {policy}: when memory is full, records that are still "
            "promised go first",
            status=ExitStatus.FINDINGS,
            fix=f"CONFIG SET maxmemory-policy {_KEEPS_ALL}, and the same in its configuration",
        )

    @property
    def _lane(self) -> Lane:
        assert self._opened is not None, "the login came before"
        return self._opened

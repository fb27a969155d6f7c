"""Pages of names: how a server lists what it holds, a little at a time."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Protocol

from idemctl.domain.own_keys import OWN
from idemctl.errors import Refused, Unreachable, Unsupported
from idemctl.layouts.containers import Container
from idemctl.stores.redis.bursts import Burst
from idemctl.stores.redis.translation import is_syntax_error, is_wrong_type

if TYPE_CHECKING:
    from idemctl.stores.redis.bulk import Lane
    from idemctl.stores.redis.bursts import Reply

_PAGE = 1000
"""How many names the server looks at for one page."""
_GLOB = re.compile(rb"([*?\[\]\\^])")
_LONGEST = 1024 * 1024
_FEWEST, _MOST = 10, 100
_BEGIN, _GOES_ON = b"0", b"1"
"""Cursors: of the first page, and after the last; and of any page between."""
_TYPES = {Container.SET_MEMBER: "set", Container.HASH_FIELD: "hash"}


class Pages(Protocol):
    """Lists names."""

    size: int
    """About how many of all names are behind after each page."""

    def count(self) -> int:
        """Ask how many there are in all; 0 where this user may not know."""
        ...

    def burst(self, cursor: bytes) -> Burst:
        """Ask for a page; the first is that of `0`."""
        ...

    def read(self, reply: Reply) -> tuple[bytes, list[bytes]]:
        """Give the next page's cursor, which is `0` after the last, and the names of this one."""
        ...


def literal(name: bytes) -> bytes:
    r"""Write the pattern that only this name matches.

    >>> literal(b"a[b]*")
    b'a\\[b\\]\\*'
    """
    return _GLOB.sub(rb"\\\1", name)


class KeyPages:
    """Lists the keys under a prefix: where a cluster has several primaries, of each in turn."""

    def __init__(self, lane: Lane, prefix: bytes, size: int = _PAGE) -> None:
        self.size = size
        self._lane = lane
        self._match = literal(prefix) + b"*"
        self._open = deque((server, _BEGIN) for server in range(len(lane.servers)))
        """Who has more names, and the cursor there; first who is asked next."""
        self._division = lane.division()
        self._holds_ours = OWN.startswith(prefix)

    def count(self) -> int:
        """See `Pages.count`; a server counts the keys of a database."""
        replies = [server.tell(b"DBSIZE") for server in self._lane.servers]
        return sum(reply if type(reply) is int else 0 for reply in replies)

    def burst(self, cursor: bytes) -> Burst:  # noqa: ARG002 - Each server has its own.
        """See `Pages.burst`."""
        server, own = self._open[0]
        words = (b"SCAN", own, b"MATCH", self._match, b"COUNT", b"%d" % self.size)
        return Burst.of(*words, server=server)

    def read(self, reply: Reply) -> tuple[bytes, list[bytes]]:
        """See `Pages.read`.

        Raises:
            Unreachable: keys moved from server to server meanwhile, and some may be left out.
        """
        server, _ = self._open.popleft()
        own, names = self._lane.checked(reply)
        if self._holds_ours:
            names = [name for name in names if not name.startswith(OWN)]
        if own != _BEGIN:
            self._open.append((server, own))
        if self._open:
            return _GOES_ON, names
        if self._lane.division() != self._division:
            raise Unreachable(
                f"{self._lane.place}: cannot judge: the cluster moved keys while they were listed",
                hint="run again when it moves none: valkey-cli --cluster check tells",
            )
        return _BEGIN, names


class MemberPages:
    """Lists the members of a set. One that is not there has none."""

    size = _PAGE

    def __init__(self, lane: Lane, name: bytes) -> None:
        self._lane = lane
        self._name = name

    def count(self) -> int:
        """See `Pages.count`."""
        count: int = sure(self._lane, self._lane.tell(b"SCARD", self._name), Container.SET_MEMBER)
        return count

    def burst(self, cursor: bytes) -> Burst:
        """See `Pages.burst`."""
        return Burst.of(b"SSCAN", self._name, cursor, b"COUNT", b"%d" % self.size)

    def read(self, reply: Reply) -> tuple[bytes, list[bytes]]:
        """See `Pages.read`."""
        cursor, names = sure(self._lane, reply, Container.SET_MEMBER)
        return cursor, names


class FieldPages:
    """Lists the fields of a hash, without their values: one may be of any length.

    Before Redis 7.4 and Valkey 8 a server sends the values along. Then a value of more than a
    megabyte is dropped while it arrives, and a page has as few fields as fit into a megabyte by
    the server's own estimate, 10 to 100. So a page takes about a megabyte here; the most, where
    the estimate is wrong, is what 100 values of a megabyte take. The server writes a page whole
    before it sends it, and needs that much memory for as long: no command of it does with less.
    """

    def __init__(self, lane: Lane, name: bytes) -> None:
        self._lane = lane
        self._name = name
        trial = lane.tell(b"HSCAN", name, b"0", b"COUNT", b"1", b"NOVALUES")
        self._has_values = is_syntax_error(trial)
        self.size = _PAGE
        if self._has_values:
            lane.leave_out(_LONGEST)
            weight = lane.demand(b"MEMORY", b"USAGE", name) or 0
            average = max(1, weight // max(1, self.count()))
            self.size = max(_FEWEST, min(_MOST, _LONGEST // average))
        else:
            sure(lane, trial, Container.HASH_FIELD)

    def count(self) -> int:
        """See `Pages.count`."""
        count: int = sure(self._lane, self._lane.tell(b"HLEN", self._name), Container.HASH_FIELD)
        return count

    def burst(self, cursor: bytes) -> Burst:
        """See `Pages.burst`."""
        option = () if self._has_values else (b"NOVALUES",)
        return Burst.of(b"HSCAN", self._name, cursor, b"COUNT", b"%d" % self.size, *option)

    def read(self, reply: Reply) -> tuple[bytes, list[bytes]]:
        """See `Pages.read`.

        Raises:
            Unsupported: a name is so long that it was dropped like a value.
        """
        cursor, listed = sure(self._lane, reply, Container.HASH_FIELD)
        names = listed[::2] if self._has_values else listed
        if self._has_values and None in names:
            raise Unsupported(
                f"{self._lane.place}: cannot judge: a field's name is longer than a megabyte",
                hint="Redis 7.4 and Valkey 8 list names without values, and then it can be read",
            )
        return cursor, names


def sure(lane: Lane, reply: Reply, container: Container) -> Reply:
    """Check a reply about the key that holds all records.

    Raises:
        Refused: it is of another type.
    """
    if is_wrong_type(reply):
        raise Refused(
            f"{lane.place}: holds no {_TYPES[container]}, and the layout says "
            f"container: {container.value}",
            hint="name the right key as prefix: in the store, or change the layout",
        )
    return lane.checked(reply)

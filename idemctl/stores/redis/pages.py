"""Pages of names: how a server lists what it holds, a little at a time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from idemctl.errors import Refused, Unsupported
from idemctl.layouts.containers import Container
from idemctl.stores.redis.bulk import Burst
from idemctl.stores.redis.translation import is_syntax_error, is_wrong_type

if TYPE_CHECKING:
    from idemctl.stores.redis.bulk import Lane, Reply

_PAGE = 1000
"""How many names the server looks at for one page."""
_GLOB = re.compile(rb"([*?\[\]\\^])")
_LONGEST = 1024 * 1024
_FEWEST, _MOST = 10, 100
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


class KeyPages:
    """Lists the keys under a prefix."""

    size = _PAGE

    def __init__(self, lane: Lane, prefix: bytes) -> None:
        self._lane = lane
        self._match = _GLOB.sub(rb"\\\1", prefix) + b"*"

    def count(self) -> int:
        """See `Pages.count`; a server counts the keys of a database."""
        reply = self._lane.tell(b"DBSIZE")
        return reply if type(reply) is int else 0

    def burst(self, cursor: bytes) -> Burst:
        """See `Pages.burst`."""
        return Burst.of(b"SCAN", cursor, b"MATCH", self._match, b"COUNT", b"%d" % self.size)

    def read(self, reply: Reply) -> tuple[bytes, list[bytes]]:
        """See `Pages.read`."""
        cursor, names = self._lane.checked(reply)
        return cursor, names


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

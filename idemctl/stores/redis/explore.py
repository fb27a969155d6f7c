"""Looks at some of a database's keys, whatever they are and hold.

What nobody knows may be of any size: each value is weighed before it is asked for.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from idemctl.domain.records import Flaw
from idemctl.layouts.detect import SeenKey
from idemctl.stores.redis.bursts import KEY, Burst
from idemctl.stores.redis.opening import open_lane
from idemctl.stores.redis.pages import KeyPages
from idemctl.stores.redis.translation import is_wrong_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from idemctl.domain.secrets import Secret
    from idemctl.layouts.codecs import Value
    from idemctl.stores.redis.bulk import Lane
    from idemctl.stores.redis.bursts import Reply

PLACE = "redis"
_PAGE = 100
_LONGEST = 64 * 1024
"""Bytes in memory; nobody's record has more, and a page of them is no burden."""
_VALUES: dict[str, tuple[bytes | None, ...]] = {
    "string": (b"GETRANGE", KEY, b"0", b"%d" % _LONGEST),
    "hash": (b"HSCAN", KEY, b"0", b"COUNT", b"%d" % _PAGE),
    "set": (b"SSCAN", KEY, b"0", b"COUNT", b"%d" % _PAGE),
}


class RedisDatabase:
    """See `stores.exploring.ShowsKeys`."""

    def __init__(self, *, url: Secret, application: str) -> None:
        self._url = url
        self._application = application

    def keys(self, count: int) -> Iterator[Sequence[SeenKey]]:
        """See `ShowsKeys.keys`."""
        lane = self._lane
        pages = KeyPages(lane, b"", size=_PAGE)
        cursor, seen = b"0", set[bytes]()
        while len(seen) < count:
            cursor, page = pages.read(lane.ask(pages.burst(cursor))[0])
            names = [name for name in dict.fromkeys(page) if name not in seen]
            seen.update(names)
            yield self._seen(names)
            if cursor == b"0":
                return

    def close(self) -> None:
        """See `Closes.close`."""
        if "_lane" in self.__dict__:
            self._lane.close()

    @cached_property
    def _lane(self) -> Lane:
        return open_lane(self._url, place=PLACE, application=self._application, writable=False)

    def _seen(self, names: Sequence[bytes]) -> list[SeenKey]:
        lane = self._lane
        commands = ((b"TYPE", KEY), (b"MEMORY", b"USAGE", KEY))
        replies = list(map(lane.checked, lane.ask(Burst(commands=commands, keys=names))))
        kinds = [str(kind, "ascii") for kind in replies[::2]]
        values: dict[bytes, Value | Flaw] = {}
        for kind in _VALUES:
            some = [
                name
                for name, one, weight in zip(names, kinds, replies[1::2], strict=True)
                if one == kind and weight is not None and weight <= _LONGEST
            ]
            values |= self._values(kind, some)
        pairs = zip(names, kinds, strict=True)
        return [
            SeenKey(name=name, kind=kind, value=values.get(name, _unread(kind)))
            for name, kind in pairs
            if kind != "none"
        ]

    def _values(self, kind: str, names: Sequence[bytes]) -> dict[bytes, Value | Flaw]:
        if not names:
            return {}
        replies = self._lane.ask(Burst(commands=(_VALUES[kind],), keys=names))
        return {
            name: Flaw.OTHER_TYPE
            if is_wrong_type(reply)
            else _value(kind, self._lane.checked(reply))
            for name, reply in zip(names, replies, strict=True)
        }


def _value(kind: str, reply: Reply) -> Value:
    if kind == "string":
        whole: bytes = reply
        return whole
    _, flat = reply
    names = [name.decode("utf-8", errors="surrogateescape") for name in flat]
    if kind == "set":
        return dict.fromkeys(names, b"")
    return dict(zip(names[::2], flat[1::2], strict=True))


def _unread(kind: str) -> Flaw:
    return Flaw.TOO_LONG if kind in _VALUES else Flaw.OTHER_TYPE

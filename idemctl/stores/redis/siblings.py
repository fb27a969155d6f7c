"""Reads the siblings of records, in the same bursts as the records themselves."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from idemctl.domain.keys import escape
from idemctl.domain.records import Flaw
from idemctl.errors import Denied
from idemctl.layouts.containers import Container
from idemctl.layouts.siblings import Family
from idemctl.stores.redis.bursts import Burst
from idemctl.stores.redis.fetch import GONE, HEAD, beginning
from idemctl.stores.redis.translation import is_not_permitted, is_wrong_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from idemctl.layouts.conditions import Row
    from idemctl.layouts.model import RedisLayout
    from idemctl.layouts.siblings import Asked
    from idemctl.stores.redis.bulk import Lane
    from idemctl.stores.redis.bursts import Reply
    from idemctl.stores.redis.fetch import Fetcher, Rows

_Kin = tuple["Row | Flaw", int]
"""What a record's siblings hold, and when the first of them ends: in milliseconds, negative
where none does."""


class SiblingFetcher:
    """Asks for records as another fetcher does, and for their siblings beside them.

    Of each sibling come the first 16 KB. One that is not there has no member, and one that is
    no string spoils its record, whose library writes none such.
    """

    def __init__(self, records: Fetcher, lane: Lane, layout: RedisLayout, before: bytes) -> None:
        self._records = records
        self._lane = lane
        self._layout = layout
        self._family = Family(layout.key, layout.siblings, before)
        # A member of a set has no end of its own, and what belongs to it has.
        self._ends_with_them = layout.container is not Container.KEY
        self._asked: deque[Asked] = deque()

    def bursts(self, keys: Sequence[bytes]) -> list[Burst]:
        """See `Fetcher.bursts`."""
        asked = self._family.of(keys)
        self._asked.append(asked)
        return [*self._records.bursts(keys), *self._questions(asked)]

    def receive(self, keys: Sequence[bytes], rows: Rows) -> list[bytes]:
        """See `Fetcher.receive`."""
        start = len(rows.keys)
        again = self._records.receive(keys, rows)
        asked = self._asked.popleft()
        replies = [self._lane.receive() for _ in range(len(self._records.clocks()) + 1)]
        self._join(rows, start, self._read(asked, replies))
        return again

    def second_looks(self, keys: Sequence[bytes]) -> Iterator[Rows]:
        """See `Fetcher.second_looks`; siblings are looked at again too."""
        for rows in self._records.second_looks(keys):
            asked = self._family.of(rows.keys)
            replies = [self._lane.ask(burst) for burst in self._questions(asked)]
            self._join(rows, 0, self._read(asked, replies))
            yield rows

    def _questions(self, asked: Asked) -> list[Burst]:
        names = [name for some in asked.values() for name in some]
        commands = (beginning(HEAD - 1), self._records.expiry)
        return [*self._records.clocks(), Burst(commands=commands, keys=names)]

    def _read(self, asked: Asked, replies: Sequence[list[Reply]]) -> dict[bytes, _Kin]:
        *clock, pairs = replies
        now = self._records.now(clock)
        said = iter(pairs)
        return {
            key: self._kin([(next(said), next(said)) for _ in names], now)
            for key, names in asked.items()
        }

    def _kin(self, replies: Sequence[tuple[Reply, Reply]], now: int) -> _Kin:
        held: dict[str, bytes] = {}
        first = -1
        is_odd = False
        for member, pair in zip(self._family.members, replies, strict=True):
            value, expiry = map(self._permitted, pair)
            if self._lane.checked(expiry) == GONE:
                continue
            if is_wrong_type(value):
                is_odd = True
            else:
                held[member] = self._lane.checked(value)
            if expiry >= 0:
                first = earlier(first, now + expiry)
        return Flaw.OTHER_TYPE if is_odd else held, first

    def _join(self, rows: Rows, start: int, kin: dict[bytes, _Kin]) -> None:
        none: _Kin = ({}, -1)
        rows.siblings = rows.siblings or []
        found = [kin.get(key, none) for key in rows.keys[start:]]
        rows.siblings += [held for held, _ in found]
        if self._ends_with_them:
            ends = [earlier(end, rows.expiries[start + at]) for at, (_, end) in enumerate(found)]
            rows.expiries[start:] = ends

    def _permitted(self, reply: Reply) -> Reply:
        if is_not_permitted(reply):
            user = escape(self._lane.user.encode("utf-8", errors="surrogateescape"))
            ending = (self._records.expiry[0] or b"").decode().lower()
            patterns = " ".join(f"~{one}" for one in sibling_patterns(self._layout))
            raise Denied(
                f"{self._lane.place}: user {user} may not read the siblings of records",
                hint=f"ACL SETUSER {user} +getrange +{ending} {patterns}",
            )
        return reply


def earlier(one: int, other: int) -> int:
    """Give the earlier of two expiries; a negative one never comes."""
    return max(one, other) if min(one, other) < 0 else min(one, other)


def sibling_patterns(layout: RedisLayout) -> list[str]:
    """Give a pattern for the names of each sibling, as ACL rules have it."""
    starred = (
        one.replace("{key}", "*").replace("{scope}", "*") for one in layout.siblings.values()
    )
    return [one.replace("[", "").replace("]", "") for one in starred]

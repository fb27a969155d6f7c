"""Reads records that are members of a set or fields of a hash, for who knows their names.

None has an expiry of its own: each ends when the key does that holds them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.domain.records import Flaw
from idemctl.stores.redis.bursts import KEY, Burst
from idemctl.stores.redis.fetch import CHUNK, GONE, LONGEST, Fetcher, Rows
from idemctl.stores.redis.pages import sure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from idemctl.layouts.model import RedisLayout
    from idemctl.stores.redis.bulk import Lane
    from idemctl.stores.redis.bursts import Reply

_MOST_BYTES = 16 * 1024 * 1024
"""What fields hold that are asked for at once."""


class MemberFetcher(Fetcher):
    """Asks which names are members of a set."""

    _question = b"SISMEMBER"

    def __init__(self, lane: Lane, layout: RedisLayout, name: bytes) -> None:
        super().__init__(lane, layout, name)
        self._container = layout.container

    def bursts(self, keys: Sequence[bytes]) -> list[Burst]:
        """See `Fetcher.bursts`."""
        question = Burst(commands=((self._question, self._prefix, KEY),), keys=keys)
        return [*self.clocks(), self._end(), question]

    def receive(self, keys: Sequence[bytes], rows: Rows) -> list[bytes]:
        """See `Fetcher.receive`; no member needs a second look."""
        end, replies = self._replies()
        for key, reply in zip(keys, replies, strict=True):
            if sure(self._lane, reply, self._container) and end != GONE:
                rows.add([key], [b""], [end], 0)
        return []

    def _end(self) -> Burst:
        """Ask when all of them end."""
        return Burst(commands=(self.expiry,), keys=[self._prefix])

    def _replies(self) -> tuple[int, list[Reply]]:
        now = self.now([self._lane.receive() for _ in self.clocks()])
        expiry = self._lane.receive()[0]
        return self._instant(expiry, now), self._lane.receive()

    def _instant(self, reply: Reply, now: int) -> int:
        expiry: int = self._lane.checked(reply)
        return expiry if expiry < 0 else now + expiry


class FieldFetcher(MemberFetcher):
    """Asks how long fields of a hash are, and for those that are not too long."""

    _question = b"HSTRLEN"

    def __init__(self, lane: Lane, layout: RedisLayout, name: bytes) -> None:
        super().__init__(lane, layout, name)
        self._lengths: dict[bytes, int] = {}

    def receive(self, keys: Sequence[bytes], rows: Rows) -> list[bytes]:
        """See `Fetcher.receive`: fields that have to be read need a second look.

        So do empty ones, for a field that is not there is as long.
        """
        end, replies = self._replies()
        again = []
        for key, reply in zip(keys, replies, strict=True):
            length = sure(self._lane, reply, self._container)
            if end == GONE:
                continue
            if self._is_parsed and length > LONGEST:
                _add(rows, key, Flaw.TOO_LONG, length, end)
            elif length and not self._is_parsed:
                _add(rows, key, b"", length, end)
            else:
                self._lengths[key] = length
                again.append(key)
        return again

    def second_looks(self, keys: Sequence[bytes]) -> Iterator[Rows]:
        """See `Fetcher.second_looks`."""
        for some in self._portions(keys):
            rows = Rows()
            now = self.now([self._lane.ask(burst) for burst in self.clocks()])
            end = self._instant(self._lane.ask(self._end())[0], now)
            commands = ((self._question, self._prefix, KEY), (b"HMGET", self._prefix, KEY))
            replies = self._lane.ask(Burst(commands=commands, keys=some))
            for key, reply, values in zip(some, replies[::2], replies[1::2], strict=True):
                length = sure(self._lane, reply, self._container)
                (value,) = sure(self._lane, values, self._container)
                if length > LONGEST:
                    # It grew meanwhile, and may have been left out.
                    value = Flaw.TOO_LONG
                if end != GONE and value is not None:
                    _add(rows, key, value, length, end)
            yield rows

    def _portions(self, keys: Sequence[bytes]) -> Iterator[list[bytes]]:
        """Take fields together as long as they are few, and what they hold is little."""
        some: list[bytes] = []
        weight = 0
        for key in keys:
            length = self._lengths.pop(key, LONGEST)
            if some and (weight + length > _MOST_BYTES or len(some) == CHUNK):
                yield some
                some, weight = [], 0
            some.append(key)
            weight += length
        if some:
            yield some


def _add(rows: Rows, key: bytes, value: bytes | Flaw, length: int, end: int) -> None:
    rows.add([key], [value], [end], 0, [length])

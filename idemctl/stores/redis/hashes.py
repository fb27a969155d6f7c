"""Reads records that are hashes: their sizes first, then the fields that are needed.

A field may be of any length, and no command asks for the beginning of one. So what a key holds
is weighed before it is asked for, and what is too heavy for a record is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.domain.records import Flaw
from idemctl.stores.redis.bulk import KEY, Burst
from idemctl.stores.redis.fetch import CHUNK, GONE, LONGEST, Fetcher, Rows
from idemctl.stores.redis.translation import is_wrong_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from idemctl.layouts.model import RedisLayout
    from idemctl.stores.redis.bulk import Lane


_MOST_BYTES = 16 * 1024 * 1024
"""What keys hold that are asked for at once."""


class HashFetcher(Fetcher):
    """Asks one lane for fields of hashes, each key with its expiry."""

    def __init__(self, lane: Lane, layout: RedisLayout, prefix: bytes) -> None:
        super().__init__(lane, layout, prefix)
        self._fields = layout.hash_fields()
        self._first = (b"MEMORY", b"USAGE", KEY)
        self._weighed: dict[bytes, tuple[int, int]] = {}

    def receive(self, keys: Sequence[bytes], rows: Rows) -> list[bytes]:
        """See `Fetcher.receive`: keys that are there and not too heavy need a second look."""
        now = self._now(self._lane.receive()[0]) if self._is_relative else 0
        replies = self._lane.receive()
        again = []
        for key, reply, left in zip(keys, replies[::2], replies[1::2], strict=True):
            weight, expiry = self._lane.checked(reply), self._lane.checked(left)
            if expiry == GONE or weight is None:
                continue
            if weight > LONGEST:
                self._add(rows, key, Flaw.TOO_LONG, (weight, expiry), now)
            else:
                self._weighed[key] = weight, now + expiry if now and expiry >= 0 else expiry
                again.append(key)
        return again

    def second_looks(self, keys: Sequence[bytes]) -> Iterator[Rows]:
        """See `Fetcher.second_looks`."""
        fields = [field.encode() for field in self._fields]
        for some in self._portions(keys):
            rows = Rows()
            commands = ((b"HMGET", KEY, *fields), (b"HLEN", KEY))
            replies = self._lane.ask(Burst(commands=commands, keys=some))
            for key, values, length in zip(some, replies[::2], replies[1::2], strict=True):
                weighed = self._weighed.pop(key)
                if is_wrong_type(values):
                    self._add(rows, key, Flaw.OTHER_TYPE, weighed)
                elif self._lane.checked(length):
                    pairs = zip(self._fields, self._lane.checked(values), strict=True)
                    held = {field: value for field, value in pairs if value is not None}
                    self._add(rows, key, held, weighed)
            yield rows

    def _portions(self, keys: Sequence[bytes]) -> Iterator[list[bytes]]:
        """Take keys together as long as they are few, and what they hold is little."""
        some: list[bytes] = []
        weight = 0
        for key in keys:
            weight += self._weighed[key][0]
            if some and (weight > _MOST_BYTES or len(some) == CHUNK):
                yield some
                some, weight = [], self._weighed[key][0]
            some.append(key)
        if some:
            yield some

    def _add(
        self,
        rows: Rows,
        key: bytes,
        value: dict[str, bytes] | Flaw,
        weighed: tuple[int, int],
        now: int = 0,
    ) -> None:
        weight, expiry = weighed
        rows.sizes = rows.sizes or []
        rows.sizes.append(weight)
        rows.add([key], [value], [expiry], now)

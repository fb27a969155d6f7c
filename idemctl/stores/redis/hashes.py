"""Reads records that are hashes: their sizes first, then the fields that are needed.

A field may be of any length, and no command asks for the beginning of one. So what a key holds
is weighed before it is asked for, and what is too heavy for a record is not. The server weighs
a few fields of many and guesses the rest; where there are more, each needed one is measured.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from idemctl.domain.records import Flaw
from idemctl.stores.redis.bursts import KEY, Burst
from idemctl.stores.redis.fetch import CHUNK, CHUNKS, GONE, LONGEST, Fetcher, Rows
from idemctl.stores.redis.translation import is_wrong_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from idemctl.layouts.codecs import Value
    from idemctl.layouts.model import RedisLayout
    from idemctl.stores.redis.bulk import Lane
    from idemctl.stores.redis.bursts import Reply

    _Weighed = tuple[bytes, int]


_MOST_BYTES = 16 * 1024 * 1024
"""What keys hold that are asked for at once."""
_PIECE = 64
"""So many keys are read while the server works on the next."""
_MOST_WEIGHED = 64
"""The server weighs so many fields of a key, in whole; with more, its answer is a guess."""


class HashFetcher(Fetcher):
    """Asks one lane for fields of hashes, each key with its expiry."""

    def __init__(self, lane: Lane, layout: RedisLayout, prefix: bytes) -> None:
        super().__init__(lane, layout, prefix)
        self._fields = layout.hash_fields()
        self._names = [field.encode() for field in self._fields]
        self._first = (b"MEMORY", b"USAGE", KEY, b"SAMPLES", b"%d" % _MOST_WEIGHED)
        self._weights: defaultdict[bytes, list[int]] = defaultdict(list)
        """Of keys that were weighed and not yet read; one that was asked for twice has two."""

    def bursts(self, keys: Sequence[bytes]) -> list[Burst]:
        """See `Fetcher.bursts`."""
        return [Burst(commands=(self._first, (b"HLEN", KEY)), keys=keys)]

    def receive(self, keys: Sequence[bytes], rows: Rows) -> list[bytes]:  # noqa: ARG002 - Nothing was read.
        """See `Fetcher.receive`: all keys that are there need a second look."""
        replies = self._lane.receive()
        weights, lengths = replies[::2], replies[1::2]
        if set(map(type, replies)) == {int} and max(lengths) <= _MOST_WEIGHED:
            for key, weight in zip(keys, weights, strict=True):
                self._weights[key].append(weight)
            return list(keys)
        again, many = [], []
        for key, weight, length in zip(keys, weights, lengths, strict=True):
            if self._lane.checked(weight) is None:
                continue
            self._weights[key].append(weight)
            again.append(key)
            if not is_wrong_type(length) and self._lane.checked(length) > _MOST_WEIGHED:
                many.append(key)
        for start in range(0, len(many), CHUNK):
            self._measure(many[start : start + CHUNK])
        return again

    def _measure(self, keys: Sequence[bytes]) -> None:
        """Correct what the server guessed of keys with many fields, by those that are needed."""
        commands = tuple((b"HSTRLEN", KEY, name) for name in self._names)
        replies = self._lane.ask(Burst(commands=commands, keys=keys))
        lengths = [0 if is_wrong_type(reply) else self._lane.checked(reply) for reply in replies]
        for at, key in enumerate(keys):
            needed = sum(lengths[at * len(commands) : (at + 1) * len(commands)])
            self._weights[key][-1] = max(self._weights[key][-1], needed)

    def second_looks(self, keys: Sequence[bytes]) -> Iterator[Rows]:
        """See `Fetcher.second_looks`."""
        weighed = [(key, self._weighed(key)) for key in keys]
        heavy = [one for one in weighed if one[1] > LONGEST]
        for start in range(0, len(heavy), CHUNK):
            yield from self._looks(heavy[start : start + CHUNK], are_heavy=True)
        for some in _portions([one for one in weighed if one[1] <= LONGEST]):
            yield from self._looks(some, are_heavy=False)

    def _weighed(self, key: bytes) -> int:
        weights = self._weights[key]
        weight = weights.pop()
        if not weights:
            del self._weights[key]
        return weight

    def _looks(self, weighed: Sequence[_Weighed], *, are_heavy: bool) -> Iterator[Rows]:
        """Read the fields of keys with their expiries, of heavy ones no field; in some pieces."""
        first = (b"HLEN", KEY) if are_heavy else (b"HMGET", KEY, *self._names)
        pieces = [weighed[start : start + _PIECE] for start in range(0, len(weighed), _PIECE)]
        bursts: list[Burst] = []
        for piece in pieces:
            keys = [key for key, _ in piece]
            bursts += [*self.clocks(), Burst(commands=(first, self.expiry), keys=keys)]
        replies = self._lane.ask_all(bursts)
        for piece in pieces:
            now = self.now([next(replies) for _ in self.clocks()])
            yield self._rows(piece, next(replies), now)

    def _rows(self, weighed: Sequence[_Weighed], replies: Sequence[Reply], now: int) -> Rows:
        held, expiries = replies[::2], replies[1::2]
        if set(map(type, expiries)) != {int}:
            expiries = list(map(self._lane.checked, expiries))
        if GONE in expiries:
            there = [at for at, expiry in enumerate(expiries) if expiry != GONE]
            weighed = [weighed[at] for at in there]
            held, expiries = ([column[at] for at in there] for column in (held, expiries))
        rows = Rows()
        keys, sizes = [key for key, _ in weighed], [weight for _, weight in weighed]
        rows.add(keys, list(map(self._held, held)), expiries, now, sizes)
        return rows

    def _held(self, reply: Reply) -> Value | Flaw:
        if type(reply) is list:
            return dict(zip(self._fields, reply, strict=True))
        if is_wrong_type(reply):
            return Flaw.OTHER_TYPE
        self._lane.checked(reply)
        return Flaw.TOO_LONG


def _portions(weighed: Sequence[_Weighed]) -> Iterator[list[_Weighed]]:
    """Take keys together as long as they are few, and what they hold is little."""
    some: list[_Weighed] = []
    total = 0
    for key, weight in weighed:
        total += weight
        if some and (total > _MOST_BYTES or len(some) == CHUNK * CHUNKS):
            yield some
            some, total = [], weight
        some.append((key, weight))
    if some:
        yield some

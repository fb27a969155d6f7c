r"""Streams a keyspace: SCAN for the keys, their values and expiries in bulk, into columns.

While the values of some keys are read, the next are on their way, and so is the next page.
What is asked for at once is bounded in keys and in bytes: of a long value only the beginning
comes at first, and the whole of it with few others, if it is not too long for a record at all.

SCAN never leaves out a key that stands still, but may return it twice when the server's
table shrinks meanwhile. The walk visits the buckets that fall into one bucket of a smaller
table one after the other, so a repeat comes soon after the first: the last 32,768 keys or
more are remembered, exactly, and dropped when they come again. That is some megabytes,
however many keys there are. What would slip through is a repeat across more keys than that,
which takes a table that shrinks by a factor of tens of thousands during the scan.
"""

from __future__ import annotations

import re
import zlib
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.instants import FOREVER, MISSING, to_micros
from idemctl.layouts.model import Codec
from idemctl.layouts.reading import KeyspaceReader
from idemctl.stores.redis.bulk import KEY, Burst
from idemctl.stores.redis.connect import is_unknown_command, is_wrong_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from idemctl.domain.batch import Batch
    from idemctl.layouts.model import RedisLayout
    from idemctl.stores.ports import Shard
    from idemctl.stores.redis.bulk import Command, Lane, Reply

_PAGE = 1000
"""How many keys the server looks at for one SCAN."""
_CHUNK = 250
"""The values of so many keys are asked for in one burst, so that others are served between;"""
_CHUNKS = 2
"""and so many bursts are on their way, so that neither side waits for the other."""
_ENOUGH = 1000
"""So many records make a batch; fewer do"""
_MOST_PAGES = 8
"""after so many pages, even none: the caller wants to rest, or to stop."""
_HEAD = 16 * 1024
"""So many bytes of a value come at first: 4 MB at most for a burst."""
_LONGEST = 1024 * 1024
"""A longer value is not read: its record is malformed, with its true size."""
_AGAIN = 16
"""So many keys are looked at again at once: 16 MB at most."""
_REMEMBERED = 32_768
_GONE = -2
_LAST_INSTANT = to_micros(datetime.max.replace(tzinfo=UTC)) // 1000
_GLOB = re.compile(rb"([*?\[\]\\^])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A part of a scan: its records, which may be none, and how far it came."""

    batch: Batch
    done: float
    """The share of all keys that lies behind, 0 to 1, by the server's count at the start."""


class Scanner:
    """Reads the keys under a prefix through a layout, over a lane of its own."""

    def __init__(self, lane: Lane, layout: RedisLayout, prefix: bytes) -> None:
        self._lane = lane
        self._reader = KeyspaceReader(layout, prefix)
        self._prefix = prefix
        self._is_parsed = layout.codec is Codec.JSON
        self._longest = _LONGEST if self._is_parsed else _HEAD
        self._expiry = self._expiry_command()

    def steps(self, shard: Shard) -> Iterator[Step]:
        """Yield the records of one shard, those that need a second look in steps of their own."""
        rows, pages = _Rows(), 0
        for chunk in self._chunks(shard):
            again = self._read(chunk.keys, rows) if chunk.keys else []
            is_due = len(rows.keys) >= _ENOUGH or chunk.pages >= pages + _MOST_PAGES
            if is_due or again or chunk.done == 1:
                yield Step(batch=rows.batch(self._reader), done=chunk.done)
                rows, pages = _Rows(), chunk.pages
            for start in range(0, len(again), _AGAIN):
                read = self._second_look(again[start : start + _AGAIN])
                yield Step(batch=read.batch(self._reader), done=chunk.done)

    def _chunks(self, shard: Shard) -> Iterator[_Chunk]:
        """Walk the pages and ask for values ahead, so that something is always on its way.

        When this yields keys, the lane's oldest replies are theirs, and must be received.
        """
        lane = self._lane
        recent = _Recent()
        total = self._key_count()
        cursor: bytes | None = b"0"
        pending: list[bytes] = []
        flying: deque[list[bytes] | None] = deque()  # None is a page; the rest are chunks.
        pages = 0
        while cursor is not None or pending or flying:
            bursts = []
            if cursor is not None and None not in flying and len(pending) <= _CHUNK:
                bursts.append(self._page(cursor))
                flying.append(None)
            while pending and len(flying) - flying.count(None) < _CHUNKS:
                chunk, pending = pending[:_CHUNK], pending[_CHUNK:]
                bursts += self._values(chunk)
                flying.append(chunk)
            if bursts:
                lane.send(*bursts)
            keys = flying.popleft()
            if keys is None:
                cursor, found = lane.checked(lane.receive()[0])
                cursor = None if cursor == b"0" else cursor
                pages += 1
                pending += recent.fresh(_of_shard(found, shard))
            is_last = cursor is None and not flying and not pending
            done = 1.0 if is_last else min(0.99, pages * _PAGE / total) if total else 0.0
            yield _Chunk(keys=keys or [], pages=pages, done=done)

    def _read(self, keys: list[bytes], rows: _Rows) -> list[bytes]:
        """Read the values of a chunk; give back the keys that need a second look.

        Long values do, and empty ones: GETRANGE answers so for a key that was gone at that
        moment, and may have been written anew before its expiry was read.
        """
        now = self._now(self._lane.receive()[0]) if self._is_relative else 0
        replies = self._lane.receive()
        values, expiries = replies[::2], replies[1::2]
        if _are_plain(values, expiries):
            rows.add(keys, values, expiries, now)
            return []
        again = []
        for key, reply, expiry in zip(keys, values, expiries, strict=True):
            value = self._value(reply)
            if self._lane.checked(expiry) == _GONE:
                continue
            if value is None or 0 < len(value) <= _HEAD:
                rows.add([key], [value], [expiry], now)
            else:
                again.append(key)
        return again

    def _second_look(self, keys: Sequence[bytes]) -> _Rows:
        """Read values up to the limit, each together with its expiry and its true length."""
        lane = self._lane
        rows = _Rows()
        sizes = rows.sizes = list[int]()
        now = self._now(lane.tell(b"TIME")) if self._is_relative else 0
        commands = (_beginning(self._longest), self._expiry, (b"STRLEN", KEY))
        replies = lane.ask(Burst(commands=commands, keys=keys))
        for key, value, expiry, length in zip(
            keys, replies[::3], replies[1::3], replies[2::3], strict=True
        ):
            read = self._value(value)
            if lane.checked(expiry) == _GONE:
                continue
            is_unread = read is None or (self._is_parsed and len(read) > self._longest)
            rows.add([key], [None if is_unread else read], [expiry], now)
            sizes.append(0 if read is None else lane.checked(length))
        return rows

    def _values(self, keys: Sequence[bytes]) -> list[Burst]:
        burst = Burst(commands=(_beginning(_HEAD), self._expiry), keys=keys)
        return [Burst.of(b"TIME"), burst] if self._is_relative else [burst]

    def _value(self, reply: Reply) -> bytes | None:
        """Give the bytes; `None` for a key of another type."""
        value: bytes | None = None if is_wrong_type(reply) else self._lane.checked(reply)
        return value

    def _page(self, cursor: bytes) -> Burst:
        match = _GLOB.sub(rb"\\\1", self._prefix) + b"*"
        return Burst.of(b"SCAN", cursor, b"MATCH", match, b"COUNT", b"%d" % _PAGE)

    def _key_count(self) -> int:
        """Ask how many keys the database holds; 0 where this user may not know."""
        reply = self._lane.tell(b"DBSIZE")
        return reply if type(reply) is int else 0

    def _expiry_command(self) -> Command:
        """Choose PEXPIRETIME; where the server does not know it (Redis 6.2), PTTL.

        What is left to live, added to a clock that is read once for a chunk, is early by
        the few milliseconds that the chunk takes.
        """
        reply = self._lane.tell(b"PEXPIRETIME", self._prefix)
        if is_unknown_command(reply):
            return (b"PTTL", KEY)
        self._lane.checked(reply)
        return (b"PEXPIRETIME", KEY)

    @property
    def _is_relative(self) -> bool:
        return self._expiry[0] == b"PTTL"

    def _now(self, reply: Reply) -> int:
        seconds, micros = self._lane.checked(reply)
        return int(seconds) * 1000 + int(micros) // 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chunk:
    """Keys whose values arrive next; none when only a page was read."""

    keys: list[bytes]
    pages: int
    done: float
    """1 for the last chunk, and only for that."""


class _Recent:
    """The last keys that were seen, exactly; at least `_REMEMBERED`, at most twice that."""

    def __init__(self) -> None:
        self._newer: set[bytes] = set()
        self._older: set[bytes] = set()

    def fresh(self, keys: Sequence[bytes]) -> list[bytes]:
        """Drop the keys that were seen lately, and remember the others."""
        newer, older = self._newer, self._older
        fresh = []
        for key in keys:
            if key not in newer and key not in older:
                newer.add(key)
                fresh.append(key)
        if len(newer) >= _REMEMBERED:
            self._newer, self._older = set(), newer
        return fresh


class _Rows:
    """What was read of some keys, column by column."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.values: list[bytes | None] = []
        self.expiries: list[int] = []
        self.sizes: list[int] | None = None
        """True sizes, where values may not be whole."""

    def add(
        self,
        keys: Sequence[bytes],
        values: Sequence[bytes | None],
        expiries: Sequence[int],
        now: int,
    ) -> None:
        """Add rows, whose expiries count from `now`."""
        self.keys += keys
        self.values += values
        self.expiries += [one if one < 0 else now + one for one in expiries] if now else expiries

    def batch(self, reader: KeyspaceReader) -> Batch:
        """Read the rows through the layout."""
        sizes = self.sizes or [len(value or b"") for value in self.values]
        return reader.read(
            self.keys,
            self.values,
            _micros(np.array(self.expiries, np.int64)),
            sizes=np.array(sizes, np.int64),
        )


def _are_plain(values: Sequence[Reply], expiries: Sequence[Reply]) -> bool:
    """Whether no key is gone, of another type, empty or long: so they are, nearly always."""
    return (
        set(map(type, values)) == {bytes}
        and set(map(type, expiries)) == {int}
        and _GONE not in expiries
        and all(values)
        and max(map(len, values)) <= _HEAD
    )


def _micros(expiries: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn milliseconds into instants; a negative one is a key that stays."""
    instants = np.where(expiries > _LAST_INSTANT, FOREVER, expiries * 1000)
    return np.where(expiries < 0, MISSING, instants)


def _of_shard(keys: list[bytes], shard: Shard) -> list[bytes]:
    """Keep the keys that fall to a shard, the same in every process."""
    if shard.count == 1:
        return keys
    return [key for key in keys if zlib.crc32(key) % shard.count == shard.index]


def _beginning(count: int) -> Command:
    """Ask for one byte more, which tells a value of `count` bytes from a longer one."""
    return (b"GETRANGE", KEY, b"0", b"%d" % count)

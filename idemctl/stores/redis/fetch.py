"""Reads the values and expiries of keys in bulk, for who knows their names.

What is asked for at once is bounded in keys and in bytes: of a long value only the beginning
comes at first, and the whole of it with few others, if it is not too long for a record at all.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import compress
from operator import not_
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.instants import FOREVER, MISSING, to_micros
from idemctl.domain.records import Flaw
from idemctl.layouts.codecs import is_presence
from idemctl.stores.redis.bursts import KEY, Burst
from idemctl.stores.redis.translation import is_unknown_command, is_wrong_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from idemctl.domain.batch import Batch
    from idemctl.layouts.codecs import Value
    from idemctl.layouts.conditions import Row
    from idemctl.layouts.model import RedisLayout
    from idemctl.layouts.reading import Decoded, KeyspaceReader
    from idemctl.stores.redis.bulk import Lane
    from idemctl.stores.redis.bursts import Command, Reply

CHUNK = 125
"""The values of so many keys are asked for in one burst, so that others are served between;"""
CHUNKS = 4
"""and so many bursts are on their way: about what fits into a connection, so that the server
works while values are read here, and never waits with replies that it cannot send."""
HEAD = 16 * 1024
"""So many bytes of a value come at first: 2 MB at most for a burst."""
LONGEST = 1024 * 1024
"""A longer value is not read: its record is malformed, with its true size."""
_AGAIN = 16
"""So many keys are looked at again at once: 16 MB at most."""
GONE = -2
_LAST_INSTANT = to_micros(datetime.max.replace(tzinfo=UTC)) // 1000


class Fetcher:
    """Asks one lane for strings, each with its expiry beside it."""

    def __init__(self, lane: Lane, layout: RedisLayout, prefix: bytes) -> None:
        self._lane = lane
        self._prefix = prefix
        self._is_parsed = not is_presence(layout.codec)
        self._first = beginning(HEAD)
        self.expiry = self._expiry_command()

    def bursts(self, keys: Sequence[bytes]) -> list[Burst]:
        """Make what has to be sent for some keys; `receive` reads the replies."""
        return [*self.clocks(), Burst(commands=(self._first, self.expiry), keys=keys)]

    def clocks(self) -> list[Burst]:
        """Make what has to be asked before expiries that count from now; else nothing."""
        return [Burst.of(b"TIME")] if self._is_relative else []

    def now(self, replies: Sequence[list[Reply]]) -> int:
        """Read what came of `clocks`: the server's time in milliseconds, or 0."""
        return self._now(replies[0][0]) if replies else 0

    def receive(self, keys: Sequence[bytes], rows: Rows) -> list[bytes]:
        """Read the values of keys that were asked for; give back those that need a second look.

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
            if self._lane.checked(expiry) == GONE:
                continue
            if isinstance(value, Flaw) or 0 < len(value) <= HEAD:
                rows.add([key], [value], [expiry], now)
            else:
                again.append(key)
        return again

    def second_looks(self, keys: Sequence[bytes]) -> Iterator[Rows]:
        """Read values up to the limit, each with its expiry and true length; long ones by few."""
        short, long = self._by_length(keys)
        for start in range(0, len(short), CHUNK):
            yield self._second_look(short[start : start + CHUNK], HEAD, long)
        for start in range(0, len(long), _AGAIN):
            yield self._second_look(long[start : start + _AGAIN], LONGEST, [])

    def _by_length(self, keys: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
        """Tell the keys that are empty, or were gone for a moment, from those that are long."""
        lengths = self._lane.ask(Burst(commands=((b"STRLEN", KEY),), keys=keys)) if keys else []
        is_short = [type(length) is int and length <= HEAD for length in lengths]
        return list(compress(keys, is_short)), list(compress(keys, map(not_, is_short)))

    def _second_look(self, keys: Sequence[bytes], most: int, longer: list[bytes]) -> Rows:
        """Read values of so many bytes at most, or of as many as a record may have.

        Those that have become longer are added to `longer`.
        """
        lane = self._lane
        rows = Rows()
        now = self._now(lane.tell(b"TIME")) if self._is_relative else 0
        commands = (beginning(most), self.expiry, (b"STRLEN", KEY))
        replies = lane.ask(Burst(commands=commands, keys=keys))
        for key, value, expiry, length in zip(
            keys, replies[::3], replies[1::3], replies[2::3], strict=True
        ):
            read = self._value(value)
            if lane.checked(expiry) == GONE:
                continue
            size = 0 if isinstance(read, Flaw) else lane.checked(length)
            if size > most and most < LONGEST:
                longer.append(key)
                continue
            rows.add([key], [Flaw.TOO_LONG if size > LONGEST else read], [expiry], now, [size])
        return rows

    def _value(self, reply: Reply) -> bytes | Flaw:
        value: bytes | Flaw = Flaw.OTHER_TYPE if is_wrong_type(reply) else self._lane.checked(reply)
        return value

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
        return self.expiry[0] == b"PTTL"

    def _now(self, reply: Reply) -> int:
        seconds, micros = self._lane.checked(reply)
        return int(seconds) * 1000 + int(micros) // 1000


class Rows:
    """What was read of some keys, column by column."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.values: list[Value | Flaw] = []
        self.expiries: list[int] = []
        self.sizes: list[int] | None = None
        """True sizes, where values may not be whole."""
        self.siblings: list[Row | Flaw] | None = None
        """What the siblings of each hold, where the layout has any."""
        self._decoded: Decoded | None = None

    def add(
        self,
        keys: Sequence[bytes],
        values: Sequence[Value | Flaw],
        expiries: Sequence[int],
        now: int,
        sizes: Sequence[int] | None = None,
    ) -> None:
        """Add rows, whose expiries count from `now`; without sizes, all values are whole."""
        if sizes is not None or self.sizes is not None:
            known = _lengths(self.values) if self.sizes is None else self.sizes
            self.sizes = [*known, *(_lengths(values) if sizes is None else sizes)]
        self.keys += keys
        self.values += values
        self.expiries += [one if one < 0 else now + one for one in expiries] if now else expiries

    def join(self, others: Rows) -> None:
        """Add rows that were looked at again."""
        self.add(others.keys, others.values, others.expiries, 0, others.sizes)
        if others.siblings is not None:
            self.siblings = [*(self.siblings or []), *others.siblings]

    @property
    def byte_count(self) -> int:
        """How much the keys hold, as far as it was read."""
        return sum(_lengths(self.values) if self.sizes is None else self.sizes)

    def decode(self, reader: KeyspaceReader) -> Decoded:
        """Take apart the values that were not yet.

        After each chunk, so that meanwhile the server goes on filling the connection.
        """
        if self._decoded is None:
            self._decoded = reader.decoded(self.values, self.siblings)
        elif (done := len(self._decoded)) < len(self.values):
            siblings = self.siblings and self.siblings[done:]
            self._decoded.join(reader.decoded(self.values[done:], siblings))
        return self._decoded

    def batch(
        self, reader: KeyspaceReader, asked: tuple[list[bytes], list[bytes]] | None = None
    ) -> Batch:
        """Read the rows through the layout; see `KeyspaceReader.batch`."""
        sizes = _lengths(self.values) if self.sizes is None else self.sizes
        return reader.batch(
            self.keys,
            self.decode(reader),
            _micros(np.array(self.expiries, np.int64)),
            sizes=np.array(sizes, np.int64),
            asked=asked,
        )


def _lengths(values: Sequence[Value | Flaw]) -> list[int]:
    """Give the bytes that were read of each."""
    try:
        return list(map(len, values))  # type: ignore[arg-type] # Else it raises.
    except TypeError:
        return [0 if isinstance(value, Flaw) else len(value) for value in values]


def _are_plain(values: Sequence[Reply], expiries: Sequence[Reply]) -> bool:
    """Whether no key is gone, of another type, empty or long: so they are, nearly always."""
    return (
        set(map(type, values)) == {bytes}
        and set(map(type, expiries)) == {int}
        and GONE not in expiries
        and all(values)
        and max(map(len, values)) <= HEAD
    )


def _micros(expiries: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn milliseconds into instants; a negative one is a key that stays."""
    instants = np.where(expiries > _LAST_INSTANT, FOREVER, expiries * 1000)
    return np.where(expiries < 0, MISSING, instants)


def beginning(count: int) -> Command:
    """Ask for one byte more, which tells a value of `count` bytes from a longer one."""
    return (b"GETRANGE", KEY, b"0", b"%d" % count)

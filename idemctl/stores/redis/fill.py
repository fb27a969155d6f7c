"""Writes twins where there are none, and none of them too late.

Rows in Postgres are held while their twins are written. A server that was frozen, or a
network that was cut, would run what it was sent long after, when those rows are free and
may be gone. So a script writes, and looks at the server's clock before: what comes after its
deadline is not done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain, compress, repeat
from typing import TYPE_CHECKING

import numpy as np

from idemctl.errors import Unreachable
from idemctl.stores.answers import Written
from idemctl.stores.redis.bursts import KEY, Before

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from idemctl.errors import IdemctlError
    from idemctl.stores.redis.bulk import Lane
    from idemctl.stores.redis.bursts import Command, Reply

PATIENCE = timedelta(seconds=1)
"""How long a reply is waited for, and how long the server may write what it was sent: rows in
Postgres are held meanwhile."""
AT_ONCE = 100
"""Keys that one script writes: others are served between two of them."""
_MICROS = 1000
_WORD = Before(b"")
_LATE = b"late"
_SCRIPT = b"""\
local now = redis.call('TIME')
if now[1] * 1000 + now[2] / 1000 > tonumber(ARGV[1]) then return 'late' end
local written = {}
for i, key in ipairs(KEYS) do
  local reply = redis.pcall('SET', key, ARGV[2 * i], 'NX', 'PXAT', ARGV[2 * i + 1])
  if type(reply) == 'table' and reply.err then
    written[i] = reply
    break
  end
  written[i] = reply and 1 or 0
end
return written
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """Strings to be written where there are none, each to expire at its instant."""

    keys: Sequence[bytes]
    values: Sequence[bytes]
    until_ms: Sequence[int]
    deadline_ms: int
    """By the server's clock."""
    at_once: int

    @property
    def commands(self) -> tuple[Command, ...]:
        """What must be permitted."""
        return ((b"SET", KEY),)

    def among(self, places: Sequence[int]) -> Writes:
        """See `Packet.among`; only where each key has a script of its own."""
        return replace(
            self,
            keys=[self.keys[at] for at in places],
            values=[self.values[at] for at in places],
            until_ms=[self.until_ms[at] for at in places],
        )

    def one_by_one(self) -> Sequence[Writes]:
        """See `Packet.one_by_one`."""
        return [self]

    @property
    def reply_count(self) -> int:
        """How many replies will come."""
        return len(self.keys[:: self.at_once])

    def packed(self) -> bytes:
        """Write them as the server reads them."""
        return b"".join(chain.from_iterable(map(self._script, self.portions())))

    def portions(self) -> Iterator[slice]:
        """Give which keys each script writes."""
        for start in range(0, len(self.keys), self.at_once):
            yield slice(start, min(start + self.at_once, len(self.keys)))

    def _script(self, some: slice) -> Iterator[bytes]:
        count = some.stop - some.start
        ends = [b"%d" % until for until in self.until_ms[some]]
        arguments = chain.from_iterable(zip(self.values[some], ends, strict=True))
        words = [
            b"EVAL", _SCRIPT, b"%d" % count, *self.keys[some],
            b"%d" % self.deadline_ms, *arguments,
        ]  # fmt: skip
        yield b"*%d\r\n" % len(words)
        lengths = map(_WORD.__getitem__, map(len, words))
        yield from chain.from_iterable(zip(lengths, words, repeat(b"\r\n")))


def fill(
    lane: Lane,
    names: Sequence[bytes | None],
    values: Sequence[bytes],
    until: NDArray[np.int64],
    *,
    deadline_ms: int,
    at_once: int = AT_ONCE,
) -> Written:
    """Write what is absent, and say which were; no twin without a name. See `Fills.fill`."""
    named = np.array([name is not None for name in names], np.bool_)
    writes = Writes(
        keys=[name for name in names if name is not None],
        values=list(compress(values, named)),
        until_ms=(until[named] // _MICROS).tolist(),
        deadline_ms=deadline_ms,
        at_once=at_once,
    )
    replies = lane.ask(writes) if writes.keys else []
    flags = np.zeros(len(writes.keys), np.bool_)
    failure = None
    for some, reply in zip(writes.portions(), replies, strict=True):
        told, error = _read(lane, reply)
        flags[some.start : some.start + len(told)] = told
        failure = failure or error
    written = np.zeros(len(names), np.bool_)
    written[named] = flags
    return Written(flags=written, failure=failure)


def lost(names: Sequence[bytes | None], error: IdemctlError) -> Written:
    """Say of twins that were on their way that nobody knows what became of them."""
    return Written(
        flags=np.zeros(len(names), np.bool_),
        failure=error,
        unknown_count=sum(name is not None for name in names),
    )


def _read(lane: Lane, reply: Reply) -> tuple[list[bool], IdemctlError | None]:
    """Say which keys a script wrote, up to what stopped it."""
    if reply == _LATE:
        return [], Unreachable(
            f"{lane.place}: Redis answered too late: what it was to write was not written",
            hint="run again when the server answers in time",
        )
    flags: list[Reply] = reply if isinstance(reply, list) else [reply]
    failure = lane.failure(flags[-1])
    return [flag == 1 for flag in (flags[:-1] if failure else flags)], failure

"""What is sent at once: RESP packed by hand, into one buffer for many keys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

KEY = None
"""Stands in a command for the key."""

_USUAL = 1024
"""Bytes of a key or a value; what is written before longer ones is not kept."""
_SLOT = b"$%d\r\n%b\r\n"

Command = tuple[bytes | None, ...]
Reply = Any
"""Bytes, a number, `None`, a list; or a `ResponseError`, as a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """Commands that travel together: each is sent for the first key, then for the next.

    What concerns one key travels side by side, so that little can happen between.
    """

    commands: tuple[Command, ...]
    keys: Sequence[bytes]
    server: int = 0
    """Which of several primaries it is for, where no key in it says so."""

    @classmethod
    def of(cls, *words: bytes, server: int = 0) -> Self:
        """Make a burst of one command that is sent once."""
        return cls(commands=(words,), keys=(b"",), server=server)

    def among(self, places: Sequence[int]) -> Burst:
        """Make the same burst for some of its keys."""
        return Burst(commands=self.commands, keys=[self.keys[at] for at in places])

    def one_by_one(self) -> list[Burst]:
        """Make one for each command, to be sent one after the other."""
        return [Burst(commands=(command,), keys=self.keys) for command in self.commands]

    @property
    def reply_count(self) -> int:
        """How many replies will come."""
        return len(self.commands) * len(self.keys)

    def packed(self) -> bytes:
        """Write it as the server reads it."""
        befores, last = _texts(self.commands)
        lengths = list(map(len, self.keys))
        pieces: list[Iterable[bytes]] = []
        for before in befores:
            pieces += [map(before.__getitem__, lengths), self.keys]
        pieces.append(repeat(last, len(lengths)))
        return b"".join(chain.from_iterable(zip(*pieces, strict=True)))


class Packet(Protocol):
    """What can be sent."""

    @property
    def commands(self) -> tuple[Command, ...]:
        """What must be permitted."""
        ...

    @property
    def keys(self) -> Sequence[bytes]:
        """For which it is sent."""
        ...

    @property
    def reply_count(self) -> int:
        """How many replies will come: as many for each key."""
        ...

    def among(self, places: Sequence[int]) -> Packet:
        """Make the same for some of its keys."""
        ...

    def one_by_one(self) -> Sequence[Packet]:
        """Make one for each command."""
        ...

    def packed(self) -> bytes:
        """Write it as the server reads it."""
        ...


class Before(dict[int, bytes]):
    """What stands before a key or a value, for each length that occurs."""

    def __init__(self, text: bytes) -> None:
        super().__init__()
        self._text = text

    def __missing__(self, length: int) -> bytes:
        text = b"%b$%d\r\n" % (self._text, length)
        if length < _USUAL:
            self[length] = text
        return text


@lru_cache(maxsize=8)
def _texts(commands: tuple[Command, ...]) -> tuple[list[Before], bytes]:
    """Write commands; give what stands before each key in them, and what after the last."""
    befores, text = [], b""
    for command in commands:
        text += b"*%d\r\n" % len(command)
        for word in command:
            if word is KEY:
                befores.append(Before(text))
                text = b"\r\n"
            else:
                text += _SLOT % (len(word), word)
    return befores, text

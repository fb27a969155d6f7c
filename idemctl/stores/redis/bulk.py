"""The bulk path, and the one door through which every command goes.

RESP is packed by hand into one buffer for many keys, and sent over redis-py's own connection,
TLS and ACL included. Several bursts may be in flight; replies come in their order.
A lane is one connection to one primary.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Protocol

from redis import exceptions

from idemctl.errors import IdemctlError, Refused
from idemctl.stores.redis.connect import connect
from idemctl.stores.redis.reads import only_reads
from idemctl.stores.redis.replies import Replies
from idemctl.stores.redis.sieve import Sieve
from idemctl.stores.redis.translation import lost, translated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import timedelta
    from typing import Self

    from idemctl.domain.secrets import Secret
    from idemctl.stores.redis.connect import Wire

KEY = None
"""Stands in a command for the key."""

_USUAL = 1024
"""Bytes of a key or a value; what is written before longer ones is not kept."""
_SLOT = b"$%d\r\n%b\r\n"

Command = tuple[bytes | None, ...]
Reply = Any
"""Bytes, a number, `None`, a list; or a `ResponseError`, as a value."""
_Landed = deque[list[Reply]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """Commands that travel together: each is sent for the first key, then for the next.

    What concerns one key travels side by side, so that little can happen between.
    """

    commands: tuple[Command, ...]
    keys: Sequence[bytes]

    @classmethod
    def of(cls, *words: bytes) -> Self:
        """Make a burst of one command that is sent once."""
        return cls(commands=(words,), keys=(b"",))

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
    def reply_count(self) -> int:
        """How many replies will come."""
        ...

    def packed(self) -> bytes:
        """Write it as the server reads it."""
        ...


class Lane:
    """One connection: sends bursts, gives back their replies.

    A lane that lost its connection stays lost: what it was asked is unknown, and a new
    connection may lead to another server.
    """

    def __init__(self, wire: Wire, *, place: str, user: str, writable: bool) -> None:
        self.place = place
        self.user = user
        self._wire = wire
        self._replies = Replies(wire)
        self._writable = writable
        self._flying: deque[tuple[int, _Landed]] = deque()
        self._landed: _Landed = deque()

    @classmethod
    def open(
        cls,
        url: Secret,
        *,
        place: str,
        application: str,
        writable: bool,
        patience: timedelta | None = None,
    ) -> Self:
        """Connect, and say who it is where the server permits that.

        Args:
            url: where to.
            place: what errors call this store.
            application: shown to administrators in `CLIENT LIST`.
            writable: without it every command that does more than read is refused here.
            patience: how long it waits for a reply, where that matters.

        Raises:
            IdemctlError: as `connect` does.
        """
        wire, user = connect(url, place=place, patience=patience)
        lane = cls(wire, place=place, user=user, writable=writable)
        name = application.encode("ascii", errors="replace").replace(b" ", b"-")
        try:
            lane.tell(b"CLIENT", b"SETNAME", name)
        except IdemctlError:
            lane.close()
            raise
        return lane

    def send(self, *bursts: Packet) -> None:
        """Send bursts in one write.

        Raises:
            Refused: a command is none that reads, and the lane is not open for writing.
            Unreachable: the connection is lost.
        """
        self._send(bursts, self._landed)

    def _send(self, bursts: Sequence[Packet], landed: _Landed) -> None:
        for burst in bursts:
            for command in burst.commands:
                self._admit(command)
        if not self._wire.is_connected:
            raise lost(self.place)
        try:
            self._wire.send_packed_command([b"".join([burst.packed() for burst in bursts])])
        except exceptions.RedisError as error:
            raise self._translated(error) from None
        self._flying.extend((burst.reply_count, landed) for burst in bursts)

    def receive(self) -> list[Reply]:
        """Give the replies to the oldest burst whose replies were not given yet.

        Raises:
            Unreachable: the connection is lost, or the server loads its data.
        """
        return self._received(self._landed)

    def ask(self, burst: Packet) -> list[Reply]:
        """Send a burst and wait for its replies; those of others stay for `receive`."""
        return next(self.ask_all([burst]))

    def ask_all(self, bursts: Sequence[Packet]) -> Iterator[list[Reply]]:
        """Send bursts in one write, and give the replies to each as they are wanted.

        What is done with the first is done while the server works on the next.
        """
        landed: _Landed = deque()
        self._send(bursts, landed)
        for _ in bursts:
            yield self._received(landed)

    def _received(self, landed: _Landed) -> list[Reply]:
        while not landed:
            self._read()
        return landed.popleft()

    def tell(self, *words: bytes) -> Reply:
        """Run one command; a reply that is an error is given as a value."""
        return self.ask(Burst.of(*words))[0]

    def demand(self, *words: bytes) -> Reply:
        """Run one command; a reply that is an error is raised, translated."""
        return self.checked(self.tell(*words))

    def checked(self, reply: Reply) -> Reply:
        """Raise a reply that is an error, translated."""
        failure = self.failure(reply)
        if failure is not None:
            raise failure
        return reply

    def failure(self, reply: Reply) -> IdemctlError | None:
        """Give what a reply that is an error says, translated."""
        return self._translated(reply) if isinstance(reply, exceptions.ResponseError) else None

    def leave_out(self, longest: int) -> None:
        """Give `None` from now on for texts of more bytes, which are not kept meanwhile."""
        self._replies.sieve = Sieve(longest)

    def is_idle(self) -> bool:
        """Whether it is still connected, and nothing is on its way."""
        try:
            return self._wire.is_connected and not self._wire.can_read()
        except exceptions.RedisError:
            return False

    def close(self) -> None:
        """Close the connection; harmless when repeated."""
        self._wire.disconnect()

    def _admit(self, command: Command) -> None:
        if self._writable or only_reads(command):
            return
        name = (command[0] or b"").upper()
        raise Refused(
            f"{self.place}: {name.decode('ascii', errors='replace')} is no command that reads, "
            "and this run was not allowed to write",
            hint="a command of idemctl writes only with --apply",
        )

    def _read(self) -> None:
        """Read what comes next, for whoever asked for it."""
        if not self._wire.is_connected:
            raise lost(self.place)
        count, landed = self._flying.popleft()
        try:
            landed.append(self._replies.read(count))
        except exceptions.RedisError as error:
            self.close()
            raise self._translated(error) from None
        except BaseException:
            # Cut off in the middle of a reply, it could not tell those that follow apart.
            self.close()
            raise

    def _translated(self, error: exceptions.RedisError) -> IdemctlError:
        return translated(error, place=self.place, user=self.user)


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

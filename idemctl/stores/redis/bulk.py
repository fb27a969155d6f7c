"""The bulk path, and the one door through which every command goes.

RESP is packed by hand into one buffer for many keys, sent over redis-py's own connection,
and read back by its parser. Several bursts may be in flight; replies come in their order.
A lane is one connection to one primary.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redis import exceptions

from idemctl.errors import IdemctlError, Refused
from idemctl.stores.redis.connect import connect, lost, translated

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from idemctl.domain.secrets import Secret
    from idemctl.stores.redis.connect import Wire

READS = frozenset(
    {
        b"ACL WHOAMI",
        b"CLIENT SETNAME",
        b"CLUSTER INFO",
        b"DBSIZE",
        b"GETRANGE",
        b"HELLO",
        b"INFO",
        b"PEXPIRETIME",
        b"PTTL",
        b"SCAN",
        b"STRLEN",
        b"TIME",
    }
)
"""All that a lane knows unless it was opened for writing."""

KEY = None
"""Stands in a command for the key."""

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
        form = b"".join(_form(command) for command in self.commands)
        slots = sum(command.count(KEY) for command in self.commands)
        return b"".join([form % ((len(key), key) * slots) for key in self.keys])


class Lane:
    """One connection: sends bursts, gives back their replies.

    A lane that lost its connection stays lost: what it was asked is unknown, and a new
    connection may lead to another server.
    """

    def __init__(self, wire: Wire, *, place: str, user: str, writable: bool) -> None:
        self.place = place
        self.user = user
        self._wire = wire
        self._writable = writable
        self._flying: deque[int] = deque()
        self._landed: deque[list[Reply]] = deque()

    @classmethod
    def open(cls, url: Secret, *, place: str, application: str, writable: bool) -> Self:
        """Connect, and say who it is where the server permits that.

        Args:
            url: where to.
            place: what errors call this store.
            application: shown to administrators in `CLIENT LIST`.
            writable: without it every command outside `READS` is refused here.

        Raises:
            IdemctlError: as `connect` does.
        """
        wire, user = connect(url, place=place)
        lane = cls(wire, place=place, user=user, writable=writable)
        name = application.encode("ascii", errors="replace").replace(b" ", b"-")
        try:
            lane.tell(b"CLIENT", b"SETNAME", name)
        except IdemctlError:
            lane.close()
            raise
        return lane

    def send(self, *bursts: Burst) -> None:
        """Send bursts in one write.

        Raises:
            Refused: a command is none that reads, and the lane is not open for writing.
            Unreachable: the connection is lost.
        """
        for burst in bursts:
            for command in burst.commands:
                self._admit(command)
        if not self._wire.is_connected:
            raise lost(self.place)
        try:
            self._wire.send_packed_command([b"".join([burst.packed() for burst in bursts])])
        except exceptions.RedisError as error:
            raise self._translated(error) from None
        self._flying.extend(burst.reply_count for burst in bursts)

    def receive(self) -> list[Reply]:
        """Give the replies to the oldest burst whose replies were not given yet.

        Raises:
            Unreachable: the connection is lost, or the server loads its data.
        """
        return self._landed.popleft() if self._landed else self._read()

    def ask(self, burst: Burst) -> list[Reply]:
        """Send a burst and wait for its replies; those of others stay for `receive`."""
        while self._flying:
            self._landed.append(self._read())
        self.send(burst)
        return self._read()

    def tell(self, *words: bytes) -> Reply:
        """Run one command; a reply that is an error is given as a value."""
        return self.ask(Burst.of(*words))[0]

    def demand(self, *words: bytes) -> Reply:
        """Run one command; a reply that is an error is raised, translated."""
        return self.checked(self.tell(*words))

    def checked(self, reply: Reply) -> Reply:
        """Raise a reply that is an error, translated."""
        if isinstance(reply, exceptions.ResponseError):
            raise self._translated(reply)
        return reply

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
        name, *rest = command
        name = (name or b"").upper()
        whole = b" ".join([name, *(word.upper() for word in rest[:1] if word is not None)])
        if self._writable or name in READS or whole in READS:
            return
        raise Refused(
            f"{self.place}: {name.decode('ascii', errors='replace')} is no command that reads, "
            "and this run was not allowed to write",
            hint="a command of idemctl writes only with --apply",
        )

    def _read(self) -> list[Reply]:
        if not self._wire.is_connected:
            raise lost(self.place)
        count = self._flying.popleft()
        read = self._wire.read_response
        replies: list[Reply] = []
        add = replies.append
        try:
            while len(replies) < count:
                try:
                    while len(replies) < count:
                        add(read())
                except exceptions.ResponseError as error:
                    add(error)
        except exceptions.RedisError as error:
            self.close()
            raise self._translated(error) from None
        return replies

    def _translated(self, error: exceptions.RedisError) -> IdemctlError:
        return translated(error, place=self.place, user=self.user)


def _form(command: Command) -> bytes:
    """Write one command, with `%d` and `%b` where the key's length and the key go."""
    words = [_SLOT if word is KEY else _SLOT % (len(word), _literal(word)) for word in command]
    return b"*%d\r\n%b" % (len(command), b"".join(words))


def _literal(word: bytes) -> bytes:
    return word.replace(b"%", b"%%")

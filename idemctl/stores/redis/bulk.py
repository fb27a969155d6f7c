"""The bulk path, and the one door through which every command goes.

Bursts are sent over redis-py's own connection, TLS and ACL included. Several may be in flight;
replies come in their order. A lane is one connection to one primary; `cluster` makes one of
several.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from redis import exceptions

from idemctl.errors import IdemctlError, Refused
from idemctl.stores.redis.bursts import Burst
from idemctl.stores.redis.connect import connect
from idemctl.stores.redis.reads import only_reads
from idemctl.stores.redis.replies import Replies
from idemctl.stores.redis.sieve import Sieve
from idemctl.stores.redis.translation import lost, translated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta
    from typing import Self

    from idemctl.domain.secrets import Secret
    from idemctl.stores.redis.bursts import Command, Packet, Reply
    from idemctl.stores.redis.connect import Wire
    from idemctl.stores.redis.slots import Node

    Landed = deque[list[Reply]]
    """Replies that arrived for somebody, and were not taken yet."""


class Lane:
    """One connection: sends bursts, gives back their replies.

    A lane that lost its connection stays lost: what it was asked is unknown, and a new
    connection may lead to another server.
    """

    def __init__(
        self, wire: Wire, *, place: str, user: str, writable: bool, server: str = ""
    ) -> None:
        self.place = place
        self.user = user
        self.server = server
        """Which of a cluster's it is."""
        self._wire = wire
        self._replies = Replies(wire)
        self._writable = writable
        self._flying: deque[tuple[int, Landed]] = deque()
        self._landed: Landed = deque()

    @classmethod
    def open(
        cls,
        url: Secret,
        *,
        place: str,
        application: str,
        writable: bool,
        patience: timedelta | None = None,
        node: Node | None = None,
    ) -> Self:
        """Connect, and say who it is where the server permits that.

        Args:
            url: where to, and as whom.
            place: what errors call this store.
            application: shown to administrators in `CLIENT LIST`.
            writable: without it every command that does more than read is refused here.
            patience: how long it waits for a reply, where that matters.
            node: the server of a cluster, where it is another than the URL's.

        Raises:
            IdemctlError: as `connect` does.
        """
        wire, user = connect(url, place=place, patience=patience, node=node)
        server = str(node or "")
        lane = cls(wire, place=place, user=user, writable=writable, server=server)
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
        self.put(bursts, self._landed)

    def put(self, bursts: Sequence[Packet], landed: Landed) -> None:
        """Send bursts whose replies `take` gives, apart from those of all others."""
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
        return self.take(self._landed)

    def ask(self, burst: Packet) -> list[Reply]:
        """Send a burst and wait for its replies; those of others stay for `receive`."""
        return next(self.ask_all([burst]))

    def ask_all(self, bursts: Sequence[Packet]) -> Iterator[list[Reply]]:
        """Send bursts in one write, and give the replies to each as they are wanted.

        What is done with the first is done while the server works on the next.
        """
        landed: Landed = deque()
        self.put(bursts, landed)
        for _ in bursts:
            yield self.take(landed)

    def take(self, landed: Landed) -> list[Reply]:
        """Give the replies to the oldest burst that was sent for `landed`; see `receive`."""
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

    @property
    def servers(self) -> Sequence[Lane]:
        """A lane to each primary that keys are on."""
        return (self,)

    def division(self) -> object:
        """Tell how keys are divided among servers: equal as long as no key changes its own."""
        return None

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

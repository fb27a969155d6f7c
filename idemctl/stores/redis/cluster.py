"""All primaries of a cluster behind one lane: each key's commands go to whoever serves it.

A key may change its server at any time. One that is asked for where it was is asked for again
where it is; but a list of keys that was read meanwhile may lack some, and `division` tells.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redis import exceptions

from idemctl.errors import IdemctlError
from idemctl.stores.redis.bulk import Lane
from idemctl.stores.redis.bursts import KEY, Burst
from idemctl.stores.redis.slots import Node, is_moving, read_slots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from idemctl.stores.redis.bulk import Landed
    from idemctl.stores.redis.bursts import Packet, Reply
    from idemctl.stores.redis.slots import Slots

_KEYLESS = frozenset(
    {b"ACL", b"CLIENT", b"CLUSTER", b"CONFIG", b"DBSIZE", b"HELLO", b"INFO", b"SCAN", b"TIME"}
)
_KEY_AT = {b"EVAL": 3, b"MEMORY": 2}
"""Where the key stands in commands of which it is not the first word but one."""
_ATTEMPTS = 5
_REST_SECONDS = 0.05
"""A key in the middle of its move is asked for again after so long."""
_ELSEWHERE = (exceptions.AskError, exceptions.TryAgainError)
"""What says that a key is looked for in the wrong place, or too early; MOVED is an ASK, too."""


@dataclass(slots=True)
class _Part:
    """What one server was sent of a packet."""

    places: Sequence[int] | None
    """Which keys of it; `None` for the whole."""
    lane: Lane
    landed: Landed


@dataclass(slots=True)
class _Flight:
    """One packet on its way."""

    packet: Packet
    parts: list[_Part]
    landed: Landed


class ClusterLane(Lane):
    """See `Lane`; the first primary answers what concerns no key."""

    def __init__(self, slots: Slots, opened: Callable[[Node], Lane]) -> None:
        """Connect to every primary.

        Args:
            slots: who serves what; somebody serves something.
            opened: opens a lane to a server of the cluster.
        """
        self._slots = slots
        self._opened = opened
        self._lanes: dict[Node, Lane] = {}
        self._flights: deque[_Flight] = deque()
        self._landed = deque()
        self._longest: int | None = None
        try:
            self._primaries = [self._lane(node) for node in slots.nodes]
        except BaseException:
            self.close()
            raise
        self.place = self._primaries[0].place
        self.user = self._primaries[0].user

    @property
    def servers(self) -> Sequence[Lane]:
        """See `Lane.servers`: those that were primaries when this was opened."""
        return self._primaries

    def division(self) -> object:
        """See `Lane.division`.

        A server that may not be asked whether it gives or takes keys tells nothing of that.
        """
        replies = [lane.tell(b"CLUSTER", b"NODES") for lane in self._primaries]
        moving = [isinstance(reply, bytes) and is_moving(reply) for reply in replies]
        # In the middle of a move, keys change their server and no slot does.
        return object() if any(moving) else self._read_slots()

    def put(self, bursts: Sequence[Packet], landed: Landed) -> None:
        """See `Lane.put`."""
        loads: dict[Lane, tuple[list[Packet], Landed]] = {}
        for packet in bursts:
            parts = []
            for lane, places in self._destinations(packet):
                some = packet if places is None else packet.among(places)
                load = loads.setdefault(lane, ([], deque()))
                load[0].append(some)
                parts.append(_Part(places, lane, load[1]))
            self._flights.append(_Flight(packet, parts, landed))
        for lane, (packets, arriving) in loads.items():
            lane.put(packets, arriving)

    def take(self, landed: Landed) -> list[Reply]:
        """See `Lane.take`."""
        while not landed:
            flight = self._flights.popleft()
            flight.landed.append(self._gathered(flight))
        return landed.popleft()

    def leave_out(self, longest: int) -> None:
        """See `Lane.leave_out`."""
        self._longest = longest
        for lane in self._lanes.values():
            lane.leave_out(longest)

    def is_idle(self) -> bool:
        """See `Lane.is_idle`."""
        return all(lane.is_idle() for lane in self._lanes.values())

    def close(self) -> None:
        """See `Lane.close`."""
        for lane in self._lanes.values():
            lane.close()

    def _lane(self, node: Node) -> Lane:
        lane = self._lanes.get(node)
        if lane is None:
            lane = self._lanes[node] = self._opened(node)
            if self._longest is not None:
                lane.leave_out(self._longest)
        return lane

    def _destinations(self, packet: Packet) -> Iterable[tuple[Lane, Sequence[int] | None]]:
        """Tell who is sent which keys of a packet; `None` for all of it."""
        command = packet.commands[0]
        at = _KEY_AT.get(command[0] or b"", 1)
        if command[0] in _KEYLESS or at >= len(command):
            server = packet.server if isinstance(packet, Burst) else 0
            return [(self._primaries[server], None)]
        name = command[at]
        if name is not KEY:
            return [(self._serving(name), None)]
        by_lane: dict[Lane, list[int]] = {}
        for at, key in enumerate(packet.keys):
            by_lane.setdefault(self._serving(key), []).append(at)
        if len(by_lane) == 1:
            return [(lane, None) for lane in by_lane]
        return by_lane.items()

    def _serving(self, key: bytes) -> Lane:
        # Where nobody serves a key, any server says so.
        node = self._slots.node_of(key)
        return self._primaries[0] if node is None else self._lane(node)

    def _gathered(self, flight: _Flight) -> list[Reply]:
        """Put the replies of all servers into the order of the keys."""
        packet = flight.packet
        told = [part.lane.take(part.landed) for part in flight.parts]
        if len(told) == 1:
            replies = told[0]
        else:
            each = packet.reply_count // len(packet.keys)
            replies = [None] * packet.reply_count
            for part, some in zip(flight.parts, told, strict=True):
                for index, at in enumerate(part.places or ()):
                    replies[at * each : (at + 1) * each] = some[index * each : (index + 1) * each]
        if any(isinstance(reply, _ELSEWHERE) for reply in replies):
            return self._asked_again(packet, replies)
        return replies

    def _asked_again(self, packet: Packet, replies: list[Reply]) -> list[Reply]:
        """Follow keys to where they are by now; what is still on its way keeps its error."""
        each = packet.reply_count // len(packet.keys)
        for _ in range(_ATTEMPTS):
            strays = {
                at // each: reply
                for at, reply in enumerate(replies)
                if isinstance(reply, _ELSEWHERE)
            }
            if not strays:
                break
            if any(isinstance(stray, exceptions.MovedError) for stray in strays.values()):
                self._slots = self._read_slots()
            for place, stray in strays.items():
                some = packet.among([place])
                replies[place * each : (place + 1) * each] = self._asked_there(some, stray)
        return replies

    def _asked_there(self, packet: Packet, stray: Exception) -> list[Reply]:
        if isinstance(stray, exceptions.AskError) and not isinstance(stray, exceptions.MovedError):
            return _asked_aside(self._lane(Node(stray.host, stray.port)), packet)
        if isinstance(stray, exceptions.TryAgainError):
            time.sleep(_REST_SECONDS)
        ((lane, _),) = self._destinations(packet)
        return lane.ask(packet)

    def _read_slots(self) -> Slots:
        """Ask who serves what now: any server of the cluster knows, as long as it is reached."""
        failure: IdemctlError | None = None
        for node, lane in list(self._lanes.items()):
            try:
                return read_slots(lane.demand(b"CLUSTER", b"SLOTS"), host=node.host)
            except IdemctlError as error:
                failure = error
        assert failure is not None, "a cluster has a primary"
        raise failure


def _asked_aside(lane: Lane, packet: Packet) -> list[Reply]:
    """Ask a server for a key that is on its way there; it answers only who says so each time."""
    replies = []
    for one in packet.one_by_one():
        _, told = lane.ask_all([Burst.of(b"ASKING"), one])
        replies += told
    return replies

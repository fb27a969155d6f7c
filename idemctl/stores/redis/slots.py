"""Which primary of a cluster serves which keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

if TYPE_CHECKING:
    from collections.abc import Sequence

_NOBODY = -1


@dataclass(frozen=True, slots=True, order=True)
class Node:
    """Where a server of a cluster listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """Write it as `CLUSTER NODES` does."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Slots:
    """The primaries of a cluster, and which of them serves each slot."""

    nodes: tuple[Node, ...]
    owners: tuple[int, ...]
    """For each slot the place of its primary among `nodes`; -1 where nobody serves it."""

    def node_of(self, key: bytes) -> Node | None:
        """Tell who serves a key."""
        owner = self.owners[key_slot(key)]
        return None if owner == _NOBODY else self.nodes[owner]


def read_slots(reply: Sequence[Any], *, host: str) -> Slots:
    """Read what CLUSTER SLOTS says.

    Args:
        reply: ranges of slots, each with its primary and that one's replicas.
        host: of the server that said so; one that does not know its own leaves it out.
    """
    ranges = []
    for first, last, (said, port, *_), *_ in reply:
        name = said.decode("utf-8", errors="replace") if said else ""
        ranges.append((first, last, Node(host if name in {"", "?"} else name, port)))
    nodes = tuple(sorted({node for *_, node in ranges}))
    owners = [_NOBODY] * REDIS_CLUSTER_HASH_SLOTS
    for first, last, node in ranges:
        owners[first : last + 1] = [nodes.index(node)] * (last + 1 - first)
    return Slots(nodes, tuple(owners))


def is_moving(reply: bytes) -> bool:
    """Tell by what CLUSTER NODES says whether the server that says so gives or takes a slot."""
    own = next((line for line in reply.splitlines() if b"myself" in line), b"")
    return b"->-" in own or b"-<-" in own

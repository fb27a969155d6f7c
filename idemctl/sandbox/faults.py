"""Faults to inject into a sandbox, each by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.sandbox.seed import redis

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def flush(redis_url: str) -> int:
    """Lose everything that Redis holds, in all its databases; give how many keys that were.

    Never hand it the address of anything but a sandbox.

    Raises:
        Unreachable: no server answers there.
        Denied: the user may not do that.
    """
    with redis.connected(redis_url) as client:
        lost_count: int = sum(one["keys"] for one in client.info("keyspace").values())
        client.flushall()
    return lost_count


FAULTS: Mapping[str, Callable[[str], int]] = {"flush": flush}
"""What can be injected: each takes the URL of Redis and gives how many keys it cost."""

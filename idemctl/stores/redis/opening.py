"""Opens a lane to all keys of a server, of a cluster, or of what Sentinels watch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from idemctl.errors import ConfigError, Unreachable
from idemctl.stores.redis.bulk import Lane
from idemctl.stores.redis.cluster import ClusterLane
from idemctl.stores.redis.describe import read_server
from idemctl.stores.redis.sentinel import find_primary
from idemctl.stores.redis.slots import read_slots
from idemctl.stores.redis.watched import watched

if TYPE_CHECKING:
    from datetime import timedelta

    from idemctl.domain.secrets import Secret
    from idemctl.stores.redis.describe import Server
    from idemctl.stores.redis.slots import Node
    from idemctl.stores.redis.watched import Watched


def open_lane(
    url: Secret,
    *,
    place: str,
    application: str,
    writable: bool,
    patience: timedelta | None = None,
) -> Lane:
    """Open a lane; see `Lane.open`.

    Args:
        url: as redis-py has it, or `redis-sentinel://host:port,host:port/0#name`.
        place: what errors call this store.
        application: shown to administrators in `CLIENT LIST`.
        writable: without it every command that does more than read is refused here.
        patience: how long it waits for a reply, where that matters.

    Raises:
        Denied: it is a cluster, and this user may not ask how it is divided.
        Unreachable: Sentinels name a primary that is none any more.
    """
    behind = read_watched(url, place)
    primary = None
    if behind is not None:
        primary, url = find_primary(behind, place=place, application=application), behind.url
    opened = partial(
        Lane.open,
        url,
        place=place,
        application=application,
        writable=writable,
        patience=patience,
    )
    lane = opened(node=primary)
    try:
        server = read_server(lane)
        _refuse_demoted(primary, server, place)
        if not server.is_cluster:
            return lane
        host = urlsplit(url.reveal()).hostname or "localhost"
        slots = read_slots(lane.demand(b"CLUSTER", b"SLOTS"), host=host)
        if not server.is_replica and len(slots.nodes) <= 1:
            return lane
        whole = ClusterLane(slots, lambda node: opened(node=node))
    except BaseException:
        lane.close()
        raise
    lane.close()
    return whole


def read_watched(url: Secret, place: str) -> Watched | None:
    """Read what Sentinels a URL names, and what they watch; `None` where it names none.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return watched(url)
    except ValueError:
        raise ConfigError(
            f"{place}: the Redis URL cannot be read",
            hint="write redis-sentinel://user:password@host:26379,host:26379/0#name, or "
            "rediss-sentinel:// for TLS",
        ) from None


def _refuse_demoted(primary: Node | None, server: Server, place: str) -> None:
    if primary is not None and server.is_replica:
        raise Unreachable(
            f"{place}: cannot judge: Sentinels name {primary} as primary, and it is a replica",
            hint="a failover goes on; run again when it is over",
        )

"""Asks a Redis or Valkey server for the circumstances of a keyspace: all of it from INFO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.domain.circumstances import RedisCircumstances, Unseen
from idemctl.stores.redis.translation import is_not_permitted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from idemctl.stores.redis.bulk import Lane

_NOT_PERMITTED = Unseen("this user may not run INFO")


def read_circumstances(lane: Lane) -> RedisCircumstances:
    """Ask once; INFO answers also where CONFIG is forbidden."""
    reply = lane.tell(b"INFO", b"all")
    if is_not_permitted(reply):
        return RedisCircumstances(eviction_policy=_NOT_PERMITTED, evicted_count=_NOT_PERMITTED)
    text = lane.checked(reply).decode("utf-8", errors="replace")
    pairs = (line.partition(":") for line in text.splitlines())
    said = {name: value.strip() for name, _, value in pairs}
    return RedisCircumstances(
        eviction_policy=said.get("maxmemory_policy") or _silence("maxmemory_policy"),
        evicted_count=_number(said, "evicted_keys"),
    )


def _number(said: Mapping[str, str], name: str) -> int | Unseen:
    value = said.get(name, "")
    return int(value) if value.isdecimal() else _silence(name)


def _silence(name: str) -> Unseen:
    return Unseen(f"INFO does not tell {name}")

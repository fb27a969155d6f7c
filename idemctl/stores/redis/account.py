"""What a Redis or Valkey server says of its own past: flushes, restarts, evictions."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.incident import Account, together
from idemctl.stores.redis.translation import is_not_permitted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from idemctl.stores.redis.bulk import Lane

_FLUSHES = ("cmdstat_flushall", "cmdstat_flushdb")
_COMMANDS = "cmdstat_"


def read_account(lane: Lane) -> Account:
    """Ask the server, of a cluster each; one says little where this user may not use INFO."""
    return together([_account(server) for server in lane.servers])


def _account(lane: Lane) -> Account:
    """Ask one server.

    Counters of commands are in no default section, and Redis 6.2 takes one section at a time.
    """
    key_count = _key_count(lane)
    reply = lane.tell(b"INFO", b"all")
    if is_not_permitted(reply):
        return Account(key_count=key_count)
    text = lane.checked(reply).decode("utf-8", errors="replace")
    pairs = (line.partition(":") for line in text.splitlines())
    said = {name: value.strip() for name, _, value in pairs}
    uptime = _number(said, "uptime_in_seconds")
    return Account(
        uptime=None if uptime is None else timedelta(seconds=uptime),
        run_id=said.get("run_id"),
        flush_calls=_flush_calls(said),
        evicted_keys=_number(said, "evicted_keys"),
        loaded_keys=_number(said, "rdb_last_load_keys_loaded"),
        key_count=key_count,
        used_memory=_number(said, "used_memory"),
        maxmemory=_number(said, "maxmemory"),
        is_loading=said.get("loading") == "1",
    )


def _key_count(lane: Lane) -> int | None:
    reply = lane.tell(b"DBSIZE")
    if is_not_permitted(reply):
        return None
    count: int = lane.checked(reply)
    return count


def _flush_calls(said: Mapping[str, str]) -> int | None:
    """Count flushes; a server that counts commands leaves out those that were never called."""
    if not any(name.startswith(_COMMANDS) for name in said):
        return None
    return sum(_calls(said.get(name, "")) for name in _FLUSHES)


def _calls(counters: str) -> int:
    """Read `calls=2,usec=9,…,failed_calls=1`: how many succeeded."""
    numbers = dict(part.split("=", 1) for part in counters.split(",") if "=" in part)
    return int(numbers.get("calls", 0)) - int(numbers.get("failed_calls", 0))


def _number(said: Mapping[str, str], name: str) -> int | None:
    value = said.get(name, "")
    return int(value) if value.isdecimal() else None

"""Asks a Redis or Valkey server for the circumstances of a keyspace.

Nearly all of it is in one INFO, which answers also where CONFIG is forbidden.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.circumstances import Primary, RedisCircumstances, Replica, Unseen
from idemctl.domain.keys import escape
from idemctl.stores.redis.translation import is_not_permitted, is_unknown_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from idemctl.stores.redis.bulk import Lane

_ALL_SLOTS = 16_384
_REFUSALS = ("MISCONF", "NOREPLICAS", "OOM", "READONLY")
_REPLICA = re.compile(r"slave[0-9]+")


def read_circumstances(lane: Lane) -> RedisCircumstances:
    """Ask each server for all of them; what this user may not ask for says what is missing."""
    first, *others = [_of_server(server) for server in lane.servers]
    return replace(first, others=tuple(others))


def _of_server(lane: Lane) -> RedisCircumstances:
    said = _Said.of(lane, b"INFO", b"all")
    return RedisCircumstances(
        server=lane.server,
        eviction_policy=said.text("maxmemory_policy"),
        evicted_count=said.number("evicted_keys"),
        memory_used=_counted(said),
        memory_limit=said.number("maxmemory"),
        machine_memory=said.number("total_system_memory"),
        refusals=_refusals(said),
        appends=said.tells("aof_enabled", "1"),
        sync=_setting(lane, "appendfsync"),
        snapshot_rule=_setting(lane, "save"),
        unsaved_count=said.number("rdb_changes_since_last_save"),
        snapshot_failed=said.tells("rdb_last_bgsave_status", "err"),
        append_failed=said.tells("aof_last_write_status", "err"),
        rewrite_failed=said.tells("aof_last_bgrewrite_status", "err"),
        primary=_primary(said),
        replicas=_replicas(said),
        replicas_needed=_needed(lane, said),
        replicas_close=said.number("min_slaves_good_slaves"),
        uncovered_slots=_uncovered(lane, said),
    )


class _Said:
    """The `name:value` lines of an answer, or why there is none."""

    def __init__(self, facts: Mapping[str, str], *, command: str, why_not: Unseen | None) -> None:
        self.facts = facts
        self.why_not = why_not
        self._command = command

    @classmethod
    def of(cls, lane: Lane, *words: bytes) -> _Said:
        command = " ".join(word.decode() for word in words if word != b"all")
        reply = lane.tell(*words)
        if is_not_permitted(reply):
            return cls({}, command=command, why_not=_forbidden(lane, command))
        text = lane.checked(reply).decode("utf-8", errors="replace")
        pairs = (line.partition(":") for line in text.splitlines())
        facts = {name: value.strip() for name, _, value in pairs}
        return cls(facts, command=command, why_not=None)

    def text(self, name: str) -> str | Unseen:
        return self.facts.get(name) or self.silence(name)

    def number(self, name: str) -> int | Unseen:
        value = self.facts.get(name, "")
        return int(value) if value.isdecimal() else self.silence(name)

    def tells(self, name: str, value: str) -> bool | Unseen:
        said = self.text(name)
        return said if isinstance(said, Unseen) else said == value

    def silence(self, name: str) -> Unseen:
        return self.why_not or Unseen(f"{self._command} does not tell {name}")


def _setting(lane: Lane, name: str) -> str | Unseen:
    reply = lane.tell(b"CONFIG", b"GET", name.encode())
    if is_not_permitted(reply):
        return _forbidden(lane, "CONFIG GET")
    if is_unknown_command(reply):
        return Unseen("the server knows no CONFIG")
    match lane.checked(reply):
        case [_, value]:
            return str(value.decode("utf-8", errors="replace"))
    return Unseen(f"CONFIG GET does not tell {name}")


def _forbidden(lane: Lane, command: str) -> Unseen:
    user = escape(lane.user.encode("utf-8", errors="surrogateescape"))
    right = command.lower().replace(" ", "|")
    return Unseen(f"this user may not run {command}; ACL SETUSER {user} +{right}")


def _counted(said: _Said) -> int | Unseen:
    """Give what the server compares with its limit: without what it owes to replicas."""
    used, beside = said.number("used_memory"), said.number("mem_not_counted_for_evict")
    if isinstance(used, Unseen) or isinstance(beside, Unseen):
        return used
    return max(used - beside, 0)


def _refusals(said: _Said) -> Mapping[str, int] | Unseen:
    """Count by word; a word that was never said has no line."""
    if "# Errorstats" not in said.facts:
        return said.silence("errorstats")
    counts = {}
    for word in _REFUSALS:
        count = said.facts.get(f"errorstat_{word}", "").removeprefix("count=")
        if count.isdecimal():
            counts[word] = int(count)
    if not counts and any(name.startswith("errorstat_ERRORSTATS") for name in said.facts):
        return Unseen("the server gave up counting errors; CONFIG RESETSTAT lets it begin again")
    return counts


def _primary(said: _Said) -> Primary | Unseen | None:
    role = said.text("role")
    if isinstance(role, Unseen):
        return role
    if role in {"master", "primary"}:
        return None
    down_for = said.number("master_link_down_since_seconds")
    return Primary(
        place=_place(said.facts.get("master_host"), said.facts.get("master_port")),
        is_linked=said.facts.get("master_link_status") == "up",
        unlinked_for=None if isinstance(down_for, Unseen) else timedelta(seconds=down_for),
    )


def _replicas(said: _Said) -> tuple[Replica, ...] | Unseen:
    written = said.number("master_repl_offset")
    if isinstance(written, Unseen):
        return written
    return tuple(
        _replica(dict(part.split("=", 1) for part in value.split(",") if "=" in part), written)
        for name, value in said.facts.items()
        if _REPLICA.fullmatch(name)
    )


def _replica(facts: Mapping[str, str], written: int) -> Replica:
    offset, lag = facts.get("offset", ""), facts.get("lag", "")
    # One that was just taken in has acknowledged nothing yet, and may have everything.
    has_answered = offset.isdecimal() and int(offset) > 0
    return Replica(
        place=_place(facts.get("ip"), facts.get("port")),
        is_online=facts.get("state") == "online",
        behind=max(written - int(offset), 0) if has_answered else None,
        silent_for=timedelta(seconds=int(lag)) if lag.isdecimal() else None,
    )


def _needed(lane: Lane, said: _Said) -> int | Unseen:
    if said.why_not is None and "min_slaves_good_slaves" not in said.facts:
        # Nobody counts how many are close where none has to be.
        return 0
    value = _setting(lane, "min-replicas-to-write")
    return value if isinstance(value, Unseen) else int(value)


def _uncovered(lane: Lane, said: _Said) -> int | Unseen:
    is_cluster = said.tells("cluster_enabled", "1")
    if isinstance(is_cluster, Unseen):
        return is_cluster
    if not is_cluster:
        return 0
    served = _Said.of(lane, b"CLUSTER", b"INFO").number("cluster_slots_ok")
    return served if isinstance(served, Unseen) else max(_ALL_SLOTS - served, 0)


def _place(host: str | None, port: str | None) -> str:
    return escape(f"{host or '?'}:{port or '?'}".encode())

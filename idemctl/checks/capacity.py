"""Room: servers that run out of it and what they do then, and records that take much of it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.checks.check import BOTH, REDIS, Check, Source, Told, about, micros_of
from idemctl.domain.circumstances import KEEPS_ALL, Unseen
from idemctl.domain.findings import Severity
from idemctl.domain.growth import Measure, full_in, growth

if TYPE_CHECKING:
    from collections.abc import Callable

    from idemctl.checks.check import Facts, Gathered, Int64, Looked, Mask
    from idemctl.domain.circumstances import RedisCircumstances

_LOW, _NEARLY_FULL, _FULL = 0.75, 0.9, 0.99
"""Shares of the limit. The last percent comes and goes with what clients ask for."""
_SOON = timedelta(days=7)
_BIG = 100_000
_REFUSALS = {
    "OOM": "for lack of memory",
    "MISCONF": "because it could not save",
    "NOREPLICAS": "for want of replicas",
    "READONLY": "because it is a replica, or was one",
}


def _evicts(server: RedisCircumstances, _facts: Facts) -> Told | Unseen | None:
    policy = server.eviction_policy
    if isinstance(policy, Unseen):
        return policy
    return None if policy == KEEPS_ALL else Told(evidence=f"maxmemory-policy is {policy}")


def _evicted(server: RedisCircumstances, _facts: Facts) -> Told | Unseen | None:
    count = server.evicted_count
    if isinstance(count, Unseen):
        return count
    if not count:
        return None
    keys = "1 key was" if count == 1 else f"{count:,} keys were"
    return Told(evidence=f"{keys} evicted since the server began to count", count=count)


def _filled(
    least: float, below: float, soon: timedelta = timedelta(0)
) -> Callable[[RedisCircumstances, Facts], Told | Unseen | None]:
    """Look whether the share of memory in use lies in that range, where nothing is evicted.

    Or whether it lies below, and will all be used that soon.
    """

    def look(server: RedisCircumstances, facts: Facts) -> Told | Unseen | None:
        policy, used, limit = server.eviction_policy, server.memory_used, server.memory_limit
        for one in (policy, used, limit):
            if isinstance(one, Unseen):
                return one
        assert isinstance(used, int)
        assert isinstance(limit, int)
        if policy != KEEPS_ALL or not limit or used >= below * limit:
            return None
        # Of a cluster each server fills by itself, and none of them was measured.
        forecast = None if server.server else _forecast(used, limit, facts)
        is_soon = forecast is not None and forecast[0] < soon
        if used < least * limit and not is_soon:
            return None
        said = f"{used * 100 // limit} % of maxmemory is in use: {used:,} of {limit:,} bytes"
        return Told(evidence=f"{said}; {forecast[1]}" if forecast is not None else said)

    return look


def _forecast(used: int, limit: int, facts: Facts) -> tuple[timedelta, str] | None:
    """Say when the rest is used, if it goes on as it did; `None` where nobody knows, or never."""
    now = Measure(at=facts.retention.cutoff, memory=used)
    grown = growth(facts.measured, now)
    if grown is None or grown.memory is None:
        return None
    left = full_in(used, limit, grown.memory)
    if left is None:
        return None
    over = about(micros_of(now.at - grown.since))
    return left, f"as it grew in the last {over}, it is full in {about(micros_of(left))}"


def _unlimited(server: RedisCircumstances, _facts: Facts) -> Told | Unseen | None:
    limit, used, machine = server.memory_limit, server.memory_used, server.machine_memory
    if isinstance(limit, Unseen):
        return limit
    if limit:
        return None
    said = "maxmemory is 0"
    if isinstance(used, int) and isinstance(machine, int):
        said += f"; {used:,} bytes are in use, and the machine has {machine:,}"
    return Told(evidence=said)


def _refused(server: RedisCircumstances, _facts: Facts) -> Told | Unseen | None:
    refusals = server.refusals
    if isinstance(refusals, Unseen):
        return refusals
    said = [
        f"{refusals[word]:,} {why} ({word})"
        for word, why in _REFUSALS.items()
        if refusals.get(word)
    ]
    if not said:
        return None
    return Told(
        evidence=f"writes refused since the server began to count: {', '.join(said)}",
        count=sum(refusals.get(word, 0) for word in _REFUSALS),
    )


def _sizes(looked: Looked) -> Int64:
    return looked.batch.size


def _is_big(looked: Looked) -> Mask:
    mask: Mask = _sizes(looked) > _BIG
    return mask


def _big_evidence(found: Gathered, _facts: Facts) -> str:
    return f"records of {found.low:,} to {found.high:,} bytes"


EVICTION_ENABLED = Check(
    code="eviction-enabled",
    severity=Severity.CRITICAL,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_evicts,
    what="A maxmemory-policy that is not `noeviction`.\n"
    "The policies that begin with `volatile-` are no better: these keys have a TTL.",
    why="When memory is full, records that are still promised go first, and their retries are "
    "carried out again.",
    next="idemctl doctor --store {store}",
)
KEYS_EVICTED = Check(
    code="keys-evicted",
    severity=Severity.CRITICAL,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_evicted,
    what="Keys that were evicted, of any database, since the server started or its counters were "
    "reset; whatever maxmemory-policy is now.",
    why="Records that were still promised may be among them, and their retries are carried out "
    "again.",
    next="idemctl diagnose --store {store}",
    next_alone="idemctl doctor --store {store}",
)
MEMORY_FULL = Check(
    code="memory-full",
    severity=Severity.CRITICAL,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_filled(_FULL, float("inf")),
    what="A server that evicts nothing, and has 99 % of its maxmemory in use.\n"
    "One that evicts is always full sooner or later; see `eviction-enabled`.",
    why="The server refuses every write: no request can claim its key, and no work that was done "
    "can be recorded.",
    next="idemctl doctor --store {store}",
)
MEMORY_NEARLY_FULL = Check(
    code="memory-nearly-full",
    severity=Severity.ERROR,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_filled(_NEARLY_FULL, _FULL),
    what="The same at 90 % and more.",
    why="When it is full the server refuses every write, and what Redis keeps for other purposes "
    "fills it as well.",
    next="idemctl doctor --store {store}",
)
MEMORY_RUNNING_LOW = Check(
    code="memory-running-low",
    severity=Severity.WARNING,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_filled(_LOW, _NEARLY_FULL, _SOON),
    what="The same at 75 % and more.\n"
    "At less, where it is full within a week if it goes on as it grew since an earlier audit "
    "saw it: the oldest of the last eight days, and six hours ago at least.",
    why="A storm of new keys, or a longer ttl, fills the rest; then the server refuses every "
    "write.",
    next="idemctl doctor --store {store}",
)
MEMORY_UNLIMITED = Check(
    code="memory-unlimited",
    severity=Severity.INFO,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_unlimited,
    what="A maxmemory of 0.",
    why="Nothing is refused until the machine has no memory left, and then the whole server is "
    "killed.",
    next="idemctl doctor --store {store}",
)
WRITES_REFUSED = Check(
    code="writes-refused",
    severity=Severity.ERROR,
    engines=REDIS,
    source=Source.CIRCUMSTANCES,
    look=_refused,
    what="Writes of anybody that the server refused since it started or its counters were reset: "
    "for lack of memory, because it could not save, for want of replicas, or as a replica.\n"
    "A server that evicts refuses for lack of memory, too, where nothing is left to evict.",
    why="A key that could not be claimed stopped its request or left it unprotected, and work that "
    "could not be recorded is done again.",
    next="idemctl diagnose --store {store}",
    next_alone="idemctl doctor --store {store}",
)
BIG_VALUE = Check(
    code="big-value",
    severity=Severity.WARNING,
    engines=BOTH,
    mask=_is_big,
    measure=_sizes,
    evidence=_big_evidence,
    what="A record of more than 100,000 bytes: the value in Redis; in Postgres the row "
    "as it is stored, packed.",
    why="Stored responses of that size are most of what fills the store, and each replay carries "
    "one through it.",
    next="idemctl store show --store {store}",
)

CHECKS = (
    EVICTION_ENABLED,
    KEYS_EVICTED,
    MEMORY_FULL,
    MEMORY_NEARLY_FULL,
    MEMORY_RUNNING_LOW,
    MEMORY_UNLIMITED,
    WRITES_REFUSED,
    BIG_VALUE,
)

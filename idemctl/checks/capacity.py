"""Servers that run out of room, and what they do then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.checks.check import REDIS, Check, Source, Told
from idemctl.domain.circumstances import Unseen
from idemctl.domain.findings import Severity

if TYPE_CHECKING:
    from idemctl.checks.check import Facts
    from idemctl.domain.circumstances import RedisCircumstances

_KEEPS_ALL = "noeviction"


def _evicts(server: RedisCircumstances, _facts: Facts) -> Told | Unseen | None:
    policy, evicted = server.eviction_policy, server.evicted_count
    if isinstance(policy, Unseen):
        return policy
    if policy == _KEEPS_ALL:
        return None
    said = f"maxmemory-policy is {policy}"
    if isinstance(evicted, int) and evicted:
        return Told(evidence=f"{said}, and {evicted:,} keys were evicted", count=evicted)
    return Told(evidence=said)


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

CHECKS = (EVICTION_ENABLED,)

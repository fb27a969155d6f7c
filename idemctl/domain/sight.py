"""Sight: what a layout can show, and which failure modes that is enough for.

What cannot be seen is never zero: each failure mode is seen, curable, or blind with the
reason and with what to add.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


class Engine(StrEnum):
    """The two kinds of store."""

    POSTGRES = "postgres"
    REDIS = "redis"


class Sight(StrEnum):
    """One thing that can be seen of the records of a store."""

    STATUS = "status"
    """Which records are in progress."""
    LEASE = "lease"
    DUE = "due"
    """By when work has to be done that no lease bounds."""
    FINGERPRINT = "fingerprint"
    ENDPOINT = "endpoint"
    CLIENT = "client"
    SCOPE = "scope"
    RESPONSE = "response"
    """The HTTP status of the stored response."""
    HEADERS = "headers"
    """The headers that a request or its response came with."""
    EXPIRY = "expiry"
    """The promise, in the record itself."""
    KEY_TTL = "key-ttl"
    """When Redis removes the key."""
    AGE = "age"
    """The instant from which a promise counts."""
    VERSION = "version"
    """Which of two twins is the newer one."""
    STEPS = "steps"
    """The units of a run's work, in a child table."""
    ORDER = "order"
    """Which of two events comes first."""
    TTL = "ttl"
    """How long records are kept, by the configuration."""
    POLICY = "policy"
    """How long the records of an endpoint are kept, by a policy."""
    TWIN = "twin"
    """A second store that holds the same keys."""


Needs = tuple[tuple[Sight, ...], ...]
"""What something needs: one of each group."""

_OUTSIDE = {
    Sight.STEPS: ("no child table with steps", "child: with step: and done: in the layout"),
    Sight.ORDER: ("no order of events", "order: with within: and by: in the layout"),
    Sight.TTL: ("no ttl in the configuration", "ttl:, redis.ttl: or policies: in idemctl.yaml"),
    Sight.POLICY: ("no policies in the configuration", "policies: in idemctl.yaml"),
    Sight.TWIN: ("no second store with the same keys", "a store of the other kind, as a pair"),
    Sight.KEY_TTL: ("no keys that expire by themselves", "a store in Redis"),
}
_MEMBERS = {
    Sight.DUE: "deadline",
    Sight.RESPONSE: "response status",
    Sight.AGE: "creation",
    Sight.VERSION: "fence",
}
_FIELDS = {
    Sight.RESPONSE: "response_status",
    Sight.HEADERS: "response_headers",
    Sight.EXPIRY: "expires",
    Sight.AGE: "counted_from",
    Sight.VERSION: "fence",
}


def lacking(needs: Needs, sight: Collection[Sight]) -> tuple[Sight, ...]:
    """Name what is missing: the first of each group of which nothing is seen.

    >>> lacking(((Sight.STATUS,), (Sight.LEASE, Sight.DUE)), {Sight.STATUS})
    (<Sight.LEASE: 'lease'>,)
    """
    return tuple(group[0] for group in needs if not set(group) & set(sight))


def blindness(lacks: Collection[Sight], engine: Engine) -> str:
    """Say why something cannot be seen: `no status column, no lease column`."""
    where = "column" if engine is Engine.POSTGRES else "in the value"
    return ", ".join(
        _OUTSIDE[one][0] if one in _OUTSIDE else f"no {_MEMBERS.get(one, one.value)} {where}"
        for one in lacks
    )


def remedy(lacks: Collection[Sight]) -> str:
    """Say what to add: a field that the application writes, or a line of configuration."""
    fields = [f"{_FIELDS.get(one, one.value)}:" for one in lacks if one not in _OUTSIDE]
    parts = [_OUTSIDE[one][1] for one in lacks if one in _OUTSIDE]
    if fields:
        parts.insert(0, f"{', '.join(fields)} in the layout, once the application writes it")
    return "; ".join(parts)


class FailureMode(StrEnum):
    """What can happen to idempotency keys."""

    KEY_COLLISION = "key-collision"
    STORE_UNAVAILABLE = "store-unavailable"
    CRASH_MID_WRITE = "crash-mid-write"
    EXPIRED_BEFORE_RETRY = "expired-before-retry"
    CROSS_REGION_LAG = "cross-region-lag"
    MALICIOUS_REUSE = "malicious-reuse"
    STORE_DATA_LOSS = "store-data-loss"


_SEEN_BY: dict[FailureMode, Needs] = {
    FailureMode.KEY_COLLISION: ((Sight.FINGERPRINT,),),
    # No answer is all it takes to see it.
    FailureMode.STORE_UNAVAILABLE: (),
    FailureMode.CRASH_MID_WRITE: ((Sight.STATUS,), (Sight.LEASE, Sight.DUE)),
    FailureMode.EXPIRED_BEFORE_RETRY: ((Sight.EXPIRY, Sight.KEY_TTL, Sight.AGE),),
    FailureMode.CROSS_REGION_LAG: ((Sight.VERSION,),),
    FailureMode.MALICIOUS_REUSE: ((Sight.FINGERPRINT,),),
    FailureMode.STORE_DATA_LOSS: ((Sight.TWIN,),),
}
_CURED_BY: dict[FailureMode, Needs] = {
    # Whom to talk to.
    FailureMode.KEY_COLLISION: ((Sight.ENDPOINT,), (Sight.CLIENT,)),
    FailureMode.STORE_UNAVAILABLE: ((Sight.TWIN,),),
    # An owner that comes back late is known by its fence; a run is resumed, an event sent again.
    FailureMode.CRASH_MID_WRITE: ((Sight.VERSION, Sight.DUE),),
    # A policy speaks of endpoints.
    FailureMode.EXPIRED_BEFORE_RETRY: ((Sight.ENDPOINT,),),
    FailureMode.CROSS_REGION_LAG: ((Sight.TWIN,),),
    FailureMode.MALICIOUS_REUSE: ((Sight.SCOPE, Sight.CLIENT),),
    # A twin is written with an end.
    FailureMode.STORE_DATA_LOSS: ((Sight.EXPIRY, Sight.AGE),),
}


class Extent(IntEnum):
    """How much of a failure mode is within sight."""

    BLIND = 0
    SEEN = 1
    """It is noticed; what its cure goes by is not stored."""
    CURABLE = 2

    @property
    def label(self) -> str:
        """The word used in output."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One failure mode as seen through one store."""

    mode: FailureMode
    extent: Extent
    lacks: tuple[Sight, ...] = ()
    """What is missing to see it, or else to cure it."""


def view(mode: FailureMode, sight: Collection[Sight]) -> View:
    """Tell how much of a failure mode this sight shows."""
    if lacks := lacking(_SEEN_BY[mode], sight):
        return View(mode=mode, extent=Extent.BLIND, lacks=lacks)
    if lacks := lacking(_CURED_BY[mode], sight):
        return View(mode=mode, extent=Extent.SEEN, lacks=lacks)
    return View(mode=mode, extent=Extent.CURABLE)

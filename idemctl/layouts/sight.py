"""What one side of a layout lets idemctl see."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from idemctl.domain.records import Pattern, Status
from idemctl.domain.sight import Sight
from idemctl.layouts.model import PostgresLayout, RedisLayout
from idemctl.layouts.sides import Statuses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.layouts.sides import Side

_FIELDS = {
    Sight.LEASE: "lease",
    Sight.DUE: "due",
    Sight.FINGERPRINT: "fingerprint",
    Sight.ENDPOINT: "endpoint",
    Sight.CLIENT: "client",
    Sight.SCOPE: "scope",
    Sight.RESPONSE: "response_status",
    Sight.EXPIRY: "expires",
    Sight.AGE: "counted_from",
    Sight.VERSION: "fence",
}


def sight_of(side: Side) -> frozenset[Sight]:
    """Tell what the records of a table or a keyspace show when read through its layout."""
    return frozenset(_seen(side))


def statuses_of(side: Side) -> frozenset[Status]:
    """Tell which statuses its records can be seen in: of the others none is ever counted."""
    if not isinstance(side.status, Statuses):
        return frozenset({Status.UNKNOWN, Status.MALFORMED})
    seen = {status for status, _ in side.status.conditions()}
    if isinstance(side, RedisLayout) and side.lock is not None:
        seen.add(Status.IN_PROGRESS)
    return frozenset(seen | {Status.MALFORMED})


def _seen(side: Side) -> Iterator[Sight]:
    for sight, field in _FIELDS.items():
        if getattr(side, field) is not None:
            yield sight
    if isinstance(side.status, Statuses) and side.status.in_progress is not None:
        yield Sight.STATUS
    if side.request_headers is not None or side.response_headers is not None:
        yield Sight.HEADERS
    if side.pattern is Pattern.BODY_HASH:
        # The key itself is the digest of the request.
        yield Sight.FINGERPRINT
    if isinstance(side, RedisLayout):
        yield Sight.KEY_TTL
        if side.lock is not None:
            # A lock is work in progress. How long its owner may take, only its TTL says.
            yield Sight.STATUS
        parts = re.compile(side.key).groupindex
        yield from (one for one in (Sight.SCOPE, Sight.ENDPOINT) if one.value in parts)
    if isinstance(side, PostgresLayout) and side.order is not None:
        yield Sight.ORDER
    if isinstance(side, PostgresLayout) and side.child is not None:
        yield from [Sight.STEPS] if side.child.step and side.child.done is not None else []

"""What reconciliation finds: how a record in Redis differs from its twin in Postgres.

Pure, and on columns: `expected_until` says which records Redis owes, `compare` sets pairs
of twins beside each other. Two readings of a live pair differ all the time; only what was
seen twice, in the same versions, counts as a difference. That is for the caller.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.instants import FOREVER, LAST_COUNTED, MISSING, to_micros
from idemctl.domain.records import Status
from idemctl.domain.retention import Retention, promise_ends

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from idemctl.domain.batch import Batch

    Int64 = NDArray[np.int64]

MARGIN = timedelta(seconds=4)
"""A record that ends so soon is owed no more: by the time it is there, it is over. Twice the
skew between the stores' clocks that is still accepted."""
_ANY_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""When a promise ends does not depend on the cutoff."""
SKEW = timedelta(seconds=2)
"""The largest skew that is accepted, and the one by which two expiries may differ."""


class Difference(IntEnum):
    """How two twins differ; the numbers are those of a column."""

    EQUAL = 0
    MISSING = 1
    """Expected in Redis, and only in Postgres."""
    ORPHAN = 2
    """Only in Redis."""
    STALE = 3
    """Older than its twin."""
    DIVERGENT = 4
    """Contradicts its twin: another request, another response, or ahead of it."""
    LEAKED = 5
    """Without TTL."""
    TTL_DIFFERS = 6
    """Outlives what its twin promises."""
    MALFORMED = 7
    """One of the two cannot be read: nothing is known of the difference."""

    @property
    def label(self) -> str:
        """The word used in JSON and documentation: `ttl-differs`."""
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a pair's stores promise each other."""

    redis_ttl: timedelta | None = None
    """How long a record stays in Redis after it was written."""
    has_stored_expiry: bool = True
    ttl: timedelta | None = None
    """The store's ttl, where no expiry is stored."""
    policy_ttls: Mapping[bytes, timedelta] = field(default_factory=dict)
    """By endpoint label, where no expiry is stored."""


def expected_until(postgres: Batch, terms: Terms, now: datetime) -> Int64:
    """Say until when each record of Postgres is owed by Redis; `MISSING` where it is not.

    It is the earlier of the promise's end and `redis_ttl` after the record was last written,
    but for a claim under a live lease not before that lease ends: a lock must not die early.
    What nobody can read, a claim whose lease is over or unknown, what ends within `MARGIN`,
    and what never ends, is not owed.
    """
    promised = _promised(postgres, terms)
    written = postgres.written_at
    until = np.where(promised == MISSING, FOREVER, promised)
    if terms.redis_ttl is not None:
        counted = (written != MISSING) & (written < LAST_COUNTED)
        ends = np.where(counted, written, 0) + _micros(terms.redis_ttl)
        until = np.minimum(until, np.where(counted, ends, FOREVER))
    claimed = postgres.status == Status.IN_PROGRESS
    until = np.where(claimed, np.maximum(until, postgres.lease_until), until)
    soon = to_micros(now) + _micros(MARGIN)
    owed = (postgres.status != Status.MALFORMED) & (until > soon) & (until < LAST_COUNTED)
    owed &= ~claimed | (postgres.lease_until > soon)
    return np.where(owed, until, MISSING)


def latest_end(postgres: Batch, until: Int64, terms: Terms) -> Int64:
    """Say when each record's twin has to end at the latest; `MISSING` where nothing says.

    What Redis owes ends as `expected_until` says. What it does not owe any more, and has all
    the same, must not outlive the promise; a claim belongs to its owner, and ends as it likes.
    """
    promised = _promised(postgres, terms)
    promised = np.where(promised < LAST_COUNTED, promised, MISSING)
    finished = (postgres.status != Status.IN_PROGRESS) & (postgres.status != Status.MALFORMED)
    return np.where(until != MISSING, until, np.where(finished, promised, MISSING))


def _promised(postgres: Batch, terms: Terms) -> Int64:
    retention = Retention(
        cutoff=_ANY_TIME,
        has_stored_expiry=terms.has_stored_expiry,
        ttl=terms.ttl,
        # A stored expiry stands in the record itself, and readers in Redis go by it.
        policy_ttls={} if terms.has_stored_expiry else terms.policy_ttls,
    )
    ends, _ = promise_ends(postgres, retention)
    return ends


def compare(postgres: Batch, redis: Batch, until: Int64) -> NDArray[np.uint8]:
    """Set twins beside each other, row by row; give the gravest `Difference` of each.

    Args:
        postgres: the rows.
        redis: their twins, in the same order.
        until: when each twin has to end, from `latest_end`; `MISSING` where any TTL is as good
            as another.
    """
    older, ahead = _precedes(redis, postgres), _precedes(postgres, redis)
    contradicts = (
        ahead | (~older & _contradict(postgres, redis)) | _differ(postgres.keys, redis.keys)
    )
    outlives = (until != MISSING) & (redis.key_expires_at > until + _micros(SKEW))
    malformed = (postgres.status == Status.MALFORMED) | (redis.status == Status.MALFORMED)
    return np.select(
        [malformed, contradicts, older, redis.key_expires_at == MISSING, outlives],
        [
            Difference.MALFORMED,
            Difference.DIVERGENT,
            Difference.STALE,
            Difference.LEAKED,
            Difference.TTL_DIFFERS,
        ],
        default=Difference.EQUAL,
    ).astype(np.uint8)


def _precedes(one: Batch, other: Batch) -> NDArray[np.bool_]:
    """Say where `one` is the older version: by epoch, then fence, then state.

    A number that only one of both stores is no order.
    """
    comes_first: NDArray[np.bool_] = _rank(one) < _rank(other)
    for column in ("fence", "epoch"):
        left, right = getattr(one, column), getattr(other, column)
        known = (left != MISSING) & (right != MISSING)
        comes_first = np.where(known & (left != right), left < right, comes_first)
    versioned: NDArray[np.bool_] = (one.fence != MISSING) & (other.fence != MISSING)
    return comes_first & versioned


def _rank(batch: Batch) -> NDArray[np.bool_]:
    ended: NDArray[np.bool_] = batch.status != Status.IN_PROGRESS
    return ended


def _contradict(one: Batch, other: Batch) -> NDArray[np.bool_]:
    """Say where two of one version tell of different requests or responses."""
    known = (one.status != Status.UNKNOWN) & (other.status != Status.UNKNOWN)
    answered = (one.response_status != MISSING) & (other.response_status != MISSING)
    contradict: NDArray[np.bool_] = known & (one.status != other.status)
    contradict |= answered & (one.response_status != other.response_status)
    return contradict | _differ(one.fingerprints, other.fingerprints)


def _differ(left: Sequence[bytes], right: Sequence[bytes]) -> NDArray[np.bool_]:
    """Say where two values differ that both are there."""
    pairs = zip(left, right, strict=True)
    return np.fromiter((a != b and bool(a and b) for a, b in pairs), np.bool_, len(left))


def _micros(length: timedelta) -> int:
    return length // timedelta(microseconds=1)

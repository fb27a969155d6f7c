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
    """Contradicts its twin: another request, another response, ahead of it, or ended while
    its key is executed anew."""
    LEAKED = 5
    """Without TTL."""
    TTL_DIFFERS = 6
    """Outlives what its twin promises, or promises more itself."""
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

    A claim is owed until its lease ends: who waits for it comes in then. All else is owed
    until its promise ends, or `redis_ttl` after it was last written, if that is earlier.
    What nobody can read, a claim whose lease is over or unknown, what ends within `MARGIN`,
    and what never ends, is not owed.
    """
    claimed = postgres.status == Status.IN_PROGRESS
    until = np.where(claimed, postgres.lease_until, _kept_until(postgres, terms))
    soon = to_micros(now) + _micros(MARGIN)
    owed = (postgres.status != Status.MALFORMED) & (until > soon) & (until < LAST_COUNTED)
    return np.where(owed, until, MISSING)


def _kept_until(postgres: Batch, terms: Terms) -> Int64:
    """Say how long a record may stay in Redis as a rule; `FOREVER` where nothing ends it."""
    promised = _promised(postgres, terms)
    until = np.where(promised == MISSING, FOREVER, promised)
    if terms.redis_ttl is None:
        return until
    written = postgres.written_at
    counted = (written != MISSING) & (written < LAST_COUNTED)
    ends = np.where(counted, written, 0) + _micros(terms.redis_ttl)
    return np.minimum(until, np.where(counted, ends, FOREVER))


def _latest_end(postgres: Batch, until: Int64, terms: Terms) -> Int64:
    """Say when each record's twin has to end at the latest; `MISSING` where nothing says.

    What Redis owes ends as it owes it; but a claim may stay as long as a result would, for
    many applications write both with one TTL. What it does not owe any more, and has all the
    same, must not outlive the promise; a claim then belongs to its owner, and ends as it likes.
    """
    claimed = postgres.status == Status.IN_PROGRESS
    latest = np.where(claimed, np.maximum(until, _kept_until(postgres, terms)), until)
    finished = ~claimed & (postgres.status != Status.MALFORMED)
    otherwise = np.where(finished, _counted(_promised(postgres, terms)), MISSING)
    return _counted(np.where(until != MISSING, latest, otherwise))


def _counted(instants: Int64) -> Int64:
    return np.where(instants < LAST_COUNTED, instants, MISSING)


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


def compare(postgres: Batch, redis: Batch, until: Int64, terms: Terms) -> NDArray[np.uint8]:
    """Set twins beside each other, row by row; give the gravest `Difference` of each.

    Args:
        postgres: the rows.
        redis: their twins, in the same order.
        until: until when each is owed, from `expected_until`.
        terms: what the stores promise each other.
    """
    older, ahead = _precedes(redis, postgres), _precedes(postgres, redis)
    contradicts = np.where(older, _reran(postgres, redis), _contradict(postgres, redis)) | ahead
    malformed = (postgres.status == Status.MALFORMED) | (redis.status == Status.MALFORMED)
    return np.select(
        [
            malformed,
            contradicts | are_anothers(postgres, redis),
            older,
            redis.key_expires_at == MISSING,
            _outlives(postgres, redis, until, terms),
        ],
        [
            Difference.MALFORMED,
            Difference.DIVERGENT,
            Difference.STALE,
            Difference.LEAKED,
            Difference.TTL_DIFFERS,
        ],
        default=Difference.EQUAL,
    ).astype(np.uint8)


def are_anothers(postgres: Batch, redis: Batch) -> NDArray[np.bool_]:
    """Say where what lies under the name of a row says that it belongs to another row.

    Names may be shared: by keys with colons in them, or where no scope stands in a name.
    """
    return _differ(postgres.keys, redis.keys) | _differ(postgres.scopes, redis.scopes)


def _outlives(postgres: Batch, redis: Batch, until: Int64, terms: Terms) -> NDArray[np.bool_]:
    """Say where the twin, or the expiry that it stores, ends later than it may.

    A stored expiry may be the whole promise, though the key itself ends sooner.
    """
    latest = _latest_end(postgres, until, terms)
    outlives: NDArray[np.bool_] = (latest != MISSING) & (
        redis.key_expires_at > latest + _micros(SKEW)
    )
    promised = _counted(_promised(postgres, terms))
    promises = (promised != MISSING) & (redis.expires_at > promised + _micros(SKEW))
    outlives |= promises & (postgres.status != Status.IN_PROGRESS)
    return outlives


def _precedes(one: Batch, other: Batch) -> NDArray[np.bool_]:
    """Say where `one` is the older version: by epoch, then fence, then state, then lease.

    A number that only one of both stores is no order. A lease is renewed under one fence, and
    stores keep it in units of their own.
    """
    comes_first: NDArray[np.bool_] = _rank(one) < _rank(other)
    leased = (one.lease_until != MISSING) & (other.lease_until != MISSING)
    leased &= ~_rank(one) & ~_rank(other)
    comes_first |= leased & (one.lease_until < other.lease_until - _micros(SKEW))
    for column in ("fence", "epoch"):
        left, right = getattr(one, column), getattr(other, column)
        known = (left != MISSING) & (right != MISSING)
        comes_first = np.where(known & (left != right), left < right, comes_first)
    versioned: NDArray[np.bool_] = (one.fence != MISSING) & (other.fence != MISSING)
    return comes_first & versioned


def _reran(postgres: Batch, redis: Batch) -> NDArray[np.bool_]:
    """Say where a request that has ended in Redis is executed again: its effect, too, maybe."""
    anew: NDArray[np.bool_] = (redis.epoch != MISSING) & (redis.epoch < postgres.epoch)
    ended = (redis.status == Status.COMPLETED) | (redis.status == Status.FAILED)
    anew &= ended & (postgres.status == Status.IN_PROGRESS)
    return anew


def _rank(batch: Batch) -> NDArray[np.bool_]:
    ended: NDArray[np.bool_] = batch.status != Status.IN_PROGRESS
    return ended


def _contradict(one: Batch, other: Batch) -> NDArray[np.bool_]:
    """Say where two of one version tell of different requests or responses."""
    known = (one.status != Status.UNKNOWN) & (other.status != Status.UNKNOWN)
    answered = (one.response_status != MISSING) & (other.response_status != MISSING)
    contradict: NDArray[np.bool_] = known & (one.status != other.status)
    contradict |= answered & (one.response_status != other.response_status)
    contradict |= _differ(one.endpoints, other.endpoints)
    return contradict | _differ(one.fingerprints, other.fingerprints)


def _differ(left: Sequence[bytes], right: Sequence[bytes]) -> NDArray[np.bool_]:
    """Say where two values differ that both are there."""
    pairs = zip(left, right, strict=True)
    return np.fromiter((a != b and bool(a and b) for a, b in pairs), np.bool_, len(left))


def _micros(length: timedelta) -> int:
    return length // timedelta(microseconds=1)

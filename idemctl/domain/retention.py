"""The one definition of expired.

A record is expired when the promise made to it is over: its stored expiry; where the
layout has none, the instant it counts from plus the policy's ttl; else plus the store's
ttl; with none it never expires. A policy may keep a record longer than its stored expiry,
never shorter. What the layout says is never collected stays, whatever its promise. Every
adapter is held to `judge` by the contract suite, so that the same rule spoken in SQL cannot
drift from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.instants import FOREVER, LAST_COUNTED, MISSING, to_micros
from idemctl.domain.records import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime, timedelta

    from numpy.typing import NDArray

    from idemctl.domain.batch import Batch


class Promise(IntEnum):
    """Which promise decided when a record expires."""

    NONE = 0
    STORED_EXPIRY = 1
    POLICY = 2
    STORE_TTL = 3

    @property
    def label(self) -> str:
        """The word used in output: `stored expiry`."""
        return self.name.lower().replace("_", " ")


class Verdict(IntEnum):
    """What gc makes of a record. Only `EXPIRED` may be collected."""

    EXPIRED = 0
    LIVE = 1
    """The promise still holds."""
    IN_PROGRESS = 2
    """Belongs to its owner."""
    IN_PROGRESS_PAST_EXPIRY = 3
    """Belongs to its owner, or is evidence of one that crashed: reported, never collected."""
    NEVER_EXPIRES = 4
    """No promise was ever made, or one without end."""
    PRESENCE_ONLY = 5
    """Past its promise, but its status is unknown: in progress for every deletion."""
    MALFORMED = 6
    KEPT_BY_LAYOUT = 7
    """Done, and the layout says that it stays, whatever its promise."""
    REFERRED_TO = 8
    """Past its promise, but rows of another table refer to it, by a key that keeps it: a store
    that knows them says so, `judge` does not."""

    @property
    def label(self) -> str:
        """The code used in JSON: `in-progress-past-expiry`."""
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The promises of one layout in one store, as they stand in one run."""

    cutoff: datetime
    """Computed once a run, by the store's own clock. Before it means expired."""
    has_stored_expiry: bool
    ends_with_key: bool = False
    """Whether the store itself removes a record when its key expires: whatever the record
    says of itself, that is its end, and without it there is none."""
    ttl: timedelta | None = None
    """The store's ttl, for records that neither an expiry nor a policy speaks for."""
    policy_ttls: Mapping[bytes, timedelta] = field(default_factory=dict)
    """By endpoint label."""

    @property
    def cutoff_micros(self) -> int:
        """The cutoff as a column's value."""
        return to_micros(self.cutoff)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many records share a verdict and the promise behind it."""

    verdict: Verdict
    promise: Promise
    count: int
    oldest: int = MISSING
    """The earliest end of a promise among them, in microseconds; `MISSING` when none ends."""
    newest: int = MISSING
    """The latest; `MISSING` also when one of them never ends."""

    def __add__(self, other: Tally) -> Tally:
        ends = [end for end in (self.oldest, other.oldest) if end != MISSING]
        return Tally(
            verdict=self.verdict,
            promise=self.promise,
            count=self.count + other.count,
            oldest=min(ends, default=MISSING),
            newest=self._newest(other),
        )

    def _newest(self, other: Tally) -> int:
        # Where the latest end is missing, some promise has none, and so has the sum.
        latest = (self.newest, other.newest)
        return MISSING if MISSING in latest else max(latest)


def judge(
    batch: Batch, retention: Retention
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.int64]]:
    """Give each record's verdict, the promise that spoke, and when that promise ends."""
    ends, promises = promise_ends(batch, retention)
    over = (ends != MISSING) & (ends != FOREVER) & (ends < retention.cutoff_micros)
    endless = (ends == MISSING) | (ends == FOREVER)
    status = batch.status
    verdicts = np.select(
        [
            status == Status.MALFORMED,
            (status == Status.IN_PROGRESS) & over,
            status == Status.IN_PROGRESS,
            batch.never_collected,
            endless,
            ~over,
            status == Status.UNKNOWN,
        ],
        [
            Verdict.MALFORMED,
            Verdict.IN_PROGRESS_PAST_EXPIRY,
            Verdict.IN_PROGRESS,
            Verdict.KEPT_BY_LAYOUT,
            Verdict.NEVER_EXPIRES,
            Verdict.LIVE,
            Verdict.PRESENCE_ONLY,
        ],
        default=Verdict.EXPIRED,
    ).astype(np.uint8)
    return verdicts, promises, ends


def tally(batch: Batch, retention: Retention) -> Iterator[Tally]:
    """Count a batch by verdict and promise."""
    verdicts, promises, ends = judge(batch, retention)
    groups = verdicts.astype(np.int16) * len(Promise) + promises
    for group in np.unique(groups):
        mask = groups == group
        real = ends[mask & (ends != MISSING) & (ends != FOREVER)]
        endless = bool((ends[mask] == FOREVER).any())
        yield Tally(
            verdict=Verdict(int(group) // len(Promise)),
            promise=Promise(int(group) % len(Promise)),
            count=int(mask.sum()),
            oldest=int(real.min()) if len(real) else MISSING,
            newest=MISSING if endless or not len(real) else int(real.max()),
        )


def add_tallies(tallies: Iterator[Tally]) -> list[Tally]:
    """Add up tallies of many batches, in the order of verdict and promise."""
    sums: dict[tuple[Verdict, Promise], Tally] = {}
    for one in tallies:
        group = (one.verdict, one.promise)
        sums[group] = sums[group] + one if group in sums else one
    return [sums[group] for group in sorted(sums)]


def promise_ends(batch: Batch, retention: Retention) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Compute when the promise made to each record ends, and which promise that is."""
    policy_ends = policy_promise_ends(batch, retention.policy_ttls)
    if retention.has_stored_expiry:
        # A record whose own expiry is missing was promised nothing that can end: its
        # application may hold it for good, so only a person may decide otherwise.
        stored = batch.key_expires_at if retention.ends_with_key else batch.expires_at
        longer = (stored != MISSING) & (policy_ends != MISSING) & (policy_ends > stored)
        ends = np.where(longer, policy_ends, stored)
        promises = np.where(longer, Promise.POLICY, Promise.STORED_EXPIRY)
    else:
        ttl = MISSING if retention.ttl is None else _micros(retention.ttl)
        fallback = _counted(batch.counted_from, np.full(len(batch), ttl, np.int64))
        ruled = policy_ends != MISSING
        ends = np.where(ruled, policy_ends, fallback)
        promises = np.where(ruled, Promise.POLICY, Promise.STORE_TTL)
    promises = np.where(ends == MISSING, Promise.NONE, promises)
    return ends.astype(np.int64), promises.astype(np.uint8)


def policy_promise_ends(batch: Batch, policy_ttls: Mapping[bytes, timedelta]) -> NDArray[np.int64]:
    """Compute when the promise ends that a policy makes for the endpoint of each record."""
    if not policy_ttls:
        return np.full(len(batch), MISSING, np.int64)
    micros = {endpoint: _micros(ttl) for endpoint, ttl in policy_ttls.items()}
    ttls = np.fromiter(
        (micros.get(endpoint, MISSING) for endpoint in batch.endpoints), np.int64, len(batch)
    )
    return _counted(batch.counted_from, ttls)


def _counted(counted_from: NDArray[np.int64], ttls: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add a ttl to an instant where both are known; forever stays forever."""
    known = (counted_from != MISSING) & (ttls != MISSING)
    ttls = np.where(known, ttls, 0)
    # So late there is only forever: a sum must not wrap around into the past.
    endless = known & (counted_from >= LAST_COUNTED)
    sums = np.where(known & ~endless, counted_from + np.where(endless, 0, ttls), MISSING)
    return np.where(endless, FOREVER, sums)


def _micros(ttl: timedelta) -> int:
    return (ttl.days * 86_400 + ttl.seconds) * 1_000_000 + ttl.microseconds

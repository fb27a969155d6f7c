"""Spikes in the hits of a log: every series judged, every rise named once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.traffic.counts import BUCKET_SECONDS, Hit, Series, summed
from idemctl.domain.traffic.episodes import MORE_HITS, episodes_of
from idemctl.domain.traffic.origin import explained
from idemctl.domain.traffic.period import HOUR, WEEK, period_of, rows_of, table_of
from idemctl.domain.traffic.series import able, kinds_of

if TYPE_CHECKING:
    from idemctl.domain.traffic.baseline import Basis
    from idemctl.domain.traffic.counts import Names, Rows, Traffic
    from idemctl.domain.traffic.episodes import Episode
    from idemctl.domain.traffic.period import Period

NEEDED_BUCKETS = 2 * WEEK - 12 * HOUR
"""Two weeks, or nearly: an hour of the week needs another to be held against."""
_KNOWN_AFTER = 100.0
"""Requests in other weeks without which a series is not known well enough to be judged."""
_SPANNED = 5
"""Hours that the longest window can touch, and one more, to be odd."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spike:
    """One series that had more hits than its requests let one expect."""

    hit: Hit
    series: Series
    started_at: datetime
    ended_at: datetime
    """Both to the bucket."""
    request_count: int
    observed_count: int
    expected_count: float
    score: float
    """The chance that this is chance is at most one in ten to that."""
    share: float
    """Of all hits too many at that time, the share in this series; more than 1 is possible."""
    basis: Basis


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What came of a look at a log."""

    began_at: datetime
    ended_at: datetime
    spikes: tuple[Spike, ...]
    judged_count: int
    """Series with hits enough for a spike: only they are looked at."""
    unjudged_count: int
    """Such series of which the other weeks know too little to tell."""
    long_enough: bool
    """Whether the log holds the two weeks that a baseline needs."""


def find_spikes(traffic: Traffic) -> Judged:
    """Judge the last weeks of some traffic, which has at least one request."""
    period = period_of(traffic)
    long_enough = period.end - period.began >= NEEDED_BUCKETS
    spikes: list[Spike] = []
    seen: set[Names] = set()
    unjudged: set[Names] = set()
    table = table_of(traffic, period)
    kinds = kinds_of(table)
    for hit in Hit:
        rows = rows_of(table, hit)
        episodes: list[Episode] = []
        for names, some in able(rows, kinds, MORE_HITS):
            found, known = _judge(names, some, period) if long_enough else ([], False)
            episodes += found
            seen.add(names)
            unjudged |= set() if known else {names}
        spikes += [_spike(one, hit, traffic, period) for one in explained(episodes, rows)]
    return Judged(
        began_at=_instant(period.began),
        ended_at=_instant(period.end),
        spikes=tuple(sorted(spikes, key=lambda one: (one.started_at, -one.score))),
        judged_count=len(seen - unjudged),
        unjudged_count=len(unjudged),
        long_enough=long_enough,
    )


def _judge(names: Names, rows: Rows, period: Period) -> tuple[list[Episode], bool]:
    """Find a series' episodes; tell whether all that might be one could be judged."""
    hourly = summed(rows.bucket // HOUR, rows.observed, period.length // HOUR)
    crowded = np.convolve(hourly, np.ones(_SPANNED), mode="same") >= MORE_HITS
    if not crowded.any():
        return [], True
    asked = summed(rows.bucket // WEEK, rows.requests, period.week_count)
    known = np.repeat(asked.sum() - asked >= _KNOWN_AFTER, WEEK // HOUR)
    blind = bool((crowded & ~known).any())
    if not (crowded & known).any():
        return [], not blind
    observed, exposure, requests = (
        summed(rows.bucket, one, period.length)
        for one in (rows.observed, rows.exposure, rows.requests)
    )
    judged = np.repeat(known, HOUR)
    return list(episodes_of(names, observed, exposure, requests, judged)), not blind


def _spike(found: tuple[Episode, float], hit: Hit, traffic: Traffic, period: Period) -> Spike:
    episode, share = found
    endpoint, client = episode.names.endpoint, episode.names.client
    return Spike(
        hit=hit,
        series=Series(
            endpoint=None if endpoint is None else traffic.endpoints[endpoint],
            client=None if client is None else traffic.clients[client],
        ),
        started_at=_instant(period.first + episode.first),
        ended_at=_instant(period.first + episode.end),
        request_count=round(episode.requests),
        observed_count=round(episode.observed),
        expected_count=episode.expected,
        score=episode.score,
        share=share,
        basis=episode.basis,
    )


def _instant(bucket: int) -> datetime:
    return _EPOCH + bucket * timedelta(seconds=BUCKET_SECONDS)

"""The stretch of a log that is judged, and what each of its rows lets one expect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.traffic.counts import Rows, summed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from idemctl.domain.traffic.counts import Floats, Hit, Ints, Traffic

HOUR = 12
"""Buckets in it."""
WEEK = 168 * HOUR
_MOST_WEEKS = 8
"""Older traffic says nothing about today's, and one line of 1970 must not cost the memory."""
_NEARLY_ALL = 0.999
_SLACK = 24 * HOUR
"""A line further behind nearly all others has a broken clock."""
_PRIOR = 100.0
"""Requests after which a client's own rate at an endpoint counts as much as everybody's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Whole weeks, counted back from the end of the log; the first may be partly empty."""

    first: int
    """Bucket at which the first week begins."""
    began: int
    """Bucket of the first request in it."""
    week_count: int

    @property
    def length(self) -> int:
        """Buckets in all weeks."""
        return self.week_count * WEEK

    @property
    def end(self) -> int:
        """The bucket after the last."""
        return self.first + self.length


def period_of(traffic: Traffic) -> Period:
    """Choose the weeks to judge, of traffic that has at least one request."""
    order = np.argsort(traffic.bucket, kind="stable")
    buckets, reached = traffic.bucket[order], np.cumsum(traffic.requests[order])
    usual = int(buckets[np.searchsorted(reached, _NEARLY_ALL * reached[-1])])
    last = int(buckets[np.searchsorted(buckets, usual + _SLACK, side="right") - 1])
    end = -(-(last + 1) // HOUR) * HOUR
    began = int(buckets[np.searchsorted(buckets, end - _MOST_WEEKS * WEEK)])
    week_count = -(-(end - began) // WEEK)
    return Period(first=end - week_count * WEEK, began=began, week_count=week_count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The rows of a period, in order of time, whatever kind of hit is asked for."""

    bucket: Ints
    """Counted from the start of the period."""
    endpoint: Ints
    client: Ints
    pair: Ints
    """A code for each client at an endpoint, from 0 on."""
    requests: Floats
    hits: Mapping[Hit, Ints]
    week_count: int


def table_of(traffic: Traffic, period: Period) -> Table:
    """Put the rows of a period in order."""
    inside = np.flatnonzero((traffic.bucket >= period.first) & (traffic.bucket < period.end))
    order = inside[np.argsort(traffic.bucket[inside], kind="stable")]
    endpoint, client = traffic.endpoint[order], traffic.client[order]
    both = endpoint * (len(traffic.clients) + 1) + client
    return Table(
        bucket=traffic.bucket[order] - period.first,
        endpoint=endpoint,
        client=client,
        pair=np.unique(both, return_inverse=True)[1],
        requests=traffic.requests[order].astype(np.float64),
        hits={hit: column[order] for hit, column in traffic.hits.items()},
        week_count=period.week_count,
    )


def rows_of(table: Table, hit: Hit) -> Rows:
    """Give the rows for one kind of hit, and what to expect of each.

    What is expected of a client at an endpoint is its rate in all *other* weeks: a spike
    never speaks for itself. A client of which those weeks know little is expected to be like
    the others. So a total's expectation moves with the mix, and the growth of a client that
    always had many hits is no spike.
    """
    observed = table.hits[hit].astype(np.float64)
    return Rows(
        bucket=table.bucket,
        endpoint=table.endpoint,
        client=table.client,
        requests=table.requests,
        observed=observed,
        exposure=table.requests * _rates(table, observed),
    )


def _rates(table: Table, observed: Floats) -> Floats:
    """Give each row the rate of its client and endpoint in the other weeks."""
    shape = (int(table.pair.max()) + 1, table.week_count)
    week = table.bucket // WEEK
    cell = table.pair * table.week_count + week
    asked, found = (
        _without_own(summed(cell, one, shape[0] * shape[1]).reshape(shape))
        for one in (table.requests, observed)
    )
    everybody = (found.sum(0) + 0.5) / (asked.sum(0) + 1.0)
    rates: Floats = (found + _PRIOR * everybody) / (asked + _PRIOR)
    return rates[table.pair, week]


def _without_own(table: Floats) -> Floats:
    """Give for each week the sum of the others."""
    others: Floats = table.sum(axis=1, keepdims=True) - table
    return others

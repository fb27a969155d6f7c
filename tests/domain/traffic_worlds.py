"""Traffic made for a purpose: healthy, growing, or with a storm of which all is known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from idemctl.domain.traffic import BUCKET_SECONDS, Hit, Traffic

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
END = int(NOW.timestamp()) // BUCKET_SECONDS
HOUR, DAY = 12, 288
ENDPOINTS = ("POST /charges", "POST /emails", "POST /refunds")
CLIENTS = ("web", "app", "billing", "partner")
SHARES = {Hit.REPLAY: 0.12, Hit.CONFLICT: 0.01, Hit.MISMATCH: 0.002}


@dataclass(kw_only=True)
class World:
    """Requests and hits by bucket, endpoint and client; the last bucket ends at `NOW`."""

    requests: np.ndarray
    hits: dict[Hit, np.ndarray]
    rng: np.random.Generator

    @property
    def length(self) -> int:
        return len(self.requests)

    def storm(
        self,
        size: int,
        *,
        ago: int,
        lasts: int,
        where: list[tuple[int, int]],
        hit: Hit = Hit.REPLAY,
    ) -> tuple[datetime, datetime]:
        """Add so many hits in each of some places; give when they begin and end."""
        first = self.length - ago
        for endpoint, client in where:
            added = self.rng.multinomial(size, [1 / lasts] * lasts)
            self.requests[first : first + lasts, endpoint, client] += added
            self.hits[hit][first : first + lasts, endpoint, client] += added
        started_at = NOW - ago * timedelta(seconds=BUCKET_SECONDS)
        return started_at, started_at + lasts * timedelta(seconds=BUCKET_SECONDS)

    def traffic(self) -> Traffic:
        bucket, endpoint, client = np.nonzero(self.requests)
        place = (bucket, endpoint, client)
        return Traffic(
            bucket=bucket + END - self.length,
            endpoint=endpoint,
            client=client,
            requests=self.requests[place],
            hits={hit: table[place] for hit, table in self.hits.items()},
            endpoints=ENDPOINTS,
            clients=CLIENTS,
        )


@dataclass(kw_only=True)
class Growth:
    """More requests of some endpoint and client, for some buckets; rates stay as they are."""

    factor: float
    ago: int
    lasts: int | None = None
    endpoint: int | None = None
    client: int | None = None


def a_world(
    seed: int = 0,
    *,
    days: float = 28,
    a_bucket: float = 20.0,
    noise: float = 0.1,
    growth: Growth | None = None,
) -> World:
    """Make healthy traffic of so many requests in five minutes, with days, nights, weekends."""
    rng = np.random.default_rng((seed, 77))
    length = round(days * DAY)
    hours = (np.arange(length) + END - length) // HOUR
    shape = 1 + 0.6 * np.sin((hours % 24 - 8) / 24 * 2 * np.pi)
    shape *= np.where(np.isin(hours // 24 % 7, (2, 3)), 0.5, 1.0)
    weights = np.outer((0.5, 0.3, 0.2), (0.4, 0.3, 0.2, 0.1))
    mean = a_bucket * shape[:, None, None] * weights
    if growth is not None:
        first = length - growth.ago
        end = length if growth.lasts is None else first + growth.lasts
        named = (growth.endpoint, growth.client)
        places = (slice(None) if one is None else one for one in named)
        mean[(slice(first, end), *places)] *= growth.factor
    requests = rng.poisson(mean)
    # Rates swing with the hour, and each client has habits of its own.
    swing = (1 + 0.3 * np.cos(hours % 24 / 24 * 2 * np.pi)) * np.repeat(
        rng.gamma(1 / noise**2, noise**2, -(-length // HOUR)), HOUR
    )[:length]
    habit = rng.uniform(0.5, 2.0, (len(ENDPOINTS), len(CLIENTS)))
    hits, left = {}, requests
    for hit, share in SHARES.items():
        hits[hit] = rng.binomial(left, np.minimum(share * swing[:, None, None] * habit, 0.9))
        left = left - hits[hit]
    return World(requests=requests, hits=hits, rng=rng)

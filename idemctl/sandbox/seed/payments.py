"""The payments of the sandbox: what `processed_events` and its twins in Redis hold.

The steady state of a store whose collection ran twenty hours ago and is due again: every
endpoint sends at an even rate, and rows stay for their ttl and up to those hours more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from idemctl.sandbox.seed import draws
from idemctl.sandbox.seed.rows import DAY, HOUR, MINUTE, SECOND, Payment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

CHUNK = 20_000
"""Records made at a time: what bounds the memory."""
EDGE = 20 * MINUTE
"""No record is so near to an expiry that the clock changes its verdict during a rehearsal."""
KEPT_AFTER = 20 * HOUR - 30 * MINUTE
"""How long ago the oldest expired record expired: the last collection."""
YOUNGEST = 90 * SECOND
RUNNING_FOR = MINUTE
"""What is under way began less than this ago."""

_STREAM = 1
_IN_PROGRESS_SHARE = 0.002
_FAILED_SHARE = 0.01
_NO_SCOPE_SHARE = 1 / 3
_BUSINESS_KEY_SHARE = 0.06
_SHORT_TTL = DAY
_LONG_TTL = 7 * DAY
_FILLER_MEDIAN = 120
_FILLER_LONGEST = 400
_HIT_WEIGHTS = (0.82, 0.12, 0.045, 0.01, 0.005)


@dataclass(frozen=True, slots=True)
class _Endpoint:
    label: str
    ttl: int
    weight: float
    """Its share of the rows."""
    noun: str
    id_prefix: str
    done: int
    """The HTTP status of its success."""


ENDPOINTS = (
    _Endpoint("POST /v1/whatsapp/messages", _SHORT_TTL, 0.30, "message", "msg", 202),
    _Endpoint("POST /v1/emails", _SHORT_TTL, 0.20, "email", "em", 202),
    _Endpoint("POST /v1/push", _SHORT_TTL, 0.16, "notification", "ntf", 202),
    _Endpoint("POST /v1/charges", _LONG_TTL, 0.22, "charge", "ch", 201),
    _Endpoint("POST /v1/bookings", _LONG_TTL, 0.08, "booking", "bk", 201),
    _Endpoint("POST /v1/refunds", _LONG_TTL, 0.04, "refund", "re", 201),
)
"""Where payments are asked for, with their weights."""
CLIENTS = ("web", "ios-app", "android-app", "billing", "crm-sync", "pos", "back-office", "partner")
"""Who asks, the busiest first."""
_SCOPES = (
    "acme",
    "globex",
    "initech",
    "umbrella",
    "hooli",
    "tyrell",
    "soylent",
    "wonka",
    "vandelay",
)


def _rates(*, long_only: bool) -> list[float]:
    """Give each endpoint's rows per unit of age, among those that keep rows that old."""
    return [
        0.0 if long_only and one.ttl == _SHORT_TTL else one.weight / (one.ttl + KEPT_AFTER)
        for one in ENDPOINTS
    ]


def count_in_progress(count: int) -> int:
    """Give how many of `count` payments are under way: the youngest ones."""
    return min(count, max(1, round(count * _IN_PROGRESS_SHARE)))


def payments(count: int, *, seed: int, now: int) -> Iterator[list[Payment]]:
    """Draw healthy payments in chunks, oldest first, with fences from 1 in that order."""
    under_way = count_in_progress(count)
    curve = _curve(count, under_way)
    for first in range(0, count, CHUNK):
        rng = draws.generator(seed, _STREAM, first)
        size = min(CHUNK, count - first)
        ages = curve.ages(rng, first=first, count=size, of=count)
        rows = settled(rng, ages=ages, now=now, first_fence=first + 1)
        for at in range(max(0, count - under_way - first), size):
            lease = now + int(rng.integers(5 * MINUTE + SECOND, 10 * MINUTE))
            rows[at] = claimed(rows[at], lease_until=lease)
        yield rows


def settled(
    rng: np.random.Generator,
    *,
    ages: NDArray[np.int64],
    now: int,
    first_fence: int,
    failures: bool = True,
) -> list[Payment]:
    """Draw completed payments of these ages; with `failures`, one in a hundred failed."""
    size = len(ages)
    chosen = _endpoints_of(rng, ages)
    created = now - ages
    ended = created + np.minimum(
        draws.durations(rng, size, median=400_000, spread=1.0, longest=MINUTE), ages // 2
    )
    expires = created + np.array([one.ttl for one in ENDPOINTS])[chosen]
    failed = rng.random(size) < (_FAILED_SHARE if failures else 0.0)
    hits = draws.picks(rng, size, _HIT_WEIGHTS)
    last_hit = ended + (rng.random(size) * (np.minimum(expires, now) - ended)).astype(np.int64)
    numbers, bodies, done = _responses(rng, chosen, failed)
    headers = [
        f'{{"content-type":"application/json","x-request-id":"req_{digits}"}}'
        for digits in draws.hexes(rng, size, 16)
    ]
    columns = zip(
        _keys(rng, size),
        _scopes(rng, size),
        [ENDPOINTS[at].label for at in chosen.tolist()],
        [CLIENTS[at] for at in draws.picks(rng, size, draws.zipf(len(CLIENTS))).tolist()],
        draws.hexes(rng, size, 64),
        done,
        numbers,
        headers,
        bodies,
        created.tolist(),
        ended.tolist(),
        expires.tolist(),
        hits.tolist(),
        last_hit.tolist(),
        range(first_fence, first_fence + size),
        strict=True,
    )
    return [
        Payment(
            key, scope, endpoint, client, digest, status, None, fence, 1, number, header, body,
            created_at, ended_at, expires_at, hit_count, hit_at if hit_count else None,
        )
        for key, scope, endpoint, client, digest, status, number, header, body,
            created_at, ended_at, expires_at, hit_count, hit_at, fence in columns
    ]  # fmt: skip


def claimed(payment: Payment, *, lease_until: int | None) -> Payment:
    """Give the payment as it was while still under way; promised for seven days."""
    return payment._replace(
        status="in_progress",
        lease_until=lease_until,
        response_status=None,
        response_headers=None,
        response_body=None,
        completed_at=None,
        expires_at=payment.created_at + _LONG_TTL,
        hit_count=0,
        last_hit_at=None,
    )


def _curve(count: int, under_way: int) -> draws.AgeCurve:
    long_rate = sum(_rates(long_only=True))
    rate = sum(_rates(long_only=False))
    oldest_short = _SHORT_TTL + KEPT_AFTER
    dense = [
        (_LONG_TTL + KEPT_AFTER, _LONG_TTL + EDGE, long_rate),
        (_LONG_TTL - EDGE, oldest_short, long_rate),
        (oldest_short, _SHORT_TTL + EDGE, rate),
        (_SHORT_TTL - EDGE, YOUNGEST, rate),
    ]
    weighed = [(older, younger, (older - younger) * per) for older, younger, per in dense]
    settled_weight = sum(weight for _, _, weight in weighed)
    share = 1 - under_way / max(count, 1)
    spans = [
        (older, younger, weight / settled_weight * share) for older, younger, weight in weighed
    ]
    return draws.AgeCurve((*spans, (RUNNING_FOR, SECOND, under_way / max(count, 1))))


def _endpoints_of(rng: np.random.Generator, ages: NDArray[np.int64]) -> NDArray[np.int64]:
    """Choose among the endpoints whose rows may be that old."""
    size = len(ages)
    return np.where(
        ages > _SHORT_TTL + KEPT_AFTER,
        draws.picks(rng, size, _rates(long_only=True)),
        draws.picks(rng, size, _rates(long_only=False)),
    )


def _keys(rng: np.random.Generator, size: int) -> list[str]:
    keys = draws.uuids(rng, size)
    for at in np.flatnonzero(rng.random(size) < _BUSINESS_KEY_SHARE).tolist():
        digits = keys[at]
        keys[at] = f"order-{int(digits[:6], 16) % 900_000 + 100_000}-{digits[-12:]}"
    return keys


def _scopes(rng: np.random.Generator, size: int) -> list[str]:
    weights = np.concatenate(([_NO_SCOPE_SHARE], draws.zipf(len(_SCOPES)) * (1 - _NO_SCOPE_SHARE)))
    names = ["", *_SCOPES]
    return [names[at] for at in draws.picks(rng, size, weights).tolist()]


def _responses(
    rng: np.random.Generator, chosen: NDArray[np.int64], failed: NDArray[np.bool_]
) -> tuple[list[int], list[str], list[str]]:
    """Make status code, body and status of each."""
    size = len(chosen)
    lengths = np.clip(_FILLER_MEDIAN * rng.lognormal(0.0, 0.6, size), 8, _FILLER_LONGEST)
    prose = draws.words(rng, lengths.astype(np.int64))
    amounts = np.clip(2_500 * rng.lognormal(0.0, 1.0, size), 50, 900_000).astype(int).tolist()
    digits = draws.hexes(rng, size, 24)
    kinds = [ENDPOINTS[at] for at in chosen.tolist()]
    bodies = [
        f'{{"id":"{kind.id_prefix}_{hexed}","object":"{kind.noun}","amount":{amount},'
        f'"currency":"eur","status":"succeeded","description":"{text}"}}'
        for kind, hexed, amount, text in zip(kinds, digits, amounts, prose, strict=True)
    ]
    numbers = [kind.done for kind in kinds]
    statuses = ["completed"] * size
    for at in np.flatnonzero(failed).tolist():
        statuses[at], numbers[at] = "failed", 402
        bodies[at] = (
            f'{{"error":{{"code":"declined","reference":"{digits[at]}",'
            f'"message":"Declined by the provider.\\nNothing was done: {prose[at]}"}}}}'
        )
    return numbers, bodies, statuses

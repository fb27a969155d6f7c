"""The log of the payments' application: what keyed requests found, over four weeks.

A line a request, with the rhythm of day and week and rates that are never quite the same.
With faults one client gets stuck in a loop on the last day and sends what it has sent before.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from idemctl.sandbox.seed import draws
from idemctl.sandbox.seed.manifest import PlantedSpike
from idemctl.sandbox.seed.payments import CLIENTS, ENDPOINTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

WEEKS = 4
FEWEST_LINES = 20_000
"""With fewer there is nothing that a rate could be learnt from."""
MOST_LINES = 400_000
STORM_FOR = timedelta(minutes=40)

_STREAM = 11
_LINES_A_RECORD = 0.8
_HOURS = WEEKS * 168
_HOUR_MS = 3_600_000
_OUTCOMES = ("created", "replay", "conflict", "mismatch")
_CREATED, _REPLAY = 0, 1
_SHARES = (0.15, 0.012, 0.0015)
"""Of requests that are replays, conflicts, mismatches."""
_NIGHT_SHARE = 0.25
_WEEKEND_SHARE = 0.45
_NOISE = 0.12
_STORM_SHARE = 0.004
_STORM_KEYS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLog:
    """A log as it is written, and what was planted in it."""

    text: str
    line_count: int
    spike: PlantedSpike | None


@dataclass(frozen=True, slots=True)
class _Lines:
    """Columns of the log, by time."""

    at: Ints
    """Milliseconds since 1970."""
    endpoint: Ints
    client: Ints
    outcome: Ints
    origin: Ints
    """The line whose key this one sends again; itself where it sends a new one."""


def hit_log(*, records: int, seed: int, now: datetime, faults: bool) -> DrawnLog:
    """Draw the log of the four weeks up to `now`, in step with the number of records.

    The same `records` and `seed` give the same lines, at the same offsets from `now`.
    """
    rng = draws.generator(seed, _STREAM)
    count = int(min(max(records * _LINES_A_RECORD, FEWEST_LINES), MOST_LINES))
    end = int(now.timestamp() * 1000)
    lines = _with_origins(_usual(rng, count, end))
    spike = None
    if faults:
        lines, spike = _with_storm(rng, lines, end)
    return DrawnLog(text=_text(rng, lines), line_count=len(lines.at), spike=spike)


def _usual(rng: np.random.Generator, count: int, end: int) -> _Lines:
    start = end - _HOURS * _HOUR_MS
    of_week = (start // _HOUR_MS + np.arange(_HOURS)) % 168
    # The first hour of 1970 was a Thursday's: day 2 and 3 from there are the weekend.
    busy = 1 - (1 - _NIGHT_SHARE) * (1 + np.cos((of_week % 24 - 2) / 12 * np.pi)) / 2
    busy *= np.where(np.isin(of_week // 24, (2, 3)), _WEEKEND_SHARE, 1.0)
    hour = np.sort(draws.picks(rng, count, busy))
    at = np.sort(start + hour * _HOUR_MS + rng.integers(0, _HOUR_MS, count))
    endpoint = draws.picks(rng, count, [one.weight for one in ENDPOINTS])
    client = draws.picks(rng, count, draws.zipf(len(CLIENTS)))
    # At night more of what comes is a batch that sends again.
    swing = (1 + 0.3 * (1 - busy)) * rng.lognormal(0.0, _NOISE, _HOURS)
    habit = rng.lognormal(0.0, 0.3, (len(ENDPOINTS), len(CLIENTS)))
    shares = np.outer(swing[hour] * habit[endpoint, client], _SHARES)
    outcome = (rng.random(count)[:, None] < np.cumsum(shares, axis=1)).sum(axis=1)
    return _Lines(at, endpoint, client, np.where(outcome, 4 - outcome, _CREATED), np.arange(count))


def _with_origins(lines: _Lines) -> _Lines:
    """Let each hit send the newest key of its client and endpoint again."""
    pair = lines.endpoint * len(CLIENTS) + lines.client
    order = np.argsort(pair, kind="stable")
    begins = np.diff(pair[order], prepend=-1) != 0
    outcome = lines.outcome[order]
    # The first of a pair has nothing to find.
    outcome[begins] = _CREATED
    place = np.maximum.accumulate(np.where(outcome == _CREATED, np.arange(len(order)), 0))
    outcomes, origin = np.empty_like(lines.outcome), np.empty_like(lines.origin)
    outcomes[order], origin[order] = outcome, order[place]
    return _Lines(lines.at, lines.endpoint, lines.client, outcomes, origin)


def _with_storm(rng: np.random.Generator, lines: _Lines, end: int) -> tuple[_Lines, PlantedSpike]:
    """Let one client send a dozen of its keys again and again, for forty minutes."""
    length = int(STORM_FOR.total_seconds() * 1000)
    start = end - int(rng.integers(2 * _HOUR_MS, 20 * _HOUR_MS))
    endpoint, client = int(rng.integers(len(ENDPOINTS))), int(rng.integers(len(CLIENTS)))
    own = np.flatnonzero(
        (lines.endpoint == endpoint)
        & (lines.client == client)
        & (lines.outcome == _CREATED)
        & (lines.at < start)
    )[-_STORM_KEYS:]
    size = max(160, int(len(lines.at) * _STORM_SHARE))
    at = start + np.sort(rng.integers(0, length, size))
    # Its first and its last request are the storm's.
    at[0], at[-1] = start, start + length - 1
    storm = _Lines(
        at,
        np.full(size, endpoint),
        np.full(size, client),
        np.full(size, _REPLAY),
        rng.choice(own, size),
    )
    both = [np.concatenate((getattr(lines, one), getattr(storm, one))) for one in _FIELDS]
    order = np.argsort(both[0], kind="stable")
    moved = np.empty_like(order)
    moved[order] = np.arange(len(order))
    at, endpoints, clients, outcome, origin = (one[order] for one in both)
    spike = PlantedSpike(
        series=f"endpoint {ENDPOINTS[endpoint].label}, client {CLIENTS[client]}",
        client=CLIENTS[client],
        endpoint=ENDPOINTS[endpoint].label,
        started_at=_instant(start),
        ended_at=_instant(start + length),
        outcome=_OUTCOMES[_REPLAY],
    )
    return _Lines(at, endpoints, clients, outcome, moved[origin]), spike


_FIELDS = ("at", "endpoint", "client", "outcome", "origin")


def _text(rng: np.random.Generator, lines: _Lines) -> str:
    keys = draws.uuids(rng, len(lines.at))
    labels = [one.label for one in ENDPOINTS]
    columns = zip(
        np.datetime_as_string(lines.at.astype("datetime64[ms]")).tolist(),
        lines.endpoint.tolist(),
        lines.client.tolist(),
        lines.origin.tolist(),
        lines.outcome.tolist(),
        strict=True,
    )
    return "".join(
        f'{{"at":"{at}Z","endpoint":"{labels[endpoint]}","client":"{CLIENTS[client]}",'
        f'"key":"{keys[origin]}","outcome":"{_OUTCOMES[outcome]}"}}\n'
        for at, endpoint, client, origin, outcome in columns
    )


def _instant(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)

"""Everything in the sandbox but its payments: webhooks, messages, deliveries, workflows, outbox.

As in `payments`, records come in chunks, oldest first, the same ones for the same seed;
about a third of what Postgres holds is past its promise, and all of that by less than a day.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from idemctl.sandbox.seed import draws
from idemctl.sandbox.seed.payments import CHUNK, EDGE, KEPT_AFTER, RUNNING_FOR, YOUNGEST
from idemctl.sandbox.seed.rows import (
    HOUR,
    MINUTE,
    REDIS_TTL,
    SECOND,
    STORE_TTL,
    WINDOW,
    Delivery,
    Message,
    OutboxEvent,
    Webhook,
    WorkflowRun,
    WorkflowStep,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

DISPATCH_WITHIN = HOUR
"""The deadline that an outbox event gets at its creation."""

_SHARES = {"webhooks": 15, "messages": 8, "deliveries": 7, "workflows": 4, "outbox": 6}
_EXPIRED_SHARE = 1 / 3
_UNDER_WAY_SHARE = 0.005
_FAILED_RUN_SHARE = 0.02
_RETRIED_STEP_SHARE = 0.05
_STEPS = ("reserve", "charge", "book", "notify", "settle", "archive")
_FEWEST_STEPS = 2
_PATHS = ("POST:/api/messages", "POST:/api/reminders", "PUT:/api/appointments")
_PATH_WEIGHTS = (0.8, 0.15, 0.05)
_AGGREGATES = ("order", "booking", "invoice", "customer")
_EVENTS_EACH = 4
_INTERLEAVED = 10
"""Aggregates whose events come in turn, so that no aggregate's events are adjacent."""


def shares(records: int) -> dict[str, int]:
    """Split the records over the stores; payments take what the others leave."""
    others = {store: records * percent // 100 for store, percent in _SHARES.items()}
    return {"payments": records - sum(others.values()), **others}


def webhooks(count: int, *, seed: int, now: int) -> Iterator[list[Webhook]]:
    """Draw webhooks that were seen, as their providers name them."""
    curve = _kept(count, 0)
    for rng, first, size in _chunks(count, seed, stream=2):
        created = now - curve.ages(rng, first=first, count=size, of=count)
        yield list(map(Webhook, draws.provider_ids(rng, size), created.tolist()))


def messages(count: int, *, seed: int, now: int) -> Iterator[list[Message]]:
    """Draw responses cached under a URL that carries a UUID."""
    curve = draws.AgeCurve(((REDIS_TTL - EDGE, MINUTE, 1.0),))
    for rng, first, size in _chunks(count, seed, stream=3):
        created = now - curve.ages(rng, first=first, count=size, of=count)
        paths = draws.picks(rng, size, _PATH_WEIGHTS).tolist()
        names = [
            f"{_PATHS[at]}/idem-{uuid}"
            for at, uuid in zip(paths, draws.uuids(rng, size), strict=True)
        ]
        yield list(map(Message, names, accepted(rng, size), created.tolist()))


def accepted(rng: np.random.Generator, count: int) -> list[str]:
    """Draw the bodies of responses that accept a message."""
    lengths = np.clip(90 * rng.lognormal(0.0, 0.6, count), 8, 400).astype(np.int64)
    return [
        f'{{"id":"msg_{digits}","status":"accepted","preview":"{text}"}}'
        for digits, text in zip(draws.hexes(rng, count, 24), draws.words(rng, lengths), strict=True)
    ]


def deliveries(count: int, *, seed: int, now: int) -> Iterator[list[Delivery]]:
    """Draw digests of bodies received within the hour."""
    curve = draws.AgeCurve(((WINDOW - EDGE, SECOND, 1.0),))
    for rng, first, size in _chunks(count, seed, stream=4):
        received = now - curve.ages(rng, first=first, count=size, of=count)
        yield list(map(Delivery, draws.hexes(rng, size, 64), received.tolist()))


def workflows(
    count: int, *, seed: int, now: int
) -> Iterator[tuple[list[WorkflowRun], list[WorkflowStep]]]:
    """Draw runs with their steps; the youngest have not finished."""
    running = _count_under_way(count)
    curve = _kept(count, running)
    for rng, first, size in _chunks(count, seed, stream=5):
        ages = curve.ages(rng, first=first, count=size, of=count)
        yield runs_of(rng, ages=ages, now=now, unfinished=max(0, first + size - count + running))


def runs_of(
    rng: np.random.Generator,
    *,
    ages: NDArray[np.int64],
    now: int,
    unfinished: int = 0,
    failures: bool = True,
) -> tuple[list[WorkflowRun], list[WorkflowStep]]:
    """Draw runs that finished these ages ago; the last `unfinished` began then instead."""
    size = len(ages)
    took = draws.durations(rng, size, median=20 * SECOND, spread=1.2, longest=15 * MINUTE)
    failed = (rng.random(size) < (_FAILED_RUN_SHARE if failures else 0.0)).tolist()
    step_counts = rng.integers(_FEWEST_STEPS, len(_STEPS) + 1, size).tolist()
    runs: list[WorkflowRun] = []
    steps: list[WorkflowStep] = []
    for at, (run_id, key, age, length) in enumerate(
        zip(draws.hexes(rng, size, 32), draws.uuids(rng, size), ages.tolist(), took.tolist(),
            strict=True)
    ):  # fmt: skip
        if at >= size - unfinished:
            status, created_at, finished_at = "running", now - age, None
        else:
            status = "failed" if failed[at] else "completed"
            created_at, finished_at = now - age - length, now - age
        run = WorkflowRun(f"wfr_{run_id}", key, status, created_at, finished_at)
        runs.append(run)
        steps.extend(_steps_of(rng, run, step_counts[at], now))
    return runs, steps


def _steps_of(
    rng: np.random.Generator, run: WorkflowRun, count: int, now: int
) -> Iterator[WorkflowStep]:
    """Give a run its steps one after another; a retried one fails first, then completes."""
    if run.status == "running":
        count -= 1  # The last step has not begun: a restart has something left to do.
    end = min(now, run.created_at + MINUTE) if run.finished_at is None else run.finished_at
    retried = (rng.random(count) < _RETRIED_STEP_SHARE).tolist()
    each = (end - run.created_at) // count
    for at in range(count):
        start, stop = run.created_at + at * each, run.created_at + (at + 1) * each
        attempt = 1
        if retried[at]:
            half = (start + stop) // 2
            yield WorkflowStep(run.run_id, _STEPS[at], at + 1, 1, "failed", start, half)
            start, attempt = half, 2
        if at < count - 1 or run.status == "completed":
            yield WorkflowStep(run.run_id, _STEPS[at], at + 1, attempt, "completed", start, stop)
        else:
            ended_at = None if run.status == "running" else stop
            yield WorkflowStep(run.run_id, _STEPS[at], at + 1, attempt, run.status, start, ended_at)


def outbox(count: int, *, seed: int, now: int) -> Iterator[list[OutboxEvent]]:
    """Draw events in the order of their creation; the youngest wait for their dispatch."""
    waiting = _count_under_way(count)
    curve = _kept(count, waiting)
    for rng, first, size in _chunks(count, seed, stream=6):
        created = now - curve.ages(rng, first=first, count=size, of=count)
        took = draws.durations(rng, size, median=SECOND, spread=1.0, longest=MINUTE)
        dispatched: list[int | None] = (created + took).tolist()
        attempts = (1 + draws.picks(rng, size, (0.95, 0.04, 0.01))).tolist()
        for at in range(max(0, count - waiting - first), size):
            dispatched[at], attempts[at] = None, 0
        yield [
            OutboxEvent(
                first + at + 1,
                key,
                *_aggregate(first + at),
                created_at,
                created_at + DISPATCH_WITHIN,
                dispatched[at],
                attempts[at],
            )
            for at, (key, created_at) in enumerate(
                zip(draws.uuids(rng, size), created.tolist(), strict=True)
            )
        ]


def _aggregate(index: int) -> tuple[str, int]:
    """Place the event of that number: its aggregate, and its number within it from 1."""
    group, place = divmod(index, _EVENTS_EACH * _INTERLEAVED)
    number = group * _INTERLEAVED + place % _INTERLEAVED
    return f"{_AGGREGATES[number % len(_AGGREGATES)]}-{number}", place // _INTERLEAVED + 1


def _chunks(
    count: int, seed: int, *, stream: int
) -> Iterator[tuple[np.random.Generator, int, int]]:
    """Give each chunk's generator, first record and size."""
    for first in range(0, count, CHUNK):
        yield draws.generator(seed, stream, first), first, min(CHUNK, count - first)


def _count_under_way(count: int) -> int:
    return min(count, max(1, round(count * _UNDER_WAY_SHARE)))


def _kept(count: int, under_way: int) -> draws.AgeCurve:
    """Spread ages so that a third is past the promise; none is near to an expiry."""
    young = under_way / max(count, 1)
    live = (1 - young) * (1 - _EXPIRED_SHARE) / (STORE_TTL - YOUNGEST - 3 * EDGE)
    return draws.AgeCurve(
        (
            (STORE_TTL + KEPT_AFTER, STORE_TTL + EDGE, (1 - young) * _EXPIRED_SHARE),
            (STORE_TTL - EDGE, REDIS_TTL + EDGE, live * (STORE_TTL - REDIS_TTL - 2 * EDGE)),
            (REDIS_TTL - EDGE, YOUNGEST, live * (REDIS_TTL - YOUNGEST - EDGE)),
            (RUNNING_FOR, SECOND, young),
        )
    )

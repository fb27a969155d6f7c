"""What is wrong with workflows, outbox, deliveries and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.sandbox.seed import draws, population
from idemctl.sandbox.seed.faults.plant import fault
from idemctl.sandbox.seed.manifest import PlantedKey
from idemctl.sandbox.seed.rows import (
    DAY,
    HOUR,
    MINUTE,
    REDIS_TTL,
    SECOND,
    Delivery,
    Message,
    OutboxEvent,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from idemctl.sandbox.seed.faults.plant import Plant


@fault("workflows", "postgres", note="running for three days or more")
def workflow_stuck(plant: Plant) -> list[PlantedKey]:
    """Begin runs that nobody resumes."""
    runs, steps = population.runs_of(
        plant.rng,
        ages=plant.ages(3 * DAY + HOUR, 4 * DAY),
        now=plant.now,
        unfinished=plant.count,
    )
    plant.writer.workflows(runs, steps)
    return [PlantedKey.of(run.key.encode()) for run in runs]


@fault("workflows", "postgres", note="the first step is completed twice, in two attempts")
def workflow_step_repeated(plant: Plant) -> list[PlantedKey]:
    """Resume runs before their last committed step, so that a step ran twice."""
    runs, steps = plant.runs()
    again = [
        step._replace(
            attempt=step.attempt + 1,
            started_at=step.finished_at,
            finished_at=step.finished_at + SECOND,
        )
        for step in steps
        if step.ordinal == 1 and step.status == "completed" and step.finished_at is not None
    ]
    plant.writer.workflows(runs, [*steps, *again])
    return [PlantedKey.of(run.key.encode()) for run in runs]


@fault("outbox", "postgres", note="not dispatched, and past the deadline by hours")
def outbox_overdue(plant: Plant) -> list[PlantedKey]:
    """Leave events undispatched after several attempts."""
    first = plant.writer.next_event_id
    ages = sorted(plant.ages(4 * HOUR, 30 * HOUR).tolist(), reverse=True)
    rows = [
        OutboxEvent(
            id=first + at,
            key=key,
            aggregate=f"shipment-{first + at}",
            sequence=1,
            created_at=plant.now - age,
            deadline_at=plant.now - age + population.DISPATCH_WITHIN,
            dispatched_at=None,
            attempts=int(plant.rng.integers(5, 13)),
        )
        for at, (age, key) in enumerate(zip(ages, draws.uuids(plant.rng, plant.count), strict=True))
    ]
    plant.writer.outbox(rows)
    return [PlantedKey.of(row.key.encode()) for row in rows]


@fault("deliveries", "redis", note="kept for 20 hours; its window is one")
def body_hash_outlives_window(plant: Plant) -> list[PlantedKey]:
    """Keep digests past their window, where equal bodies are new deliveries."""
    rows = [
        Delivery(digest, plant.now - age)
        for digest, age in zip(
            draws.hexes(plant.rng, plant.count, 64),
            plant.ages(MINUTE, 30 * MINUTE).tolist(),
            strict=True,
        )
    ]
    plant.writer.deliveries(rows, ttl=20 * HOUR)
    return [PlantedKey.of(row.name.encode()) for row in rows]


@fault("messages", "redis", note="in progress, and the TTL is missing: no second command came")
def claim_without_ttl(plant: Plant) -> list[PlantedKey]:
    """Crash between SETNX and EXPIRE."""
    return _claimed(plant, plant.ages(MINUTE, 2 * HOUR), ttl=None)


@fault("messages", "redis", note="in progress, with the TTL of a result and no lease")
def in_progress_ttl_too_long(plant: Plant) -> list[PlantedKey]:
    """Claim for as long as a result is kept."""
    return _claimed(plant, plant.ages(MINUTE, 20 * HOUR), ttl=REDIS_TTL)


def _claimed(plant: Plant, ages: NDArray[np.int64], *, ttl: int | None) -> list[PlantedKey]:
    keys = []
    for uuid, age in zip(draws.uuids(plant.rng, plant.count), ages.tolist(), strict=True):
        created_at = plant.now - age
        key = f"POST:/api/messages/idem-{uuid}".encode()
        value = b'{"status":"in_progress","created_at":%d}' % (created_at // 1000)
        until_ms = None if ttl is None else (created_at + ttl) // 1000
        plant.writer.value("messages", key, value, status="in_progress", until_ms=until_ms)
        keys.append(PlantedKey.of(key))
    plant.writer.report("messages", len(keys))
    return keys


@fault("messages", "redis", note="the path ends in a name that another operation may take too")
def path_without_uuid(plant: Plant) -> list[PlantedKey]:
    """Name operations by what they are about."""
    bodies = population.accepted(plant.rng, plant.count)
    rows = [
        Message(f"POST:/api/messages/idem-order-{number}", body, plant.now - age)
        for number, body, age in zip(
            range(1001, 1001 + plant.count),
            bodies,
            plant.ages(HOUR, 20 * HOUR).tolist(),
            strict=True,
        )
    ]
    plant.writer.messages(rows)
    return [PlantedKey.of(row.path.encode()) for row in rows]

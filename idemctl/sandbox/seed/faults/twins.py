"""What is wrong between Postgres and Redis: each payment is expected in both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.sandbox.seed import draws, payments
from idemctl.sandbox.seed.faults.plant import COMMON, fault, keys_of
from idemctl.sandbox.seed.manifest import PlantedKey
from idemctl.sandbox.seed.rows import DAY, HOUR, REDIS_TTL

if TYPE_CHECKING:
    from idemctl.sandbox.seed.faults.plant import Plant


@fault("payments", "redis", note="the twin has no TTL")
def record_without_ttl(plant: Plant) -> list[PlantedKey]:
    """Lose the expiry, as a SET without EX does."""
    rows = plant.fresh()
    plant.writer.payments(rows)
    for row in rows:
        plant.writer.twin(row, until_ms=None)
    return keys_of(rows)


@fault("payments", "redis", note="the twin lives for 90 days more, its promise ends earlier")
def ttl_beyond_policy(plant: Plant) -> list[PlantedKey]:
    """Keep the twin longer than anybody promised."""
    rows = plant.fresh()
    plant.writer.payments(rows)
    for row in rows:
        plant.writer.twin(row, until_ms=(plant.now + 90 * DAY) // 1000)
    return keys_of(rows)


@fault("payments", "redis", note="TTL is a thousand times 24 hours")
def ttl_unit_mix_up(plant: Plant) -> list[PlantedKey]:
    """Pass milliseconds where seconds are meant."""
    rows = plant.fresh()
    plant.writer.payments(rows)
    for row in rows:
        plant.writer.twin(row, until_ms=(row.created_at + 1000 * REDIS_TTL) // 1000)
    return keys_of(rows)


@fault("payments", "redis", note="the twin goes within the hour; it is owed for three hours more")
def key_ends_too_early(plant: Plant) -> list[PlantedKey]:
    """Let the twin go before its promise is over."""
    rows = plant.fresh()
    plant.writer.payments(rows)
    for row in rows:
        plant.writer.twin(row, until_ms=(plant.now + HOUR) // 1000)
    return keys_of(rows)


@fault("payments", "redis", note="the twin's JSON is cut off in the middle")
def malformed_record_in_redis(plant: Plant) -> list[PlantedKey]:
    """Write half a value."""
    rows = plant.fresh()
    plant.writer.payments(rows)
    for row in rows:
        plant.writer.broken_twin(row)
    return keys_of(rows)


@fault("payments", "redis", one_in=COMMON, note="completed in Redis; Postgres has no row")
def orphan(plant: Plant) -> list[PlantedKey]:
    """Lose the row in Postgres, as a restore to an earlier time does."""
    rows = plant.fresh()
    plant.writer.twins(rows)
    plant.writer.report("payments", len(rows))
    return keys_of(rows)


@fault("payments", "redis", one_in=COMMON, note="live in Postgres; Redis has no key")
def missing(plant: Plant) -> list[PlantedKey]:
    """Lose the twin, as an eviction does."""
    rows = plant.fresh()
    plant.writer.payments(rows)
    return keys_of(rows)


@fault("payments", "redis", note="the same fence, and another fingerprint than in Postgres")
def divergent(plant: Plant) -> list[PlantedKey]:
    """Let the twin tell of another request."""
    rows = plant.fresh()
    plant.writer.payments(rows)
    others = draws.hexes(plant.rng, len(rows), 64)
    plant.writer.twins(
        row._replace(fingerprint=other) for row, other in zip(rows, others, strict=True)
    )
    return keys_of(rows)


@fault(
    "payments",
    "redis",
    note="in progress in Redis under an older fence, its lease an hour ahead; completed in "
    "Postgres",
)
def stale(plant: Plant) -> list[PlantedKey]:
    """Lose the second write to Redis: the twin still says that the work is under way.

    The lease is an hour ahead, so that for the time of a rehearsal it is not stuck besides.
    """
    rows = [row._replace(fence=row.fence + at + 1) for at, row in enumerate(plant.fresh())]
    plant.writer.payments(rows)
    for row in rows:
        until_ms = row._replace(completed_at=None).redis_until() // 1000
        older = payments.claimed(row, lease_until=plant.now + HOUR)
        older = older._replace(fence=row.fence - 1, expires_at=row.expires_at)
        plant.writer.twin(older, until_ms=until_ms)
    return keys_of(rows)


@fault(
    "payments", "redis", note="not UTF-8, with a terminal sequence in it: no Postgres row can be"
)
def key_not_text(plant: Plant) -> list[PlantedKey]:
    """Take whatever bytes a client sends for a key."""
    keys = []
    for row in plant.fresh():
        name = b"\xff\xfe\x1b]0;x\x07" + row.idempotency_key.encode()
        shown = row._replace(idempotency_key=name.decode(errors="replace"), scope="")
        plant.writer.twin(shown, until_ms=row.redis_until() // 1000, name=name)
        keys.append(PlantedKey.of(name))
    plant.writer.report("payments", len(keys))
    return keys


@fault("payments", "redis", note="the twin is a hash, not a string")
def wrong_type(plant: Plant) -> list[PlantedKey]:
    """Write the twin with HSET, as another version of the application."""
    rows = plant.fresh()
    plant.writer.payments(rows)
    for row in rows:
        plant.writer.hash_twin(row)
    return keys_of(rows)

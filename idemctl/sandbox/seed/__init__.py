"""The seed of the sandbox: believable keys in both stores, and real faults among them.

It is an oracle: it writes with bare drivers and shares no code with the adapters that read
what it wrote, and its manifest says what they have to find.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.errors import UsageError
from idemctl.sandbox.seed import payments as payment_draws
from idemctl.sandbox.seed import population, postgres, redis
from idemctl.sandbox.seed.faults import plant_all
from idemctl.sandbox.seed.hits import DrawnLog, hit_log
from idemctl.sandbox.seed.manifest import Manifest, PlantedFault, PlantedKey, PlantedSpike, Side
from idemctl.sandbox.seed.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "DrawnLog",
    "Manifest",
    "PlantedFault",
    "PlantedKey",
    "PlantedSpike",
    "Side",
    "hit_log",
    "seed",
]


def seed(
    *,
    dsn: str,
    redis_url: str,
    records: int,
    seed: int,
    faults: bool,
    progress: Callable[[str, int], None] | None = None,
) -> Manifest:
    """Replace what the sandbox holds by `records` fresh records; with `faults`, plant those too.

    The tables are dropped and created, and in Redis the sandbox's own prefixes are cleared:
    never hand it the addresses of anything but a sandbox. The same `records` and `seed` give
    the same keys, at the same offsets from the database's clock. `progress` is told the name
    of a store and how many of its records are written. When it fails midway the stores hold
    a part; seeding again replaces it.

    Raises:
        UsageError: `records` or `seed` is negative.
        Unreachable: one of the servers does not answer.
        Denied: the role or user may not write there.
        Locked: a session of somebody else's holds a table.
        Refused: a server has no room left.
    """
    if records < 0 or seed < 0:
        raise UsageError(
            "--records and --seed cannot be negative", hint="idemctl sandbox seed --records 10000"
        )
    with postgres.connected(dsn) as connection, redis.connected(redis_url) as client:
        postgres.recreate(connection)
        redis.clear(client)
        bulk = redis.Bulk(client)
        try:
            writer = Writer(
                connection, bulk, now=postgres.read_clock(connection), progress=progress
            )
            _write_healthy(writer, records=records, seed=seed)
            planted = plant_all(writer, records=records, seed=seed) if faults else ()
            written, stores = writer.finish()
        finally:
            bulk.close()
    return Manifest(
        records=written,
        seed=seed,
        seeded_at=postgres.as_datetime(writer.now),
        stores=stores,
        faults=planted,
    )


def _write_healthy(writer: Writer, *, records: int, seed: int) -> None:
    counts = population.shares(records)
    now = writer.now
    for payments in payment_draws.payments(counts["payments"], seed=seed, now=now):
        writer.payments(payments)
        writer.twins(payments)
    for webhooks in population.webhooks(counts["webhooks"], seed=seed, now=now):
        writer.webhooks(webhooks)
    for messages in population.messages(counts["messages"], seed=seed, now=now):
        writer.messages(messages)
    for deliveries in population.deliveries(counts["deliveries"], seed=seed, now=now):
        writer.deliveries(deliveries)
    for runs, steps in population.workflows(counts["workflows"], seed=seed, now=now):
        writer.workflows(runs, steps)
    for events in population.outbox(counts["outbox"], seed=seed, now=now):
        writer.outbox(events)

"""What is wrong with payments in Postgres; Redis expects none of them any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.sandbox.seed import draws, payments
from idemctl.sandbox.seed.faults.plant import COMMON, fault, keys_of
from idemctl.sandbox.seed.rows import DAY, FOREVER, HOUR, MINUTE

if TYPE_CHECKING:
    from idemctl.sandbox.seed.faults.plant import Plant
    from idemctl.sandbox.seed.manifest import PlantedKey

_OVERSIZED = 1_200
"""Characters of an oversized key: far over 255, and still within a page of the index."""


@fault("payments", "postgres", note="lease over for two days or more; every second also expired")
def stuck_in_progress(plant: Plant) -> list[PlantedKey]:
    """Claim and never complete, as a process that crashed."""
    rows = []
    for at, row in enumerate(plant.payments(2 * DAY + HOUR, 4 * DAY)):
        stuck = payments.claimed(row, lease_until=row.created_at + 5 * MINUTE)
        expires_at = row.created_at + DAY if at % 2 else stuck.expires_at
        rows.append(stuck._replace(expires_at=expires_at))
    plant.writer.payments(rows)
    return keys_of(rows)


@fault("payments", "postgres", note="in progress, and lease_until is NULL")
def lease_never_filled(plant: Plant) -> list[PlantedKey]:
    """Claim without a lease: nobody can tell when it may be taken over."""
    rows = [payments.claimed(row, lease_until=None) for row in plant.settled()]
    plant.writer.payments(rows)
    return keys_of(rows)


@fault("payments", "postgres", note="completed, and fingerprint is NULL")
def fingerprint_missing(plant: Plant) -> list[PlantedKey]:
    """Store no fingerprint: a reused key cannot be told from a retry."""
    rows = [row._replace(fingerprint=None) for row in plant.settled()]
    plant.writer.payments(rows)
    return keys_of(rows)


@fault("payments", "postgres", note="fingerprint is 'None', or the body of the request")
def fingerprint_no_digest(plant: Plant) -> list[PlantedKey]:
    """Store what is no digest: the word for a missing one, or the request itself."""
    rows = [
        row._replace(fingerprint='{"amount":2500,"currency":"eur"}' if at % 2 else "None")
        for at, row in enumerate(plant.settled())
    ]
    plant.writer.payments(rows)
    return keys_of(rows)


@fault("payments", "postgres", note="status is 'donee'")
def malformed_record(plant: Plant) -> list[PlantedKey]:
    """Write a status that no layout knows."""
    rows = [row._replace(status="donee") for row in plant.settled()]
    plant.writer.payments(rows)
    return keys_of(rows)


@fault("payments", "postgres", note="expires_at is NULL; the column allows it since")
def expiry_missing(plant: Plant) -> list[PlantedKey]:
    """Write no expiry: `expires_at < now()` never finds the row."""
    rows = [row._replace(expires_at=None) for row in plant.settled()]
    plant.writer.allow_missing_expiry()
    plant.writer.payments(rows)
    return keys_of(rows)


@fault("payments", "postgres", note="expires_at is 'infinity'")
def expiry_infinite(plant: Plant) -> list[PlantedKey]:
    """Promise for ever."""
    rows = [row._replace(expires_at=FOREVER) for row in plant.settled()]
    plant.writer.payments(rows)
    return keys_of(rows)


@fault("payments", "postgres", note="completed with 503, and replayed 40 to 300 times since")
def stored_server_error(plant: Plant) -> list[PlantedKey]:
    """Store an outage as the answer to every retry."""
    body = '{"error":{"code":"upstream_unavailable","message":"Try again in a few minutes."}}'
    rows = [
        row._replace(
            response_status=503,
            response_body=body,
            hit_count=int(plant.rng.integers(40, 300)),
            last_hit_at=plant.now - int(plant.rng.integers(MINUTE, 5 * HOUR)),
        )
        for row in plant.settled()
    ]
    plant.writer.payments(rows)
    return keys_of(rows)


@fault("payments", "postgres", note="each key under two scopes with an endpoint each: two rows")
def key_on_two_endpoints(plant: Plant) -> list[PlantedKey]:
    """Use one key for a charge and for its refund."""
    charges = [row._replace(scope="acme", endpoint="POST /v1/charges") for row in plant.settled()]
    plant.writer.payments(charges)
    refunds = [
        row._replace(
            idempotency_key=charge.idempotency_key, scope="globex", endpoint="POST /v1/refunds"
        )
        for charge, row in zip(charges, plant.settled(), strict=True)
    ]
    plant.writer.payments(refunds)
    return keys_of(charges)


@fault("payments", "postgres", note="created_at lies in January 1970")
def instants_in_mixed_units(plant: Plant) -> list[PlantedKey]:
    """Pass seconds where milliseconds are meant."""
    rows = [row._replace(created_at=row.created_at // 1000) for row in plant.settled()]
    plant.writer.payments(rows)
    return keys_of(rows)


@fault("payments", "postgres", note="completed_at lies an hour before created_at")
def times_out_of_order(plant: Plant) -> list[PlantedKey]:
    """Lose the zone of one of two instants."""
    rows = [row._replace(completed_at=row.created_at - HOUR) for row in plant.settled()]
    plant.writer.payments(rows)
    return keys_of(rows)


@fault("payments", "postgres", one_in=COMMON, note="completed, and expired 3 to 9 days ago")
def expired_backlog(plant: Plant) -> list[PlantedKey]:
    """Let collection stop for a week."""
    rows = plant.payments(10 * DAY + HOUR, 16 * DAY - HOUR)
    plant.writer.payments(rows)
    return keys_of(rows)


@fault("payments", "postgres", note="the word charge, and a number that counts")
def key_guessable(plant: Plant) -> list[PlantedKey]:
    """Name charges by their number, for all tenants together."""
    rows = [
        row._replace(idempotency_key=f"charge-{number}", scope="")
        for number, row in enumerate(plant.settled(), start=1001)
    ]
    plant.writer.payments(rows)
    return keys_of(rows)


@fault("payments", "postgres", note="1,200 characters that do not compress")
def key_oversized(plant: Plant) -> list[PlantedKey]:
    """Take keys of any length."""
    rows = [
        row._replace(idempotency_key=key)
        for row, key in zip(
            plant.settled(), draws.hexes(plant.rng, plant.count, _OVERSIZED), strict=True
        )
    ]
    plant.writer.payments(rows)
    return keys_of(rows)

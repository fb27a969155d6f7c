"""For every code of the registry what must bring it up, and what is as near as that and must not.

A case on records is two rows: one of which several are planted among many of the other. A case
on circumstances is two servers, or two tables; one on twins is what two stores hold of a key.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from idemctl.checks.check import Source
from idemctl.checks.standbys import BEHIND_BYTES
from idemctl.checks.tables import LARGE
from idemctl.checks.upkeep import HELD_FOR, MANY_DEAD
from idemctl.domain.circumstances import Repeated
from idemctl.domain.credentials import Exposure
from idemctl.domain.differences import SKEW
from idemctl.domain.instants import FOREVER, MISSING
from idemctl.domain.records import Flaw, Status
from idemctl.domain.references import OnDelete
from idemctl.domain.replication import Archiver, PostgresReplication
from idemctl.domain.shapes import Column
from idemctl.domain.sight import Sight
from idemctl.domain.skew import Skew
from idemctl.domain.upkeep import Upkeep
from idemctl.domain.verdicts import Judgement, Sample, Verdict
from idemctl.domain.witness import Trace
from tests.checks.places import (
    BODY_HASH,
    DAY,
    HOUR,
    MINUTE,
    OUTBOX,
    POSTGRES,
    REDIS,
    URL_PATH,
    WORKFLOW,
)
from tests.checks.tables import CALM, EXPIRY, GUARD, NULLABLE, SHAPE, index, part, shaped, unique
from tests.checks.test_servers import FOLLOWER, GB, HEALTHY, LINKED
from tests.checks.test_standbys import IDLE, NEAR, SLOT
from tests.checks.test_tables import CASCADE
from tests.checks.test_upkeep import LATE, SECOND, cleared, holder
from tests.domain.batches import at, batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from idemctl.checks.check import Facts
    from idemctl.domain.circumstances import Circumstances

Row = dict[str, Any]


def uuid(number: int) -> bytes:
    return b"0b9d3e6e-5d0f-4e0a-9d51-%012x" % number


@dataclass(frozen=True, kw_only=True)
class Records:
    """Rows of one place."""

    faulty: Row
    near: Row
    facts: Facts = POSTGRES
    key: Callable[[int], bytes] = uuid
    """Of the faulty ones, where it is the key that is the fault."""
    near_key: Callable[[int], bytes] = uuid


@dataclass(frozen=True, kw_only=True)
class Around:
    """What a server says."""

    faulty: Circumstances | Skew | Exposure | Judgement
    near: Circumstances | Skew | Exposure | Judgement
    source: Source = Source.CIRCUMSTANCES
    count: int = 1
    sample: tuple[str, ...] = ()
    facts: Facts = POSTGRES


@dataclass(frozen=True, kw_only=True)
class Pair:
    """What Postgres and Redis hold of one key, as the comparison's own tests write it."""

    postgres: Row | None = field(default_factory=dict)
    redis: Row | None = field(default_factory=dict)


LOSSES = (
    Verdict.REDIS_FLUSHED,
    Verdict.REDIS_RESTORED,
    Verdict.POSTGRES_RESTORED,
    Verdict.BOTH_RESTORED,
)


def told(verdict: Verdict) -> Judgement:
    return Judgement(
        verdict=verdict,
        trace=Trace.REDIS_MISSING,
        sample_says=True,
        in_redis=Sample(asked=200, missing=150),
    )


def on_redis(faulty: Row, near: Row | None = None, count: int = 1) -> Around:
    return Around(
        facts=REDIS,
        faulty=replace(HEALTHY, **faulty),
        near=replace(HEALTHY, **near or {}),
        count=count,
    )


def followed(faulty: PostgresReplication, near: PostgresReplication, count: int = 1) -> Around:
    return Around(
        faulty=replace(CALM, replication=faulty), near=replace(CALM, replication=near), count=count
    )


def kept(faulty: Upkeep, near: Upkeep, count: int = 1) -> Around:
    return Around(faulty=replace(CALM, upkeep=faulty), near=replace(CALM, upkeep=near), count=count)


DONE: Row = {
    "fingerprints": b"f" * 64,
    "counted_from": at(-HOUR),
    "completed_at": at(-HOUR + MINUTE),
    "expires_at": at(7 * DAY),
    "key_expires_at": at(23 * HOUR),
    "response_status": 201,
    "size": 300,
}
CLAIM: Row = DONE | {
    "status": Status.IN_PROGRESS,
    "completed_at": MISSING,
    "response_status": MISSING,
    "lease_until": at(MINUTE),
    "key_expires_at": at(HOUR),
}
CHARGE = DONE | {"endpoints": b"POST /v1/charges"}
AGELESS = DONE | {"counted_from": MISSING, "completed_at": MISSING}
BARE_CLAIM = CLAIM | {"counted_from": MISSING, "lease_until": MISSING}
FLAG: Row = {"status": Status.UNKNOWN, "key_expires_at": at(HOUR), "size": 1}
NO_LEASE = replace(
    REDIS, sight=frozenset({Sight.STATUS, Sight.FINGERPRINT, Sight.KEY_TTL, Sight.TTL})
)
PHP = replace(REDIS, has_opaque_values=True, sight=frozenset({Sight.KEY_TTL, Sight.TTL}))
BROKEN: Row = {"status": Status.MALFORMED, "size": 3}
LATE_BY = -(5 * MINUTE)
"""How long past its end work may be in progress."""
TENTH = 2.4 * HOUR
TWO = (FOLLOWER, replace(FOLLOWER, place="10.0.0.3:6379"))

RECORDS: dict[str, Records] = {
    "stuck-in-progress": Records(
        faulty=CLAIM | {"lease_until": at(LATE_BY - 1)}, near=CLAIM | {"lease_until": at(LATE_BY)}
    ),
    "lease-never-filled": Records(
        faulty=CLAIM | {"lease_until": MISSING}, near=CLAIM | {"lease_until": at(0)}
    ),
    "workflow-stuck": Records(
        facts=WORKFLOW,
        faulty=CLAIM | {"lease_until": MISSING, "due_at": at(LATE_BY - 1)},
        near=CLAIM | {"lease_until": MISSING, "due_at": at(LATE_BY)},
    ),
    "outbox-overdue": Records(
        facts=OUTBOX,
        faulty=CLAIM | {"lease_until": MISSING, "due_at": at(LATE_BY - 1)},
        near=CLAIM | {"lease_until": MISSING, "due_at": at(LATE_BY)},
    ),
    "claim-without-ttl": Records(
        facts=NO_LEASE,
        faulty=CLAIM | {"key_expires_at": MISSING},
        near=CLAIM | {"key_expires_at": at(1)},
    ),
    "in-progress-ttl-too-long": Records(
        facts=NO_LEASE,
        faulty=BARE_CLAIM | {"key_expires_at": at(12 * HOUR + 1)},
        near=BARE_CLAIM | {"key_expires_at": at(12 * HOUR)},
    ),
    "key-oversized": Records(
        faulty=DONE,
        near=DONE,
        key=lambda number: b"%04d" % number + b"k" * 252,
        near_key=lambda number: b"%04d" % number + b"k" * 251,
    ),
    "key-not-text": Records(
        facts=REDIS,
        faulty=DONE,
        near=DONE,
        key=lambda number: uuid(number) + b"\xc3",
        near_key=lambda number: uuid(number) + "ë".encode(),
    ),
    "path-without-uuid": Records(
        facts=URL_PATH,
        faulty=DONE,
        near=DONE,
        key=lambda number: uuid(number)[:-1],
        near_key=lambda number: uuid(number).replace(b"-", b""),
    ),
    "key-guessable": Records(
        faulty=DONE,
        near=DONE,
        key=lambda number: b"order-%d" % (1001 + number),
        near_key=lambda number: b"order-%d" % (10**9 + number),
    ),
    "malformed-record": Records(facts=REDIS, faulty=BROKEN | {"flaw": Flaw.UNREADABLE}, near=DONE),
    "wrong-type": Records(facts=REDIS, faulty=BROKEN | {"flaw": Flaw.OTHER_TYPE}, near=DONE),
    "fingerprint-missing": Records(
        faulty=DONE | {"fingerprints": b""}, near=CLAIM | {"fingerprints": b""}
    ),
    "fingerprint-no-digest": Records(
        faulty=DONE | {"fingerprints": b"null"}, near=DONE | {"fingerprints": b"nullnull"}
    ),
    "stored-server-error": Records(
        faulty=DONE | {"response_status": 500}, near=DONE | {"response_status": 499}
    ),
    "value-opaque": Records(facts=PHP, faulty=FLAG, near=BROKEN | {"flaw": Flaw.OTHER_TYPE}),
    "expiry-missing": Records(
        faulty=DONE | {"expires_at": MISSING}, near=CLAIM | {"expires_at": MISSING}
    ),
    "expiry-infinite": Records(
        faulty=DONE | {"expires_at": FOREVER}, near=CLAIM | {"expires_at": FOREVER}
    ),
    "expired-backlog": Records(
        faulty=AGELESS | {"expires_at": at(-DAY - 1)}, near=AGELESS | {"expires_at": at(-DAY)}
    ),
    "record-without-ttl": Records(
        facts=REDIS,
        faulty=DONE | {"key_expires_at": MISSING},
        near=DONE | {"key_expires_at": at(23 * HOUR + TENTH)},
    ),
    "ttl-beyond-policy": Records(
        facts=NO_LEASE,
        faulty=DONE | {"key_expires_at": at(23 * HOUR + MINUTE + TENTH + 1)},
        near=DONE | {"key_expires_at": at(23 * HOUR + MINUTE + TENTH)},
    ),
    "ttl-unit-mix-up": Records(
        facts=replace(REDIS, sight=frozenset({Sight.KEY_TTL, Sight.TTL})),
        faulty=FLAG | {"key_expires_at": at(1000 * DAY)},
        near=FLAG | {"key_expires_at": at(DAY)},
    ),
    "body-hash-outlives-window": Records(
        facts=BODY_HASH,
        faulty=FLAG | {"key_expires_at": at(1.1 * HOUR + 1)},
        near=FLAG | {"key_expires_at": at(1.1 * HOUR)},
    ),
    "key-ends-too-early": Records(
        facts=REDIS,
        faulty=DONE | {"key_expires_at": at(23 * HOUR + MINUTE - TENTH - 1)},
        near=DONE | {"key_expires_at": at(23 * HOUR + MINUTE - TENTH)},
    ),
    "expires-before-policy": Records(
        facts=replace(POSTGRES, policy_ttls={b"POST /v1/charges": timedelta(days=7)}),
        faulty=CHARGE | {"expires_at": at(7 * DAY - HOUR - MINUTE - 1)},
        near=CHARGE | {"expires_at": at(7 * DAY - HOUR - MINUTE)},
    ),
    "instants-in-mixed-units": Records(
        faulty=DONE | {"completed_at": at(-HOUR) // 1000}, near=DONE | {"completed_at": at(-HOUR)}
    ),
    "times-out-of-order": Records(
        faulty=DONE | {"completed_at": at(-HOUR - MINUTE - 1)},
        near=DONE | {"completed_at": at(-HOUR - MINUTE)},
    ),
    "big-value": Records(faulty=DONE | {"size": 100_001}, near=DONE | {"size": 100_000}),
}

FOLDS = {**SHAPE.columns, "key": Column(type="citext", is_nullable=False)}
ZONELESS = {**SHAPE.columns, "expires_at": Column(type="timestamp", is_nullable=True)}
OLD: Row = {"recorded_version": "2.31", "actual_version": "2.36", "collation": "en_US"}
HALVES = (part(GUARD, EXPIRY, name="p0"), part(GUARD, EXPIRY, name="p1"))
ARCHIVER = Archiver(
    failed_count=3, failed_file="0001", is_failing=True, archived_for=timedelta(hours=5)
)


def referred(**more: Any) -> Circumstances:
    return replace(CALM, references=(replace(CASCADE, **more),))


def exposed(headers: bytes) -> Exposure:
    """Look at two records that keep these headers, and at one that keeps none."""
    exposure = Exposure()
    rows = (DONE | {"keys": key, "fingerprints": headers} for key in (b"a", b"b"))
    exposure.see(batch(*rows, DONE | {"keys": b"c", "fingerprints": b"{}"}))
    return exposure


AROUND: dict[str, Around] = {
    "credentials-stored": Around(
        source=Source.HEADERS,
        faulty=exposed(b'{"authorization": "Bearer hunter2"}'),
        near=exposed(b'{"authorization": "[FILTERED]"}'),
        count=2,
        sample=("a", "b"),
    ),
    "clocks-apart": Around(
        facts=replace(REDIS, is_paired=True),
        source=Source.CLOCKS,
        faulty=Skew(-5 * SECOND, -SKEW - SECOND),
        near=Skew(-5 * SECOND, -SKEW),
    ),
    **{
        verdict.value: Around(
            facts=replace(REDIS if "redis" in verdict else POSTGRES, has_witness=True),
            source=Source.WITNESS,
            faulty=told(verdict),
            near=told(Verdict.REDIS_RESTARTED),
        )
        for verdict in LOSSES
    },
    "clients-share-keys": Around(
        faulty=replace(CALM, client_count=2), near=replace(CALM, client_count=1), count=2
    ),
    "identity-not-unique": Around(
        faulty=shaped(part(index("scope", "key"), EXPIRY)),
        near=shaped(part(unique("key", "scope"), EXPIRY)),
    ),
    "unique-index-invalid": Around(
        faulty=shaped(part(unique("scope", "key", is_valid=False), EXPIRY)),
        near=shaped(part(unique("scope", "key", is_valid=False), GUARD, EXPIRY)),
    ),
    "unique-within-partitions": Around(
        faulty=shaped(*HALVES, is_partitioned=True, split_by=frozenset({"created_at"})),
        near=shaped(*HALVES, is_partitioned=True, split_by=frozenset({"key"})),
        count=2,
    ),
    "unique-lets-nulls-repeat": Around(
        faulty=shaped(columns=NULLABLE),
        near=shaped(
            part(unique("scope", "key", lets_nulls_repeat=False), EXPIRY), columns=NULLABLE
        ),
    ),
    "unique-ignores-case": Around(
        faulty=shaped(part(unique("key", folds=True), EXPIRY), columns=FOLDS),
        near=shaped(part(unique("key"), index("key", folds=True), EXPIRY), columns=FOLDS),
    ),
    "collation-outdated": Around(
        faulty=shaped(part(unique("scope", "key", **OLD), EXPIRY)),
        near=shaped(part(GUARD, index("endpoint", **OLD), EXPIRY)),
    ),
    "identity-repeated": Around(
        faulty=replace(
            CALM, repeated=Repeated(count=2, row_count=5, sample=((b"a", b"eu"), (b"b", b"")))
        ),
        near=replace(CALM, repeated=Repeated(count=0, row_count=0)),
        count=2,
        sample=("a", "b"),
    ),
    "table-unlogged": Around(
        faulty=shaped(
            part(GUARD, EXPIRY, name="p0", is_unlogged=True),
            part(GUARD, EXPIRY, name="p1"),
            is_partitioned=True,
            split_by=frozenset({"key"}),
        ),
        near=shaped(*HALVES, is_partitioned=True, split_by=frozenset({"key"})),
    ),
    "expiry-without-index": Around(
        faulty=shaped(part(GUARD, row_count=LARGE)), near=shaped(part(GUARD, row_count=LARGE - 1))
    ),
    "timestamp-without-zone": Around(
        faulty=shaped(columns=ZONELESS, zones={"expires_at": "UTC"}),
        near=shaped(zones={"expires_at": "UTC"}),
    ),
    "deletion-drags-rows": Around(
        faulty=referred(on_delete=OnDelete.CASCADE), near=referred(on_delete=OnDelete.RESTRICT)
    ),
    "reference-without-index": Around(
        faulty=referred(on_delete=OnDelete.RESTRICT, has_index=False),
        near=referred(on_delete=OnDelete.RESTRICT),
    ),
    "delete-trigger": Around(
        faulty=shaped(delete_triggers=("audit", "notes")),
        near=shaped(delete_triggers=("audit", "notes"), is_collected=False),
        count=2,
    ),
    "dead-rows": kept(
        Upkeep(tables=(cleared(dead_count=MANY_DEAD, live_count=MANY_DEAD, due_count=10**9),)),
        Upkeep(tables=(cleared(dead_count=MANY_DEAD, live_count=MANY_DEAD + 1, due_count=10**9),)),
    ),
    "autovacuum-behind": kept(
        Upkeep(tables=(LATE, replace(LATE, name="u"))),
        Upkeep(tables=(replace(LATE, dead_count=MANY_DEAD - 1),)),
        count=2,
    ),
    "autovacuum-off": kept(
        Upkeep(tables=(cleared(is_automatic=False),)), Upkeep(tables=(cleared(),))
    ),
    "vacuum-held-back": kept(
        Upkeep(holders=(holder(HELD_FOR + SECOND),)), Upkeep(holders=(holder(HELD_FOR),))
    ),
    "read-from-standby": followed(PostgresReplication(recovery=IDLE), PostgresReplication()),
    "standby-behind": followed(
        PostgresReplication(
            standbys=(NEAR, *2 * (replace(NEAR, name="us", behind_bytes=BEHIND_BYTES),))
        ),
        PostgresReplication(standbys=(replace(NEAR, behind_bytes=BEHIND_BYTES - 1),)),
        count=2,
    ),
    "standby-missing": replace(
        followed(PostgresReplication(standbys=(NEAR,)), PostgresReplication(standbys=(NEAR, NEAR))),
        facts=replace(POSTGRES, replica_count=2),
    ),
    "slot-retains-wal": followed(
        PostgresReplication(slots=(replace(SLOT, is_active=False, retained_bytes=BEHIND_BYTES),)),
        PostgresReplication(slots=(replace(SLOT, retained_bytes=BEHIND_BYTES),)),
    ),
    "archiver-failing": followed(
        PostgresReplication(archiver=ARCHIVER),
        PostgresReplication(archiver=replace(ARCHIVER, is_failing=False)),
    ),
    "eviction-enabled": on_redis(
        faulty={"eviction_policy": "volatile-ttl"}, near={"eviction_policy": "noeviction"}
    ),
    "keys-evicted": on_redis(faulty={"evicted_count": 3}, count=3),
    "memory-full": on_redis(
        faulty={"memory_used": 990 * GB // 1000},
        near={"memory_used": 989 * GB // 1000},
    ),
    "memory-nearly-full": on_redis(
        faulty={"memory_used": 900 * GB // 1000}, near={"memory_used": 899 * GB // 1000}
    ),
    "memory-running-low": on_redis(
        faulty={"memory_used": 750 * GB // 1000}, near={"memory_used": 749 * GB // 1000}
    ),
    "memory-unlimited": on_redis(faulty={"memory_limit": 0}),
    "writes-refused": on_redis(
        faulty={"refusals": {"OOM": 2, "MISCONF": 3}},
        near={"refusals": {"OOM": 0, "WRONGTYPE": 9}},
        count=5,
    ),
    "persistence-off": on_redis(
        faulty={"appends": False, "snapshot_rule": ""}, near={"snapshot_rule": ""}
    ),
    "append-only-off": on_redis(faulty={"appends": False}),
    "fsync-off": on_redis(faulty={"sync": "no"}, near={"sync": "everysec"}),
    "snapshot-failed": on_redis(faulty={"snapshot_failed": True}),
    "append-only-failed": on_redis(faulty={"append_failed": True}),
    "server-is-replica": on_redis(faulty={"primary": LINKED}),
    "replication-link-down": on_redis(
        faulty={"primary": replace(LINKED, is_linked=False)}, near={"primary": LINKED}
    ),
    "replica-behind": on_redis(
        faulty={"replicas": (*TWO, replace(FOLLOWER, behind=16 * 2**20))},
        near={"replicas": (*TWO, replace(FOLLOWER, behind=16 * 2**20 - 1))},
    ),
    "replica-missing": replace(
        on_redis(faulty={"replicas": (FOLLOWER,)}, near={"replicas": TWO}),
        facts=replace(REDIS, replica_count=2),
    ),
    "replicas-too-few": on_redis(faulty={"replicas_needed": 2}),
    "slots-uncovered": on_redis(faulty={"uncovered_slots": 1_024}, count=1_024),
}

OVER = {"expires_at": at(-1)}
PAIRS: dict[str, tuple[Pair, Pair]] = {
    "missing": (Pair(redis=None), Pair(postgres=OVER, redis=None)),
    "orphan": (
        Pair(postgres=None),
        Pair(postgres=None, redis={"status": Status.MALFORMED, "flaw": Flaw.UNREADABLE}),
    ),
    "stale": (Pair(postgres={"fence": 6}), Pair(postgres={"fence": 6}, redis={"fence": 6})),
    "divergent": (Pair(redis={"fingerprints": b"g"}), Pair(redis={"fingerprints": b"f"})),
}
"""The faulty one, and the near one."""

"""Claims in Redis: which of them would turn retries away for too long."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from idemctl.bootstrap.layouts import preset
from idemctl.domain.instants import FOREVER, MISSING
from idemctl.domain.records import Status
from idemctl.domain.sight import Sight
from idemctl.layouts.sight import sight_of
from tests.checks.places import (
    BODY_HASH,
    DAY,
    HOUR,
    MINUTE,
    POSTGRES,
    REDIS,
    URL_PATH,
    UUID,
    codes,
    examined,
    found,
)
from tests.domain.batches import at

NO_LEASE = replace(
    REDIS, sight=frozenset({Sight.STATUS, Sight.FINGERPRINT, Sight.KEY_TTL, Sight.TTL})
)
"""As node-idempotency writes."""


def claimed(**more: Any) -> dict[str, Any]:
    return {"keys": UUID, "status": Status.IN_PROGRESS, "key_expires_at": at(10 * MINUTE)} | more


@pytest.mark.parametrize(
    ("left", "is_long"),
    [
        (24 * HOUR, True),
        (12 * HOUR + 1, True),
        (12 * HOUR, False),
        (30, False),
        (-1, False),
    ],
)
def test_a_claim_that_lives_like_a_result_is_too_long(left: float, is_long: bool) -> None:
    expected = ["in-progress-ttl-too-long"] if is_long else []
    assert codes(NO_LEASE, claimed(key_expires_at=at(left))) == expected
    assert codes(replace(URL_PATH, sight=NO_LEASE.sight), claimed(key_expires_at=at(left))) == (
        expected
    )
    done = claimed(status=Status.COMPLETED, fingerprints=b"f" * 64, key_expires_at=at(left))
    assert codes(NO_LEASE, done) == []


def test_where_it_is_known_when_the_work_began_a_crashed_claim_is_named_to_its_last_hour() -> None:
    facts = replace(NO_LEASE, sight=NO_LEASE.sight | {Sight.AGE})
    for left, is_long in ((24, True), (2, True), (1, False), (0.5, False)):
        row = claimed(counted_from=at((left - 24) * HOUR), key_expires_at=at(left * HOUR))
        assert codes(facts, row) == (["in-progress-ttl-too-long"] if is_long else [])
    # Half a minute, renewed again and again for a day, is a short claim.
    renewed = claimed(counted_from=at(-23 * HOUR), key_expires_at=at(30))
    assert codes(facts, renewed) == []


def test_with_a_short_ttl_an_hour_is_no_fault() -> None:
    short = replace(NO_LEASE, keeps_for=timedelta(hours=1))
    assert codes(short, claimed(key_expires_at=at(HOUR))) == []


@pytest.mark.parametrize(
    ("lease", "is_long"), [(5 * MINUTE, False), (11 * HOUR, False), (13 * HOUR, True)]
)
def test_a_lease_ends_a_claim_before_its_key_does(lease: float, is_long: bool) -> None:
    row = claimed(
        fingerprints=b"f" * 64,
        lease_until=at(lease),
        counted_from=at(-HOUR),
        key_expires_at=at(23 * HOUR),
        expires_at=at(7 * DAY),
    )
    expected = ["in-progress-ttl-too-long"] if is_long else []
    assert codes(REDIS, row) == expected
    # Renewed for days, it is as short as ever.
    renewed = row | {"counted_from": at(-9 * HOUR), "key_expires_at": at(15 * HOUR)}
    assert codes(REDIS, renewed) == expected


def test_a_deadline_ends_it_too() -> None:
    row = claimed(due_at=at(MINUTE), key_expires_at=at(23 * HOUR))
    assert codes(replace(NO_LEASE, sight=NO_LEASE.sight | {Sight.DUE}), row) == []


def test_a_claim_that_lacks_its_lease_has_one_name() -> None:
    row = claimed(key_expires_at=at(23 * HOUR), counted_from=at(-HOUR), expires_at=at(DAY))
    assert codes(REDIS, row) == ["lease-never-filled"]


def test_the_evidence_tells_for_how_long_retries_are_turned_away() -> None:
    rows = [claimed(key_expires_at=at(hours * HOUR)) for hours in (23, 20, 2)]
    (finding,) = found(NO_LEASE, *rows)
    assert (finding.count, finding.sample) == (2, ({"key": UUID.decode()},) * 2)
    assert finding.evidence == (
        "in progress, and the claim lasts for another 20h to 23h; a result is kept for 1d"
    )


def test_without_a_configured_ttl_there_is_nothing_to_compare_with() -> None:
    facts = replace(NO_LEASE, keeps_for=None, sight=NO_LEASE.sight - {Sight.TTL})
    assert codes(facts, claimed(key_expires_at=at(9 * DAY))) == []
    blind = {one.code: one.why for one in examined(facts).cannot_judge}
    assert blind["in-progress-ttl-too-long"] == "no ttl in the configuration"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (Status.IN_PROGRESS, "claim-without-ttl"),
        (Status.COMPLETED, "record-without-ttl"),
        (Status.FAILED, "record-without-ttl"),
        (Status.UNKNOWN, "record-without-ttl"),
    ],
)
def test_a_key_without_ttl_has_one_name(status: Status, code: str) -> None:
    row = claimed(status=status, key_expires_at=MISSING, fingerprints=b"f" * 64)
    assert codes(NO_LEASE, row) == [code]
    assert codes(NO_LEASE, row | {"key_expires_at": at(30)}) == []
    assert codes(POSTGRES, row | {"expires_at": at(DAY), "lease_until": FOREVER}) == []


def test_a_claim_of_no_key_pattern_is_a_record_without_ttl_as_any() -> None:
    facts = replace(NO_LEASE, pattern=BODY_HASH.pattern)
    assert codes(facts, claimed(key_expires_at=MISSING)) == ["record-without-ttl"]


def test_the_evidence_tells_how_old_the_crash_is() -> None:
    facts = replace(NO_LEASE, sight=NO_LEASE.sight | {Sight.AGE})
    young, old, unknown = (
        claimed(key_expires_at=MISSING, counted_from=began)
        for began in (at(-MINUTE), at(-50 * HOUR), MISSING)
    )
    (finding,) = found(facts, young, old, unknown)
    assert finding.count == 3
    assert finding.evidence == ("in progress, and the key never expires; the oldest began 2d2h ago")
    (finding,) = found(facts, unknown)
    assert finding.evidence == "in progress, and the key never expires"


def test_a_lock_is_work_in_progress() -> None:
    side = preset("fastidempotent").redis
    assert side is not None
    assert Sight.STATUS in sight_of(side)
    assert Sight.STATUS not in sight_of(side.model_copy(update={"lock": None}))
    facts = replace(NO_LEASE, sight=sight_of(side) | {Sight.TTL})
    # The end of its key is all the lease that a lock has.
    lock = claimed(key_expires_at=at(30), lease_until=at(30), expires_at=at(30))
    assert codes(facts, lock) == []
    endless = lock | {"key_expires_at": MISSING, "lease_until": MISSING, "expires_at": MISSING}
    assert codes(facts, endless) == ["claim-without-ttl"]
    long = {"key_expires_at": at(20 * HOUR), "lease_until": at(20 * HOUR)}
    assert codes(facts, lock | long) == ["in-progress-ttl-too-long"]

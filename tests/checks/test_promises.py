"""Promises and TTLs: at which instant a key has lived too long."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from idemctl.domain.instants import FOREVER, LONG_PAST, MISSING
from idemctl.domain.records import Status
from idemctl.domain.retention import Retention
from idemctl.domain.sight import Sight
from tests.checks.places import (
    BODY_HASH,
    DAY,
    HOUR,
    MINUTE,
    OUTBOX,
    POSTGRES,
    REDIS,
    URL_PATH,
    codes,
    examined,
    found,
)
from tests.domain.batches import NOW, at

LATE = 24 * HOUR
# Written an hour ago, kept for 24 h: it has to go in 23 h, give or take a tenth of the 24.
END = 23 * HOUR
TENTH = 2.4 * HOUR


def row(**more: Any) -> dict[str, Any]:
    return {
        "fingerprints": b"f",
        "counted_from": at(-10 * DAY),
        "expires_at": at(DAY),
    } | more


def twin(lives_until: float, **more: Any) -> dict[str, Any]:
    """A twin written an hour ago and promised for a week."""
    return {
        "fingerprints": b"f",
        "counted_from": at(-2 * HOUR),
        "completed_at": at(-HOUR),
        "expires_at": at(7 * DAY),
        "key_expires_at": at(lives_until),
    } | more


@pytest.mark.parametrize(
    ("expires", "code"),
    [
        (at(DAY), None),
        (at(-20 * HOUR), None),
        (at(-LATE), None),
        (at(-LATE - 0.000_001), "expired-backlog"),
        (at(-9 * DAY), "expired-backlog"),
        (MISSING, "expiry-missing"),
        (FOREVER, "expiry-infinite"),
    ],
)
@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED])
def test_what_is_done_ends_and_goes(status: Status, expires: int, code: str | None) -> None:
    assert codes(POSTGRES, row(status=status, expires_at=expires)) == ([code] if code else [])


@pytest.mark.parametrize("expires", [at(-9 * DAY), MISSING, FOREVER])
def test_what_the_layout_keeps_is_neither_late_nor_without_an_end(expires: int) -> None:
    assert codes(POSTGRES, row(expires_at=expires, never_collected=True)) == []
    assert len(codes(POSTGRES, row(expires_at=expires))) == 1


@pytest.mark.parametrize("expires", [at(-9 * DAY), MISSING, FOREVER])
def test_a_claim_or_a_presence_is_no_backlog(expires: int) -> None:
    claimed = row(status=Status.IN_PROGRESS, lease_until=at(HOUR), expires_at=expires)
    assert codes(POSTGRES, claimed) == []
    assert codes(POSTGRES, row(status=Status.UNKNOWN, expires_at=expires)) == []


def test_a_policy_that_keeps_longer_keeps_it_out_of_the_backlog() -> None:
    old = row(endpoints=b"POST /v1/charges", counted_from=at(-6 * DAY), expires_at=at(-3 * DAY))
    longer = replace(POSTGRES.retention, policy_ttls={b"POST /v1/charges": timedelta(days=7)})
    assert codes(POSTGRES, old) == ["expired-backlog"]
    assert codes(replace(POSTGRES, retention=longer), old) == []


def test_how_late_is_late_is_said_by_who_asks() -> None:
    late = row(expires_at=at(-2 * HOUR))
    assert codes(POSTGRES, late) == []
    facts = replace(POSTGRES, backlog_after=timedelta(hours=1))
    (finding,) = found(facts, late)
    assert finding.evidence == "expired for 2h; collection is late after 1h"


def test_where_no_expiry_is_stored_the_ttl_counts() -> None:
    promises = Retention(cutoff=NOW, has_stored_expiry=False, ttl=timedelta(days=7))
    facts = replace(OUTBOX, sight=OUTBOX.sight - {Sight.EXPIRY}, retention=promises)
    assert codes(facts, row(counted_from=at(-7 * DAY - 20 * HOUR))) == []
    assert codes(facts, row(counted_from=at(-9 * DAY))) == ["expired-backlog"]
    assert codes(facts, row(counted_from=MISSING)) == ["expiry-missing"]


def test_where_nothing_says_when_records_end_that_cannot_be_judged() -> None:
    promises = Retention(cutoff=NOW, has_stored_expiry=False)
    facts = replace(OUTBOX, sight=OUTBOX.sight - {Sight.EXPIRY, Sight.TTL}, retention=promises)
    assert codes(facts, row(counted_from=at(-900 * DAY))) == []
    blind = {one.code for one in examined(facts).cannot_judge}
    assert {"expired-backlog", "expiry-missing", "expiry-infinite"} <= blind


def test_a_key_in_redis_has_a_ttl() -> None:
    assert codes(REDIS, twin(HOUR, key_expires_at=MISSING)) == ["record-without-ttl"]
    assert codes(REDIS, twin(END)) == []


@pytest.mark.parametrize(
    ("lives_until", "code"),
    [
        (END, None),
        (END + TENTH, None),
        (END + TENTH + 1, "ttl-beyond-policy"),
        (90 * DAY, "ttl-beyond-policy"),
        (499 * DAY, "ttl-beyond-policy"),
        (1000 * DAY - HOUR, "ttl-unit-mix-up"),
        (1200 * DAY, "ttl-beyond-policy"),
        (1, "key-ends-too-early"),
    ],
)
def test_a_key_may_outlive_its_end_by_a_tenth(lives_until: float, code: str | None) -> None:
    assert codes(REDIS, twin(lives_until)) == ([code] if code else [])
    assert codes(URL_PATH, twin(lives_until, keys=b"0" * 32)) == ([code] if code else [])


def test_the_promise_of_the_record_ends_the_key_too() -> None:
    soon = {"expires_at": at(2 * HOUR)}
    assert codes(REDIS, twin(2 * HOUR, **soon)) == []
    assert codes(REDIS, twin(2 * HOUR + 0.3 * HOUR, **soon)) == []
    assert codes(REDIS, twin(2 * HOUR + 0.3 * HOUR + 1, **soon)) == ["ttl-beyond-policy"]
    # A minute is allowed always.
    over = {"expires_at": at(-HOUR)}
    assert codes(REDIS, twin(-HOUR + MINUTE, **over)) == []
    assert codes(REDIS, twin(-HOUR + MINUTE + 1, **over)) == ["ttl-beyond-policy"]


def test_a_lock_may_live_as_long_as_its_lease() -> None:
    claimed = {
        "status": Status.IN_PROGRESS,
        "completed_at": MISSING,
        "lease_until": at(40 * HOUR),
    }
    assert "ttl-beyond-policy" not in codes(REDIS, twin(40 * HOUR, **claimed))
    assert "ttl-beyond-policy" in codes(REDIS, twin(50 * HOUR, **claimed))


def test_without_a_configured_ttl_the_promise_alone_counts() -> None:
    facts = replace(REDIS, keeps_for=None, sight=REDIS.sight - {Sight.TTL})
    assert codes(facts, twin(6.5 * DAY)) == []
    (finding,) = found(facts, twin(90 * DAY))
    assert finding.code == "ttl-beyond-policy"
    assert finding.evidence == (
        "keys that live for another 90d; the record's own promise ends earlier"
    )
    blind = {one.code for one in examined(facts).cannot_judge}
    assert "ttl-unit-mix-up" in blind


def test_where_nothing_tells_when_it_was_written_what_is_left_must_fit() -> None:
    flag = {"status": Status.UNKNOWN}
    facts = replace(REDIS, sight=frozenset({Sight.KEY_TTL, Sight.TTL}))
    assert codes(facts, flag | {"key_expires_at": at(DAY + TENTH)}) == []
    assert codes(facts, flag | {"key_expires_at": at(DAY + TENTH + 1)}) == ["ttl-beyond-policy"]
    assert codes(facts, flag | {"key_expires_at": at(999 * DAY)}) == ["ttl-unit-mix-up"]


@pytest.mark.parametrize(
    ("left", "code"),
    [
        (HOUR, None),
        (1.1 * HOUR, None),
        (1.1 * HOUR + 1, "body-hash-outlives-window"),
        (20 * HOUR, "body-hash-outlives-window"),
        (1000 * HOUR, "ttl-unit-mix-up"),
    ],
)
def test_a_digest_goes_with_its_window(left: float, code: str | None) -> None:
    digest = {"status": Status.UNKNOWN, "key_expires_at": at(left)}
    assert codes(BODY_HASH, digest) == ([code] if code else [])


def test_a_key_that_was_written_during_the_scan_may_live_its_time() -> None:
    """The scan began three hours ago; whoever kept that clock would find the window too long."""
    from idemctl.checks.examination import Examination
    from idemctl.checks.registry import CHECKS
    from tests.domain.batches import batch

    fresh = batch({"status": Status.UNKNOWN, "key_expires_at": at(HOUR)})
    for now, expected in ((at(0), []), (at(-3 * HOUR), ["body-hash-outlives-window"])):
        examination = Examination(BODY_HASH, CHECKS)
        examination.see(fresh, now)
        assert [one.code for one in examination.findings("deliveries", "here")] == expected


def test_what_ends_in_thousands_of_years_is_told_in_years() -> None:
    (finding,) = found(REDIS, twin(8_000 * 365 * DAY))
    assert finding.evidence.startswith("keys that live for another 7,994 years; ")
    (finding,) = found(POSTGRES, row(expires_at=LONG_PAST))
    assert finding.evidence.startswith("expired for 2,025 years; ")

"""Keys in Redis that end early, at the edges of what a promise bears."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from idemctl.domain.instants import FOREVER, MISSING, to_micros
from idemctl.domain.records import Status
from idemctl.domain.sight import Sight
from tests.checks.places import BODY_HASH, DAY, HOUR, MINUTE, POSTGRES, REDIS, codes, examined
from tests.checks.places import found as findings
from tests.domain.batches import NOW, at

PAIR = replace(REDIS, is_paired=True)
TENTH = 2.4 * HOUR
CHARGES = b"POST /v1/charges"


def twin(lives_until: float, **more: Any) -> dict[str, Any]:
    """A twin written an hour ago and promised for a week."""
    return {
        "fingerprints": b"f" * 64,
        "counted_from": at(-HOUR),
        "completed_at": at(-HOUR),
        "expires_at": at(7 * DAY - HOUR),
        "key_expires_at": at(lives_until),
    } | more


def is_short(facts: Any, row: dict[str, Any]) -> bool:
    named = codes(facts, row)
    assert set(named) <= {"key-ends-too-early", "ttl-beyond-policy"}
    return "key-ends-too-early" in named


@pytest.mark.parametrize(
    ("lives_until", "expected"),
    [
        (23 * HOUR, False),
        (23 * HOUR - TENTH, False),
        (23 * HOUR - TENTH - 1, True),
        (MINUTE, True),
        (26 * HOUR, False),
    ],
)
def test_of_a_pair_a_key_lives_as_long_as_redis_keeps_it(
    lives_until: float, expected: bool
) -> None:
    assert is_short(PAIR, twin(lives_until)) is expected


def test_near_its_end_a_record_is_no_shorter_than_before() -> None:
    for left in (HOUR, MINUTE, 1, -1):
        near = twin(left, counted_from=at(left - DAY), completed_at=at(left - DAY))
        assert not is_short(PAIR, near)
        promised = near | {"expires_at": at(left + 50)}
        assert not is_short(REDIS, promised)
        assert not is_short(PAIR, promised)


def test_what_the_configuration_keeps_is_enough_and_where_it_says_nothing_the_promise_counts() -> (
    None
):
    row = twin(23 * HOUR)
    assert not is_short(PAIR, row)
    assert not is_short(REDIS, row)
    # Postgres may be meant to keep all of it; alone there is nothing else.
    assert not is_short(replace(PAIR, keeps_for=None, sight=PAIR.sight - {Sight.TTL}), row)
    assert is_short(replace(REDIS, keeps_for=None, sight=REDIS.sight - {Sight.TTL}), row)


def test_where_no_record_promises_anything_the_configuration_does() -> None:
    # The reader gives a record without an expiry that of its key.
    facts = replace(REDIS, sight=REDIS.sight - {Sight.EXPIRY})
    for left, expected in ((23, False), (20.6, False), (20.5, True), (1, True)):
        row = twin(left * HOUR, expires_at=at(left * HOUR))
        assert is_short(facts, row) is expected
        assert is_short(replace(facts, is_paired=True), row) is expected


def test_a_policy_promises_longer_than_the_record_and_never_shorter() -> None:
    def alone(ttl: timedelta) -> Any:
        return replace(REDIS, policy_ttls={CHARGES: ttl}, keeps_for=timedelta(days=30))

    row = twin(DAY, endpoints=CHARGES, expires_at=at(DAY))
    own = row | {"expires_at": at(DAY + 2)}
    assert not is_short(alone(timedelta(days=1)), row)
    assert not is_short(alone(timedelta(hours=1)), own)
    assert is_short(alone(timedelta(days=7)), row)
    assert is_short(alone(timedelta(days=7)), own)
    # Longer than redis.ttl: of a pair, Postgres keeps the rest.
    day = replace(alone(timedelta(days=7)), keeps_for=timedelta(days=1))
    assert is_short(day, row)
    assert not is_short(replace(day, is_paired=True), row)
    assert not is_short(alone(timedelta(days=7)), own | {"endpoints": b"POST /v1/other"})


@pytest.mark.parametrize("status", [Status.IN_PROGRESS, Status.UNKNOWN])
def test_a_claim_may_be_short(status: Status) -> None:
    row = twin(30, status=status, lease_until=at(30))
    assert codes(PAIR, row) == []


def test_what_nobody_knows_is_not_too_short() -> None:
    unknown = {"counted_from": MISSING, "completed_at": MISSING}
    assert not is_short(PAIR, twin(HOUR, **unknown))
    assert not is_short(PAIR, twin(HOUR, counted_from=FOREVER, completed_at=FOREVER))
    assert not is_short(REDIS, twin(HOUR, **unknown))
    endless = replace(REDIS, keeps_for=None)
    assert not is_short(endless, twin(HOUR, expires_at=FOREVER, **unknown))
    assert codes(PAIR, twin(HOUR, key_expires_at=MISSING)) == ["record-without-ttl"]
    late = twin(23 * HOUR, expires_at=to_micros(NOW) * 1000)
    assert codes(endless, late) == ["instants-in-mixed-units"]


def test_who_sees_neither_promise_nor_creation_cannot_judge() -> None:
    facts = replace(REDIS, sight=frozenset({Sight.KEY_TTL, Sight.TTL}))
    blind = {one.code: one.why for one in examined(facts).cannot_judge}
    assert blind["key-ends-too-early"] == "no creation in the value"
    for other in (POSTGRES, BODY_HASH):
        assert "key-ends-too-early" not in examined(other).checked


def test_the_evidence_tells_how_much_is_missing() -> None:
    (finding,) = findings(PAIR, twin(HOUR), twin(13 * HOUR), twin(23 * HOUR))
    assert (finding.code, finding.count) == ("key-ends-too-early", 2)
    assert finding.evidence == "keys that end 10h to 22h before what was promised"
    # Milliseconds were taken for seconds: a thousandth of the day.
    (finding,) = findings(PAIR, twin(1, counted_from=at(-85), completed_at=at(-85)))
    assert finding.evidence == "keys that end 23h58m before what was promised"


RULED = replace(POSTGRES, policy_ttls={CHARGES: timedelta(days=7)})


def promised(length: float, **more: Any) -> dict[str, Any]:
    """A row of two days ago, promised for so long by itself."""
    began = at(-2 * DAY)
    return {
        "fingerprints": b"f" * 64,
        "endpoints": CHARGES,
        "counted_from": began,
        "completed_at": began,
        "expires_at": at(length - 2 * DAY),
    } | more


@pytest.mark.parametrize(
    ("row", "is_early"),
    [
        (promised(7 * DAY - MINUTE), False),
        (promised(7 * DAY - MINUTE - 1), True),
        (promised(3 * DAY), True),
        (promised(8 * DAY), False),
        (promised(3 * DAY, endpoints=b"POST /v1/refunds"), False),
        (promised(3 * DAY, status=Status.FAILED), True),
        (promised(3 * DAY, status=Status.UNKNOWN), False),
        (promised(3 * DAY, never_collected=True), False),
        (promised(3 * DAY, counted_from=MISSING, completed_at=MISSING), False),
        (promised(0, expires_at=FOREVER), False),
    ],
)
def test_a_stored_expiry_is_not_before_what_a_policy_promises(
    row: dict[str, Any], *, is_early: bool
) -> None:
    assert ("expires-before-policy" in codes(RULED, row)) is is_early
    assert "expires-before-policy" not in codes(POSTGRES, row)


def test_by_how_much_an_expiry_is_early_is_told() -> None:
    (finding,) = findings(RULED, promised(3 * DAY), promised(5 * DAY), promised(7 * DAY))
    assert (finding.count, finding.evidence) == (
        2, "expiries that are 2d to 4d before what a policy says"
    )  # fmt: skip

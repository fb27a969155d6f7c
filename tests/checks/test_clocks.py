"""Instants that cannot be, and those that nearly cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from idemctl.domain.instants import FOREVER, LONG_PAST, MISSING, to_micros
from idemctl.domain.records import Flaw, Status
from idemctl.domain.sight import Sight
from tests.checks.places import (
    DAY,
    HOUR,
    MINUTE,
    OUTBOX,
    POSTGRES,
    REDIS,
    UUID,
    codes,
    examined,
    found,
)
from tests.domain.batches import NOW, at

YEAR = 365 * DAY
NOW_MICROS = to_micros(NOW)


def row(**more: Any) -> dict[str, Any]:
    return {
        "keys": UUID,
        "fingerprints": b"f" * 64,
        "counted_from": at(-HOUR),
        "completed_at": at(-HOUR + 1),
        "expires_at": at(DAY),
        "key_expires_at": at(20 * HOUR),
    } | more


def names(facts: Any, **more: Any) -> set[str]:
    return set(codes(facts, row(**more))) & {"instants-in-mixed-units", "times-out-of-order"}


@pytest.mark.parametrize("facts", [POSTGRES, REDIS])
@pytest.mark.parametrize("column", ["counted_from", "completed_at", "expires_at", "lease_until"])
@pytest.mark.parametrize("factor", [1000, 1 / 1000, 1 / 1_000_000])
def test_an_instant_that_is_off_by_a_unit_is_named_alone(
    facts: Any, column: str, factor: float
) -> None:
    off = round(at(DAY) * factor)
    assert names(facts, **{column: off}) == {"instants-in-mixed-units"}


@pytest.mark.parametrize("column", ["counted_from", "completed_at", "expires_at", "due_at"])
@pytest.mark.parametrize(
    "instant",
    [
        MISSING,
        FOREVER,
        LONG_PAST,
        # There is none, say those who write zero.
        0,
        90_000_000,
        at(-50 * YEAR),
        at(100 * YEAR),
        # 9999-12-31, as good as never.
        253_402_300_799_000_000,
    ],
)
def test_early_and_late_are_no_units(column: str, instant: int) -> None:
    assert "instants-in-mixed-units" not in names(POSTGRES, **{column: instant})


def test_the_end_of_a_key_is_no_instant_of_its_record() -> None:
    late = NOW_MICROS * 1000
    assert names(REDIS, expires_at=late, key_expires_at=late) == set()
    locked = {"status": Status.IN_PROGRESS, "lease_until": late, "key_expires_at": late}
    assert names(REDIS, **locked) == set()


def test_the_evidence_tells_the_years() -> None:
    (finding,) = found(POSTGRES, row(counted_from=NOW_MICROS // 1000), row())
    assert (finding.count, finding.evidence) == (1, "instants of the year 1970")
    both = [row(counted_from=NOW_MICROS // 1000), row(expires_at=NOW_MICROS * 1000)]
    assert found(POSTGRES, *both)[0].evidence == "instants from 1970 to 58880"


def test_of_what_cannot_be_read_nothing_is_said() -> None:
    malformed = row(status=Status.MALFORMED, flaw=Flaw.NO_STATUS, counted_from=NOW_MICROS // 1000)
    assert codes(POSTGRES, malformed) == ["malformed-record"]


def test_without_instants_there_is_nothing_to_judge() -> None:
    facts = replace(REDIS, sight=frozenset({Sight.KEY_TTL, Sight.TTL}))
    blind = {one.code: one.why for one in examined(facts).cannot_judge}
    assert blind["instants-in-mixed-units"] == "no creation in the value"
    assert blind["times-out-of-order"] == "no creation in the value"


@pytest.mark.parametrize("facts", [POSTGRES, REDIS, OUTBOX])
@pytest.mark.parametrize("column", ["completed_at", "expires_at"])
@pytest.mark.parametrize(
    ("before", "is_early"),
    [(-5, False), (0, False), (MINUTE, False), (MINUTE + 1, True), (5 * HOUR, True)],
)
def test_clocks_may_be_a_minute_apart(
    facts: Any, column: str, before: float, is_early: bool
) -> None:
    off = {column: at(-HOUR - before)}
    assert names(facts, **off) == ({"times-out-of-order"} if is_early else set())


@pytest.mark.parametrize("ends", [MISSING, FOREVER, LONG_PAST, 0])
def test_no_end_is_none_before_the_beginning(ends: int) -> None:
    assert names(POSTGRES, expires_at=ends) == set()
    assert names(POSTGRES, completed_at=ends) == set()


@pytest.mark.parametrize("began", [MISSING, FOREVER])
def test_without_a_beginning_nothing_is_before_it(began: int) -> None:
    assert names(POSTGRES, counted_from=began) == set()


def test_a_claim_may_keep_what_its_last_owner_wrote() -> None:
    anew = {"status": Status.IN_PROGRESS, "lease_until": at(MINUTE), "completed_at": at(-DAY)}
    assert names(POSTGRES, **anew) == set()


def test_the_evidence_tells_by_how_much() -> None:
    rows = [row(completed_at=at(-HOUR - length)) for length in (2 * MINUTE, 3 * HOUR)]
    (finding,) = found(POSTGRES, *rows)
    assert finding.evidence == "completed, or promised until, 2m to 3h before it began"
    assert finding.sample[0] == {"key": UUID.decode()}

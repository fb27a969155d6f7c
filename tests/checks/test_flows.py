"""Work that does not end, at the edges of what is still nobody's fault."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.checks.flows import MARGIN
from idemctl.domain.instants import FOREVER, MISSING
from idemctl.domain.records import Status
from idemctl.domain.sight import Sight
from tests.checks.places import DAY, HOUR, OUTBOX, POSTGRES, REDIS, WORKFLOW, codes, examined, found
from tests.domain.batches import at

if TYPE_CHECKING:
    from idemctl.checks.check import Facts

EDGE = MARGIN.total_seconds()


def claimed(**more: Any) -> dict[str, Any]:
    return {
        "status": Status.IN_PROGRESS,
        "fingerprints": b"f",
        "expires_at": at(DAY),
        "key_expires_at": at(HOUR),
        "counted_from": at(-HOUR),
    } | more


@pytest.mark.parametrize("facts", [POSTGRES, REDIS])
@pytest.mark.parametrize(
    ("lease", "is_stuck"),
    [
        (-EDGE - 0.000_001, True),
        (-EDGE, False),
        (-1, False),
        (HOUR, False),
        (-2 * DAY, True),
    ],
)
def test_a_lease_may_be_over_for_some_minutes(facts: Facts, lease: float, is_stuck: bool) -> None:
    row = claimed(lease_until=at(lease))
    assert codes(facts, row) == (["stuck-in-progress"] if is_stuck else [])


def test_a_lease_without_end_is_never_over() -> None:
    assert codes(POSTGRES, claimed(lease_until=FOREVER)) == []


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED, Status.UNKNOWN])
def test_whose_work_is_done_needs_no_lease(status: Status) -> None:
    assert codes(POSTGRES, claimed(status=status, lease_until=at(-DAY))) == []
    assert codes(POSTGRES, claimed(status=status)) == []


def test_a_claim_without_lease_is_another_thing_than_a_stuck_one() -> None:
    assert codes(POSTGRES, claimed()) == ["lease-never-filled"]
    assert codes(REDIS, claimed()) == ["lease-never-filled"]


def test_without_leases_the_deadline_counts() -> None:
    facts = replace(POSTGRES, sight=POSTGRES.sight - {Sight.LEASE})
    assert codes(facts, claimed(due_at=at(-HOUR))) == ["stuck-in-progress"]
    assert codes(facts, claimed(due_at=at(-EDGE))) == []
    assert codes(facts, claimed()) == []


LATE = -EDGE - 1


@pytest.mark.parametrize("facts", [POSTGRES, REDIS])
@pytest.mark.parametrize(
    ("lease", "due", "began", "is_stuck"),
    [
        (LATE, LATE, LATE, True),
        (-9 * HOUR, LATE, -9 * HOUR, True),
        # A heartbeat that moved means alive, whatever the other clock says.
        (LATE, -EDGE, LATE, False),
        (-EDGE, LATE, LATE, False),
        (-9 * HOUR, HOUR, -9 * HOUR, False),
        (-DAY, -DAY, -EDGE, False),
        (-DAY, -DAY, 1, False),
        # Ahead of all clocks is no sign of life.
        (-DAY, -DAY, DAY, True),
    ],
)
def test_stuck_takes_all_clocks_to_stand_still(
    facts: Facts, lease: float, due: float, began: float, is_stuck: bool
) -> None:
    row = claimed(lease_until=at(lease), due_at=at(due), counted_from=at(began))
    assert codes(facts, row) == (["stuck-in-progress"] if is_stuck else [])


def test_a_clock_that_is_missing_says_nothing() -> None:
    late = claimed(counted_from=MISSING)
    assert codes(POSTGRES, late | {"lease_until": at(LATE)}) == ["stuck-in-progress"]
    assert codes(POSTGRES, late | {"lease_until": at(LATE), "due_at": FOREVER}) == []


@pytest.mark.parametrize(
    ("facts", "code"), [(WORKFLOW, "workflow-stuck"), (OUTBOX, "outbox-overdue")]
)
def test_what_has_a_deadline_may_miss_it_by_some_minutes(facts: Facts, code: str) -> None:
    assert codes(facts, claimed(due_at=at(-EDGE - 1))) == [code]
    assert codes(facts, claimed(due_at=at(-EDGE))) == []
    assert codes(facts, claimed(due_at=at(HOUR))) == []
    assert codes(facts, claimed()) == []
    assert codes(facts, claimed(status=Status.COMPLETED, due_at=at(-DAY))) == []


def test_the_evidence_tells_the_span() -> None:
    rows = [claimed(lease_until=at(-length)) for length in (50 * HOUR, 3 * DAY, 90 * HOUR)]
    (finding,) = found(POSTGRES, *rows)
    assert finding.count == 3
    assert finding.evidence == "in progress, and the lease has been over for 2d2h to 3d18h"
    assert finding.next == "idemctl diagnose --store payments"


def test_who_only_sees_presence_cannot_judge_claims() -> None:
    facts = replace(REDIS, sight=frozenset({Sight.KEY_TTL, Sight.TTL}))
    cannot = {one.code: one.why for one in examined(facts).cannot_judge}
    assert cannot["stuck-in-progress"] == "no status in the value, no lease in the value"
    assert cannot["lease-never-filled"] == "no status in the value, no lease in the value"
    assert codes(facts, claimed(status=Status.UNKNOWN, lease_until=at(-DAY))) == []

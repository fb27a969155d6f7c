"""Failure modes ranked by facts: what is not known speaks for nothing."""

from __future__ import annotations

from idemctl.checks.registry import BY_CODE
from idemctl.domain.failures import CODES, SYMPTOMS, rank
from idemctl.domain.findings import Severity
from idemctl.domain.sight import FailureMode


def test_every_failure_mode_has_something_that_speaks_for_it() -> None:
    assert {one.mode for one in SYMPTOMS} == set(FailureMode)


def test_every_check_that_speaks_exists() -> None:
    assert set(BY_CODE) >= CODES


def test_what_is_not_known_speaks_for_nothing() -> None:
    assert rank({}, {}) == ()
    assert rank({one.when.fact: None for one in SYMPTOMS}, {}) == ()
    assert rank({"stuck_in_progress": 0, "redis_unreachable": False, "witness": "normal"}, {}) == ()


def test_the_gravest_comes_first_then_that_for_which_more_speaks() -> None:
    facts = {
        "standby_behind": 1,
        "stuck_in_progress": 3,
        "workflow_stuck": 1,
        "key_ends_too_early": 9,
        "redis_unreachable": True,
    }
    ranked = rank(facts, {"stuck-in-progress": "three are stuck"})
    assert [one.mode for one in ranked] == [
        FailureMode.STORE_UNAVAILABLE,
        FailureMode.CRASH_MID_WRITE,
        FailureMode.EXPIRED_BEFORE_RETRY,
        FailureMode.CROSS_REGION_LAG,
    ]
    assert ranked[0].severity is Severity.CRITICAL
    assert ranked[1].evidence == ("three are stuck", "workflow-stuck")
    assert ranked[1].codes == ("stuck-in-progress", "workflow-stuck")


def test_numbers_are_told() -> None:
    facts = {"verdict": "flushed", "sampled": 2_000, "missing": 1_999}
    [ranked] = rank(facts, {})
    assert ranked.evidence == ("of 2000 records that Redis owes it lacks 1999: flushed",)


def test_a_verdict_that_cannot_be_judged_is_no_loss() -> None:
    assert rank({"witness": "unknown", "verdict": "unknown"}, {}) == ()

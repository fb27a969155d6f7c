"""The verdict of the witness as findings: each code fires on its own verdict, and on no other."""

from __future__ import annotations

import pytest

from idemctl.checks.lost import CHECKS
from idemctl.checks.registry import BY_CODE
from idemctl.domain.circumstances import Unseen
from idemctl.domain.verdicts import Judgement, Verdict
from idemctl.domain.witness import Trace
from tests.checks.cases import LOSSES
from tests.checks.cases import told as told_by
from tests.checks.places import POSTGRES


@pytest.mark.parametrize("verdict", sorted(set(Verdict) - {Verdict.UNKNOWN}))
def test_a_code_fires_on_its_verdict_and_on_no_other(verdict: Verdict) -> None:
    judgement = told_by(verdict)
    fired = {}
    for check in CHECKS:
        assert check.look is not None
        told = check.look(judgement, POSTGRES)
        assert not isinstance(told, Unseen)
        if told is not None:
            fired[check.code] = told.evidence
    said = "two signs say so: the witness, and 150 of 200 records that are not there"
    assert fired == ({verdict.value: said} if verdict in LOSSES else {})


@pytest.mark.parametrize(
    ("trace", "why"),
    [
        (Trace.NONE, "there is no witness yet; idemctl store beat --apply makes one"),
        (Trace.REDIS_MISSING, "the witness is one sign, and stands alone"),
        (Trace.STRANGERS, "the witness in Redis belongs to another store"),
    ],
)
def test_one_sign_alone_is_no_finding(trace: Trace, why: str) -> None:
    judgement = Judgement(verdict=Verdict.UNKNOWN, trace=trace)
    for check in CHECKS:
        assert check.look is not None
        assert check.look(judgement, POSTGRES) == Unseen(why)


def test_a_store_that_can_have_no_witness_is_not_asked_for_one() -> None:
    assert not POSTGRES.has_witness
    assert not any(check.applies(POSTGRES) for check in CHECKS)
    assert {check.code for check in CHECKS} <= set(BY_CODE)

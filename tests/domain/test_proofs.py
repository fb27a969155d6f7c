"""Proofs: what makes a sample one, and for how long it counts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from idemctl.domain.fit import Fit
from idemctl.domain.proofs import GOOD_FOR, Claim, Proof, doubt
from idemctl.domain.records import Status

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
PROOF = Proof(
    claim=Claim(store="keys", engine="postgres", where="keys", digest="d"),
    place="postgres public.keys", at=NOW, records=7, holds=True,
)  # fmt: skip
SECOND = timedelta(seconds=1)


def sample(*, absurd: int = 0, **by_status: int) -> Fit:
    fit = Fit(now=NOW, seen=sum(by_status.values()), absurd={"expires_at": absurd})
    fit.by_status |= {Status[name.upper()]: number for name, number in by_status.items()}
    return fit


@pytest.mark.parametrize(
    ("fit", "known", "why"),
    [
        (sample(completed=1, in_progress=1), "completed in_progress", None),
        (sample(completed=1), "completed in_progress failed", None),
        (sample(in_progress=9), "completed in_progress", "no completed record was seen"),
        (sample(failed=9), "in_progress failed", "no completed record was seen"),
        (sample(failed=1, in_progress=1), "in_progress failed", None),
        (sample(unknown=1), "", None),
        (sample(), "completed", "no record was there to be read"),
        (sample(completed=9, malformed=1), "completed", "not all is read right"),
        (sample(completed=9, absurd=1), "completed", "not all is read right"),
    ],
)
def test_a_sample_is_a_proof_if_all_is_read_and_what_is_completed_was_seen(
    fit: Fit, known: str, why: str | None
) -> None:
    never = fit.never([Status[name.upper()] for name in known.split()])
    assert doubt(fit, never) == why


def test_a_proof_counts_for_ninety_days_and_not_before_it_was_made() -> None:
    assert PROOF.why_void(NOW) is None
    assert timedelta(days=90) == GOOD_FOR
    assert PROOF.why_void(NOW + GOOD_FOR) is None
    late = PROOF.why_void(NOW + GOOD_FOR + SECOND)
    assert late == "was tried on postgres public.keys on 2026-11-29, more than 90 days ago"


def test_a_proof_from_the_future_is_void() -> None:
    early = PROOF.why_void(NOW - SECOND)
    assert early is not None
    assert "has not come yet" in early


def test_a_failure_is_void_however_new() -> None:
    why = replace(PROOF, holds=False).why_void(NOW)
    assert why == "did not pass when it was tried on postgres public.keys on 2026-11-29"

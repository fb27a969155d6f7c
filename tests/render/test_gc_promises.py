"""What `--explain` says of each group of records."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from idemctl.domain.collection import Collection
from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.records import Pattern
from idemctl.domain.retention import Promise, Retention, Tally, Verdict
from idemctl.operations.gc import Collected, Options, Outcome
from idemctl.render.gc_promises import explanation
from tests.operations.tables import DAY, NOW, target

POLICIES = {b"POST /a": DAY, b"POST /b": timedelta(hours=1)}


@pytest.mark.parametrize(
    ("verdict", "promise", "by"),
    [
        (Verdict.EXPIRED, Promise.STORED_EXPIRY, "stored expiry"),
        (Verdict.LIVE, Promise.POLICY, "policy: POST /a 1d, POST /b 1h"),
        (Verdict.LIVE, Promise.STORE_TTL, "ttl of the store: 7d"),
        (Verdict.NEVER_EXPIRES, Promise.NONE, "none: never expires"),
        (Verdict.IN_PROGRESS, Promise.STORED_EXPIRY, "status, whatever was promised"),
        (
            Verdict.KEPT_BY_LAYOUT,
            Promise.STORED_EXPIRY,
            "never_collected of layout lago, whatever was promised",
        ),
    ],
)
def test_each_group_has_what_spoke_for_it(verdict: Verdict, promise: Promise, by: str) -> None:
    aim, _ = target()
    one = Collected(
        target=replace(aim, ttl=7 * DAY, layout="lago"),
        pattern=Pattern.POSTGRES_UNIQUE,
        place="postgres t",
        cutoff=NOW,
        collection=Collection(tallies=(Tally(verdict=verdict, promise=promise, count=1200),)),
        why_stopped=WhyStopped.DONE,
        retention=Retention(cutoff=NOW, has_stored_expiry=True, policy_ttls=POLICIES),
    )
    sheet = explanation(Outcome(options=Options(), targets=(one,)))
    assert sheet.rows == [("payments", "postgres t", "1,200", verdict.label, by)]

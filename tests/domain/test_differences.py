"""How twins differ, on batches made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.differences import SKEW, Difference, Terms, _precedes, compare
from idemctl.domain.instants import FOREVER, MISSING
from idemctl.domain.records import Status
from tests.domain.batches import at, batch

CLAIM = Status.IN_PROGRESS
MICROSECOND = 0.000_001
UNTIL = at(1000)
LATEST = SKEW.total_seconds() + 1000
TWIN = {
    "keys": b"k",
    "fingerprints": b"f",
    "fence": 5,
    "epoch": 1,
    "response_status": 201,
    "key_expires_at": UNTIL,
}
LEASED = {"status": CLAIM, "lease_until": at(60)}
PROMISED = {"expires_at": UNTIL}
UNVERSIONED = {"fence": MISSING, "epoch": MISSING}
EQUAL, STALE, DIVERGENT = Difference.EQUAL, Difference.STALE, Difference.DIVERGENT
LEAKED, TTL_DIFFERS = Difference.LEAKED, Difference.TTL_DIFFERS
MALFORMED = Difference.MALFORMED
TWINS: list[tuple[str, dict[str, Any], dict[str, Any], Difference]] = [
    ("the same", {}, {}, EQUAL),
    ("completed since", {}, {"status": CLAIM}, STALE),
    ("failed since", {"status": Status.FAILED}, {"status": CLAIM}, STALE),
    ("completed in Redis only", {"status": CLAIM}, {}, DIVERGENT),
    ("two ends", {}, {"status": Status.FAILED}, DIVERGENT),
    ("a newer fence", {"fence": 6}, {}, STALE),
    ("a newer fence at work", {"fence": 6, "status": CLAIM}, {}, STALE),
    ("a newer fence, all else too", {"fence": 6, "fingerprints": b"g", "response_status": 500},
     {}, STALE),
    ("a newer fence in Redis", {}, {"fence": 6}, DIVERGENT),
    ("a newer fence in Redis at work", {}, {"fence": 6, "status": CLAIM}, DIVERGENT),
    ("a newer epoch", {"epoch": 2, "fence": 1}, {"fence": 9}, STALE),
    ("a newer epoch, both at work", {"epoch": 2, "status": CLAIM}, {"status": CLAIM}, STALE),
    ("executed again", {"epoch": 2, "status": CLAIM}, {}, DIVERGENT),
    ("executed again after a failure", {"epoch": 2, "fence": 1, "status": CLAIM},
     {"fence": 9, "status": Status.FAILED}, DIVERGENT),
    ("executed again, presence only", {"epoch": 2, "status": CLAIM}, {"status": Status.UNKNOWN},
     STALE),
    ("a lease renewed", LEASED, LEASED | {"lease_until": at(57.9)}, STALE),
    ("a lease renewed, within the skew", LEASED, LEASED | {"lease_until": at(58)}, EQUAL),
    ("a lease renewed in Redis only", LEASED, LEASED | {"lease_until": at(62.1)}, DIVERGENT),
    ("a newer fence with a shorter lease", LEASED | {"fence": 6},
     LEASED | {"lease_until": at(90)}, STALE),
    ("no lease in Redis", LEASED, LEASED | {"lease_until": MISSING}, EQUAL),
    ("no lease in Postgres", LEASED | {"lease_until": MISSING}, LEASED, EQUAL),
    ("a lease left in one that ended", {"lease_until": at(60)}, {"lease_until": at(5)}, EQUAL),
    ("an older epoch", {"fence": 9}, {"epoch": 2, "fence": 1, "status": CLAIM}, DIVERGENT),
    ("no epoch in Redis", {"fence": 6}, {"epoch": MISSING}, STALE),
    ("no epoch in Postgres", {"epoch": MISSING}, {"fence": 6}, DIVERGENT),
    ("no fence in Redis", {}, {"fence": MISSING}, EQUAL),
    ("no fence, no order", {"epoch": 2}, {"fence": MISSING, "status": CLAIM}, DIVERGENT),
    ("no versions", UNVERSIONED, UNVERSIONED, EQUAL),
    ("no versions, another state", UNVERSIONED, UNVERSIONED | {"status": CLAIM}, DIVERGENT),
    ("another request", {}, {"fingerprints": b"g"}, DIVERGENT),
    ("another request, no versions", UNVERSIONED, UNVERSIONED | {"fingerprints": b"g"}, DIVERGENT),
    ("no fingerprint in Redis", {}, {"fingerprints": b""}, EQUAL),
    ("no fingerprint in Postgres", {"fingerprints": b""}, {}, EQUAL),
    ("another endpoint", {"endpoints": b"a"}, {"endpoints": b"b"}, DIVERGENT),
    ("another endpoint, older", {"endpoints": b"a", "fence": 6}, {"endpoints": b"b"}, STALE),
    ("no endpoint in Redis", {"endpoints": b"a"}, {}, EQUAL),
    ("another response", {}, {"response_status": 402}, DIVERGENT),
    ("no response in Redis", {}, {"response_status": MISSING}, EQUAL),
    ("no response in Postgres", {"response_status": MISSING}, {}, EQUAL),
    ("a flag", {}, UNVERSIONED | {"status": Status.UNKNOWN}, EQUAL),
    ("a flag for a failure", {"status": Status.FAILED}, {"status": Status.UNKNOWN}, EQUAL),
    ("a flag for work", {"status": CLAIM}, UNVERSIONED | {"status": Status.UNKNOWN}, EQUAL),
    ("a flag of another request", {}, {"status": Status.UNKNOWN, "fingerprints": b"g"}, DIVERGENT),
    ("a flag without TTL", {}, {"status": Status.UNKNOWN, "key_expires_at": MISSING}, LEAKED),
    ("no TTL", {}, {"key_expires_at": MISSING}, LEAKED),
    ("older, no TTL", {"fence": 6}, {"key_expires_at": MISSING}, STALE),
    ("another request, no TTL", {}, {"fingerprints": b"g", "key_expires_at": MISSING}, DIVERGENT),
    ("ends early", {}, {"key_expires_at": at(5)}, EQUAL),
    ("ends late, by the skew", {}, {"key_expires_at": at(LATEST)}, EQUAL),
    ("ends later", {}, {"key_expires_at": at(LATEST + MICROSECOND)}, TTL_DIFFERS),
    ("ends in no time", {}, {"key_expires_at": FOREVER}, TTL_DIFFERS),
    ("stores a later end", PROMISED, {"expires_at": at(LATEST + MICROSECOND)}, TTL_DIFFERS),
    ("stores a later end, by the skew", PROMISED, {"expires_at": at(LATEST)}, EQUAL),
    ("stores an end in no time", PROMISED, {"expires_at": FOREVER}, TTL_DIFFERS),
    ("stores an earlier end", PROMISED, {"expires_at": at(5)}, EQUAL),
    ("stores no end", PROMISED, {"expires_at": MISSING}, EQUAL),
    ("stores an end, none in Postgres", {}, {"expires_at": FOREVER}, EQUAL),
    ("stores a later end at work", PROMISED | {"status": CLAIM},
     {"status": CLAIM, "expires_at": FOREVER}, EQUAL),
    ("older, ends later", {"fence": 6}, {"key_expires_at": FOREVER}, STALE),
    ("malformed row", {"status": Status.MALFORMED, "fence": 6}, {}, MALFORMED),
    ("malformed twin", {}, {"status": Status.MALFORMED, "key_expires_at": MISSING}, MALFORMED),
    ("another key", {}, {"keys": b"j"}, DIVERGENT),
    ("another key, older", {"fence": 6}, {"keys": b"j"}, DIVERGENT),
    ("another scope", {"scopes": b"s"}, {"scopes": b"t"}, DIVERGENT),
    ("no scope in Postgres", {}, {"scopes": b"t"}, EQUAL),
]  # fmt: skip


def compared(ours: dict[str, Any], theirs: dict[str, Any], until: int = UNTIL) -> Difference:
    (found,) = compare(batch(ours), batch(theirs), np.array([until], np.int64), Terms())
    return Difference(found)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"), [row[1:] for row in TWINS], ids=[row[0] for row in TWINS]
)
def test_twins_differ_as_the_table_says(
    ours: dict[str, Any], theirs: dict[str, Any], expected: Difference
) -> None:
    assert compared(TWIN | ours, TWIN | theirs) is expected


def test_where_redis_owes_nothing_any_ttl_is_as_good_as_another_but_none_is_a_leak() -> None:
    assert compared(TWIN, TWIN | {"key_expires_at": at(10**6)}, MISSING) is EQUAL
    assert compared(TWIN, TWIN | {"key_expires_at": MISSING}, MISSING) is LEAKED


def test_what_redis_owes_no_more_must_not_outlive_its_promise() -> None:
    ours = TWIN | {"expires_at": at(-100)}
    assert compared(ours, TWIN | {"key_expires_at": at(-98)}, MISSING) is EQUAL
    assert compared(ours, TWIN | {"key_expires_at": at(-97)}, MISSING) is TTL_DIFFERS


@pytest.mark.parametrize(("ends", "expected"), [(60, EQUAL), (1002, EQUAL), (1003, TTL_DIFFERS)])
def test_a_claim_may_stay_as_long_as_its_result_would(ends: int, expected: Difference) -> None:
    """Many applications write both with one TTL."""
    ours = TWIN | LEASED | PROMISED
    assert compared(ours, ours | {"key_expires_at": at(ends)}, at(60)) is expected


def test_twins_are_compared_row_by_row() -> None:
    ours = batch(*(TWIN | row[1] for row in TWINS))
    theirs = batch(*(TWIN | row[2] for row in TWINS))
    found = compare(ours, theirs, np.full(len(TWINS), UNTIL, np.int64), Terms())
    assert [Difference(one) for one in found] == [row[3] for row in TWINS]
    assert set(found.tolist()) == set(Difference) - {Difference.MISSING, Difference.ORPHAN}


small = st.sampled_from([MISSING, 1, 2, 3])
twins = st.fixed_dictionaries(
    {
        "status": st.sampled_from(Status),
        "fence": small,
        "epoch": small,
        "fingerprints": st.sampled_from([b"", b"f", b"g"]),
        "response_status": st.sampled_from([MISSING, 200, 402]),
        "lease_until": st.sampled_from([MISSING, at(1), at(60), FOREVER]),
        "key_expires_at": st.integers(at(-86_400), at(86_400)),
    }
)


@given(twins)
def test_a_record_equals_itself_unless_nobody_can_read_it(twin: dict[str, Any]) -> None:
    expected = MALFORMED if twin["status"] == Status.MALFORMED else EQUAL
    assert compared(twin, twin, twin["key_expires_at"]) is expected


@given(twins, twins)
def test_no_record_is_both_older_and_newer_than_its_twin(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    older, newer = _precedes(batch(one), batch(other)), _precedes(batch(other), batch(one))
    assert not (older & newer).any()


@given(twins, twins)
def test_who_is_older_one_way_round_is_ahead_the_other(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    older = compared(one, other) is STALE
    assert not older or compared(other, one) is DIVERGENT


@given(twins, twins, st.permutations([b"f", b"g"]), st.sampled_from([MISSING, UNTIL]))
def test_twins_of_two_requests_are_never_equal(
    one: dict[str, Any], other: dict[str, Any], requests: list[bytes], until: int
) -> None:
    one["fingerprints"], other["fingerprints"] = requests
    assert compared(one, other, until) in {MALFORMED, DIVERGENT, STALE}


def test_labels_are_kebab_case_words() -> None:
    assert [one.label for one in Difference] == [
        "equal", "missing", "orphan", "stale", "divergent", "leaked", "ttl-differs", "malformed",
    ]  # fmt: skip

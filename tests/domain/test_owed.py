"""Until when Redis owes a record, on batches made by hand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.differences import MARGIN, Terms, expected_until
from idemctl.domain.instants import FOREVER, LONG_PAST, MISSING
from idemctl.domain.records import Status
from tests.domain.batches import NOW, at, batch

MICROSECOND = 0.000_001
SOON = MARGIN.total_seconds()
CLAIM = Status.IN_PROGRESS


@dataclass(frozen=True, kw_only=True)
class Owed:
    """One record, the terms it lives under, and until when Redis owes it, in seconds from now."""

    name: str
    row: dict[str, Any]
    until: float | None
    redis_ttl: float | None = None
    terms: dict[str, Any] = field(default_factory=dict)

    @property
    def all_terms(self) -> Terms:
        kept_for = None if self.redis_ttl is None else timedelta(seconds=self.redis_ttl)
        return Terms(redis_ttl=kept_for, **self.terms)


def result(**more: Any) -> dict[str, Any]:
    return {"counted_from": at(-200), "completed_at": at(-100), "expires_at": at(1000)} | more


def claim(lease: int, **more: Any) -> dict[str, Any]:
    row = {"status": CLAIM, "counted_from": at(-100), "expires_at": at(1000), "lease_until": lease}
    return row | more


def _owed(name: str, row: dict[str, Any], until: float | None, **more: Any) -> Owed:
    terms = {key: more.pop(key) for key in list(more) if key != "redis_ttl"}
    return Owed(name=name, row=row, until=until, terms=terms, **more)


HOUR = timedelta(hours=1)
COUNTED = {"has_stored_expiry": False}
RULED = COUNTED | {"ttl": HOUR, "policy_ttls": {b"POST /x": timedelta(minutes=10)}}
RESULTS = [
    _owed("to its expiry", result(), 1000),
    _owed("failed, to its expiry", result(status=Status.FAILED), 1000),
    _owed("presence, to its expiry", result(status=Status.UNKNOWN), 1000),
    _owed("malformed", result(status=Status.MALFORMED), None),
    _owed("redis's ttl is shorter", result(), 400, redis_ttl=500),
    _owed("redis's ttl is longer", result(), 1000, redis_ttl=5000),
    _owed("failed, redis's ttl", result(status=Status.FAILED), 400, redis_ttl=500),
    _owed("presence, redis's ttl", result(status=Status.UNKNOWN), 400, redis_ttl=500),
    _owed("written at its creation", result(completed_at=MISSING), 300, redis_ttl=500),
    _owed("a lease left in it", result(lease_until=at(5000)), 400, redis_ttl=500),
    _owed("older than redis's ttl", result(), None, redis_ttl=99),
    _owed("expired", result(expires_at=at(-1)), None, redis_ttl=500),
    _owed("long past", result(expires_at=LONG_PAST), None),
    _owed("written long ago", result(completed_at=LONG_PAST), None, redis_ttl=500),
    _owed("no expiry, redis's ttl", result(expires_at=MISSING), 400, redis_ttl=500),
    _owed("no expiry, no ttl", result(expires_at=MISSING), None),
    _owed("infinite, redis's ttl", result(expires_at=FOREVER), 400, redis_ttl=500),
    _owed("infinite, no ttl", result(expires_at=FOREVER), None),
    _owed("beyond what counts", result(expires_at=FOREVER - 1), None),
    _owed("unknown when written", {"expires_at": at(1000)}, 1000, redis_ttl=500),
    _owed("written in no time", result(completed_at=FOREVER), 1000, redis_ttl=500),
    _owed("nothing known", {}, None, redis_ttl=500),
    _owed("ends at the margin", result(expires_at=at(SOON)), None),
    _owed("ends after it", result(expires_at=at(SOON + MICROSECOND)), SOON + MICROSECOND),
    _owed("redis ends at the margin", result(), None, redis_ttl=100 + SOON),
    _owed("redis ends after it", result(), SOON + 1, redis_ttl=101 + SOON),
]
CLAIMS = [
    _owed("lease within the promise", claim(at(60)), 60),
    _owed("lease within redis's ttl", claim(at(60)), 60, redis_ttl=500),
    _owed("lease outlives redis's ttl", claim(at(60)), 60, redis_ttl=120),
    _owed("lease outlives both", claim(at(2000)), 2000, redis_ttl=120),
    _owed("lease outlives the expiry", claim(at(60), expires_at=at(-5)), 60, redis_ttl=500),
    _owed("older than redis's ttl, leased", claim(at(60)), 60, redis_ttl=10),
    _owed("lease over", claim(at(-1)), None, redis_ttl=500),
    _owed("lease ends at the margin", claim(at(SOON)), None),
    _owed("lease ends after it", claim(at(SOON + 1)), SOON + 1),
    _owed("no lease", claim(MISSING), None),
    _owed("infinite lease", claim(FOREVER), None, redis_ttl=500),
    _owed("lease beyond what counts", claim(FOREVER - 1), None, redis_ttl=500),
    _owed("no expiry, leased", claim(at(60), expires_at=MISSING), 60, redis_ttl=500),
    _owed("nothing else ends it", claim(at(60), expires_at=MISSING), 60),
]
WITHOUT_STORED_EXPIRY = [
    _owed("store's ttl", result(expires_at=MISSING), 3400, ttl=HOUR, **COUNTED),
    _owed("an expiry nobody reads", result(), 3400, ttl=HOUR, **COUNTED),
    _owed("policy before ttl", result(endpoints=b"POST /x"), 400, **RULED),
    _owed("no policy for it", result(endpoints=b"GET /x"), 3400, **RULED),
    _owed("redis's ttl before both", result(endpoints=b"POST /x"), 50, redis_ttl=150, **RULED),
    _owed("over by its policy", result(counted_from=at(-601), endpoints=b"POST /x"), None, **RULED),
    _owed("no promise, redis's ttl", result(), 400, redis_ttl=500, **COUNTED),
    _owed("no promise", result(), None, **COUNTED),
    _owed(
        "a stored expiry goes before the policy",
        result(endpoints=b"POST /x"),
        1000,
        policy_ttls={b"POST /x": timedelta(days=7)},
    ),
]


@pytest.mark.parametrize("case", RESULTS + CLAIMS + WITHOUT_STORED_EXPIRY, ids=lambda one: one.name)
def test_redis_owes_a_record_as_long_as_the_table_says(case: Owed) -> None:
    expected = MISSING if case.until is None else at(case.until)
    assert expected_until(batch(case.row), case.all_terms, NOW).tolist() == [expected]


near = st.integers(at(-10 * 86_400), at(10 * 86_400))
instants = st.sampled_from([MISSING, FOREVER, FOREVER - 1, LONG_PAST]) | near
rows = st.fixed_dictionaries(
    {
        "status": st.sampled_from(Status),
        "endpoints": st.sampled_from([b"", b"a"]),
        "counted_from": instants,
        "completed_at": instants,
        "expires_at": instants,
        "lease_until": instants,
    }
)
lengths = st.integers(1, 30 * 86_400).map(lambda seconds: timedelta(seconds=seconds))
all_terms = st.builds(
    Terms,
    redis_ttl=st.none() | lengths,
    has_stored_expiry=st.booleans(),
    ttl=st.none() | lengths,
    policy_ttls=st.dictionaries(st.just(b"a"), lengths),
)


@given(st.lists(rows), all_terms)
def test_a_result_is_never_owed_for_longer_than_its_stored_expiry(
    some: list[dict[str, Any]], terms: Terms
) -> None:
    until = expected_until(batch(*some), replace(terms, has_stored_expiry=True), NOW)
    for row, end in zip(some, until.tolist(), strict=True):
        if row["status"] != CLAIM and row["expires_at"] != MISSING:
            assert end <= row["expires_at"]


@given(st.lists(rows), all_terms, lengths, lengths)
def test_a_longer_redis_ttl_never_shortens_what_is_owed(
    some: list[dict[str, Any]], terms: Terms, one: timedelta, other: timedelta
) -> None:
    shorter, longer = sorted((one, other))
    less = expected_until(batch(*some), replace(terms, redis_ttl=shorter), NOW)
    assert (less <= expected_until(batch(*some), replace(terms, redis_ttl=longer), NOW)).all()


@given(st.lists(rows), all_terms)
def test_what_is_owed_ends_and_not_soon_and_no_lock_dies_early(
    some: list[dict[str, Any]], terms: Terms
) -> None:
    until = expected_until(batch(*some), terms, NOW)
    for row, end in zip(some, until.tolist(), strict=True):
        assert end == MISSING or at(SOON) < end < FOREVER
        if end != MISSING and row["status"] == CLAIM:
            assert end == row["lease_until"]


@given(st.lists(rows, min_size=1), all_terms)
def test_a_record_is_owed_whatever_lies_beside_it(some: list[dict[str, Any]], terms: Terms) -> None:
    together = expected_until(batch(*some), terms, NOW).tolist()
    assert together == [expected_until(batch(row), terms, NOW)[0] for row in some]

"""The one definition of expired, on batches made by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.batch import Batch
from idemctl.domain.instants import FOREVER, LONG_PAST, MISSING, to_micros
from idemctl.domain.policies import EndpointPolicy, Policies, Previously
from idemctl.domain.records import Status
from idemctl.domain.retention import Promise, Retention, Verdict, add_tallies, judge, tally
from tests.stores.cases import CASES, DAY, INFINITY, MINUS_INFINITY, YEAR_20000, At, Case

if TYPE_CHECKING:
    from collections.abc import Sequence

    from idemctl.domain.retention import Tally
    from tests.stores.cases import Moment

CUTOFF = datetime(2026, 3, 29, 1, 59, 59, 999_999, tzinfo=UTC)
WORDS = {"in_progress": Status.IN_PROGRESS, "completed": Status.COMPLETED, "failed": Status.FAILED}
FAR = {INFINITY: FOREVER, MINUS_INFINITY: LONG_PAST, YEAR_20000: 568_971_820_800_000_000}


def micros(moment: Moment) -> int:
    if isinstance(moment, At):
        return to_micros(CUTOFF + moment.offset) + moment.ticks
    return MISSING if moment is None else FAR[moment]


def batch_of(
    status: Sequence[int],
    counted_from: Sequence[int],
    expires_at: Sequence[int],
    endpoints: Sequence[bytes] | None = None,
) -> Batch:
    count = len(status)
    none = np.full(count, MISSING, np.int64)
    nothing = [b""] * count
    return Batch(
        keys=[b"%d" % number for number in range(count)],
        scopes=nothing,
        endpoints=nothing if endpoints is None else endpoints,
        fingerprints=nothing,
        status=np.array(status, np.uint8),
        counted_from=np.array(counted_from, np.int64),
        expires_at=np.array(expires_at, np.int64),
        key_expires_at=none,
        lease_until=none,
        due_at=none,
        fence=none,
        epoch=none,
        completed_at=none,
        response_status=none,
        flaw=np.zeros(count, np.uint8),
        never_collected=np.zeros(count, np.bool_),
        size=none,
    )


def judged(case: Case, layout: str) -> tuple[Verdict, Promise]:
    stored = layout in {"reference", "no-endpoint", "guarded"}
    sees_endpoint = layout in {"reference", "counted", "guarded"}
    status = int(WORDS.get(case.record.status, Status.MALFORMED))
    if layout == "presence":
        status = int(Status.UNKNOWN)
    if case.record.created is None and layout in {"workflow", "outbox"}:
        status = int(Status.IN_PROGRESS)
    batch = batch_of(
        [status],
        [micros(case.record.created)],
        [micros(case.record.expires) if stored else MISSING],
        [(case.record.endpoint or "").encode() if sees_endpoint else b""],
    )
    stays = layout == "business" or (layout == "guarded" and case.name.startswith("guarded"))
    batch = replace(batch, never_collected=np.array([stays]))
    verdicts, promises, _ = judge(
        batch,
        Retention(
            cutoff=CUTOFF,
            has_stored_expiry=stored,
            ttl=case.ttl,
            policy_ttls={one.encode(): ttl for one, ttl in case.policies.items()},
        ),
    )
    return Verdict(verdicts[0]), Promise(promises[0])


@pytest.mark.parametrize(
    ("layout", "case"),
    [(layout, case) for layout, cases in CASES.items() for case in cases],
    ids=lambda one: one.name if isinstance(one, Case) else one,
)
def test_a_record_is_judged_as_the_table_of_cases_says(layout: str, case: Case) -> None:
    assert judged(case, layout) == (case.verdict, case.promise)


def test_the_table_of_cases_reaches_every_verdict_and_promise() -> None:
    cases = [case for cases in CASES.values() for case in cases]
    # What refers to a record is no part of it: no pure judgement sees that.
    assert {case.verdict for case in cases} == set(Verdict) - {Verdict.REFERRED_TO}
    assert {case.promise for case in cases} == set(Promise)


columns = st.lists(
    st.tuples(
        st.sampled_from(Status),
        st.sampled_from([MISSING, FOREVER, LONG_PAST, FOREVER - 1])
        | st.integers(-(10**17), 10**17),
        st.sampled_from([MISSING, FOREVER, LONG_PAST, FOREVER - 1])
        | st.integers(-(10**17), 10**17),
        st.sampled_from([b"", b"a", b"b"]),
    ),
    max_size=12,
)
promises = st.builds(
    Retention,
    cutoff=st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 (hypothesis adds the zone)
    has_stored_expiry=st.booleans(),
    ttl=st.none() | st.integers(1, 36_500).map(lambda days: days * DAY),
    policy_ttls=st.dictionaries(
        st.sampled_from([b"a", b"c"]), st.integers(1, 36_500).map(lambda days: days * DAY)
    ),
)


def oracle(
    status: int, counted: int, stored: int, endpoint: bytes, retention: Retention
) -> Verdict:
    """Say the rule once more, in plain integers that cannot overflow."""

    def after(ttl: timedelta | None) -> int | None:
        if ttl is None or counted == MISSING:
            return None
        return min(FOREVER, counted + ttl // timedelta(microseconds=1))

    policy = after(retention.policy_ttls.get(endpoint))
    if retention.has_stored_expiry:
        end = None if stored == MISSING else max(stored, stored if policy is None else policy)
    else:
        end = policy if policy is not None else after(retention.ttl)
    over = end is not None and end != FOREVER and end < to_micros(retention.cutoff)
    if status == Status.MALFORMED:
        return Verdict.MALFORMED
    if status == Status.IN_PROGRESS:
        return Verdict.IN_PROGRESS_PAST_EXPIRY if over else Verdict.IN_PROGRESS
    if end is None or end == FOREVER:
        return Verdict.NEVER_EXPIRES
    if not over:
        return Verdict.LIVE
    return Verdict.PRESENCE_ONLY if status == Status.UNKNOWN else Verdict.EXPIRED


@given(columns, promises)
def test_judgement_agrees_with_the_rule_said_in_plain_numbers(
    rows: list[tuple[Status, int, int, bytes]], retention: Retention
) -> None:
    status, counted, stored, endpoints = zip(*rows, strict=True) if rows else ((), (), (), ())
    verdicts, _, _ = judge(batch_of(status, counted, stored, endpoints), retention)
    assert [Verdict(one) for one in verdicts] == [oracle(*row, retention) for row in rows]


@given(columns, promises, st.integers(0, 12))
def test_tallies_of_parts_add_up_to_those_of_the_whole(
    rows: list[tuple[Status, int, int, bytes]], retention: Retention, at: int
) -> None:
    def tallied(part: list[tuple[Status, int, int, bytes]]) -> list[Tally]:
        columns = zip(*part, strict=True) if part else ((), (), (), ())
        return list(tally(batch_of(*columns), retention))

    whole = add_tallies(iter(tallied(rows)))
    assert add_tallies(iter([*tallied(rows[:at]), *tallied(rows[at:])])) == whole
    assert sum(one.count for one in whole) == len(rows)


@given(promises, st.sampled_from([Status.IN_PROGRESS, Status.UNKNOWN, Status.MALFORMED]))
def test_only_what_is_known_to_be_finished_can_expire(retention: Retention, status: Status) -> None:
    verdicts, _, _ = judge(batch_of([status], [LONG_PAST], [LONG_PAST], [b"a"]), retention)
    assert verdicts[0] != Verdict.EXPIRED


@given(promises)
def test_a_policy_never_shortens_a_stored_expiry(retention: Retention) -> None:
    end = to_micros(retention.cutoff)
    stored = Retention(
        cutoff=retention.cutoff, has_stored_expiry=True, policy_ttls=retention.policy_ttls
    )
    verdicts, _, ends = judge(batch_of([Status.COMPLETED], [LONG_PAST], [end], [b"a"]), stored)
    assert verdicts[0] == Verdict.LIVE
    assert ends[0] == end


def test_a_day_is_86400_seconds_over_a_change_to_summer_time() -> None:
    # Europe changes at 01:00 UTC on this day; nothing here may know.
    cutoff = datetime(2026, 3, 29, 12, tzinfo=UTC)
    created = to_micros(cutoff) - 86_400_000_000
    promise = Retention(cutoff=cutoff, has_stored_expiry=False, ttl=DAY)
    verdicts, _, _ = judge(
        batch_of([Status.COMPLETED] * 2, [created, created - 1], [MISSING] * 2), promise
    )
    assert verdicts.tolist() == [Verdict.LIVE, Verdict.EXPIRED]


def test_a_shortened_ttl_is_owed_at_its_old_length_until_its_day() -> None:
    until = datetime(2026, 12, 6, tzinfo=UTC)
    policy = EndpointPolicy(
        endpoint="POST /x", ttl=DAY, previously=Previously(ttl=7 * DAY, until=until)
    )
    policies = Policies(endpoints={"POST /x": policy})
    moment = timedelta(microseconds=1)
    assert policies.ttls_owed(until - moment) == {b"POST /x": 7 * DAY}
    assert policies.ttls_owed(until) == {b"POST /x": DAY}


def test_a_lengthened_ttl_is_owed_at_once() -> None:
    until = datetime(2026, 12, 6, tzinfo=UTC)
    policy = EndpointPolicy(
        endpoint="POST /x", ttl=7 * DAY, previously=Previously(ttl=DAY, until=until)
    )
    assert policy.ttl_owed(until - DAY) == 7 * DAY


def test_nothing_to_judge_is_no_error() -> None:
    promise = Retention(cutoff=CUTOFF, has_stored_expiry=True)
    assert list(tally(batch_of([], [], []), promise)) == []
    assert add_tallies(iter(())) == []


@pytest.mark.parametrize("verdict", Verdict)
def test_labels_are_kebab_case_words(verdict: Verdict) -> None:
    assert verdict.label == verdict.name.lower().replace("_", "-")


def test_where_the_store_removes_keys_itself_a_record_ends_with_its_key_and_with_nothing_else() -> (
    None
):
    hour = 3_600_000_000
    cutoff = to_micros(CUTOFF)
    batch = batch_of([Status.COMPLETED] * 2, [cutoff - hour] * 2, [cutoff - hour] * 2)
    batch.key_expires_at[:] = [cutoff + hour, MISSING]
    retention = Retention(cutoff=CUTOFF, has_stored_expiry=True)
    verdicts, _, _ = judge(batch, retention)
    assert verdicts.tolist() == [Verdict.EXPIRED, Verdict.EXPIRED]
    verdicts, promises, ends = judge(batch, replace(retention, ends_with_key=True))
    assert verdicts.tolist() == [Verdict.LIVE, Verdict.NEVER_EXPIRES]
    assert promises.tolist() == [Promise.STORED_EXPIRY, Promise.NONE]
    assert ends.tolist() == [cutoff + hour, MISSING]

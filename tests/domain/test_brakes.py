"""Brakes: each fires, and just does not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.domain.brakes import (
    FEW,
    MANY,
    Brake,
    Decision,
    Promises,
    Ruling,
    cap_of,
    judge_jump,
    judge_pause,
    judge_promises,
    judge_skew,
    judge_volume,
)
from idemctl.domain.past_runs import PastRun, past_runs, promises_told
from idemctl.domain.policies import EndpointPolicy, Policies, Previously
from idemctl.domain.retention import Retention
from idemctl.domain.skew import Skew

if TYPE_CHECKING:
    from collections.abc import Sequence

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SECOND, MICROSECOND = timedelta(seconds=1), timedelta(microseconds=1)
CHARGES = "POST /v1/charges"


def runs(*deleted: int, every: timedelta = HOUR, **more: Any) -> list[PastRun]:
    """Make runs that ended one interval ago."""
    count = len(deleted)
    return [
        PastRun(cutoff=NOW - (count - at) * every, deleted=one, **more)
        for at, one in enumerate(deleted)
    ]


@pytest.mark.parametrize(
    ("row_count", "past", "cap", "says"),
    [
        # Without a history: a share and a count.
        (None, None, MANY, "1,000,000 records at once"),
        (100_000_000, None, MANY, "1,000,000 records at once"),
        (100_000, None, 50_000, "half of the table"),
        # Of a small table all may go.
        (5_000, None, FEW, "half of the table"),
        (0, [], FEW, "half of the table"),
        # Four runs make no habit, five do.
        (100_000, runs(*[2_000] * 4), 50_000, "half of the table"),
        (100_000, runs(*[2_000] * 5), 20_000, "10 times the usual 2,000 a run"),
        (100_000, runs(2_000, 0, 0, 0, 2_000), FEW, "10 times the usual 0 a run"),
        # What is usual is no reason to stop.
        (None, runs(*[500_000] * 5), 5_000_000, "5,000,000 records at once"),
        (100_000, runs(*[90_000] * 5), 180_000, "half of the table"),
        # One outlier makes no habit either.
        (1_000_000, runs(1_000, 1_000, 1_000, 1_000, 900_000), FEW, "10 times the usual 1,000"),
    ],
)
def test_the_cap_is_the_least_of_share_count_and_habit(
    row_count: int | None, past: Sequence[PastRun] | None, cap: int, says: str
) -> None:
    made = cap_of(row_count, past)
    assert made.count == cap
    assert says in made.says


HABIT = runs(*[2_000] * 5)


@pytest.mark.parametrize(
    ("count", "past", "limit", "ruling"),
    [
        (20_001, HABIT, None, Ruling.REFUSES),
        (20_000, HABIT, None, Ruling.PASSES),
        (20_001, HABIT, 100, Ruling.PASSES),
        (None, HABIT, None, Ruling.CANNOT_JUDGE),
        (50_001, None, None, Ruling.REFUSES),
        (50_000, None, None, Ruling.CANNOT_JUDGE),
        (50_000, HABIT[:4], None, Ruling.CANNOT_JUDGE),
    ],
)
def test_too_much_is_refused_unless_a_limit_bounds_it(
    count: int | None, past: Sequence[PastRun] | None, limit: int | None, ruling: Ruling
) -> None:
    cap = cap_of(100_000, past)
    made = judge_volume(count, cap, past, limit=limit)
    assert made.ruling is ruling
    if ruling is Ruling.REFUSES:
        assert (made.seen, made.most) == (count, cap.count)
        assert made.says == (f"more than {cap.count:,} records have expired: more than {cap.says}")


def promised(
    *, stored: bool = True, ttl: timedelta | None = None, **policies: EndpointPolicy
) -> Promises:
    held = Policies(endpoints={one.endpoint: one for one in policies.values()})
    retention = Retention(
        cutoff=NOW, has_stored_expiry=stored, ttl=ttl, policy_ttls=held.ttls_owed(NOW)
    )
    return Promises.of(retention, held)


def charges(ttl: timedelta, previously: Previously | None = None) -> EndpointPolicy:
    return EndpointPolicy(endpoint=CHARGES, ttl=ttl, previously=previously)


@pytest.mark.parametrize(
    ("now", "before", "says"),
    [
        # A policy.
        (promised(a=charges(7 * DAY)), {"policy_ttls": {CHARGES: 7 * DAY}}, None),
        (promised(a=charges(8 * DAY)), {"policy_ttls": {CHARGES: 7 * DAY}}, None),
        (
            promised(a=charges(DAY)),
            {"policy_ttls": {CHARGES: 7 * DAY}},
            f"policy {CHARGES} 1d instead of 7d",
        ),
        # One that was announced, as long as it is owed and after.
        (
            promised(a=charges(DAY, Previously(ttl=7 * DAY, until=NOW + DAY))),
            {"policy_ttls": {CHARGES: 7 * DAY}},
            None,
        ),
        (
            promised(a=charges(DAY, Previously(ttl=7 * DAY, until=NOW))),
            {"policy_ttls": {CHARGES: 7 * DAY}},
            None,
        ),
        # One that was announced, but for less than was honoured.
        (
            promised(a=charges(DAY, Previously(ttl=6 * DAY, until=NOW))),
            {"policy_ttls": {CHARGES: 7 * DAY}},
            f"policy {CHARGES} 1d instead of 7d",
        ),
        # One that went: then the stored expiry speaks, or the store's ttl, or nothing ends.
        (
            promised(),
            {"policy_ttls": {CHARGES: 7 * DAY}},
            f"policy {CHARGES} none instead of 7d",
        ),
        (
            promised(stored=False, ttl=DAY),
            {"policy_ttls": {CHARGES: 7 * DAY}, "ttl": DAY},
            f"policy {CHARGES} 1d instead of 7d",
        ),
        (promised(stored=False), {"policy_ttls": {CHARGES: 7 * DAY}}, None),
        # The store's ttl, where it speaks.
        (promised(stored=False, ttl=DAY), {"policy_ttls": {}, "ttl": DAY}, None),
        (
            promised(stored=False, ttl=DAY),
            {"policy_ttls": {}, "ttl": 7 * DAY},
            "ttl 1d instead of 7d",
        ),
        (
            promised(stored=False, ttl=DAY),
            {"policy_ttls": {}, "ttl": None},
            "ttl 1d instead of none, which is for ever",
        ),
        (promised(stored=True, ttl=DAY), {"policy_ttls": {}, "ttl": 7 * DAY}, None),
    ],
)
def test_a_shorter_promise_is_refused_unless_it_was_announced(
    now: Promises, before: dict[str, Any], says: str | None
) -> None:
    made = judge_promises(now, runs(1, **before))
    if says is None:
        assert made.ruling is Ruling.PASSES
    else:
        assert (made.ruling, made.says) == (Ruling.REFUSES, f"the last run honoured more: {says}")


@pytest.mark.parametrize("past", [None, [], runs(1)])
def test_without_a_run_that_told_promises_and_clock_cannot_be_judged(
    past: Sequence[PastRun] | None,
) -> None:
    for made in (judge_promises(promised(), past), judge_jump(SECOND, past)):
        assert (made.ruling, made.lacks_history) == (Ruling.CANNOT_JUDGE, True)


@pytest.mark.parametrize("sign", [1, -1])
def test_clocks_that_are_apart_are_refused(sign: int) -> None:
    def skew(size: timedelta) -> Skew:
        ends = (sign * size, sign * (size + SECOND))
        return Skew(min(ends), max(ends))

    assert judge_skew(skew(2 * SECOND)).ruling is Ruling.PASSES
    made = judge_skew(skew(3 * SECOND))
    assert (made.ruling, made.seen, made.most) == (Ruling.REFUSES, 3, 2)
    assert made.says == "the clocks of Postgres and Redis are 3.0 s apart"


def test_a_clock_that_nobody_could_read_says_why() -> None:
    made = judge_skew("redis idem:*: gone")
    assert (made.ruling, made.says) == (Ruling.CANNOT_JUDGE, "redis idem:*: gone")
    assert not made.lacks_history


@pytest.mark.parametrize(("sign", "way"), [(1, "forward"), (-1, "back")])
def test_a_clock_that_jumped_is_refused(sign: int, way: str) -> None:
    past = runs(1, clock_ahead=HOUR)
    assert judge_jump(HOUR + sign * 300 * SECOND, past).ruling is Ruling.PASSES
    made = judge_jump(HOUR + sign * 301 * SECOND, past)
    assert made.ruling is Ruling.REFUSES
    assert made.says == (
        f"since the last run the database's clock went 301 s {way} against this host's"
    )


@pytest.mark.parametrize(
    ("past", "pause", "ruling"),
    [
        # Every five minutes: six hours are long.
        (runs(*[0] * 300, every=300 * SECOND), 6 * HOUR, Ruling.PASSES),
        (runs(*[0] * 300, every=300 * SECOND), 6 * HOUR + SECOND, Ruling.REFUSES),
        # Every day: twelve days are.
        (runs(*[0] * 5, every=DAY), 12 * DAY, Ruling.PASSES),
        (runs(*[0] * 5, every=DAY), 12 * DAY + SECOND, Ruling.REFUSES),
        # Few runs, or many on one day, make no habit.
        (runs(*[0] * 4, every=DAY), 90 * DAY, Ruling.CANNOT_JUDGE),
        (runs(*[0] * 24, every=HOUR), 90 * DAY, Ruling.CANNOT_JUDGE),
        (None, 90 * DAY, Ruling.CANNOT_JUDGE),
    ],
)
def test_a_pause_much_longer_than_usual_is_refused(
    past: Sequence[PastRun] | None, pause: timedelta, ruling: Ruling
) -> None:
    last = past[-1].cutoff if past else NOW
    assert judge_pause(last + pause, past).ruling is ruling


def test_a_pause_is_told_with_what_is_usual() -> None:
    made = judge_pause(NOW + 2 * DAY, runs(*[0] * 30, every=HOUR))
    assert made.says == (
        "the last gc ran 2d1h ago, usually one runs every 1h; clients that could not retry "
        "meanwhile still rely on keys that expired"
    )
    assert (made.seen, made.most) == (49 * 3600, 12 * 3600)


def test_one_word_overrides_one_brake() -> None:
    made = Decision(brake=Brake.OUTAGE, ruling=Ruling.REFUSES, says="x")
    assert made.flag == "--despite outage"
    assert made.despite([Brake.OUTAGE]).ruling is Ruling.OVERRIDDEN
    assert made.despite([Brake.VOLUME, Brake.SKEW]) is made
    blind = Decision(brake=Brake.OUTAGE, ruling=Ruling.CANNOT_JUDGE, says="x")
    assert blind.despite([Brake.OUTAGE]) is blind


def test_a_history_tells_of_one_table_what_runs_did_there() -> None:
    honoured = promised(stored=False, ttl=DAY, a=charges(7 * DAY)).retention
    told = {
        "store": "payments",
        "place": "postgres t",
        "cutoff": "2026-11-29T12:00:00Z",
        "deleted": 3,
        "why_stopped": "done",
        "clock_ahead_s": -0.5,
        "promises": promises_told(honoured),
    }
    entries: list[dict[str, Any]] = [
        {"summary": {"stores": [told, told | {"store": "other"}, told | {"place": "redis x"}]}},
        # What a brake kept from running is no run.
        {"summary": {"stores": [told | {"why_stopped": "braked"}]}},
        {"summary": {"stores": [told | {"cutoff": None}]}},
        {},
        # One of an older idemctl.
        {"summary": {"stores": [{name: told[name] for name in list(told)[:5]}]}},
    ]
    first, second = past_runs(entries, "payments", "postgres t")
    assert first == PastRun(
        cutoff=NOW,
        deleted=3,
        clock_ahead=timedelta(seconds=-0.5),
        ttl=DAY,
        policy_ttls={CHARGES: 7 * DAY},
    )
    assert second == PastRun(cutoff=NOW, deleted=3)

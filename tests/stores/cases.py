"""The table of cases: a record under some promises, and what must become of it.

Pure judgement, the memory adapter and Postgres's SQL are all driven by this one table.
Instants are relative to the cutoff.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from idemctl.domain.retention import Promise, Verdict

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class At:
    """An instant: so far from the cutoff, and so many of the store's smallest steps."""

    offset: timedelta = timedelta(0)
    ticks: int = 0


INFINITY, MINUS_INFINITY, YEAR_20000 = "infinity", "-infinity", "20000-01-01 00:00:00+00"
Moment = At | str | None
CUTOFF = At()
JUST_BEFORE = At(ticks=-1)
JUST_AFTER = At(ticks=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """One record, in words that every layout translates into its own."""

    key: str = "key"
    status: str = "completed"
    created: Moment = At(-2 * DAY)
    """The instant from which a retention counts."""
    expires: Moment = At(-DAY)
    endpoint: str | None = "POST /charges"
    scope: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A record, its promises, and the answer."""

    name: str
    record: Planted
    verdict: Verdict
    promise: Promise
    ttl: timedelta | None = None
    policies: dict[str, timedelta] = field(default_factory=dict)


def _case(
    name: str,
    verdict: Verdict,
    promise: Promise,
    *,
    ttl: timedelta | None = None,
    policies: dict[str, timedelta] | None = None,
    **record: Moment,
) -> Case:
    planted = Planted(key=name, **record)  # type: ignore[arg-type]  # Checked by Planted.
    return Case(
        name=name,
        record=planted,
        verdict=verdict,
        promise=promise,
        ttl=ttl,
        policies=policies or {},
    )


EXPIRED, LIVE, MALFORMED = Verdict.EXPIRED, Verdict.LIVE, Verdict.MALFORMED
WORKING, STUCK = Verdict.IN_PROGRESS, Verdict.IN_PROGRESS_PAST_EXPIRY
NEVER, PRESENT = Verdict.NEVER_EXPIRES, Verdict.PRESENCE_ONLY
NONE, STORED = Promise.NONE, Promise.STORED_EXPIRY
POLICY, TTL = Promise.POLICY, Promise.STORE_TTL
CHARGES = "POST /charges"
WEEK = {CHARGES: 7 * DAY}

# A layout with a stored expiry: `reference`.
STORED_EXPIRY = [
    _case("completed-past", EXPIRED, STORED),
    _case("failed-past", EXPIRED, STORED, status="failed"),
    _case("completed-ahead", LIVE, STORED, expires=At(HOUR)),
    _case("failed-ahead", LIVE, STORED, status="failed", expires=At(HOUR)),
    _case("at-the-cutoff", LIVE, STORED, expires=CUTOFF),
    _case("a-tick-before", EXPIRED, STORED, expires=JUST_BEFORE),
    _case("a-tick-after", LIVE, STORED, expires=JUST_AFTER),
    _case("working", WORKING, STORED, status="in_progress", expires=At(HOUR)),
    _case("stuck", STUCK, STORED, status="in_progress"),
    _case("working-at-the-cutoff", WORKING, STORED, status="in_progress", expires=CUTOFF),
    _case("stuck-by-a-tick", STUCK, STORED, status="in_progress", expires=JUST_BEFORE),
    _case("working-forever", WORKING, STORED, status="in_progress", expires=INFINITY),
    _case("working-without-expiry", WORKING, NONE, status="in_progress", expires=None),
    _case("stuck-since-ever", STUCK, STORED, status="in_progress", expires=MINUS_INFINITY),
    _case("odd-status", MALFORMED, STORED, status="Completed"),
    _case("odd-status-ahead", MALFORMED, STORED, status="done", expires=At(HOUR)),
    _case("empty-status", MALFORMED, STORED, status=""),
    _case("odd-without-expiry", MALFORMED, NONE, status="in progress", expires=None),
    _case("no-expiry", NEVER, NONE, expires=None),
    _case("infinite", NEVER, STORED, expires=INFINITY),
    _case("minus-infinite", EXPIRED, STORED, expires=MINUS_INFINITY),
    _case("year-20000", LIVE, STORED, expires=YEAR_20000),
    # The store's ttl speaks only where the layout has no expiry at all.
    _case("no-expiry-but-ttl", NEVER, NONE, expires=None, ttl=HOUR),
    _case("ahead-whatever-ttl", LIVE, STORED, expires=At(HOUR), ttl=HOUR),
    _case("past-whatever-ttl", EXPIRED, STORED, ttl=30 * DAY),
    # A policy keeps longer, never shorter.
    _case("policy-longer", LIVE, POLICY, policies=WEEK),
    _case("policy-longer-stuck", WORKING, POLICY, policies=WEEK, status="in_progress"),
    _case("policy-longer-over", EXPIRED, POLICY, created=At(-7 * DAY - HOUR), policies=WEEK),
    _case("policy-at-the-cutoff", LIVE, POLICY, created=At(-7 * DAY), policies=WEEK),
    _case("policy-a-tick-before", EXPIRED, POLICY, created=At(-7 * DAY, -1), policies=WEEK),
    _case("policy-shorter", LIVE, STORED, expires=At(HOUR), policies={CHARGES: HOUR}),
    _case("policy-shorter-past", EXPIRED, STORED, policies={CHARGES: HOUR}),
    _case("policy-equal", EXPIRED, STORED, policies={CHARGES: DAY}),
    _case("policy-of-another", EXPIRED, STORED, policies={"POST /refunds": 7 * DAY}),
    _case("policy-no-endpoint", EXPIRED, STORED, endpoint=None, policies=WEEK),
    _case("policy-no-creation", EXPIRED, STORED, created=None, policies=WEEK),
    _case("policy-no-expiry", NEVER, NONE, expires=None, policies={CHARGES: HOUR}),
    _case("policy-infinite", NEVER, STORED, expires=INFINITY, policies={CHARGES: HOUR}),
    _case("policy-created-infinite", NEVER, POLICY, created=INFINITY, policies=WEEK),
    _case("policy-minus-infinite", LIVE, POLICY, expires=MINUS_INFINITY, policies=WEEK),
    _case("policy-percent", LIVE, POLICY, endpoint="GET /50%", policies={"GET /50%": 7 * DAY}),
    _case("policy-quote", LIVE, POLICY, endpoint="P 'x\\{}", policies={"P 'x\\{}": 7 * DAY}),
    _case("policy-other-case", EXPIRED, STORED, endpoint="post /charges", policies=WEEK),
]

# The same table read through a layout that does not know its endpoint.
WITHOUT_ENDPOINT = [
    _case("blind-past", EXPIRED, STORED, policies=WEEK),
    _case("blind-ahead", LIVE, STORED, expires=At(HOUR), policies={CHARGES: HOUR}),
]

# A layout without an expiry: `bare`, and what is completed in `workflow` and `outbox`.
COUNTED = [
    _case("within-ttl", LIVE, TTL, created=At(-HOUR), ttl=DAY),
    _case("past-ttl", EXPIRED, TTL, ttl=DAY),
    _case("ttl-at-the-cutoff", LIVE, TTL, created=At(-DAY), ttl=DAY),
    _case("ttl-a-tick-before", EXPIRED, TTL, created=At(-DAY, -1), ttl=DAY),
    _case("ttl-a-tick-after", LIVE, TTL, created=At(-DAY, 1), ttl=DAY),
    _case("created-ahead", LIVE, TTL, created=At(HOUR), ttl=DAY),
    _case("created-infinite", NEVER, TTL, created=INFINITY, ttl=DAY),
    _case("created-minus-infinite", EXPIRED, TTL, created=MINUS_INFINITY, ttl=DAY),
    _case("created-20000", LIVE, TTL, created=YEAR_20000, ttl=DAY),
    _case("no-ttl-at-all", NEVER, NONE, created=At(-1000 * DAY)),
    _case("ttl-of-seconds", EXPIRED, TTL, created=At(timedelta(seconds=-2)), ttl=HOUR / 3600),
    _case("counted-no-endpoint", EXPIRED, TTL, policies=WEEK, ttl=DAY),
    _case("counted-policy-alone", NEVER, NONE, policies=WEEK),
]

# A layout without an expiry whose policy speaks: status, endpoint and creation are known.
COUNTED_WITH_POLICY = [
    _case("policy-before-ttl", LIVE, POLICY, policies=WEEK, ttl=HOUR),
    # Where no expiry was stored, the policy is the promise, also when the store's is longer.
    _case("policy-under-ttl", EXPIRED, POLICY, policies={CHARGES: HOUR}, ttl=30 * DAY),
    _case("policy-counted-cutoff", LIVE, POLICY, created=At(-7 * DAY), policies=WEEK),
    _case("policy-counted-tick", EXPIRED, POLICY, created=At(-7 * DAY, -1), policies=WEEK),
    _case("no-policy-for-it", EXPIRED, TTL, endpoint="GET /x", policies=WEEK, ttl=DAY),
    _case("no-policy-no-ttl", NEVER, NONE, endpoint="GET /x", policies=WEEK),
    _case("null-endpoint", EXPIRED, TTL, endpoint=None, policies=WEEK, ttl=DAY),
    _case("counted-stuck", STUCK, TTL, status="in_progress", ttl=DAY),
    _case("counted-working", WORKING, TTL, status="in_progress", created=At(-HOUR), ttl=DAY),
    _case("counted-working-no-ttl", WORKING, NONE, status="in_progress"),
    _case("counted-odd", MALFORMED, TTL, status="odd", ttl=DAY),
    _case("no-creation", NEVER, NONE, created=None, ttl=DAY, policies=WEEK),
]

# Only presence is known: never collected.
PRESENCE = [
    _case("present", LIVE, TTL, created=At(-HOUR), ttl=DAY),
    _case("present-past", PRESENT, TTL, ttl=DAY),
    _case("present-tick", PRESENT, TTL, created=At(-DAY, -1), ttl=DAY),
    _case("present-no-ttl", NEVER, NONE),
]

# Layouts in which a record in progress has no instant to count from.
UNFINISHED = [
    _case("unfinished", WORKING, NONE, status="in_progress", created=None, ttl=DAY),
    _case("unfinished-no-ttl", WORKING, NONE, status="in_progress", created=None),
]
WORKFLOW_ONLY = [
    _case("run-failed", EXPIRED, TTL, status="failed", ttl=DAY),
    _case("run-odd", MALFORMED, TTL, status="paused", ttl=DAY),
    _case("run-finished-but-running", MALFORMED, TTL, status="running", ttl=DAY),
    _case("run-unfinished-odd", WORKING, NONE, status="odd", created=None, ttl=DAY),
]

# Layouts that say what stays: `guarded`, by its endpoint, and `business`, all of it.
KEPT = Verdict.KEPT_BY_LAYOUT
LEDGER = "POST /ledger"
GUARDED = [
    _case("guarded-past", KEPT, STORED, endpoint=LEDGER),
    _case("guarded-failed", KEPT, STORED, status="failed", endpoint=LEDGER),
    _case("guarded-ahead", KEPT, STORED, expires=At(HOUR), endpoint=LEDGER),
    _case("guarded-endless", KEPT, NONE, expires=None, endpoint=LEDGER),
    _case("guarded-infinite", KEPT, STORED, expires=INFINITY, endpoint=LEDGER),
    _case("guarded-since-ever", KEPT, STORED, expires=MINUS_INFINITY, endpoint=LEDGER),
    _case("guarded-policy", KEPT, POLICY, endpoint=LEDGER, policies={LEDGER: 7 * DAY}),
    # Who is at work, and what is malformed, comes first.
    _case("guarded-stuck", STUCK, STORED, status="in_progress", endpoint=LEDGER),
    _case(
        "guarded-working", WORKING, STORED, status="in_progress", expires=At(HOUR), endpoint=LEDGER
    ),
    _case("guarded-odd", MALFORMED, STORED, status="odd", endpoint=LEDGER),
    # A comparison with a missing value is false, and guards nothing.
    _case("unguarded-null", EXPIRED, STORED, endpoint=None),
    _case("unguarded-other", EXPIRED, STORED),
    _case("unguarded-ahead", LIVE, STORED, expires=At(HOUR)),
]
BUSINESS = [
    _case("business-past", KEPT, TTL, ttl=DAY),
    _case("business-within", KEPT, TTL, created=At(-HOUR), ttl=DAY),
    _case("business-no-ttl", KEPT, NONE),
    _case("business-created-infinite", KEPT, TTL, created=INFINITY, ttl=DAY),
]

CASES = {
    "reference": STORED_EXPIRY,
    "no-endpoint": WITHOUT_ENDPOINT,
    "bare": COUNTED,
    "workflow": COUNTED + UNFINISHED + WORKFLOW_ONLY,
    "outbox": COUNTED + UNFINISHED,
    "counted": COUNTED_WITH_POLICY,
    "presence": PRESENCE,
    "guarded": GUARDED,
    "business": BUSINESS,
}

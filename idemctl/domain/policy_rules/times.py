"""Rules about how one endpoint's durations stand to each other."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.durations import format_duration
from idemctl.domain.findings import Severity
from idemctl.domain.policy_rules.rule import Rule, Said
from idemctl.domain.records import Pattern

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from idemctl.domain.policies import EndpointPolicy

SHORTEST_TTL = timedelta(minutes=1)
"""A client that waits out one ordinary timeout of 30 seconds and tries again comes later
than anything shorter: such a ttl recognises no retry."""
USUAL_TTLS = (timedelta(hours=24), timedelta(days=7))
"""What suits nearly every endpoint: a day of a client's retries, a week of its queue's."""
LONGEST_TTL = timedelta(days=90)
"""The longest way back that idemctl knows of is 51 days; far beyond that nobody retries,
the table grows all the same, and most such figures are hours written as days."""
LONGEST_HASH_WINDOW = timedelta(hours=1)
"""Two people may well send the same body twice in a day and mean it."""


def _range(policy: EndpointPolicy, _now: datetime) -> Iterator[Said]:
    ttl = format_duration(policy.ttl)
    least, most = USUAL_TTLS
    usual = f"{format_duration(least)} to {format_duration(most)}"
    if policy.ttl < SHORTEST_TTL:
        shortest = format_duration(SHORTEST_TTL)
        yield Said(
            "ttl",
            f"ttl {ttl} is shorter than {shortest}: it is over before a client that ran into a "
            "timeout tries again",
            f"write a ttl of {shortest} or longer; most clients need hours",
            Severity.ERROR,
        )
    elif policy.reason is not None or policy.pattern is Pattern.BODY_HASH:
        return
    elif policy.ttl > LONGEST_TTL:
        longest = format_duration(LONGEST_TTL)
        yield Said(
            "ttl",
            f"ttl {ttl} is longer than {longest}: no known retry comes that late, and every "
            "record is kept for it",
            f"write a ttl of {longest} or shorter, or the reason; is the unit right?",
        )
    elif policy.ttl < least or (policy.ttl > most and not _needs_more_than(policy, most)):
        yield Said(
            "ttl",
            f"ttl {ttl} is outside {usual}, and neither a reason nor a way back says why",
            f"write a ttl of {usual}, or the reason, or the way back that needs it as replay",
        )


def _needs_more_than(policy: EndpointPolicy, most: timedelta) -> bool:
    return policy.required is not None and policy.required.ttl > most


def _hash_window(policy: EndpointPolicy, _now: datetime) -> Iterator[Said]:
    if policy.pattern is Pattern.BODY_HASH and policy.ttl > LONGEST_HASH_WINDOW:
        longest = format_duration(LONGEST_HASH_WINDOW)
        yield Said(
            "ttl",
            f"ttl {format_duration(policy.ttl)} is longer than {longest}: within it whoever "
            "sends the same body again, and means it, is not heard",
            f"write a ttl of {longest} or shorter, or take a key that the sender makes",
        )


def _outlives_ttl(policy: EndpointPolicy, _now: datetime) -> Iterator[Said]:
    timeout = policy.in_progress_timeout
    if timeout is not None and timeout > policy.ttl:
        yield Said(
            "in_progress_timeout",
            f"in_progress_timeout {format_duration(timeout)} is longer than ttl "
            f"{format_duration(policy.ttl)}: the record is over while its work may go on",
            f"write a ttl longer than {format_duration(timeout)}, or a shorter timeout",
        )


def _below_timeout(policy: EndpointPolicy, _now: datetime) -> Iterator[Said]:
    waits, works = policy.in_progress_timeout, policy.timeout
    if waits is not None and works is not None and waits < works:
        yield Said(
            "in_progress_timeout",
            f"in_progress_timeout {format_duration(waits)} is shorter than timeout "
            f"{format_duration(works)}: a second request begins what the first still does",
            f"write an in_progress_timeout longer than {format_duration(works)}",
        )


def _redis_outlives(policy: EndpointPolicy, _now: datetime) -> Iterator[Said]:
    if policy.redis_ttl is not None and policy.redis_ttl > policy.ttl:
        yield Said(
            "redis_ttl",
            f"redis_ttl {format_duration(policy.redis_ttl)} is longer than ttl "
            f"{format_duration(policy.ttl)}: Redis answers for records that Postgres dropped",
            f"write a redis_ttl of {format_duration(policy.ttl)} or shorter",
        )


def _previously(policy: EndpointPolicy, now: datetime) -> Iterator[Said]:
    if policy.previously is not None and now >= policy.previously.until:
        yield Said(
            "previously",
            "the longer ttl of before is owed to nobody any more",
            "remove previously",
        )


RULES = (
    Rule(
        code="ttl-out-of-range",
        severity=Severity.WARNING,
        what="outside 24h to 7d, and neither `reason` nor a way back says why, or longer than 90d "
        "without a reason; an error where it is shorter than 1 minute: over before a client that "
        "waited out an ordinary timeout tries again",
        judge=_range,
    ),
    Rule(
        code="body-hash-window",
        severity=Severity.ERROR,
        what="a hash of the body is kept for more than 1h: who sends the same again, and means "
        "it, is not heard",
        judge=_hash_window,
    ),
    Rule(
        code="in-progress-outlives-ttl",
        severity=Severity.ERROR,
        what="`in_progress_timeout` is longer than `ttl`: the record is over while its work may "
        "go on",
        judge=_outlives_ttl,
    ),
    Rule(
        code="in-progress-below-timeout",
        severity=Severity.ERROR,
        what="`in_progress_timeout` is shorter than `timeout`: a second request begins what the "
        "first still does",
        judge=_below_timeout,
    ),
    Rule(
        code="redis-outlives-postgres",
        severity=Severity.ERROR,
        what="`redis_ttl` is longer than `ttl`: Redis answers for records that Postgres dropped",
        judge=_redis_outlives,
    ),
    Rule(
        code="previously-over",
        severity=Severity.INFO,
        what="`until` is past, and the entry can be removed",
        judge=_previously,
    ),
)

"""What a policy is checked for: each rule looks at one endpoint and says what it found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.durations import format_duration
from idemctl.domain.findings import Severity
from idemctl.domain.horizons import Certainty, requirement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from idemctl.domain.horizons import Provider
    from idemctl.domain.policies import EndpointPolicy

SHORTEST_TTL = timedelta(minutes=1)
"""A client that waits out one ordinary timeout of 30 seconds and tries again comes later
than anything shorter: such a ttl recognises no retry."""
LONGEST_TTL = timedelta(days=90)
"""The longest way back that idemctl knows of is 37 days; beyond twice that nobody retries,
the table grows all the same, and most such figures are hours written as days."""
CODES = (
    "ttl-out-of-range",
    "ttl-too-short",
    "horizon-unknown",
    "horizon-unsure",
    "horizon-stale",
    "previously-over",
)
STALE_AFTER = timedelta(days=365)
"""How old a comparison with a provider's page may be: they do change their windows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFinding:
    """What a rule has to say about one endpoint."""

    code: str
    severity: Severity
    field: str
    """The field of the endpoint that it is about, where a person has to look."""
    message: str
    fix: str


def check_endpoint(policy: EndpointPolicy, *, now: datetime) -> Iterator[PolicyFinding]:
    """Apply every rule to one endpoint."""
    yield from _range(policy)
    if policy.provider is not None:
        yield from _horizon(policy, policy.provider)
        yield from _doubts(policy.provider, now)
    yield from _previously(policy, now)


def cannot_judge(policy: EndpointPolicy) -> bool:
    """Tell whether a provider is named whose window nobody knows."""
    return policy.provider is not None and policy.provider.window is None


def _range(policy: EndpointPolicy) -> Iterator[PolicyFinding]:
    ttl = format_duration(policy.ttl)
    if policy.ttl < SHORTEST_TTL:
        shortest = format_duration(SHORTEST_TTL)
        yield PolicyFinding(
            code="ttl-out-of-range",
            severity=Severity.ERROR,
            field="ttl",
            message=f"ttl {ttl} is shorter than {shortest}: it is over before a client that "
            "ran into a timeout tries again",
            fix=f"write a ttl of {shortest} or longer; most clients need hours",
        )
    if policy.ttl > LONGEST_TTL:
        longest = format_duration(LONGEST_TTL)
        yield PolicyFinding(
            code="ttl-out-of-range",
            severity=Severity.WARNING,
            field="ttl",
            message=f"ttl {ttl} is longer than {longest}: no known retry comes that late, and "
            "every record is kept for it",
            fix=f"write a ttl of {longest} or shorter; is the unit right?",
        )


def _horizon(policy: EndpointPolicy, provider: Provider) -> Iterator[PolicyFinding]:
    window = provider.window
    if window is None:
        yield PolicyFinding(
            code="horizon-unknown",
            severity=Severity.INFO,
            field="provider",
            message=f"cannot judge: for how long {provider.product} may be delivered again is "
            f"not known{_noted(provider)}",
            fix="ask the provider, and choose a ttl that is longer than the answer",
        )
        return
    needed = requirement(window)
    if policy.ttl >= needed.ttl:
        return
    shortest = format_duration(needed.ttl)
    yield PolicyFinding(
        code="ttl-too-short",
        severity=Severity.ERROR,
        field="ttl",
        message=f"ttl {format_duration(policy.ttl)} is too short: {provider.product} may be "
        f"delivered again for {format_duration(window)}{_disputed(provider)}; with a margin of "
        f"{format_duration(needed.margin)} that is {shortest} in whole hours{_noted(provider)}",
        fix=f"write ttl: {shortest}, or longer",
    )


def _doubts(provider: Provider, now: datetime) -> Iterator[PolicyFinding]:
    if provider.window is None:
        # Nothing is claimed that could be doubted.
        return
    look = f"read {provider.source}, and choose the ttl by what it says"
    if provider.certainty is Certainty.LOW:
        yield PolicyFinding(
            code="horizon-unsure",
            severity=Severity.WARNING,
            field="provider",
            message=f"the window of {provider.product}, {format_duration(provider.window)}, rests "
            f"on hints alone{_noted(provider)}",
            fix=look,
        )
    if now.date() - provider.checked_on > STALE_AFTER:
        yield PolicyFinding(
            code="horizon-stale",
            severity=Severity.WARNING,
            field="provider",
            message=f"the window of {provider.product}, {format_duration(provider.window)}, was "
            f"checked on {provider.checked_on}, more than a year ago",
            fix=f"take a newer idemctl, or {look}",
        )


def _previously(policy: EndpointPolicy, now: datetime) -> Iterator[PolicyFinding]:
    if policy.previously is not None and now >= policy.previously.until:
        yield PolicyFinding(
            code="previously-over",
            severity=Severity.INFO,
            field="previously",
            message="the longer ttl of before is owed to nobody any more",
            fix="remove previously",
        )


def _disputed(provider: Provider) -> str:
    if len(provider.windows) == 1:
        return ""
    said = ", ".join(format_duration(window) for window in sorted(provider.windows))
    return f" (sources say {said}; the longest counts)"


def _noted(provider: Provider) -> str:
    return f" ({provider.note})" if provider.note else ""

"""Exemptions: a person takes an endpoint out of a rule, says why, and until when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.domain.findings import Severity
from idemctl.domain.policy_rules.rule import Rule, Said, found

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from idemctl.domain.policies import EndpointPolicy
    from idemctl.domain.policy_rules.rule import PolicyFinding


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What came of one endpoint."""

    findings: tuple[PolicyFinding, ...]
    exempted_count: int = 0
    """Findings that a person answers for."""


def _nobody_says(_policy: EndpointPolicy, _now: datetime) -> tuple[Said, ...]:
    """Exemptions are judged by what the other rules found, which no rule is told."""
    return ()


_OVER = Rule(
    code="exemption-over",
    severity=Severity.WARNING,
    what="`until` of an exemption is past: the rule counts again",
    judge=_nobody_says,
)
_UNUSED = Rule(
    code="exemption-unused",
    severity=Severity.INFO,
    what="an exemption from a rule that finds nothing here",
    judge=_nobody_says,
)
EXEMPTION_RULES = (_OVER, _UNUSED)


def after_exemptions(
    policy: EndpointPolicy, findings: Sequence[PolicyFinding], now: datetime
) -> Judged:
    """Leave out what exemptions cover today, and say which of them cover nothing."""
    if not policy.exempt:
        return Judged(findings=tuple(findings))
    covered = {one.code for one in policy.exempt if now < one.until}
    left = [one for one in findings if one.code not in covered]
    met = {one.code for one in findings}
    for position, one in enumerate(policy.exempt):
        if now >= one.until:
            over = Said(
                ("exempt", position, "until"),
                f"the exemption from {one.code} is over; {one.owner} wrote it: {one.reason}",
                "put right what it covered, or agree on another day, and remove it",
            )
            left.append(found(_OVER, over))
        elif one.code not in met:
            unused = Said(
                ("exempt", position, "code"),
                f"nothing here is found by {one.code}, from which this is exempt",
                "remove the exemption",
            )
            left.append(found(_UNUSED, unused))
    return Judged(findings=tuple(left), exempted_count=sum(one.code in covered for one in findings))

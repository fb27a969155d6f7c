"""What a policy is checked for: one registry, from which `policy check` and its page come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.domain.policy_rules import keys, times, together, ways
from idemctl.domain.policy_rules.exemptions import EXEMPTION_RULES, after_exemptions
from idemctl.domain.policy_rules.rule import PolicyFinding, Rule, found
from idemctl.domain.policy_rules.ways import cannot_judge

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from idemctl.domain.policies import EndpointPolicy, Policies
    from idemctl.domain.policy_rules.exemptions import Judged

__all__ = ["CODES", "RULES", "PolicyFinding", "Rule", "cannot_judge", "check_policies"]

_ALONE = (*times.RULES, *ways.RULES, *keys.RULES)
RULES = (*_ALONE, *together.RULES, *EXEMPTION_RULES)
"""Every rule about what stands in a policy file."""
CODES = frozenset(rule.code for rule in RULES)


def check_policies(policies: Policies, *, now: datetime) -> Iterator[tuple[EndpointPolicy, Judged]]:
    """Apply every rule to every endpoint, in the order of the file."""
    meetings = together.judge(policies)
    for policy in policies.endpoints.values():
        findings = [
            *(found(rule, said) for rule in _ALONE for said in rule.judge(policy, now)),
            *meetings.get(policy.endpoint, ()),
        ]
        yield policy, after_exemptions(policy, findings, now)

"""Rules about endpoints that get in each other's way."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from idemctl.domain.findings import Severity
from idemctl.domain.policy_rules.rule import Rule, Said, found
from idemctl.domain.routes import Relation, meetings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from idemctl.domain.policies import EndpointPolicy, Policies
    from idemctl.domain.policy_rules.rule import PolicyFinding


def _nothing_alone(_policy: EndpointPolicy, _now: datetime) -> tuple[Said, ...]:
    """It takes two: `judge` asks about all of a file at once."""
    return ()


_UNREACHABLE = Rule(
    code="unreachable-endpoint",
    severity=Severity.ERROR,
    what="an earlier endpoint matches the very same requests; only names of parameters differ",
    judge=_nothing_alone,
)
_OVERLAPPING = Rule(
    code="overlapping-endpoints",
    severity=Severity.WARNING,
    what="some requests fit two endpoints of which neither is the more specific throughout",
    judge=_nothing_alone,
)
RULES = (_UNREACHABLE, _OVERLAPPING)


def judge(policies: Policies) -> Mapping[str, Sequence[PolicyFinding]]:
    """Find, by endpoint, what an earlier one takes from it."""
    labels = {one.route: one.endpoint for one in policies.endpoints.values() if one.route}
    findings: dict[str, list[PolicyFinding]] = defaultdict(list)
    for earlier, later in meetings(labels):
        relation, other = earlier.relation(later), labels[earlier]
        if relation is Relation.SAME:
            said = Said(
                "endpoint",
                f"{other} matches the very same requests: this is never reached",
                "remove one of them",
            )
            findings[labels[later]].append(found(_UNREACHABLE, said))
        elif relation is Relation.CROSSED:
            said = Said(
                "endpoint",
                f"some requests fit {other} as well, and neither is the more specific throughout: "
                f"{min(earlier, later, key=lambda route: route.rank).template} counts, and the "
                "application's router may think otherwise",
                "write the paths so that one is the more specific, or exempt it once you looked",
            )
            findings[labels[later]].append(found(_OVERLAPPING, said))
    return findings

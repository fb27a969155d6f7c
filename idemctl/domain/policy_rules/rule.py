"""What a rule of policies is, and what it finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from idemctl.domain.findings import Severity
    from idemctl.domain.policies import EndpointPolicy


@dataclass(frozen=True, slots=True)
class Said:
    """What a rule has to say about one endpoint."""

    at: str | tuple[str | int, ...]
    """The field of the endpoint that it is about, or the path in it, where a person looks."""
    message: str
    fix: str
    severity: Severity | None = None
    """Where it is not the rule's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One way in which a promise does not hold."""

    code: str
    severity: Severity
    what: str
    """For the documentation: what is found, and why it hurts."""
    judge: Callable[[EndpointPolicy, datetime], Iterable[Said]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFinding:
    """What was found, and by which rule."""

    code: str
    severity: Severity
    path: tuple[str | int, ...]
    """Below the endpoint in its file."""
    message: str
    fix: str

    @property
    def field(self) -> str:
        """The field of the endpoint that it is about."""
        return str(self.path[0])


def found(rule: Rule, said: Said) -> PolicyFinding:
    """Put a rule's name to what it says."""
    return PolicyFinding(
        code=rule.code,
        severity=said.severity or rule.severity,
        path=(said.at,) if isinstance(said.at, str) else said.at,
        message=said.message,
        fix=said.fix,
    )

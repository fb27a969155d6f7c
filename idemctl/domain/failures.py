"""Failure modes by the facts that speak for them.

Until each has a book of its own, whose `applies_when` says the same, this is where it is said:
a condition over the facts of a diagnosis, and how much it says. Most facts are counts of what
checks found in samples, under the check's code with `_` for `-`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.domain.findings import Severity
from idemctl.domain.runbooks import Condition
from idemctl.domain.sight import FailureMode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptom:
    """One thing that speaks for a failure mode."""

    mode: FailureMode
    when: Condition
    severity: Severity
    says: str = ""
    """In a sentence with places for facts; of what a check found, the check says it."""

    @property
    def code(self) -> str | None:
        """The check that finds it; `None` where it is no check's."""
        return None if self.says else self.when.fact.replace("_", "-")


def _found(mode: FailureMode, severity: Severity, *codes: str) -> Iterator[Symptom]:
    """Let checks speak for a mode: whatever they find."""
    for code in codes:
        when = Condition(fact=code.replace("-", "_"), comparison="gt", value=0)
        yield Symptom(mode=mode, when=when, severity=severity)


def _said(
    mode: FailureMode, severity: Severity, when: tuple[str, str, object], says: str
) -> Symptom:
    fact, comparison, value = when
    condition = Condition(fact=fact, comparison=comparison, value=value)  # type: ignore[arg-type]
    return Symptom(mode=mode, when=condition, severity=severity, says=says)


LOST_WRITES = ("redis-flushed", "redis-restored")
BACK_IN_TIME = ("postgres-restored", "both-restored")

SYMPTOMS: tuple[Symptom, ...] = (
    _said(
        FailureMode.STORE_UNAVAILABLE,
        Severity.CRITICAL,
        ("redis_unreachable", "eq", True),
        "Redis does not answer",
    ),
    _said(
        FailureMode.STORE_UNAVAILABLE,
        Severity.CRITICAL,
        ("postgres_unreachable", "eq", True),
        "Postgres does not answer",
    ),
    *_found(
        FailureMode.STORE_UNAVAILABLE,
        Severity.ERROR,
        "writes-refused",
        "memory-full",
        "slots-uncovered",
    ),
    _said(
        FailureMode.STORE_DATA_LOSS,
        Severity.CRITICAL,
        ("witness", "in", BACK_IN_TIME),
        "the witness and a second sign say {witness}",
    ),
    _said(
        FailureMode.STORE_DATA_LOSS,
        Severity.ERROR,
        ("witness", "in", LOST_WRITES),
        "the witness and a second sign say {witness}",
    ),
    _said(
        FailureMode.STORE_DATA_LOSS,
        Severity.ERROR,
        ("verdict", "in", ("flushed", "suspected", "evicted")),
        "of {sampled} records that Redis owes it lacks {missing}: {verdict}",
    ),
    _said(
        FailureMode.STORE_DATA_LOSS,
        Severity.WARNING,
        ("verdict", "eq", "incomplete"),
        "of {sampled} records that Redis owes it lacks {missing}: {verdict}",
    ),
    *_found(
        FailureMode.CRASH_MID_WRITE,
        Severity.ERROR,
        "stuck-in-progress",
        "claim-without-ttl",
        "workflow-stuck",
        "outbox-overdue",
    ),
    *_found(
        FailureMode.EXPIRED_BEFORE_RETRY, Severity.ERROR, "key-ends-too-early", "ttl-unit-mix-up"
    ),
    *_found(
        FailureMode.CROSS_REGION_LAG,
        Severity.WARNING,
        "standby-behind",
        "replica-behind",
        "replication-link-down",
    ),
    *_found(FailureMode.KEY_COLLISION, Severity.ERROR, "identity-repeated"),
    _said(
        FailureMode.KEY_COLLISION,
        Severity.ERROR,
        ("mismatch_spikes_of_many", "gt", 0),
        "{mismatch_spikes_of_many} spikes of mismatches in the last day of the logs, of many "
        "clients",
    ),
    _said(
        FailureMode.MALICIOUS_REUSE,
        Severity.ERROR,
        ("mismatch_spikes_of_one_client", "gt", 0),
        "{mismatch_spikes_of_one_client} spikes of mismatches in the last day of the logs, each "
        "of one client",
    ),
    _said(
        FailureMode.KEY_COLLISION,
        Severity.WARNING,
        ("mismatch_share", "gt", 0.01),
        "{mismatches} of {requests} requests in the logs were mismatches",
    ),
)
CODES = frozenset(one.code for one in SYMPTOMS if one.code is not None)
"""The checks whose findings speak for a mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A failure mode for which something speaks."""

    mode: FailureMode
    severity: Severity
    evidence: tuple[str, ...]
    """The gravest first."""
    facts: tuple[str, ...]
    """The names of those that it stands on."""
    codes: tuple[str, ...]
    """The checks that would tell more."""


def rank(facts: Mapping[str, object], told: Mapping[str, str]) -> tuple[Ranked, ...]:
    """List the modes for which something speaks, that with the gravest evidence first.

    Args:
        facts: of a diagnosis; what is not known speaks for nothing.
        told: what checks found, by their codes, in a sentence each.
    """
    held: dict[FailureMode, list[Symptom]] = {}
    for symptom in sorted(SYMPTOMS, key=lambda one: -one.severity):
        if symptom.when.holds(facts):
            held.setdefault(symptom.mode, []).append(symptom)
    ranked = [
        Ranked(
            mode=mode,
            severity=symptoms[0].severity,
            evidence=tuple(_sentence(one, facts, told) for one in symptoms),
            facts=tuple(one.when.fact for one in symptoms),
            codes=tuple(one.code for one in symptoms if one.code is not None),
        )
        for mode, symptoms in held.items()
    ]
    # Of two equally grave ones that for which more speaks.
    return tuple(sorted(ranked, key=lambda one: (-one.severity, -len(one.evidence))))


def _sentence(symptom: Symptom, facts: Mapping[str, object], told: Mapping[str, str]) -> str:
    if symptom.code is None:
        return symptom.says.format_map({name: str(value) for name, value in facts.items()})
    return told.get(symptom.code, symptom.code)

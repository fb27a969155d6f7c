"""What a check of policies found, for people and for machines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from idemctl.domain.findings import Severity
from idemctl.domain.outcomes import Report, Sheet
from idemctl.render.envelope import failure
from idemctl.render.figures import count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from idemctl.operations.policy_check import Finding, Outcome
    from idemctl.run.run import Run


def report(outcome: Outcome, run: Run, finished_at: datetime) -> Report:
    """Make the report of a check."""
    findings = outcome.findings
    headline = _headline(outcome)
    return Report(
        command="policy-check",
        status=outcome.status,
        store=None,
        run_id=run.id,
        started_at=run.started_at,
        finished_at=finished_at,
        summary=_summary(outcome),
        items=[_item(one) for one in findings],
        errors=[failure(error) for error in outcome.failures],
        # Not a table: editors and CI find the place at the start of a line, as a compiler's.
        sheets=[Sheet(lines=[*(line for one in findings for line in _lines(one)), headline])],
        headline=headline,
    )


def _summary(outcome: Outcome) -> dict[str, Any]:
    by_severity = Counter(one.severity for one in outcome.findings)
    return {
        "files": len(outcome.files),
        "unreadable": len(outcome.failures),
        "endpoints": sum(one.endpoint_count for one in outcome.files),
        "cannot_judge": sum(one.cannot_judge_count for one in outcome.files),
        "exempted": sum(one.exempted_count for one in outcome.files),
        "fail_on": outcome.fail_on.label,
    } | {severity.label: by_severity[severity] for severity in Severity}


def _item(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity.label,
        "file": finding.place.file,
        "line": finding.place.line,
        "column": finding.place.column,
        "endpoint": finding.endpoint,
        "message": finding.message,
        "fix": finding.fix,
    }


def _lines(finding: Finding) -> Iterator[str]:
    about = "" if finding.endpoint is None else f"{finding.endpoint}: "
    severity = finding.severity.label
    yield f"{finding.place}: {severity}: {about}{finding.message} [{finding.code}]"
    if finding.fix is not None:
        yield f"  fix: {finding.fix}"


def _headline(outcome: Outcome) -> str:
    endpoints = sum(one.endpoint_count for one in outcome.files)
    looked_at = f"{count(endpoints, 'endpoint')} in {count(len(outcome.files), 'file')}"
    found = Counter(one.severity for one in outcome.findings)
    # The grave ones first; `info` is a kind of finding, and has no plural.
    parts = [
        f"{found[severity]:,} info"
        if severity is Severity.INFO
        else count(found[severity], severity.label)
        for severity in reversed(Severity)
        if found[severity]
    ]
    return f"{looked_at}: {', '.join(parts) or 'nothing found'}"

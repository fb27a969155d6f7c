"""policy check: are the policy files sound, and are their ttls long enough?

Gather: each file is read with the places of all that stands in it. Decide: the rules of
`domain.policy_rules`, endpoint by endpoint. There is nothing to apply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.documents import InvalidDocument, Problem, read_document
from idemctl.domain.findings import Severity
from idemctl.domain.policy_rules import cannot_judge, check_policies
from idemctl.domain.policy_rules.coverage import MUTATING, Operation, uncovered
from idemctl.errors import ExitStatus, worst
from idemctl.run.files import check_each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    from idemctl.documents import Document, Place
    from idemctl.domain.policies import Policies
    from idemctl.errors import ConfigError
    from idemctl.run.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found, and where in which file."""

    code: str
    severity: Severity
    place: Place
    endpoint: str | None
    """None where the file could not be understood."""
    message: str
    fix: str | None = None
    """None where the message itself says what is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What came of one file."""

    file: Path
    endpoint_count: int = 0
    cannot_judge_count: int = 0
    """Endpoints with a way back whose length nobody knows."""
    policies: Policies | None = None
    """None where the file is invalid."""
    exempted_count: int = 0
    """Findings left out, because a person answers for them."""
    findings: tuple[Finding, ...] = ()
    """In the order of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a check."""

    fail_on: Severity
    files: tuple[Checked, ...]
    uncovered: tuple[Finding, ...] = ()
    """What an API offers and no policy speaks for."""
    failures: tuple[ConfigError, ...] = ()
    """What kept files from being read; the others were checked all the same."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, file by file, then those of the API."""
        found = tuple(finding for checked in self.files for finding in checked.findings)
        return found + self.uncovered

    @property
    def status(self) -> ExitStatus:
        """The exit status of the whole."""
        grave = any(finding.severity >= self.fail_on for finding in self.findings)
        statuses = [failure.status for failure in self.failures]
        return worst([*statuses, ExitStatus.FINDINGS if grave else ExitStatus.OK])


def check(
    files: Iterable[Path],
    understand: Callable[[Document], Policies],
    run: Run,
    *,
    now: datetime,
    fail_on: Severity = Severity.WARNING,
    openapi: Path | None = None,
) -> Outcome:
    """Check each file; one that is invalid is a finding, for it is what is under test.

    Args:
        files: policy files; one that is named twice is checked once.
        understand: makes policies of a document, its endpoints in the same order, or raises
            `InvalidDocument`.
        run: asked between files whether to go on.
        now: tells what is over, and what was checked too long ago.
        fail_on: the severity from which on the outcome is a failure.
        openapi: what the API offers; all that changes something needs a policy.

    Raises:
        ConfigError: no file could be read, or what the API offers could not.
    """
    done, failures = check_each(files, lambda file: _checked(file, understand, now), run)
    known = [one.policies for one in done if one.policies is not None]
    left = () if openapi is None else tuple(_uncovered(read_document(openapi), known))
    return Outcome(fail_on=fail_on, files=done, failures=failures, uncovered=left)


def _uncovered(document: Document, known: list[Policies]) -> Iterator[Finding]:
    paths = document.data.get("paths") if isinstance(document.data, dict) else None
    if not isinstance(paths, dict):
        problem = Problem(document.place(()), "is no OpenAPI document: it has no paths")
        raise InvalidDocument([problem])
    places = {
        _operation(path, method, said): document.place(("paths", path, method), key=True)
        for path, item in paths.items()
        if isinstance(item, dict)
        for method, said in item.items()
        if method in MUTATING
    }
    for one in uncovered(places, known):
        yield Finding(
            code=one.code,
            severity=one.severity,
            place=places[one],
            endpoint=one.label,
            message="no policy says for how long a retry of it is recognised",
            fix=f"write a policy with endpoint: {one.label}",
        )


def _operation(path: str, method: str, said: object) -> Operation:
    names = said if isinstance(said, dict) else {}
    words = " ".join(str(names.get(name, "")) for name in ("operationId", "summary", "tags"))
    return Operation(label=f"{method.upper()} {path}", words=words)


def _checked(file: Path, understand: Callable[[Document], Policies], now: datetime) -> Checked:
    try:
        document = read_document(file)
        policies = understand(document)
    except InvalidDocument as invalid:
        return Checked(file=file, findings=tuple(_invalid(invalid)))
    endpoints = policies.endpoints.values()
    judged = list(check_policies(policies, now=now))
    found = [
        Finding(
            code=one.code,
            severity=one.severity,
            place=document.place(("endpoints", number, *one.path)),
            endpoint=policy.endpoint,
            message=one.message,
            fix=one.fix,
        )
        for number, (policy, result) in enumerate(judged)
        for one in result.findings
    ]
    return Checked(
        file=file,
        endpoint_count=len(endpoints),
        cannot_judge_count=sum(map(cannot_judge, endpoints)),
        policies=policies,
        exempted_count=sum(result.exempted_count for _, result in judged),
        findings=tuple(sorted(found, key=lambda finding: finding.place)),
    )


def _invalid(invalid: InvalidDocument) -> Iterator[Finding]:
    for problem in invalid.problems:
        yield Finding(
            code="policy-invalid",
            severity=Severity.ERROR,
            place=problem.place,
            endpoint=None,
            message=problem.message,
        )

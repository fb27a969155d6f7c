"""What people and programs read of a check of policies, and of a schema."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from idemctl.documents import Place
from idemctl.domain.findings import Severity
from idemctl.errors import ConfigError, ExitStatus
from idemctl.operations.policy_check import Checked, Finding, Outcome
from idemctl.operations.schema import What, schema
from idemctl.render import policy_check as policy_report
from idemctl.render import schema as schema_report
from idemctl.render.formats import Format, show
from tests.operations.tables import NOW, a_run

FINDINGS = (
    Finding(
        code="ttl-too-short",
        severity=Severity.ERROR,
        place=Place("p.yaml", 4, 10),
        endpoint="POST /hook\x1b[31m",
        message="ttl 1d is too short",
        fix="write ttl: 7d17h, or longer",
    ),
    Finding(
        code="policy-invalid",
        severity=Severity.ERROR,
        place=Place("q.yaml", 1, 1),
        endpoint=None,
        message="the file is empty",
    ),
)
INFO = Finding(
    code="previously-over",
    severity=Severity.INFO,
    place=Place("p.yaml", 9, 17),
    endpoint="a",
    message="owed to nobody",
    fix="remove previously",
)
FILES = (
    Checked(file=Path("p.yaml"), endpoint_count=1200, cannot_judge_count=3, findings=FINDINGS[:1]),
    Checked(file=Path("q.yaml"), findings=FINDINGS[1:]),
)


def shown(outcome: Outcome, form: Format = Format.TABLE) -> str:
    stream = io.StringIO()
    show(policy_report.report(outcome, a_run(), NOW), form, stream, color=False)
    return stream.getvalue()


def test_a_finding_begins_with_its_place_as_a_compiler_writes_it() -> None:
    assert shown(Outcome(fail_on=Severity.WARNING, files=FILES)) == (
        "p.yaml:4:10: error: POST /hook\\x1b[31m: ttl 1d is too short [ttl-too-short]\n"
        "  fix: write ttl: 7d17h, or longer\n"
        "q.yaml:1:1: error: the file is empty [policy-invalid]\n"
        "1,200 endpoints in 2 files: 2 errors\n"
    )


def test_the_summary_counts_by_severity_and_what_could_not_be_judged() -> None:
    failure = ConfigError("r.yaml: no such file", hint="check the path")
    outcome = Outcome(fail_on=Severity.ERROR, files=FILES, failures=(failure,))
    report = policy_report.report(outcome, a_run(), NOW)
    assert report.command == "policy-check"
    assert report.status is ExitStatus.CONFIG
    assert report.summary == {
        "files": 2,
        "unreadable": 1,
        "endpoints": 1200,
        "cannot_judge": 3,
        "exempted": 0,
        "fail_on": "error",
        "info": 0,
        "warning": 0,
        "error": 2,
        "critical": 0,
    }
    assert report.errors == [
        {"status": "config", "message": "r.yaml: no such file", "hint": "check the path"}
    ]


def test_an_item_has_these_fields() -> None:
    report = policy_report.report(Outcome(fail_on=Severity.INFO, files=FILES), a_run(), NOW)
    assert report.items[1] == {
        "code": "policy-invalid",
        "severity": "error",
        "file": "q.yaml",
        "line": 1,
        "column": 1,
        "endpoint": None,
        "message": "the file is empty",
        "fix": None,
    }
    assert list(report.items[0]) == list(report.items[1])


@pytest.mark.parametrize(
    ("findings", "says"),
    [
        ((), "1 endpoint in 1 file: nothing found"),
        ((INFO,), "1 endpoint in 1 file: 1 info"),
        ((INFO, *FINDINGS), "1 endpoint in 1 file: 2 errors, 1 info"),
    ],
)
def test_the_headline_counts_the_grave_ones_first(findings: tuple[Finding, ...], says: str) -> None:
    file = Checked(file=Path("p.yaml"), endpoint_count=1, findings=findings)
    outcome = Outcome(fail_on=Severity.WARNING, files=(file,))
    assert policy_report.report(outcome, a_run(), NOW).headline == says


@pytest.mark.parametrize("what", What)
def test_a_schema_is_printed_byte_for_byte(what: What) -> None:
    outcome = schema(what)
    report = schema_report.report(outcome, a_run(), NOW)
    stream = io.StringIO()
    show(report, Format.TABLE, stream, color=False)
    assert stream.getvalue() == outcome.text
    assert report.items == [{"code": "schema", "what": what.value, "text": outcome.text}]

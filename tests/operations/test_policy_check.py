"""policy check: places, several problems at once, and what ends it how."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from idemctl.domain.findings import Severity
from idemctl.domain.outcomes import WhyStopped
from idemctl.errors import ConfigError, ExitStatus
from idemctl.operations.policy_check import check
from idemctl.run.run import Stopped
from idemctl.settings.policies import policies_in
from tests.operations.tables import NOW, a_run

if TYPE_CHECKING:
    from pathlib import Path

    from idemctl.operations.policy_check import Outcome

GOOD = "version: 1\nendpoints:\n  - {endpoint: a, ttl: 8d, provider: whatsapp-cloud-api}\n"
SHORT = """\
version: 1
endpoints:
  - provider: whatsapp-cloud-api
    endpoint: POST /hook
    ttl: 7d
  - endpoint: POST /bookings
    previously: {ttl: 7d, until: 2026-01-01}
    ttl: 100d
  - {endpoint: POST /calls, ttl: 1d, provider: upstash-qstash}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (
        ("good.yaml", GOOD),
        ("short.yaml", SHORT),
        ("invalid.yaml", "version: 2\nendpoints:\n  - {endpoint: a, ttl: soon, x: 1}\n"),
        ("broken.yaml", "version: 1\nversion: 1\nendpoints: *here\n"),
    ):
        (tmp_path / name).write_text(text)
    return tmp_path


def checked(folder: Path, *names: str, fail_on: Severity = Severity.WARNING) -> Outcome:
    files = [folder / name for name in names]
    return check(files, policies_in, a_run(), now=NOW, fail_on=fail_on)


def seen(outcome: Outcome) -> list[tuple[str, int, int, str | None]]:
    return [(one.code, one.place.line, one.place.column, one.endpoint) for one in outcome.findings]


def test_a_sound_file_is_ok(folder: Path) -> None:
    outcome = checked(folder, "good.yaml")
    assert (outcome.status, outcome.findings) == (ExitStatus.OK, ())
    assert [one.endpoint_count for one in outcome.files] == [1]


def test_findings_stand_where_a_person_has_to_look(folder: Path) -> None:
    outcome = checked(folder, "short.yaml")
    assert seen(outcome) == [
        ("ttl-too-short", 5, 10, "POST /hook"),
        ("previously-over", 7, 17, "POST /bookings"),
        ("ttl-out-of-range", 8, 10, "POST /bookings"),
        ("horizon-unknown", 9, 48, "POST /calls"),
    ]
    assert {one.place.file for one in outcome.findings} == {str(folder / "short.yaml")}
    assert [one.cannot_judge_count for one in outcome.files] == [1]


def test_all_that_makes_a_file_invalid_is_told_at_once_and_is_a_finding(folder: Path) -> None:
    outcome = checked(folder, "invalid.yaml", "broken.yaml", "good.yaml")
    assert seen(outcome) == [
        ("policy-invalid", 1, 10, None),
        ("policy-invalid", 3, 24, None),
        ("policy-invalid", 3, 30, None),
        ("policy-invalid", 2, 1, None),
        ("policy-invalid", 3, 12, None),
    ]
    assert {one.severity for one in outcome.findings} == {Severity.ERROR}
    assert outcome.status is ExitStatus.FINDINGS
    assert [one.endpoint_count for one in outcome.files] == [0, 0, 1]


@pytest.mark.parametrize(
    ("fail_on", "status"),
    [
        (Severity.INFO, ExitStatus.FINDINGS),
        (Severity.ERROR, ExitStatus.FINDINGS),
        (Severity.CRITICAL, ExitStatus.OK),
    ],
)
def test_what_is_less_grave_than_asked_for_does_not_fail(
    folder: Path, fail_on: Severity, status: ExitStatus
) -> None:
    assert checked(folder, "short.yaml", fail_on=fail_on).status is status


def test_a_file_that_cannot_be_read_leaves_the_others_checked(folder: Path) -> None:
    outcome = checked(folder, "none.yaml", "short.yaml")
    assert outcome.status is ExitStatus.CONFIG
    assert len(outcome.findings) == 4
    assert [failure.message for failure in outcome.failures] == [
        f"{folder / 'none.yaml'}: no such file"
    ]


def test_where_no_file_can_be_read_nothing_was_checked(folder: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder, not a file"):
        checked(folder, "")


def test_a_run_that_is_told_to_stop_reads_no_further_file(folder: Path) -> None:
    run = a_run()
    run.stop.ask(WhyStopped.TERMINATED)
    with pytest.raises(Stopped):
        check([folder / "good.yaml"], policies_in, run, now=NOW)

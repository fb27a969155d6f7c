"""Retry horizons that people met the hard way: the right value of each is kept here."""

from __future__ import annotations

import json
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.cli.main import main
from idemctl.domain.findings import Severity
from idemctl.operations.policy_check import check
from idemctl.run.run import Run
from idemctl.settings.policies import policies_in
from idemctl.settings.providers import find_provider

if TYPE_CHECKING:
    from idemctl.operations.policy_check import Outcome

PAYMENTS = Path(__file__).parents[2] / "policies" / "payments.yaml"
CHECKED_ON = datetime(2026, 11, 29, tzinfo=UTC)
"""When the shipped rows were checked; a test that took today's date would fail in a year."""


def checked(file: Path, *, now: datetime = CHECKED_ON) -> Outcome:
    return check([file], policies_in, Run(verb="policy check"), now=now)


def codes(outcome: Outcome) -> list[str]:
    return [one.code for one in outcome.findings]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "policies.yaml"


def write(file: Path, provider: str, ttl: str) -> Path:
    file.write_text(
        f"version: 1\nendpoints:\n  - {{endpoint: hook, ttl: {ttl}, provider: {provider}}}\n"
    )
    return file


def test_the_policy_file_that_idemctl_ships_passes_its_own_check() -> None:
    outcome = checked(PAYMENTS)
    assert outcome.findings == ()
    assert sum(one.endpoint_count for one in outcome.files) == 7


def test_the_file_of_webhooks_passes_but_for_the_window_that_nobody_knows() -> None:
    assert codes(checked(PAYMENTS.with_name("webhooks.yaml"))) == ["horizon-unknown"]


def test_the_whole_from_file_to_status(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["policy", "check", str(write(file, "whatsapp-cloud-api", "24h")), "-o", "json"])
    items: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["items"]
    # The row may have grown old by the day on which this runs.
    [item] = [one for one in items if one["code"] == "ttl-too-short"]
    assert status == 3
    assert (item["file"], item["line"], item["column"]) == (str(file), 3, 27)
    assert (item["endpoint"], item["severity"]) == ("hook", "error")
    assert item["fix"] == "write ttl: 7d17h, or longer"


# GitHub's page once said 30 days and now says 3: what is true of a server nobody knows.
def test_where_a_provider_changed_its_page_the_longer_window_counts(file: Path) -> None:
    [one] = checked(write(file, "github-webhooks", "7d")).findings
    assert one.code == "ttl-too-short"
    assert "sources say 3d, 30d; the longest counts" in one.message
    assert codes(checked(write(file, "github-webhooks", "33d"))) == []


# A comment in the code was wrong for two years about what a provider does.
@pytest.mark.parametrize(("days", "expected"), [(365, []), (366, ["horizon-stale"])])
def test_a_row_that_nobody_has_checked_for_a_year_is_a_warning(
    file: Path, days: int, expected: list[str]
) -> None:
    row = find_provider("stripe-webhooks")
    assert row.checked_on == date(2026, 11, 29)
    outcome = checked(write(file, row.name, "4d"), now=CHECKED_ON + timedelta(days=days))
    assert codes(outcome) == expected
    assert {one.severity for one in outcome.findings} <= {Severity.WARNING}


# Nobody measured it, and the reasoning stood in comments: unknown is told, and never zero.
def test_an_unknown_window_is_shown_and_counted_and_fails_nothing(file: Path) -> None:
    outcome = checked(write(file, "upstash-qstash", "1d"))
    assert codes(outcome) == ["horizon-unknown"]
    assert [one.cannot_judge_count for one in outcome.files] == [1]
    assert int(outcome.status) == 0


# The kept row is the protection, so it must outlast every way back, a dead-letter queue too.
def test_a_chain_from_sns_through_a_queue_to_its_dead_letter_queue_adds_up(file: Path) -> None:
    chain = "{provider: aws-sns, queue: 14d, dead_letter_queue: 14d}"
    text = f"version: 1\nendpoints:\n  - {{endpoint: hook, ttl: %s, replay: [{chain}]}}\n"
    file.write_text(text % "37d")
    [one] = checked(file).findings
    assert one.code == "ttl-too-short"
    assert (
        "may come back for 51d (messages of AWS SNS on their way to SQS or Lambda 23d + "
        "queue 14d + dead-letter queue 14d); 14d are missing, and a margin of 5d2h24m beside; "
    ) in one.message
    assert one.fix == "write ttl: 56d3h, or longer"
    file.write_text(text % "56d3h")
    assert codes(checked(file)) == []


# Of three ways back the longest counts, and it is not the provider's.
def test_a_dead_letter_queue_counts_beside_a_shorter_window_of_the_provider(file: Path) -> None:
    file.write_text(
        "version: 1\nendpoints:\n  - {endpoint: hook, ttl: 7d, provider: stripe-webhooks, "
        "replay: [{dead_letter_queue: 14d}, {client_retry: 1d}]}\n"
    )
    [one] = checked(file).findings
    assert "by its dead-letter queue a request may come back for 14d; 7d are missing" in one.message


def test_adyen_at_a_week_lacks_23_days_and_the_margin_apart(file: Path) -> None:
    [one] = checked(write(file, "adyen", "7d")).findings
    assert one.message.startswith(
        "ttl 7d is too short: Adyen webhooks may be delivered again for 30d; 23d are missing, and "
        "a margin of 3d beside; together 33d"
    )


def test_at_72_hours_whatsapp_fails_and_messenger_passes(file: Path) -> None:
    assert "ttl-too-short" in codes(checked(write(file, "whatsapp-cloud-api", "72h")))
    assert codes(checked(write(file, "meta-messenger", "72h"))) == ["horizon-unsure"]


# Nothing that a provider sends stays the same, and its body changes with each try.
def test_a_provider_without_a_stable_id_asks_for_the_fields_of_a_key(file: Path) -> None:
    first, _ = checked(write(file, "cal-com", "1d")).findings
    assert first.code == "no-stable-key"
    assert "made_by: derived" in str(first.fix)


# What the provider that is called forgets after a day, a client sends again tomorrow.
def test_a_client_that_retries_for_longer_than_the_upstream_remembers_is_told(file: Path) -> None:
    file.write_text(
        "version: 1\nendpoints:\n  - {endpoint: pay, ttl: 3d, upstream_key_ttl: 24h, "
        "replay: [{client_retry: 2d}]}\n"
    )
    assert codes(checked(file)) == ["upstream-forgets-first"]


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "America/New_York"])
def test_a_clock_that_is_put_forward_or_back_changes_nothing(
    file: Path, day: str, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(
        "version: 1\nendpoints:\n"
        f"  - {{endpoint: a, ttl: 1d, previously: {{ttl: 2d, until: {day}}}}}\n"
    )
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        end = datetime.fromisoformat(f"{day}T00:00:00+00:00") + timedelta(days=1)
        assert codes(checked(file, now=end - timedelta(seconds=1))) == []
        assert codes(checked(file, now=end)) == ["previously-over"]
    finally:
        monkeypatch.undo()
        time.tzset()


def test_one_company_has_several_products_and_each_its_own_window(file: Path) -> None:
    assert codes(checked(write(file, "meta-graph-api", "2d"))) == []
    assert codes(checked(write(file, "whatsapp-cloud-api", "2d"))) == ["ttl-too-short"]

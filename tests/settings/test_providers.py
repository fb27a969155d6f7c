"""The providers that come with idemctl, and what a wrong name is answered with."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from idemctl.documents import InvalidDocument
from idemctl.domain.horizons import requirement
from idemctl.domain.policy_rules.times import LONGEST_TTL
from idemctl.settings.policies import read_policies
from idemctl.settings.providers import find_provider, providers

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
ONE = "version: 1\nendpoints:\n  - {endpoint: a, ttl: 8d, provider: %s}\n"
PAGE = Path(__file__).parents[2] / "docs" / "policies.md"


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("stripe-webhooks", 3 * DAY),
        ("stripe-list-events", 30 * DAY),
        ("whatsapp-cloud-api", 7 * DAY),
        ("meta-messenger", 36 * HOUR),
        ("adyen", 30 * DAY),
        ("shopify-webhooks", 48 * HOUR),
        ("github-webhooks", 30 * DAY),
        ("svix-webhooks", timedelta(hours=27, minutes=35, seconds=5)),
        ("aws-sns", 23 * DAY),
        ("aws-sqs-fifo", 14 * DAY),
        ("cal-com", None),
        ("upstash-qstash", None),
    ],
)
def test_a_product_has_this_window(name: str, window: timedelta | None) -> None:
    assert find_provider(name).window == window


@pytest.mark.parametrize("name", providers())
def test_a_row_can_be_met_and_is_no_promise_of_the_future(name: str) -> None:
    row = find_provider(name)
    assert row.name == name
    assert date(2026, 11, 1) <= row.checked_on <= date.today()  # noqa: DTZ011 (days, not zones)
    if row.window is not None:
        assert requirement(row.window).ttl <= LONGEST_TTL


@pytest.mark.parametrize("name", providers())
def test_the_page_lists_every_provider(name: str) -> None:
    assert f"| `{name}` |" in PAGE.read_text("utf-8")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("whatsapp", "; did you mean whatsapp-cloud-api?"),
        ("Stripe", "; did you mean stripe-webhooks, stripe-webhooks-sandbox or stripe-list-events"),
        ("watsapp-cloudapi", "; did you mean whatsapp-cloud-api?"),
        ("qqq", "; known are stripe-webhooks, "),
        ('""', "; known are stripe-webhooks, "),
    ],
)
def test_an_unknown_provider_is_a_problem_that_says_what_may_be_meant(
    tmp_path: Path, given: str, says: str
) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(ONE % given)
    with pytest.raises(InvalidDocument) as caught:
        read_policies(file)
    [problem] = caught.value.problems
    assert (problem.place.line, problem.place.column) == (3, 38)
    assert problem.message.startswith("endpoints.0.provider: no provider has this name; ")
    assert says in problem.message


def test_a_provider_changes_nothing_of_what_is_owed(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(ONE % "adyen")
    policies = read_policies(file)
    assert policies.endpoints["a"].provider is find_provider("adyen")
    assert policies.ttls_owed(datetime(2026, 1, 1, tzinfo=UTC)) == {b"a": 8 * DAY}

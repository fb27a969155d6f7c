"""Each rule for a policy: what it says, and that it keeps silent elsewhere."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.durations import parse_duration
from idemctl.domain.findings import Severity
from idemctl.domain.horizons import Certainty, Hop, Provider, ReplayPath, Way, requirement
from idemctl.domain.policies import EndpointPolicy, Policies, Previously
from idemctl.domain.policy_rules import cannot_judge, check_policies

if TYPE_CHECKING:
    from idemctl.domain.policy_rules import PolicyFinding

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
ACME = Provider(
    name="acme",
    product="Acme webhooks",
    windows=(7 * DAY,),
    source="https://acme.example/retries",
    checked_on=date(2026, 11, 1),
    certainty=Certainty.HIGH,
    key_field="id",
)
# Below the longest ttl that is in range, with its margin.
WINDOWS = st.integers(1, 81 * 86_400).map(lambda seconds: timedelta(seconds=seconds))


def found(ttl: timedelta, provider: Provider | None = None, **more: Any) -> list[PolicyFinding]:
    policies = Policies(endpoints={"a": endpoint(ttl, provider, **more)})
    [(_, judged)] = check_policies(policies, now=NOW)
    return list(judged.findings)


def endpoint(ttl: timedelta, provider: Provider | None, **more: Any) -> EndpointPolicy:
    hops = provider and (Hop(way=Way.PROVIDER, length=provider.window, provider=provider),)
    replay = (ReplayPath(hops=hops),) if hops else ()
    return EndpointPolicy(endpoint="a", ttl=ttl, provider=provider, replay=replay, **more)


def codes(ttl: timedelta, provider: Provider | None = None, **more: Any) -> list[str]:
    return [one.code for one in found(ttl, provider, **more)]


@pytest.mark.parametrize("ttl", [DAY, 3 * DAY, 7 * DAY])
def test_a_ttl_in_range_is_no_finding(ttl: timedelta) -> None:
    assert found(ttl) == []


@pytest.mark.parametrize(
    ("ttl", "severity", "message"),
    [
        (59 * SECOND, Severity.ERROR, "ttl 59s is shorter than 1m: "),
        (60 * SECOND, Severity.WARNING, "ttl 1m is outside 1d to 7d, and neither a reason nor "),
        (DAY - SECOND, Severity.WARNING, "ttl 23h59m59s is outside 1d to 7d, "),
        (7 * DAY + SECOND, Severity.WARNING, "ttl 7d1s is outside 1d to 7d, "),
        (90 * DAY, Severity.WARNING, "ttl 90d is outside 1d to 7d, "),
        (90 * DAY + SECOND, Severity.WARNING, "ttl 90d1s is longer than 90d: "),
    ],
)
def test_a_ttl_out_of_range_is_named_with_the_limit(
    ttl: timedelta, severity: Severity, message: str
) -> None:
    [one] = found(ttl)
    assert (one.code, one.severity, one.field) == ("ttl-out-of-range", severity, "ttl")
    assert one.message.startswith(message)


def test_a_ttl_that_is_too_short_for_its_provider_is_told_with_the_arithmetic() -> None:
    [one] = found(DAY, ACME)
    assert (one.code, one.severity, one.field) == ("ttl-too-short", Severity.ERROR, "ttl")
    assert one.message == (
        "ttl 1d is too short: Acme webhooks may be delivered again for 7d; 6d are missing, and "
        "a margin of 16h48m beside; together 7d17h in whole hours"
    )
    assert one.fix == "write ttl: 7d17h, or longer"


@given(WINDOWS)
def test_the_suggested_ttl_passes_and_a_second_less_fails(window: timedelta) -> None:
    acme = replace(ACME, windows=(window,))
    given = window if window >= timedelta(minutes=1) else HOUR
    [short] = [one for one in found(given, acme) if one.code == "ttl-too-short"]
    suggested = parse_duration(short.fix.removeprefix("write ttl: ").removesuffix(", or longer"))

    assert suggested == requirement(window).ttl
    assert found(suggested, acme, reason="as it is") == []
    assert codes(suggested - SECOND, acme, reason="as it is") == ["ttl-too-short"]


def test_without_its_margin_a_window_would_pass_that_must_fail() -> None:
    assert codes(7 * DAY, ACME) == ["ttl-too-short"]
    assert codes(7 * DAY, replace(ACME, windows=(6 * DAY,))) == []


def test_where_sources_differ_the_longest_counts_and_all_are_told() -> None:
    disputed = replace(ACME, windows=(48 * HOUR, 4 * HOUR))
    assert codes(53 * HOUR, disputed) == []
    [one] = found(DAY, disputed)
    assert " for 2d (sources say 4h, 2d; the longest counts); " in one.message


def test_an_unknown_window_is_no_judgement_and_never_zero() -> None:
    unknown = replace(ACME, windows=(), certainty=Certainty.LOW, note="ask them")
    [one] = found(DAY, unknown)
    assert (one.code, one.severity, one.field) == ("horizon-unknown", Severity.INFO, "provider")
    assert one.message == (
        "cannot judge: for how long Acme webhooks may be delivered again is not known (ask them)"
    )
    policies = [endpoint(DAY, given) for given in (unknown, ACME, None)]
    assert [cannot_judge(policy) for policy in policies] == [True, False, False]


@pytest.mark.parametrize(
    ("certainty", "expected"),
    [(Certainty.HIGH, []), (Certainty.MEDIUM, []), (Certainty.LOW, ["horizon-unsure"])],
)
def test_a_window_that_rests_on_hints_is_a_warning(
    certainty: Certainty, expected: list[str]
) -> None:
    findings = found(8 * DAY, replace(ACME, certainty=certainty))
    assert [one.code for one in findings] == expected
    assert all(one.severity is Severity.WARNING for one in findings)


def test_a_window_is_stale_when_it_was_checked_more_than_a_year_ago() -> None:
    assert found(8 * DAY, replace(ACME, checked_on=date(2025, 11, 29))) == []
    [one] = found(8 * DAY, replace(ACME, checked_on=date(2025, 11, 28)))
    assert (one.code, one.severity) == ("horizon-stale", Severity.WARNING)
    assert "was checked on 2025-11-28" in one.message
    assert "https://acme.example/retries" in one.fix


def test_a_longer_ttl_of_before_is_told_when_nobody_is_owed_it() -> None:
    over, owed = (Previously(ttl=9 * DAY, until=until) for until in (NOW, NOW + SECOND))
    assert found(DAY, previously=owed) == []
    [one] = found(DAY, previously=over)
    assert (one.code, one.severity, one.field) == ("previously-over", Severity.INFO, "previously")


def test_a_longer_ttl_of_before_does_not_make_up_for_a_short_one() -> None:
    before = Previously(ttl=30 * DAY, until=NOW + DAY)
    assert codes(DAY, ACME, previously=before) == ["ttl-too-short"]

"""Policy files: what they promise, and where they are wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from idemctl.domain.policies import EndpointPolicy, Policies, Previously
from idemctl.domain.routes import parse_route
from idemctl.errors import ConfigError
from idemctl.settings.policies import read_policies

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """\
version: 1
endpoints:
  - endpoint: POST /v1/charges
    ttl: 24h
    previously: {ttl: 7d, until: 2026-12-06}
  - {endpoint: zoë, ttl: 1h30m}
"""
DAY = timedelta(days=1)
MOMENT = timedelta(microseconds=1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "policies.yaml"


def test_a_file_becomes_promises(file: Path) -> None:
    file.write_text(GOOD, "utf-8")
    assert read_policies(file) == Policies(
        endpoints={
            "POST /v1/charges": EndpointPolicy(
                endpoint="POST /v1/charges",
                route=parse_route("POST /v1/charges"),
                ttl=DAY,
                previously=Previously(ttl=7 * DAY, until=datetime(2026, 12, 7, tzinfo=UTC)),
            ),
            "zoë": EndpointPolicy(endpoint="zoë", ttl=timedelta(minutes=90)),
        }
    )


def test_what_was_promised_before_is_owed_to_the_last_moment_of_its_day(file: Path) -> None:
    file.write_text(GOOD, "utf-8")
    policies = read_policies(file)
    end = datetime(2026, 12, 7, tzinfo=UTC)
    assert policies.ttls_owed(end - MOMENT)[b"POST /v1/charges"] == 7 * DAY
    assert policies.ttls_owed(end)[b"POST /v1/charges"] == DAY
    assert policies.ttls_owed(end)["zoë".encode()] == timedelta(minutes=90)


def test_a_shorter_promise_of_before_shortens_nothing(file: Path) -> None:
    file.write_text(
        "version: 1\nendpoints:\n"
        "  - {endpoint: a, ttl: 7d, previously: {ttl: 1h, until: 2999-01-01}}\n"
    )
    assert read_policies(file).ttls_owed(datetime(2026, 1, 1, tzinfo=UTC)) == {b"a": 7 * DAY}


def test_a_file_without_endpoints_promises_nothing(file: Path) -> None:
    file.write_text("version: 1\nendpoints: []\n")
    assert read_policies(file).ttls_owed(datetime(2026, 1, 1, tzinfo=UTC)) == {}


ONE = "  - {endpoint: a, ttl: 1d, previously: {ttl: 7d, until: %s}}"


@pytest.mark.parametrize(
    ("endpoints", "place", "says"),
    [
        ("  - {endpoint: a}", "3:5", "ttl"),
        ("  - {endpoint: a, ttl: 0s}", "3:24", "zero"),
        ("  - {endpoint: a, ttl: soon}", "3:24", "not a duration"),
        ('  - {endpoint: "", ttl: 1d}', "3:16", ""),
        ('  - {endpoint: "a\\0", ttl: 1d}', "3:16", "holds a NUL"),
        ("  - {endpoint: a, ttl: 1d, tll: 2d}", "3:28", "tll"),
        ("  - {endpoint: a, ttl: 1d}\n  - {endpoint: a, ttl: 2d}", "3:3", "a is named twice"),
        (ONE % "someday", "3:57", "is a day, such as 2026-12-06"),
        (ONE % "2026-02-30", "3:57", "is a day, such as 2026-12-06"),
        (ONE % "86400", "3:57", "is a day, such as 2026-12-06"),
        (ONE % "9999-12-31", "3:57", "is a day, such as 2026-12-06"),
        (ONE % "[2026-12-06]", "3:57", "is a day, such as 2026-12-06"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    file: Path, endpoints: str, place: str, says: str
) -> None:
    file.write_text(f"version: 1\nendpoints:\n{endpoints}\n")
    with pytest.raises(ConfigError) as caught:
        read_policies(file)
    assert caught.value.message.startswith(f"{file}:{place}: ")
    assert says in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("text", ["", "version: 2\nendpoints: []\n", "version: 1\n", "- a\n"])
def test_a_file_of_another_form_is_refused(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(ConfigError, match=rf"^{file}:\d+:\d+: "):
        read_policies(file)


def test_a_file_that_is_not_there_is_named(file: Path) -> None:
    with pytest.raises(ConfigError, match=f"^{file}: no such file"):
        read_policies(file)

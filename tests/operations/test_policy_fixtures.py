"""Each rule of policies has a file in which it must speak, and its twin in which it must not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from idemctl.domain.findings import Severity
from idemctl.domain.policy_rules import RULES
from idemctl.operations.policy_check import check
from idemctl.settings.policies import policies_in
from tests.operations.tables import NOW, a_run

if TYPE_CHECKING:
    from idemctl.operations.policy_check import Finding

PAGE = Path(__file__).parents[2] / "docs" / "policies.md"
A = "  - {endpoint: a, ttl: 1d, "
EXEMPT = A + "exempt: [{code: %s, owner: ana, reason: b, until: %s}], made_by: %s}\n"
HASH = "  - {endpoint: a, ttl: 1h, pattern: body-hash, "
# By code: the endpoints in which it speaks, where, and the same with the one thing put right.
PAIRS = {
    "ttl-out-of-range": ("  - {endpoint: a, ttl: 8d}\n", "3:24", A + "reason: x}\n"),
    "body-hash-window": (
        "  - {endpoint: a, pattern: body-hash, ttl: 61m}\n",
        "3:44",
        "  - {endpoint: a, pattern: body-hash, ttl: 60m}\n",
    ),
    "in-progress-outlives-ttl": (
        A + "in_progress_timeout: 25h}\n",
        "3:49",
        A + "in_progress_timeout: 24h}\n",
    ),
    "in-progress-below-timeout": (
        A + "timeout: 30s, in_progress_timeout: 29s}\n",
        "3:63",
        A + "timeout: 30s, in_progress_timeout: 30s}\n",
    ),
    "redis-outlives-postgres": (A + "redis_ttl: 25h}\n", "3:39", A + "redis_ttl: 24h}\n"),
    "previously-over": (
        A + "previously: {ttl: 7d, until: 2026-11-28}}\n",
        "3:40",
        A + "previously: {ttl: 7d, until: 2026-11-29}}\n",
    ),
    "ttl-too-short": (
        A + "replay: [{queue: 12h}, {queue: 12h, client_retry: 11h}]}\n",
        "3:24",
        A + "replay: [{queue: 12h}, {queue: 12h, client_retry: 9h}]}\n",
    ),
    "upstream-forgets-first": (
        A + "replay: [{client_retry: 20h}], upstream_key_ttl: 19h}\n",
        "3:77",
        A + "replay: [{client_retry: 20h}], upstream_key_ttl: 20h}\n",
    ),
    "no-stable-key": (
        A + "provider: cal-com}\n",
        "3:38",
        A + "provider: cal-com, made_by: derived, fingerprint: {hashed: [uid]}}\n",
    ),
    "horizon-unsure": (
        A + "replay: [{client_retry: 1h}, {provider: twilio-webhooks}]}\n",
        "3:68",
        A + "replay: [{client_retry: 1h}, {provider: slack-events-api}]}\n",
    ),
    "horizon-unknown": (
        A + "replay: [{queue: unknown}]}\n",
        "3:45",
        HASH + "replay: [{queue: unknown}]}\n",
    ),
    "server-made-key": (A + "made_by: server}\n", "3:37", A + "made_by: client}\n"),
    "financial-not-primary-only": (
        A + "class: financial, reads: replica}\n",
        "3:53",
        A + "class: financial, reads: primary-only}\n",
    ),
    "unscoped-key": (
        "  - {ttl: 1d, endpoint: 'POST /tenants/{id}/x'}\n",
        "3:25",
        "  - {ttl: 1d, endpoint: 'POST /tenants/{id}/x', scope: [tenant]}\n",
    ),
    "volatile-fingerprint": (
        HASH + "fingerprint: {hashed: [body.amount, body.sent_at]}}\n",
        "3:84",
        HASH + "fingerprint: {hashed: [body.amount], left_out: [body.sent_at]}}\n",
    ),
    "key-not-in-path": (
        "  - {endpoint: 'POST /m/{id}', ttl: 1d, key: {in: path, name: key}}\n",
        "3:63",
        "  - {endpoint: 'POST /m/{key}', ttl: 1d, key: {in: path, name: key}}\n",
    ),
    "unreachable-endpoint": (
        "  - {endpoint: 'POST /a/{x}', ttl: 1d}\n  - {endpoint: 'POST /a/{y}', ttl: 1d}\n",
        "4:16",
        "  - {endpoint: 'POST /a/{x}', ttl: 1d}\n  - {endpoint: 'POST /b/{y}', ttl: 1d}\n",
    ),
    "overlapping-endpoints": (
        "  - {endpoint: 'POST /a/{x}', ttl: 1d}\n  - {endpoint: 'POST /{y}/b', ttl: 1d}\n",
        "4:16",
        "  - {endpoint: 'POST /a/{x}', ttl: 1d}\n  - {endpoint: 'POST /a/b', ttl: 1d}\n",
    ),
    "exemption-over": (
        EXEMPT % ("server-made-key", "2026-11-28", "server"),
        "3:91",
        EXEMPT % ("server-made-key", "2026-11-29", "server"),
    ),
    "exemption-unused": (
        EXEMPT % ("server-made-key", "2026-11-29", "client"),
        "3:44",
        EXEMPT % ("server-made-key", "2026-11-29", "server"),
    ),
}
ELSEWHERE = {"horizon-stale"}
"""Told by the date alone: see the tests of incidents."""


def found(folder: Path, endpoints: str) -> list[Finding]:
    file = folder / "p.yaml"
    file.write_text(f"version: 1\nendpoints:\n{endpoints}")
    return list(check([file], policies_in, a_run(), now=NOW).findings)


@pytest.mark.parametrize("code", PAIRS)
def test_a_rule_speaks_where_it_must_at_the_very_place(code: str, tmp_path: Path) -> None:
    endpoints, place, _ = PAIRS[code]
    [one] = [one for one in found(tmp_path, endpoints) if one.code == code]
    assert str(one.place) == f"{tmp_path / 'p.yaml'}:{place}"
    assert one.message
    assert one.fix


@pytest.mark.parametrize("code", PAIRS)
def test_a_rule_keeps_silent_where_the_one_thing_is_right(code: str, tmp_path: Path) -> None:
    assert code not in [one.code for one in found(tmp_path, PAIRS[code][2])]


def test_every_rule_has_its_pair_and_its_line_on_the_page() -> None:
    page = PAGE.read_text("utf-8")
    assert {rule.code for rule in RULES} == set(PAIRS) | ELSEWHERE
    for rule in RULES:
        assert f"| `{rule.code}` | {rule.severity.label} | {rule.what} |" in page


def test_all_that_is_wrong_with_a_file_is_told_in_one_run(tmp_path: Path) -> None:
    lines = "".join(
        pair[0].replace("endpoint: a,", f"endpoint: a{number},")
        for number, pair in enumerate(PAIRS.values())
        if "POST" not in pair[0]
    )
    codes = {one.code for one in found(tmp_path, lines)}
    assert codes >= {code for code, pair in PAIRS.items() if "POST" not in pair[0]}


def test_what_a_person_answers_for_is_counted_and_fails_nothing(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    exempt = EXEMPT % ("server-made-key", "2026-11-29", "server")
    file.write_text(f"version: 1\nendpoints:\n{exempt}")
    [one] = check([file], policies_in, a_run(), now=NOW, fail_on=Severity.INFO).files
    assert (one.findings, one.exempted_count) == ((), 1)


@pytest.mark.parametrize(
    ("path", "fires"),
    [
        ("/tenants/{id}/x", True),
        ("/{tenant_id}/x", True),
        ("/organisations/{slug}", True),
        ("/workspaces/list", False),
        ("/charges/{id}", False),
    ],
)
def test_a_path_of_many_tenants_is_known_by_its_words(
    path: str, *, fires: bool, tmp_path: Path
) -> None:
    codes = [one.code for one in found(tmp_path, f"  - {{endpoint: 'POST {path}', ttl: 1d}}\n")]
    assert codes == (["unscoped-key"] if fires else [])


def test_an_endpoint_without_anything_unusual_is_no_finding(tmp_path: Path) -> None:
    assert found(tmp_path, A + "made_by: client}\n") == []

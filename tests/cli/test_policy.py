"""policy check at the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.places import Place

GOOD = "version: 1\nendpoints:\n  - {endpoint: a, ttl: 7d}\n"
SHORT = "version: 1\nendpoints:\n  - {endpoint: a, ttl: 1d, provider: adyen}\n"
CONFIGURED = """\
version: 1
stores:
  payments: {postgres: {}, policies: short.yaml}
  refunds: {postgres: {}, policies: short.yaml}
  webhooks: {postgres: {}, policies: good.yaml}
  outbox: {postgres: {}}
"""


@pytest.fixture
def files(place: Place) -> Place:
    (place.folder / "good.yaml").write_text(GOOD)
    (place.folder / "short.yaml").write_text(SHORT)
    return place


def test_files_are_named_as_they_were_typed_and_need_no_configuration(files: Place) -> None:
    done = files.main("policy", "check", "-o", "json", "short.yaml", "good.yaml", "short.yaml")
    assert (done.status, done.err) == (3, "")
    assert done.document["schema"] == "idemctl/policy-check/v1"
    assert [(one["file"], one["line"], one["column"]) for one in done.document["items"]] == [
        ("short.yaml", 3, 24)
    ]
    assert done.summary["files"] == 2


def test_without_files_those_of_the_chosen_stores_are_checked_each_once(files: Place) -> None:
    files.configure(CONFIGURED)
    done = files.main("policy", "check", "-o", "json")
    assert done.status == 3
    assert done.summary["files"] == 2
    assert [one["file"] for one in done.document["items"]] == [str(files.folder / "short.yaml")]
    assert files.main("policy", "check", "--store", "webhooks").status == 0


def test_stores_that_name_no_file_leave_nothing_to_check_and_that_is_no_success(
    files: Place,
) -> None:
    files.configure(CONFIGURED)
    done = files.main("policy", "check", "--store", "outbox")
    assert done.status == 78
    assert "no policy file to check: none is named by outbox" in done.err
    assert not files.state.exists()


@pytest.mark.parametrize(
    ("severity", "status"), [("info", 3), ("warning", 3), ("error", 3), ("critical", 0)]
)
def test_fail_on_decides_the_status(files: Place, severity: str, status: int) -> None:
    assert files.main("policy", "check", "short.yaml", "--fail-on", severity).status == status


def test_a_severity_that_does_not_exist_is_a_wrong_word(files: Place) -> None:
    done = files.main("policy", "check", "good.yaml", "--fail-on", "grave")
    assert done.status == 2
    assert "write one of info, warning, error, critical" in done.err


def test_a_file_that_is_not_there_is_told_beside_what_was_found(files: Place) -> None:
    done = files.main("policy", "check", "none.yaml", "short.yaml", "-o", "json")
    assert done.status == 78
    assert [one["message"] for one in done.document["errors"]] == ["none.yaml: no such file"]
    assert len(done.document["items"]) == 1
    assert "none.yaml: no such file" in done.err


def test_an_invalid_file_is_a_finding_here_and_an_error_for_who_needs_it(files: Place) -> None:
    (files.folder / "short.yaml").write_text("version: 1\n")
    files.configure(CONFIGURED)
    files.lead(DATABASE_URL="postgresql://127.0.0.1:1/none")
    assert files.main("policy", "check").status == 3
    assert files.main("gc", "--store", "payments").status == 78


API = """\
openapi: 3.1.0
paths:
  /v1/charges/{chargeId}/refund:
    post: {operationId: refund}
    get: {operationId: look}
  /v1/labels:
    put: {operationId: relabel}
  /v1/known/{x}:
    post: {}
"""


def test_what_an_api_changes_without_a_policy_is_named_and_written_as_sarif(files: Place) -> None:
    (files.folder / "api.yaml").write_text(API)
    (files.folder / "good.yaml").write_text(
        "version: 1\nendpoints:\n  - {endpoint: 'POST /v1/known/{id:uuid}', ttl: 7d}\n"
    )
    done = files.main(
        *("policy", "check", "good.yaml", "--openapi", "api.yaml", "--sarif", "out.sarif"),
        *("-o", "json"),
    )
    assert done.status == 3
    assert [(one["code"], one["line"], one["endpoint"]) for one in done.document["items"]] == [
        ("external-action-without-policy", 4, "POST /v1/charges/{chargeId}/refund"),
        ("operation-without-policy", 7, "PUT /v1/labels"),
    ]
    [run] = json.loads((files.folder / "out.sarif").read_text())["runs"]
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [
        ("external-action-without-policy", "error"),
        ("operation-without-policy", "warning"),
    ]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "api.yaml"},
        "region": {"startLine": 4, "startColumn": 5},
    }


def test_an_api_of_another_form_or_a_place_that_cannot_be_written_is_an_error(
    files: Place,
) -> None:
    assert files.main("policy", "check", "good.yaml", "--openapi", "good.yaml").status == 78
    assert files.main("policy", "check", "good.yaml", "--sarif", "no/such/f").status == 78


def test_show_explains_the_sum_behind_what_is_required(files: Place) -> None:
    (files.folder / "good.yaml").write_text(
        "version: 1\nendpoints:\n  - {endpoint: 'POST /h/{id}', ttl: 40d, replay: [{client_retry: "
        "2d}, {provider: aws-sns, queue: 14d, dead_letter_queue: 14d}]}\n"
    )
    done = files.main("policy", "show", "POST /h/7", "--file", "good.yaml", "--explain")
    assert (done.status, done.err) == (0, "")
    assert [line.strip() for line in done.out.splitlines() if line.startswith("  ")] == [
        "ttl         40d",
        "way back    2d   client retry",
        (
            "way back    23d + 14d + 14d = 51d   messages of AWS SNS on their way to SQS or "
            "Lambda, then queue, then dead-letter queue   the longest"
        ),
        "margin      5d2h24m   an hour, or a tenth of it",
        "required    56d3h   51d + 5d2h24m, in whole hours",
        "missing     11d, and the margin",
    ]


def test_show_lists_all_and_gives_programs_every_hop(files: Place) -> None:
    done = files.main("policy", "show", "--file", "good.yaml", "--file", "short.yaml", "-o", "json")
    assert done.status == 0
    assert [(one["ttl"], one["required"], one["missing"]) for one in done.document["items"]] == [
        ("7d", None, None),
        ("1d", "33d", "32d"),
    ]
    assert done.document["items"][1]["ways_back"] == [
        {
            "known": "30d",
            "is_whole": True,
            "hops": [{"way": "provider", "provider": "adyen", "length": "30d"}],
        }
    ]
    assert done.summary == {"endpoints": 2, "too_short": 1}


def test_show_of_what_no_policy_names_is_a_wrong_word(files: Place) -> None:
    done = files.main("policy", "show", "b", "--file", "good.yaml")
    assert done.status == 2
    assert "no policy says anything of 'b'" in done.err


def test_quiet_says_nothing_while_all_is_well(files: Place) -> None:
    done = files.main("policy", "check", "good.yaml", "-q")
    assert (done.status, done.out, done.err) == (0, "", "")

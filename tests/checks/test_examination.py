"""All checks on one place: what adds up, what is shown, and what is not judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from idemctl.checks.check import Source, about
from idemctl.checks.examination import Examination
from idemctl.checks.keys import KEY_OVERSIZED
from idemctl.checks.registry import CHECKS
from idemctl.domain.records import Status
from idemctl.domain.sight import Sight
from tests.checks.places import HOUR, MINUTE, POSTGRES, REDIS, WORKFLOW, examined
from tests.domain.batches import at, batch

LONG = {"status": Status.UNKNOWN, "expires_at": at(HOUR)}


def test_batches_add_up_and_five_keys_are_shown() -> None:
    examination = Examination(POSTGRES, [KEY_OVERSIZED])
    for number in range(4):
        keys = [b"%d" % number * 300, b"short", b"x" * (400 + number)]
        examination.see(batch(*({"keys": key} | LONG for key in keys)), at(0))
    (finding,) = examination.findings("payments", "here")
    assert (examination.overview.seen_count, finding.count, len(finding.sample)) == (12, 8, 5)
    assert finding.sample[2] == {"key": "1" * 300}
    assert finding.evidence == "keys of 300 to 403 bytes"
    assert (finding.store, finding.place) == ("payments", "here")


def test_records_are_counted_by_status() -> None:
    rows = [{"status": status} for status in (*Status, Status.COMPLETED)]
    counted = examined(POSTGRES, *rows).overview.by_status
    assert counted == dict.fromkeys(Status, 1) | {Status.COMPLETED: 2}


def test_an_empty_batch_is_nothing() -> None:
    examination = examined(REDIS)
    assert (examination.overview.seen_count, examination.findings("a", "b")) == (0, [])


def test_a_scope_is_shown_with_its_key() -> None:
    examination = Examination(POSTGRES, [KEY_OVERSIZED])
    examination.see(batch({"keys": b"k" * 300, "scopes": b"ac\x1bme"} | LONG), at(0))
    (finding,) = examination.findings("payments", "here")
    assert finding.sample == ({"key": "k" * 300, "scope": "ac\\x1bme"},)


def test_what_is_given_up_is_no_finding_and_no_check_that_was_made() -> None:
    examination = Examination(POSTGRES, [KEY_OVERSIZED])
    examination.see(batch({"keys": b"k" * 300} | LONG), at(0))
    examination.give_up("key-oversized", "it was dark")
    examination.see(batch({"keys": b"k" * 300} | LONG), at(0))
    examination.add("key-oversized", 3, [(b"k", b"")])
    assert (examination.findings("a", "b"), examination.checked) == ([], [])
    assert [(one.code, one.why) for one in examination.cannot_judge] == [
        ("key-oversized", "it was dark")
    ]


def test_every_check_is_made_or_cannot_be() -> None:
    for facts in (POSTGRES, REDIS, WORKFLOW, replace(REDIS, sight=frozenset(), is_paired=True)):
        examination = Examination(facts, CHECKS)
        blind = [one.code for one in examination.cannot_judge]
        assert sorted([*examination.checked, *blind]) == sorted(
            check.code for check in CHECKS if check.applies(facts)
        )
        examination.give_up_all("down")
        assert examination.checked == []


def test_of_a_pair_only_postgres_is_asked_for_repeated_keys() -> None:
    for facts, is_paired, expected in (
        (POSTGRES, True, ["key-on-two-endpoints"]),
        (REDIS, False, ["key-on-two-endpoints"]),
        (REDIS, True, []),
    ):
        one = Examination(replace(facts, is_paired=is_paired), CHECKS)
        assert one.makes(Source.REPEATS) == expected


def test_what_lies_beside_the_records_is_added() -> None:
    examination = Examination(WORKFLOW, CHECKS)
    assert examination.makes(Source.CHILD) == ["workflow-step-repeated"]
    examination.add("workflow-step-repeated", 0, [])
    assert examination.findings("workflows", "here") == []
    for number in range(8):
        examination.add("workflow-step-repeated", 1, [(b"run-%d" % number, b"")])
    (finding,) = examination.findings("workflows", "here")
    assert (finding.count, len(finding.sample)) == (8, 5)


def test_without_a_pair_another_command_comes_next() -> None:
    endless = {"status": Status.UNKNOWN}
    for is_paired, following in (
        (True, "idemctl reconcile --store payments"),
        (False, "idemctl policy check"),
    ):
        facts = replace(REDIS, is_paired=is_paired, sight=frozenset({Sight.KEY_TTL}))
        (finding,) = examined(facts, endless).findings("payments", "here")
        assert (finding.code, finding.next) == ("record-without-ttl", following)


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0, "1s"),
        (0.2, "1s"),
        (59, "59s"),
        (90, "1m30s"),
        (2 * HOUR + 61, "2h1m"),
        (47 * HOUR + 59 * MINUTE, "1d23h59m"),
        (50 * HOUR + 59 * MINUTE, "2d2h"),
        (-3 * HOUR, "3h"),
        (999 * 24 * HOUR, "999d"),
        (36_500 * 24 * HOUR, "36500d"),
        (36_501 * 24 * HOUR, "99 years"),
        (2_000 * 366 * 24 * HOUR, "2,004 years"),
        (290_000 * 365 * 24 * HOUR, "289,801 years"),
    ],
)
def test_a_length_is_told_as_exactly_as_it_matters(seconds: float, written: str) -> None:
    assert about(round(seconds * 1_000_000)) == written

"""What audit prints: the sight first, then findings, then what could not be judged."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from idemctl.checks.examination import CannotJudge
from idemctl.checks.overview import Overview
from idemctl.domain.acceptances import Acceptance
from idemctl.domain.findings import Finding, Severity, sample_of
from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.records import Pattern, Status
from idemctl.domain.shares import Interval, Sampled
from idemctl.domain.sight import Engine, FailureMode, Sight, view
from idemctl.errors import ExitStatus, Unreachable
from idemctl.render.audit import report
from idemctl.run.audited import Audited, Options, Outcome, StoreSight
from idemctl.run.run import Run
from idemctl.run.target import Target
from tests.render.reports import AT

BLIND = CannotJudge(code="stuck-in-progress", why="no lease column")
FINDING = Finding(
    code="key-oversized",
    severity=Severity.WARNING,
    store="payments",
    engine=Engine.POSTGRES,
    pattern=Pattern.POSTGRES_UNIQUE,
    place="postgres t",
    count=1234,
    sample=(sample_of(b"k" * 300, b""), sample_of(b"\x1b[31m", b"acme")),
    evidence="keys of 300 bytes",
    why="It hurts.",
    next="idemctl hits --store payments",
)
OVERVIEW = Overview(
    sampled=Sampled(batches=5, records=5000, squares=5_000_000),
    by_status=dict.fromkeys(Status, 0) | {Status.COMPLETED: 4999, Status.FAILED: 1},
)
PLACE = Audited(
    target=Target(store="payments", opens=None),  # type: ignore[arg-type]  # Nobody opens it.
    pattern=Pattern.POSTGRES_UNIQUE,
    place="postgres t",
    overview=OVERVIEW,
    row_estimate=9000,
    findings=[FINDING],
    checked=["key-oversized", "expiry-missing"],
    cannot_judge=[BLIND, CannotJudge(code="lease-never-filled", why="no lease column")],
    why_stopped=WhyStopped.DONE,
)
SEEN = {Sight.STATUS, Sight.EXPIRY, Sight.ENDPOINT}
SIGHT = StoreSight(
    store="payments",
    engine=Engine.POSTGRES,
    views=tuple(view(mode, SEEN) for mode in FailureMode),
)


def made(*places: Audited, **more: Any) -> Any:
    known: dict[str, Any] = {
        "options": Options(),
        "on": AT.date(),
        "sights": (SIGHT,),
        "places": places or (PLACE,),
    }
    return report(Outcome(**known | more), Run(verb="audit"), AT)


def test_an_item_holds_what_a_finding_is() -> None:
    (item,) = made().items
    assert item == {
        "code": "key-oversized",
        "severity": "warning",
        "store": "payments",
        "side": "postgres",
        "pattern": "postgres-unique",
        "place": "postgres t",
        "count": 1234,
        "share": None,
        "sample": [
            {"key": "k" * 300},
            {"key": "\\x1b[31m", "key_base64": "G1szMW0=", "scope": "acme"},
        ],
        "evidence": "keys of 300 bytes",
        "why": "It hurts.",
        "next": "idemctl hits --store payments",
        "accepted": None,
    }


def test_the_summary_counts_findings_records_and_what_was_not_judged() -> None:
    summary = made().summary
    assert {name: summary[name] for name in ("findings", "warning", "critical", "info")} == {
        "findings": 1,
        "warning": 1,
        "critical": 0,
        "info": 0,
    }
    assert (summary["checked"], summary["cannot_judge"], summary["whole"]) == (2, 2, False)
    assert summary["records"] == {"payments": {"postgres-unique": {"completed": 4999, "failed": 1}}}
    assert summary["places"][0]["cannot_judge"][0] == {
        "code": "stuck-in-progress",
        "why": "no lease column",
    }


def test_the_sight_says_why_and_what_to_add() -> None:
    sight = made().summary["sight"]["payments"]
    assert set(sight) == {mode.value for mode in FailureMode}
    assert sight["crash-mid-write"] == {
        "sight": "blind",
        "why": "no lease column",
        "add": "lease: in the layout, once the application writes it",
    }
    assert sight["expired-before-retry"] == {"sight": "curable", "why": None, "add": None}


def test_the_first_table_has_a_row_for_each_of_the_six_patterns() -> None:
    first, *_ = made().sheets
    assert [row[0] for row in first.rows] == [pattern.label for pattern in Pattern]
    assert first.rows[0][:9] == (
        "postgres-unique", "payments", "postgres t", "5,000", "0", "4,999", "1", "0", "0",
    )  # fmt: skip
    assert first.rows[0][9:] == ("-", "-", "0", "0 B", "unknown", "unknown", "none known")
    assert first.rows[1][:3] == ("redis-setnx", "none configured", "")
    unread = made(replace(PLACE, overview=None))
    assert unread.sheets[0].rows[0][3] == "not read"
    assert unread.summary["places"][0]["seen"] is None


def test_the_sight_is_told_with_equal_modes_together() -> None:
    _, first, second = made().sheets
    assert first.title == "what the records show"
    assert ("payments", "key-collision, malicious-reuse", "blind", "no fingerprint column",
            "fingerprint: in the layout, once the application writes it") in first.rows  # fmt: skip
    assert [row[2] for row in first.rows] == ["curable", "seen", *["blind"] * 4]
    ((*_, such_as),) = second.rows
    assert such_as == "k" * 48 + "…"


def test_the_lines_tell_why_it_hurts_and_what_was_not_judged() -> None:
    lines = made().sheets[2].lines
    codes = ("stuck-in-progress", "lease-never-filled")
    assert lines == [
        "key-oversized: It hurts. Next: idemctl hits --store payments",
        "payments (postgres t): cannot judge " + ", ".join(codes) + ": no lease column",
        "1 finding (1 warning) by 2 checks on 5,000 records; 2 checks cannot be judged",
    ]


def test_a_part_is_never_told_as_the_whole() -> None:
    part = replace(PLACE, findings=[], why_stopped=WhyStopped.DEADLINE)
    told = made(part)
    assert (
        "payments (postgres t): stopped early (deadline) after 5,000 records of about 9,000"
        in told.sheets[2].lines
    )
    assert "in the part that was looked at" in told.headline
    assert told.summary["why_stopped"] == "deadline"
    broken = made(replace(PLACE, findings=[]), failures=(Unreachable("gone"),))
    assert "in the part that was looked at" in broken.headline
    assert broken.errors[0]["message"] == "gone"


def test_of_a_sample_shares_are_told_and_what_may_be_where_nothing_was_found() -> None:
    finding = replace(FINDING, share=Interval(0.24, 0.2557))
    told = made(replace(PLACE, findings=[finding], is_sample=True))
    assert told.items[0]["share"] == {"low": 0.24, "high": 0.2557}
    assert told.sheets[2].rows[0][4] == "1,234 seen: 24 to 26 %"
    assert told.sheets[0].rows[0][3] == "5,000 sampled"
    said = "payments (postgres t): sampled; of what was not found there may be 0 to 0.077 %"
    assert said in told.sheets[2].lines
    assert made().items[0]["share"] is None


def accepted(**more: Any) -> Acceptance:
    known: dict[str, Any] = {
        "owner": "ann",
        "reason": "old clients",
        "until": AT.date(),
        "at_most": 2000,
    }
    return Acceptance(**known | {"code": FINDING.code, "store": "payments"} | more)


def test_what_somebody_answers_for_is_shown_and_is_no_finding_any_more() -> None:
    outcome = {"options": Options(acceptances=(accepted(),))}
    told = made(**outcome)
    assert told.status is ExitStatus.OK
    assert (told.summary["findings"], told.summary["accepted"], told.summary["warning"]) == (
        0,
        1,
        0,
    )
    assert told.items[0]["accepted"] == {
        "owner": "ann", "reason": "old clients", "until": AT.date().isoformat(),
    }  # fmt: skip
    assert told.sheets[2].rows[0][0] == "accepted"
    assert told.headline.endswith("2 checks cannot be judged; 1 finding accepted")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"until": AT.date() - timedelta(days=1)}, "ended with 2026-"),
        ({"at_most": 1233}, "speaks of at most 1,233, and there are 1,234"),
        ({"code": "expiry-missing"}, "nothing of the kind was found"),
        ({"side": Engine.REDIS}, "nothing of the kind was found"),
    ],
)
def test_an_acceptance_that_does_not_hold_hides_nothing_and_is_named(
    more: dict[str, Any], why: str
) -> None:
    told = made(options=Options(acceptances=(accepted(**more),)))
    assert told.status is ExitStatus.FINDINGS
    assert told.items[0]["accepted"] is None
    [useless] = told.summary["baseline"]
    assert useless["useless"].startswith(why)


def test_an_acceptance_of_what_was_not_looked_for_is_not_called_useless() -> None:
    elsewhere = accepted(store="outbox", code="expiry-missing")
    assert made(options=Options(acceptances=(elsewhere,))).summary["baseline"] == []
    part = replace(PLACE, why_stopped=WhyStopped.DEADLINE)
    unseen = accepted(code="expiry-missing")
    assert made(part, options=Options(acceptances=(unseen,))).summary["baseline"] == []


def test_nothing_found_is_said_with_how_much_was_looked_at() -> None:
    whole = replace(PLACE, findings=[], cannot_judge=[])
    assert made(whole).headline == "nothing found by 2 checks on 5,000 records"
    assert made(whole).summary["whole"] is True


def test_whose_records_most_are_is_told_with_names_that_act_on_nothing() -> None:
    overview = Overview()
    overview.scopes.add([b"acme", b"acme", b"\x1b[31m", b""])
    overview.endpoints.add([b"x" * 60])
    overview.endpoints.missed = 7
    whole = made(replace(PLACE, overview=overview))
    sheet = whole.sheets[1]
    assert sheet.title == "who has the most records"
    assert [row[2:] for row in sheet.rows] == [
        ("scope", "acme", "2", "67%"),
        ("scope", "\\x1b[31m", "1", "33%"),
        ("endpoint", "x" * 48 + "…", "at least 1", "at least 100%"),
    ]
    most = whole.summary["places"][0]["most"]
    assert most["scope"] == {
        "records": 3,
        "exact": True,
        "most": [{"name": "acme", "records": 2}, {"name": "\\x1b[31m", "records": 1}],
    }
    assert (most["endpoint"]["exact"], most["endpoint"]["most"][0]["name"]) == (False, "x" * 60)

"""What audit prints: the sight first, then findings, then what could not be judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from idemctl.checks.examination import CannotJudge
from idemctl.domain.findings import Finding, Severity, sample_of
from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.records import Pattern, Status
from idemctl.domain.sight import Engine, FailureMode, Sight, view
from idemctl.errors import Unreachable
from idemctl.operations.audit import Audited, Options, Outcome, StoreSight
from idemctl.render.audit import report
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
PLACE = Audited(
    target=Target(store="payments", opens=None),  # type: ignore[arg-type]  # Nobody opens it.
    pattern=Pattern.POSTGRES_UNIQUE,
    place="postgres t",
    seen_count=5000,
    row_estimate=9000,
    by_status={Status.COMPLETED: 4999, Status.FAILED: 1, Status.UNKNOWN: 0},
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
    known: dict[str, Any] = {"options": Options(), "sights": (SIGHT,), "places": places or (PLACE,)}
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
        "sample": [
            {"key": "k" * 300},
            {"key": "\\x1b[31m", "key_base64": "G1szMW0=", "scope": "acme"},
        ],
        "evidence": "keys of 300 bytes",
        "why": "It hurts.",
        "next": "idemctl hits --store payments",
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


def test_the_first_table_is_the_sight_with_equal_modes_together() -> None:
    first, second = made().sheets
    assert first.title == "what the records show"
    assert ("payments", "key-collision, malicious-reuse", "blind", "no fingerprint column",
            "fingerprint: in the layout, once the application writes it") in first.rows  # fmt: skip
    assert [row[2] for row in first.rows] == ["curable", "seen", *["blind"] * 4]
    ((*_, such_as),) = second.rows
    assert such_as == "k" * 48 + "…"


def test_the_lines_tell_why_it_hurts_and_what_was_not_judged() -> None:
    lines = made().sheets[1].lines
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
        in told.sheets[1].lines
    )
    assert "in the part that was looked at" in told.headline
    assert told.summary["why_stopped"] == "deadline"
    broken = made(replace(PLACE, findings=[]), failures=(Unreachable("gone"),))
    assert "in the part that was looked at" in broken.headline
    assert broken.errors[0]["message"] == "gone"


def test_nothing_found_is_said_with_how_much_was_looked_at() -> None:
    whole = replace(PLACE, findings=[], cannot_judge=[])
    assert made(whole).headline == "nothing found by 2 checks on 5,000 records"
    assert made(whole).summary["whole"] is True

"""The reports of the verbs: what people read, and what programs do."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.domain.outcomes import IfLocked, WhyStopped
from idemctl.domain.partitions import Partition
from idemctl.domain.purposes import Purpose
from idemctl.domain.sight import Engine
from idemctl.errors import ExitStatus, Unreachable
from idemctl.operations.doctor import Line, Outcome, Role, Roles
from idemctl.operations.gc import Options, gc
from idemctl.operations.store_show import show as store_show
from idemctl.render import doctor as doctor_report
from idemctl.render import gc as gc_report
from idemctl.render import store_show as store_report
from idemctl.render.envelope import envelope
from idemctl.render.figures import count, span, when
from idemctl.render.formats import Format, show
from tests.operations.tables import DAY, HOUR, NOW, a_run, row, some_rows, target

if TYPE_CHECKING:
    from idemctl.domain.outcomes import Report
    from idemctl.operations.gc import Outcome as Collected
    from idemctl.run.run import Run

APPLY = Options(apply=True)
DOWN = Unreachable("memory: gone", hint="look")
ROWS = [
    *some_rows(),
    row("running", expired_for=-HOUR, status="in_progress"),
    row("stuck", expired_for=HOUR, status="in_progress"),
    row("odd", expired_for=HOUR, status="?"),
    row("unsaid", expired_for=HOUR, expires_at=None),
]


def table(report: Report) -> str:
    stream = io.StringIO()
    show(report, Format.TABLE, stream, color=False)
    return stream.getvalue()


def expected(name: str) -> str:
    return Path(__file__).with_name("expected").joinpath(f"{name}.txt").read_text("utf-8")


def of_gc(outcome: Collected, run: Run | None = None) -> Report:
    return gc_report.report(outcome, run or a_run(), NOW)


def test_a_look_is_this_table() -> None:
    assert table(of_gc(gc([target(rows=ROWS)[0]], Options(), a_run()))) == expected("gc-look")


def test_a_collection_is_this_table() -> None:
    aim, held = target()
    held.held = {b"old-2"}
    outcome = gc([aim], APPLY, a_run())
    [one] = outcome.targets
    instant = replace(one, collection=replace(one.collection, longest_batch_ms=0.3))
    assert table(of_gc(replace(outcome, targets=(instant,)))) == expected("gc-apply")


@pytest.mark.parametrize("options", [Options(), APPLY])
def test_the_summary_of_gc_has_these_figures(options: Options) -> None:
    run = a_run()
    report = of_gc(gc([target(rows=ROWS)[0]], options, run), run)
    document = envelope(report)
    assert (document["schema"], document["store"], document["run_id"]) == (
        "idemctl/gc/v1",
        "payments",
        run.id,
    )
    counts = {
        "candidates": 3,
        "protected": 1,
        "kept_by_layout": 0,
        "deleted": 3 if options.apply else 0,
        "children_deleted": 0,
        "skipped_locked": 0,
        "changed_meanwhile": 0,
        "failed": 0,
        "batches": 3 if options.apply else 0,
    }
    summary: dict[str, Any] = dict(document["summary"])
    [store] = summary.pop("stores")
    for one in (summary, store):
        assert isinstance(one.pop("longest_batch_ms"), float)
    assert isinstance(store.pop("clock_ahead_s"), float)
    assert (store.pop("waited_s"), store.pop("waited_for")) == (0.0, [])
    brakes = {one["brake"]: one["ruling"] for one in store.pop("brakes")}
    assert brakes == dict.fromkeys(
        ("volume", "shorter-promise", "clock-jump", "outage"), "cannot-judge"
    )
    cutoff = "2026-11-29T12:00:00.000Z"
    assert summary == counts | {"apply": options.apply, "cutoff": cutoff, "why_stopped": "done"} | {
        "left_to_another_gc": []
    }
    assert store == counts | {
        "store": "payments",
        "pattern": "postgres-unique",
        "place": "memory",
        "cutoff": cutoff,
        "promises": {"ttl": None, "policies": {}},
        "expires_by_itself": False,
        "oldest_left_at": None,
        "why_stopped": "done",
        "troubles": [],
        "references": [],
        "partitions": [],
        "witness": None,
    }
    assert document["items"][0] == {
        "code": "expired",
        "store": "payments",
        "pattern": "postgres-unique",
        "place": "memory",
        "count": 3,
        "promise": "stored expiry",
        "oldest_end_at": "2026-11-29T09:00:00.000Z",
        "newest_end_at": "2026-11-29T11:00:00.000Z",
        "why": "its promise (stored expiry) ended, the oldest 3 h ago",
    }
    assert [item["code"] for item in document["items"]] == [
        *("expired", "live", "in-progress", "in-progress-past-expiry", "never-expires", "malformed")
    ]


def test_several_stores_are_no_one_store() -> None:
    aims = [target()[0], target("webhooks")[0]]
    report = of_gc(gc(aims, Options(), a_run()))
    assert report.store is None
    assert report.summary["candidates"] == 6


def stopped(why: WhyStopped) -> Run:
    run = a_run()
    run.stop.ask(why)
    return run


@pytest.mark.parametrize(
    ("rows", "options", "headline"),
    [
        (ROWS, Options(), "1 record expired before {at} in the part that was looked at"),
        (
            some_rows(expired=0),
            Options(),
            "0 records expired before {at} in the part that was looked at",
        ),
        (
            some_rows(expired=0),
            APPLY,
            "nothing had expired before {at} in the part that was looked at",
        ),
    ],
)
def test_a_part_is_never_told_as_the_whole(
    rows: list[dict[str, Any]], options: Options, headline: str
) -> None:
    run = stopped(WhyStopped.TERMINATED)
    report = of_gc(gc([target(rows=rows)[0]], options, run))
    assert report.headline == headline.format(at="2026-11-29 12:00:00 UTC")
    assert report.status is ExitStatus.TERMINATED
    assert (
        "payments (memory): stopped early (terminated); run again to go on"
        in report.sheets[0].lines
    )


def test_a_table_that_was_locked_is_not_told_as_empty() -> None:
    report = of_gc(gc([target(troubles=20)[0]], APPLY, a_run()))
    assert report.headline.endswith(" in the part that was looked at")
    assert "locked by another session" in report.sheets[0].lines


def test_nothing_to_do_is_said() -> None:
    rows = some_rows(expired=0)
    at = "2026-11-29 12:00:00 UTC"
    look = of_gc(gc([target(rows=rows)[0]], Options(), a_run()))
    assert look.headline == f"0 records expired before {at}; nothing to do"
    done = of_gc(gc([target(rows=rows)[0]], APPLY, a_run()))
    assert done.headline == f"nothing had expired before {at}"


def test_a_failure_is_in_the_report_beside_what_was_done() -> None:
    report = of_gc(gc([target(fails_after=1, failure=DOWN)[0]], APPLY, a_run()))
    assert report.errors == [{"status": "unreachable", "message": "memory: gone", "hint": "look"}]
    assert report.status is ExitStatus.UNREACHABLE
    assert report.summary["deleted"] == 1
    assert " in the part that was looked at, in 1 batch, " in report.headline


@pytest.mark.parametrize("options", [Options(), APPLY])
def test_a_partition_in_the_past_is_told_with_what_to_type(options: Options) -> None:
    old = Partition(
        name='"s"."old"',
        until=NOW,
        row_estimate=1200,
        detach="ALTER ... CONCURRENTLY;",
        is_concurrent=True,
        count_kept="SELECT ...;",
    )
    locked = replace(old, name="locked", row_estimate=None, detach="ALTER;", is_concurrent=False)
    near = replace(old, name="near", until=NOW + timedelta(microseconds=1))
    aim, _ = target(description={"partitions": (old, locked, near)})
    report = of_gc(gc([aim], options, a_run()))
    [store] = report.summary["stores"]
    assert store["partitions"] == [
        {
            "partition": '"s"."old"',
            "until": "2026-11-29T12:00:00.000Z",
            "rows": 1200,
            "count_kept": "SELECT ...;",
            "detach": "ALTER ... CONCURRENTLY;",
            "concurrently": True,
        },
        {
            "partition": "locked",
            "until": "2026-11-29T12:00:00.000Z",
            "rows": None,
            "count_kept": "SELECT ...;",
            "detach": "ALTER;",
            "concurrently": False,
        },
    ]
    first, then, _, stops = (
        line for line in report.sheets[0].lines if "SELECT" in line or "ALTER" in line
    )
    assert first.startswith('payments (memory): partition "s"."old" ends at 2026-11-29 12:00:00')
    assert ", about 1,200 rows: no promise holds in it any more. " in first
    assert first.endswith("so first see that this counts none: SELECT ...;")
    assert then == "payments (memory): then type: ALTER ... CONCURRENTLY;"
    assert "which stops the application for a moment (a default partition" in stops


def test_a_store_that_is_left_to_another_gc_is_told_and_not_as_done() -> None:
    (first, held), (second, _) = target(), target("outbox")
    held.lock("gc")
    options = replace(APPLY, if_locked=IfLocked.SKIP)
    says = "memory: another gc is at work here"
    both, alone = (of_gc(gc(aims, options, a_run())) for aims in ([first, second], [first]))
    for report in (both, alone):
        assert report.status is ExitStatus.OK
        assert report.summary["left_to_another_gc"] == [{"store": "payments", "says": says}]
        assert f"payments: left to the other: {says}" in report.sheets[0].lines
    assert " in the part that was looked at, in 3 batches" in both.headline
    assert alone.headline == "nothing was looked at: it is left to another gc"
    assert alone.summary["why_stopped"] == "locked-out"


def test_a_keyspace_without_any_key_is_no_judgement_and_nothing_else_of_it_is_collected() -> None:
    aim = replace(target(rows=[])[0], expires_by_itself=True)
    report = of_gc(gc([aim], Options(), a_run()))
    assert list(report.sheets[0].rows) == [
        ("payments", "memory", "0", "cannot judge", "no key has this prefix; is it the right one?")
    ]
    assert of_gc(gc([aim], APPLY, a_run())).headline == (
        "nothing to collect: Redis removes its own expired keys"
    )


def test_every_reason_to_keep_a_record_is_said() -> None:
    from idemctl.domain.retention import Promise, Tally, Verdict

    [one] = gc([target(rows=[])[0]], Options(), a_run()).targets
    for verdict in Verdict:
        tally = Tally(verdict=verdict, promise=Promise.NONE, count=1)
        assert gc_report._why(one, tally)


def test_doctor_is_this_table() -> None:
    seen = Line(about="configuration", says="none")
    denied = Line(
        about="rights", says="DELETE on t: missing", server="A_URL", store="payments",
        status=ExitStatus.DENIED, fix="GRANT it;",
    )  # fmt: skip
    lines = (
        seen,
        Line(about="tcp", says="answers", server="A_URL", took=timedelta(milliseconds=12)),
        denied,
        replace(denied, says="SELECT on u: missing"),
        Line(about="role", says="a replica", server="A_URL", is_judged=False, fix="elsewhere"),
        Line(about="place", says="behind tcp", server="B_URL", store="a", is_looked_at=False),
    )
    report = doctor_report.report(Outcome(lines=lines), a_run(), NOW)
    assert table(report) == expected("doctor")
    assert report.status is ExitStatus.DENIED
    assert report.summary == {"looked_at": 5, "wrong": 2, "cannot_judge": 1, "not_looked_at": 1}
    assert report.items[2] == {
        "code": "rights",
        "server": "A_URL",
        "store": "payments",
        "status": "denied",
        "says": "DELETE on t: missing",
        "fix": "GRANT it;",
        "took_ms": 0.0,
    }
    assert [item["status"] for item in report.items[4:]] == ["cannot judge", "not looked at"]
    assert report.items[0]["store"] is report.items[0]["server"] is None
    assert report.items[1]["took_ms"] == 12.0
    well = doctor_report.report(Outcome(lines=(seen, seen)), a_run(), NOW)
    assert well.headline == "nothing must be put right in 2 lines"


def test_roles_are_text_for_a_pipe_those_of_postgres_first() -> None:
    redis = Role(
        named="REDIS_URL", stores=("a",), engine=Engine.REDIS, purpose=Purpose.READING,
        statements=("ACL SETUSER idemctl_reading on",),
    )  # fmt: skip
    postgres = replace(
        redis, named="A_URL", engine=Engine.POSTGRES, statements=("CREATE x;", "GRANT y;")
    )
    gc = replace(postgres, purpose=Purpose.GC, statements=("GRANT z;",))
    elsewhere = replace(postgres, named="B_URL", stores=("b", "c"))
    report = doctor_report.of_roles(Roles(roles=(redis, postgres, gc, elsewhere)), a_run(), NOW)
    assert table(report) == expected("doctor-grants")
    assert report.items[1] == {
        "code": "role",
        "stores": ["a"],
        "server": "A_URL",
        "engine": "postgres",
        "role": "idemctl_reading",
        "for": "reading",
        "statements": ["CREATE x;", "GRANT y;"],
    }


def test_store_show_is_this_table() -> None:
    entry = {"finished_at": "2026-11-28T12:00:00.000Z", "run_id": "r"}
    aims = [target()[0], target("webhooks")[0]]
    outcome = store_show(aims, {}, {"payments": entry}.get, a_run())
    report = store_report.report(outcome, a_run(), NOW)
    assert table(report) == expected("store-show")
    assert report.headline == "2 sides of stores answer"
    assert report.items[0] == {
        "code": "store",
        "store": "payments",
        "pattern": "postgres-unique",
        "layout": "",
        "place": "memory",
        "product": "memory",
        "version": "1",
        "is_replica": False,
        "row_estimate": 5,
        "clock": "2026-11-29T12:00:00.000Z",
        "last_gc_at": "2026-11-28T12:00:00.000Z",
        "last_gc_run": "r",
    }


def test_a_replica_and_a_size_that_nobody_counted_are_told() -> None:
    aim, _ = target(description={"is_replica": True, "row_estimate": None})
    report = store_report.report(store_show([aim], {}, lambda _: None, a_run()), a_run(), NOW)
    assert report.sheets[0].rows[0][3:5] == ("memory 1 (replica)", "not counted")


def test_figures_are_written_for_people() -> None:
    assert [count(n, "row") for n in (0, 1, 2, 12_345)] == [
        "0 rows",
        "1 row",
        "2 rows",
        "12,345 rows",
    ]
    assert [span(n * HOUR) for n in (0, 1.99, 2, 47, 48)] == [
        "0 s",
        "119 min",
        "2 h",
        "47 h",
        "2 d",
    ]
    assert span(-DAY) == "24 h"
    assert (when(NOW), when(None)) == ("2026-11-29 12:00:00 UTC", "-")

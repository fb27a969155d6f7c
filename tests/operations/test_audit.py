"""audit on tables in memory: how it grades what it finds, and what it could not look at."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.checks.registry import BY_CODE
from idemctl.domain.findings import Severity
from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.records import Status
from idemctl.domain.sight import Engine, Extent, FailureMode, Sight
from idemctl.errors import Denied, ExitStatus, Unreachable, Unsupported
from idemctl.layouts.sight import sight_of
from idemctl.operations.audit import audit
from idemctl.run.audited import Options
from idemctl.run.target import Pair
from idemctl.state.folder import StateFolder
from idemctl.state.repeats import Repeats
from tests.operations.tables import DAY, HOUR, NOW, Follower, a_run, layout, row, some_rows, target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from idemctl.run.audited import Outcome
    from idemctl.run.run import Run
    from idemctl.run.target import Target
    from tests.operations.tables import Table

Audit = "Callable[..., Outcome]"
BACKLOG: dict[str, Any] = {"expired_for": 2 * DAY, "fingerprint": "f"}
STUCK: dict[str, Any] = {
    "expired_for": -DAY,
    "status": "in_progress",
    "created_at": NOW - 2 * HOUR,
    "lease_until": NOW - HOUR,
}


@pytest.fixture
def auditing(tmp_path: Path) -> Callable[..., Outcome]:
    """Audit targets that are no pairs; nothing of them is large enough for the disk."""

    def auditing(
        targets: list[Target], run: Run | None = None, pairs: Sequence[Pair] = (), **options: Any
    ) -> Outcome:
        return audit(
            targets,
            pairs,
            Options(**options),
            run or a_run(),
            repeats=lambda: Repeats(StateFolder(tmp_path / "state")),
            suspects=lambda: pytest.fail("nothing is compared"),
        )

    return auditing


def aim(
    store: str = "payments", rows: list[dict[str, Any]] | None = None, **plan: Any
) -> tuple[Target, Table]:
    healthy = [one | {"fingerprint": "f"} for one in some_rows()]
    given = healthy if rows is None else rows
    # Short keys are nobody's secret; those of a tenant need be none.
    owned = [one | {"scope": one["scope"] or "tenant"} for one in given]
    made, table = target(store, owned, **plan)
    return replace(made, sight=sight_of(layout())), table


def test_healthy_records_are_counted_and_nothing_is_said_of_them(auditing: Any) -> None:
    one, table = aim()
    outcome = auditing([one])
    assert (outcome.status, outcome.findings) == (ExitStatus.OK, [])
    (place,) = outcome.places
    assert (place.overview.seen_count, place.overview.by_status[Status.COMPLETED]) == (5, 5)
    assert (table.modes, table.closed) == ([False], 1)
    assert len(table.keys) == 5


def test_what_is_wrong_is_a_finding_with_its_place(auditing: Any) -> None:
    one, _ = aim(rows=[row("late", **BACKLOG), row("stuck", **STUCK)])
    outcome = auditing([one])
    assert outcome.status is ExitStatus.FINDINGS
    assert [(one.code, one.count, one.store, one.place) for one in outcome.findings] == [
        ("stuck-in-progress", 1, "payments", "memory"),
        ("expired-backlog", 1, "payments", "memory"),
    ]


@pytest.mark.parametrize(
    ("fail_on", "status"),
    [
        (Severity.INFO, ExitStatus.FINDINGS),
        (Severity.WARNING, ExitStatus.FINDINGS),
        (Severity.ERROR, ExitStatus.OK),
        (Severity.CRITICAL, ExitStatus.OK),
    ],
)
def test_how_grave_is_grave_enough_is_said_by_who_asks(
    auditing: Any, fail_on: Severity, status: ExitStatus
) -> None:
    one, _ = aim(rows=[row("late", **BACKLOG)])
    outcome = auditing([one], fail_on=fail_on)
    assert [finding.severity for finding in outcome.findings] == [Severity.WARNING]
    assert outcome.status is status


def test_the_backlog_begins_where_the_operator_says(auditing: Any) -> None:
    one, _ = aim(rows=[row("late", **BACKLOG)])
    assert auditing([one], backlog_after=timedelta(days=3)).findings == []


def test_what_cannot_be_judged_changes_the_status_only_with_strict(auditing: Any) -> None:
    one, _ = aim()
    blind = replace(one, sight=one.sight - {Sight.LEASE})
    assert auditing([one], strict=True).status is ExitStatus.OK
    outcome = auditing([blind])
    assert [check.code for check in outcome.places[0].cannot_judge] == [
        "stuck-in-progress",
        "lease-never-filled",
    ]
    assert (outcome.status, outcome.is_whole) == (ExitStatus.OK, False)
    assert auditing([blind], strict=True).status is ExitStatus.UNREACHABLE


def test_a_key_on_two_endpoints_is_found_over_batches(auditing: Any) -> None:
    rows = [
        row("twice", expired_for=-DAY, fingerprint="f", scope="a"),
        row("once", expired_for=-DAY, fingerprint="f"),
        row("twice", expired_for=-DAY, fingerprint="f", scope="b", endpoint="POST /v1/refunds"),
    ]
    one, _ = aim(rows=rows)
    (finding,) = auditing([one]).findings
    assert (finding.code, finding.count) == ("key-on-two-endpoints", 1)
    assert finding.sample == ({"key": "twice"},)


def test_a_store_that_does_not_answer_is_named_and_the_others_are_looked_at(auditing: Any) -> None:
    down, _ = aim("payments", describe_fails=Unreachable("memory: gone"))
    other, _ = aim("outbox", rows=[row("late", **BACKLOG)])
    outcome = auditing([down, other])
    assert outcome.status is ExitStatus.UNREACHABLE
    assert [failure.message for failure in outcome.failures] == ["memory: gone"]
    assert [finding.store for finding in outcome.findings] == ["outbox"]
    dark, lit = outcome.places
    assert (dark.checked, lit.overview.seen_count) == ([], 1)
    assert {check.why for check in dark.cannot_judge} == {"memory: gone"}


def test_rights_that_are_missing_outrank_a_store_that_is_down(auditing: Any) -> None:
    down, _ = aim("a", describe_fails=Unreachable("gone"))
    denied, _ = aim("b", describe_fails=Denied("no"))
    assert auditing([down, denied]).status is ExitStatus.DENIED


def test_hidden_rows_are_no_empty_table(auditing: Any) -> None:
    one, _ = aim(description={"hides_rows": "row-level security is active"})
    outcome = auditing([one])
    assert outcome.status is ExitStatus.UNREACHABLE
    assert outcome.places[0].checked == []


def test_an_empty_table_is_no_fault_and_a_prefix_without_keys_is_none_that_is_known(
    auditing: Any,
) -> None:
    table, _ = aim(rows=[])
    assert auditing([table], strict=True).status is ExitStatus.OK
    keyspace = replace(table, engine=Engine.REDIS, keeps_for=DAY, sight=table.sight)
    outcome = auditing([keyspace])
    assert (outcome.status, outcome.places[0].checked) == (ExitStatus.OK, [])
    whys = {check.why for check in outcome.places[0].cannot_judge}
    assert "no key has this prefix; is it the right one?" in whys
    assert auditing([keyspace], strict=True).status is ExitStatus.UNREACHABLE


def test_a_deadline_ends_it_tidily_and_says_what_was_seen(auditing: Any) -> None:
    first, _ = aim("payments", rows=[row("late", **BACKLOG) for _ in range(5)])
    second, table = aim("outbox")
    run = a_run()

    class Late(Follower):
        def at(self, what: str, done: float, counts: Any) -> None:
            super().at(what, done, counts)
            if counts["records"] == 2:
                run.stop.ask(WhyStopped.DEADLINE)

    run.progress = late = Late()
    outcome = auditing([first, second], run)
    seen, unseen = outcome.places
    assert (seen.overview.seen_count, seen.row_estimate, seen.why_stopped) == (
        2,
        5,
        WhyStopped.DEADLINE,
    )
    assert late.heard == [
        ("payments memory", 0.2, {"records": 1}),
        ("payments memory", 0.4, {"records": 2}),
    ]
    assert [finding.count for finding in outcome.findings] == [2]
    assert (unseen.overview.seen_count, unseen.checked, table.modes) == (0, [], [False])
    assert {check.why for check in unseen.cannot_judge} == {"the run was stopped before"}
    assert (outcome.status, outcome.is_whole) == (ExitStatus.FINDINGS, False)


def paired(apart: float) -> Pair:
    """Make a pair whose second store is ahead by so many seconds."""
    postgres, _ = aim()
    keyspace, _ = aim(clock_is_off=timedelta(seconds=apart))
    return Pair(
        store="payments",
        postgres=postgres,
        redis=replace(keyspace, engine=Engine.REDIS, expires_by_itself=True),
        redis_ttl=None,
        write_order="unknown",
        transcript=Unsupported("not written"),
        on_redis_miss="unknown",
    )


@pytest.mark.parametrize(("apart", "codes"), [(2, []), (-2, []), (2.5, ["clocks-apart"])])
def test_clocks_of_a_pair_may_be_two_seconds_apart(
    auditing: Any, apart: float, codes: list[str]
) -> None:
    pair = paired(apart)
    outcome = auditing([pair.postgres, pair.redis], pairs=[pair], checks=[BY_CODE["clocks-apart"]])
    assert [one.code for one in outcome.findings] == codes
    assert [one.checked for one in outcome.places] == [[], ["clocks-apart"]]


def test_a_pair_whose_clocks_are_apart_is_looked_at_side_by_side(auditing: Any) -> None:
    pair = paired(-9)
    checks = [BY_CODE["clocks-apart"], BY_CODE["missing"]]
    outcome = auditing([pair.postgres, pair.redis], pairs=[pair], checks=checks)
    (finding,) = outcome.findings
    assert finding.evidence == (
        "the clock of Redis is -9000.0 ms from that of Postgres, give or take 0.0 ms"
    )
    (blind,) = (one for place in outcome.places for one in place.cannot_judge)
    assert blind.code == "missing"
    assert blind.why == (
        "not compared: payments: the clocks of both stores are 9.0 s apart, so their expiries "
        "cannot be compared"
    )


def test_a_signal_ends_it_with_its_own_status(auditing: Any) -> None:
    one, _ = aim(rows=[row("late", **BACKLOG)])
    run = a_run()
    run.stop.ask(WhyStopped.INTERRUPTED)
    assert auditing([one], run).status is ExitStatus.INTERRUPTED


def test_what_a_store_shows_is_told_also_where_it_does_not_answer(auditing: Any) -> None:
    down, _ = aim(describe_fails=Unreachable("gone"))
    (sight,) = auditing([down]).sights
    extents = {view.mode: view.extent for view in sight.views}
    assert extents[FailureMode.CRASH_MID_WRITE] is Extent.CURABLE
    assert extents[FailureMode.STORE_DATA_LOSS] is Extent.BLIND

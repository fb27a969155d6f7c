"""doctor on tables in memory: a line for each thing, and the worst counts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.purposes import Purpose
from idemctl.domain.references import OnDelete, Reference
from idemctl.errors import Denied, ExitStatus, Unreachable
from idemctl.operations.doctor import Line, doctor
from idemctl.run.run import Stopped
from tests.operations.tables import a_run, right, target

DELETE = right("DELETE on t", "GRANT it;", Purpose.GC)
SELECT = right("SELECT on t", "GRANT s;", Purpose.READING, granted=True)

READ = ("layout", "records looked at: 1, of which fit no status: 0", "ok", None)


def brief(lines: tuple[Line, ...]) -> list[tuple[str, str, str, str | None]]:
    return [(line.about, line.says, line.status.label, line.fix) for line in lines]


def test_what_is_known_comes_first_and_nothing_is_wrong() -> None:
    aim, table = target(rights=(SELECT,))
    known = Line(store="", about="configuration", says="idemctl.yaml")
    outcome = doctor([aim], [known], a_run())
    assert outcome.status is ExitStatus.OK
    assert brief(outcome.lines) == [
        ("configuration", "idemctl.yaml", "ok", None),
        ("connection", "memory: memory 1, primary, as you", "ok", None),
        ("rights", "SELECT on t for reading", "ok", None),
        READ,
    ]
    assert outcome.lines[1].took > timedelta(0)
    assert table.modes == [False]
    assert table.closed == 1


def test_each_thing_that_is_wrong_comes_with_its_fix() -> None:
    aim, _ = target(
        description={
            "is_replica": True,
            "supported": False,
            "hides_rows": "some policy",
        },
        rights=(SELECT, DELETE),
    )
    outcome = doctor([aim], [], a_run())
    assert brief(outcome.lines) == [
        ("connection", "memory: memory 1, replica, as you", "ok", None),
        (
            "version",
            "memory: memory 1 is too old",
            "refused",
            "PostgreSQL 14, Redis 6.2 and Valkey 7.2 are the oldest that work",
        ),
        (
            "sight",
            "memory: cannot judge: some policy",
            "unreachable",
            "use a role that sees every row, or ask for BYPASSRLS",
        ),
        ("rights", "SELECT on t for reading", "ok", None),
        ("rights", "DELETE on t for gc --apply: missing", "denied", "GRANT it;"),
        READ,
    ]
    assert outcome.status is ExitStatus.DENIED


def test_what_hangs_on_records_is_told_and_an_index_that_is_missing_is_named() -> None:
    unasked = Reference(
        table="app.payment", key="fk", on_delete=OnDelete.CASCADE, is_meant=False, is_own=False,
        has_index=True, columns="k, scope",
    )  # fmt: skip
    meant = replace(unasked, table="app.ride", is_meant=True, on_delete=OnDelete.SET_NULL)
    pins = replace(unasked, table="app.note", on_delete=OnDelete.NO_ACTION, has_index=False)
    aim, _ = target(description={"references": (unasked, meant, pins)})
    outcome = doctor([aim], [], a_run())
    assert brief(outcome.lines)[1:-1] == [
        (
            "shape",
            "memory: gc would also delete or change rows of app.payment (fk, ON DELETE CASCADE)",
            "refused",
            (
                "if the library means it so, add drags: [app.payment] to the postgres side of the "
                "layout; else drop ON DELETE CASCADE from fk"
            ),
        ),
        (
            "shape",
            (
                "memory: gc also deletes or changes rows of app.ride (fk, ON DELETE SET NULL), as "
                "the layout says"
            ),
            "ok",
            None,
        ),
        (
            "shape",
            (
                "memory: gc cannot delete a record to which rows of app.note (fk, ON DELETE NO "
                "ACTION) refer"
            ),
            "ok",
            None,
        ),
        (
            "shape",
            (
                "memory: no index finds the rows of app.note (fk, ON DELETE NO ACTION) that refer "
                "to a record: each deletion reads that whole table"
            ),
            "findings",
            "CREATE INDEX CONCURRENTLY ON app.note (k, scope);",
        ),
    ]
    assert outcome.status is ExitStatus.REFUSED


def test_a_store_that_fails_is_a_line_and_the_others_are_looked_at() -> None:
    ill, closed = target(describe_fails=Denied("no", hint="ask"))
    gone, _ = target("webhooks", describe_fails=Unreachable("away"))
    well, _ = target("outbox")
    outcome = doctor([ill, gone, well], [], a_run())
    assert [
        (line.store, *one) for line, one in zip(outcome.lines, brief(outcome.lines), strict=True)
    ] == [
        ("payments", "connection", "no", "denied", "ask"),
        ("webhooks", "connection", "away", "unreachable", None),
        ("outbox", "connection", "memory: memory 1, primary, as you", "ok", None),
        ("outbox", *READ),
    ]
    assert outcome.status is ExitStatus.DENIED
    assert closed.closed == 1


@pytest.mark.parametrize(
    ("apart", "status", "shown"),
    [
        (0.0, ExitStatus.OK, "+0.0"),
        (-1.9, ExitStatus.OK, "-1900.0"),
        (3, ExitStatus.FINDINGS, "+3000.0"),
    ],
)
def test_the_clocks_of_a_pair_are_compared(apart: float, status: ExitStatus, shown: str) -> None:
    one, _ = target()
    other, _ = target(clock_is_off=timedelta(seconds=apart))
    outcome = doctor([one, other], [], a_run())
    [clock] = [line for line in outcome.lines if line.about == "clock"]
    assert clock.says == f"memory is {shown} ms from memory, give or take 0.0 ms"
    assert clock.status is outcome.status is status
    assert (clock.fix is not None) is (status is not ExitStatus.OK)


def test_sides_of_different_stores_are_no_pair() -> None:
    outcome = doctor([target()[0], target("webhooks")[0]], [], a_run())
    assert not [line for line in outcome.lines if line.about == "clock"]


def test_a_pair_of_which_one_side_is_down_has_no_clocks_to_compare() -> None:
    outcome = doctor([target()[0], target(describe_fails=Unreachable("away"))[0]], [], a_run())
    assert not [line for line in outcome.lines if line.about == "clock"]
    assert outcome.status is ExitStatus.UNREACHABLE


def test_a_stop_is_heard_before_the_next_store_also_when_none_answers() -> None:
    run = a_run()
    run.stop.ask(WhyStopped.TERMINATED)
    aim, table = target(describe_fails=Unreachable("away"))
    with pytest.raises(Stopped):
        doctor([aim, aim], [], run)
    assert table.closed == 0

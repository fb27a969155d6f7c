"""doctor on tables in memory: a line for each thing, and the worst counts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.purposes import EVERY_VERB, Purpose
from idemctl.domain.references import OnDelete, Reference
from idemctl.domain.sight import Engine
from idemctl.errors import ConfigError, Denied, ExitStatus, Unreachable
from idemctl.operations.doctor import Here, Line, Road, Side, doctor, look_here, roles
from idemctl.run.run import Stopped
from idemctl.stores.ways import Seen
from tests.operations.tables import a_run, right, target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from idemctl.run.target import Target
    from idemctl.stores.ways import Stretch

DELETE = right("DELETE on t", "GRANT it;", Purpose.GC)
SELECT = right("SELECT on t", "GRANT s;", Purpose.READING, Purpose.GC, granted=True)
SESSIONS = right("pg_read_all_stats", "GRANT p;", Purpose.SIGHT)

PLACE = ("place", "memory, about 5 rows", "ok", None)
LAYOUT = ("layout", "reference: proven", "ok", None)
READ = ("records", "looked at: 1, of which fit no status: 0", "ok", None)


@dataclass
class Path:
    """A way on which a test says what is seen."""

    seen: dict[str, Callable[[], Seen]] = field(default_factory=dict)
    closed: int = 0

    def stretches(self) -> Sequence[Stretch]:
        return list(self.seen.items())

    def close(self) -> None:
        self.closed += 1


def road(*targets: Target, named: str = "A_URL", path: Path | None = None, **more: Any) -> Road:
    options = {"layout": "reference", "purposes": EVERY_VERB} | more
    return Road(
        named=named,
        engine=targets[0].engine if targets else Engine.POSTGRES,
        way=lambda: path or Path(),
        sides=tuple(Side(target=one, **options) for one in targets),
    )


def brief(lines: Sequence[Line]) -> list[tuple[str, str, str, str | None]]:
    return [(line.about, line.says, line.mark, line.fix) for line in lines]


def fails(error: Exception) -> Callable[[], Seen]:
    def look() -> Seen:
        raise error

    return look


def test_what_is_known_comes_first_then_the_way_then_what_lies_at_its_end() -> None:
    aim, table = target(rights=(SELECT,))
    known = Line(about="configuration", says="idemctl.yaml")
    path = Path({"name": lambda: Seen(says="known"), "tcp": lambda: Seen(says="answers")})
    outcome = doctor([road(aim, path=path)], [known], a_run())
    assert outcome.status is ExitStatus.OK
    assert brief(outcome.lines) == [
        ("configuration", "idemctl.yaml", "ok", None),
        ("name", "known", "ok", None),
        ("tcp", "answers", "ok", None),
        PLACE,
        ("rights", "reading: SELECT on t", "ok", None),
        ("rights", "gc --apply: SELECT on t", "ok", None),
        LAYOUT,
        READ,
    ]
    assert [(line.server, line.store) for line in outcome.lines] == [
        ("", ""), ("A_URL", ""), ("A_URL", ""), *[("A_URL", "payments")] * 5,
    ]  # fmt: skip
    assert all(line.took > timedelta(0) for line in outcome.lines[1:5])
    assert table.modes == [False]
    assert table.closed == path.closed == 1


def test_each_thing_that_is_wrong_comes_with_its_fix() -> None:
    aim, _ = target(description={"hides_rows": "some policy"}, rights=(SELECT, DELETE))
    outcome = doctor([road(aim)], [], a_run())
    assert brief(outcome.lines) == [
        PLACE,
        (
            "sight",
            "memory: cannot judge: some policy",
            "unreachable",
            "use a role that sees every row, or ask for BYPASSRLS",
        ),
        ("rights", "reading: SELECT on t", "ok", None),
        ("rights", "DELETE on t for gc --apply: missing", "denied", "GRANT it;"),
        LAYOUT,
        READ,
    ]
    assert outcome.status is ExitStatus.DENIED


def test_a_right_that_is_needed_for_nothing_that_was_asked_for_is_no_fault() -> None:
    aim, _ = target(rights=(SELECT, DELETE))
    outcome = doctor([road(aim, purposes=(Purpose.READING,))], [], a_run())
    assert [line.says for line in outcome.lines if line.about == "rights"] == [
        "reading: SELECT on t"
    ]
    assert outcome.status is ExitStatus.OK


def test_what_only_helps_audit_to_see_is_not_judged_when_it_is_missing() -> None:
    aim, _ = target(rights=(SELECT, SESSIONS, replace(SESSIONS, name="CONFIG GET", grant="")))
    outcome = doctor([road(aim)], [], a_run())
    assert brief(outcome.lines)[3:5] == [
        (
            "rights",
            "pg_read_all_stats for all that audit can see: missing",
            "cannot judge",
            "GRANT p;",
        ),
        ("rights", "CONFIG GET for all that audit can see: missing", "cannot judge", None),
    ]
    assert outcome.status is ExitStatus.OK


def test_behind_a_stretch_that_fails_nothing_is_looked_at() -> None:
    one, table = target()
    other, _ = target("webhooks")
    well, _ = target("outbox")
    path = Path(
        {
            "name": lambda: Seen(says="known"),
            "tcp": fails(Unreachable("nobody", hint="start it")),
            "tls": fails(AssertionError("not looked at")),
        }
    )
    outcome = doctor([road(one, other, path=path), road(well, named="B_URL")], [], a_run())
    assert brief(outcome.lines[:5]) == [
        ("name", "known", "ok", None),
        ("tcp", "nobody", "unreachable", "start it"),
        ("tls", "behind tcp, which failed", "not looked at", None),
        ("place", "behind tcp, which failed", "not looked at", None),
        ("place", "behind tcp, which failed", "not looked at", None),
    ]
    assert brief(outcome.lines[5:]) == [PLACE, LAYOUT, READ]
    assert outcome.status is ExitStatus.UNREACHABLE
    assert table.modes == []
    assert path.closed == 1


@pytest.mark.parametrize("status", [ExitStatus.FINDINGS, ExitStatus.REFUSED])
def test_a_server_that_is_too_old_or_not_set_up_well_is_looked_at_all_the_same(
    status: ExitStatus,
) -> None:
    path = Path({"version": lambda: Seen(says="9.6", status=status, fix="a newer one")})
    outcome = doctor([road(target()[0], path=path)], [], a_run())
    assert brief(outcome.lines) == [
        ("version", "9.6", status.label, "a newer one"), PLACE, LAYOUT, READ,
    ]  # fmt: skip
    assert outcome.status is status


def test_what_cannot_be_judged_is_no_fault() -> None:
    path = Path({"role": lambda: Seen(says="a replica", is_judged=False, fix="elsewhere")})
    outcome = doctor([road(target()[0], path=path)], [], a_run())
    assert brief(outcome.lines)[0] == ("role", "a replica", "cannot judge", "elsewhere")
    assert outcome.status is ExitStatus.OK


def test_a_layout_that_nobody_tried_and_a_table_without_records_are_not_judged() -> None:
    aim, _ = target(rows=[])
    outcome = doctor(
        [road(aim, layout="theirs", unproven="was read from its source", proof="try it")],
        [],
        a_run(),
    )
    assert brief(outcome.lines)[1:] == [
        (
            "layout",
            "theirs was read from its source: nothing is changed through it",
            "cannot judge",
            "try it",
        ),
        (
            "records",
            "none was found, so nobody can tell whether layout, table and prefix are right",
            "cannot judge",
            None,
        ),
    ]
    assert outcome.status is ExitStatus.OK


def test_what_hangs_on_records_is_told_and_an_index_that_is_missing_is_named() -> None:
    unasked = Reference(
        table="app.payment", key="fk", on_delete=OnDelete.CASCADE, is_meant=False, is_own=False,
        has_index=True, columns="k, scope",
    )  # fmt: skip
    meant = replace(unasked, table="app.ride", is_meant=True, on_delete=OnDelete.SET_NULL)
    pins = replace(unasked, table="app.note", on_delete=OnDelete.NO_ACTION, has_index=False)
    aim, _ = target(description={"references": (unasked, meant, pins)})
    outcome = doctor([road(aim)], [], a_run())
    assert brief(outcome.lines)[1:-2] == [
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


def test_a_place_that_is_not_there_is_a_line_and_the_others_are_looked_at() -> None:
    ill, closed = target(describe_fails=Denied("no", hint="ask"))
    gone, _ = target("webhooks", describe_fails=ConfigError("no such table"))
    well, _ = target("outbox")
    outcome = doctor([road(ill, gone, well)], [], a_run())
    assert [
        (line.store, *one) for line, one in zip(outcome.lines, brief(outcome.lines), strict=True)
    ] == [
        ("payments", "place", "no", "denied", "ask"),
        ("webhooks", "place", "no such table", "config", None),
        ("outbox", *PLACE),
        ("outbox", *LAYOUT),
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
    other = replace(target(clock_is_off=timedelta(seconds=apart))[0], engine=Engine.REDIS)
    outcome = doctor([road(one), road(other, named="B_URL")], [], a_run())
    [clock] = [line for line in outcome.lines if line.about == "clock"]
    assert clock.says == f"memory is {shown} ms from memory, give or take 0.0 ms"
    assert clock.status is outcome.status is status
    assert (clock.fix is not None) is (status is not ExitStatus.OK)
    assert (clock.server, clock.store) == ("", "payments")


def test_sides_of_different_stores_are_no_pair_nor_are_two_layouts_of_one_side() -> None:
    in_redis = replace(target("webhooks")[0], engine=Engine.REDIS)
    outcome = doctor([road(target()[0], target()[0], in_redis)], [], a_run())
    assert not [line for line in outcome.lines if line.about == "clock"]


def test_a_pair_of_which_one_side_is_down_has_no_clocks_to_compare() -> None:
    down = replace(target(describe_fails=Unreachable("away"))[0], engine=Engine.REDIS)
    outcome = doctor([road(target()[0], down)], [], a_run())
    assert not [line for line in outcome.lines if line.about == "clock"]
    assert outcome.status is ExitStatus.UNREACHABLE


@pytest.mark.parametrize("path", [Path(), Path({"name": fails(AssertionError("looked"))})])
def test_a_stop_is_heard_before_the_next_look(path: Path) -> None:
    run = a_run()
    run.stop.ask(WhyStopped.TERMINATED)
    aim, table = target()
    with pytest.raises(Stopped):
        doctor([road(aim, path=path)], [], run)
    assert table.modes == []
    assert path.closed == 1


HERE = Here(
    is_terminal=True, width=120, has_color=True, encoding="UTF-8", home="/home/ops", zone="CET",
    program="/opt/idemctl", options="--config /etc/i.yaml", variables=["DATABASE_URL", "REDIS_URL"],
)  # fmt: skip


def test_terminal_locale_and_cron_are_told() -> None:
    assert brief(list(look_here(HERE))) == [
        ("terminal", "120 columns, color", "ok", None),
        ("locale", "utf-8", "ok", None),
        (
            "cron",
            (
                "a job starts with HOME=/home/ops and PATH=/usr/bin:/bin, so write /opt/idemctl "
                "with --config /etc/i.yaml; set DATABASE_URL, REDIS_URL in the crontab; its hours "
                "are those of CET, and reports are in UTC"
            ),
            "ok",
            None,
        ),
    ]
    poor = replace(
        HERE, is_terminal=False, has_color=False, encoding="ANSI_X3.4-1968", home=None, options="",
        variables=[],
    )  # fmt: skip
    assert [line.says for line in look_here(poor)] == [
        "stdout is none; no color, and tables as wide as they are",
        "ascii: what it cannot show is printed as \\xNN; LC_ALL=C.UTF-8 shows more",
        (
            "a job starts with no HOME and PATH=/usr/bin:/bin, so write /opt/idemctl; its hours "
            "are those of CET, and reports are in UTC"
        ),
    ]


def test_a_role_is_made_of_the_rights_that_lines_are_made_of_granted_or_not() -> None:
    aims = [target(rights=(SELECT, DELETE, SESSIONS))[0], target("webhooks", rights=(SELECT,))[0]]
    made = roles([road(*aims)], EVERY_VERB, a_run()).roles
    create = "DO $$BEGIN CREATE ROLE {} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END$$;"
    assert [(one.purpose, one.statements) for one in made] == [
        (Purpose.READING, (create.format("idemctl_reading"), "GRANT s TO idemctl_reading;")),
        (
            Purpose.GC,
            (create.format("idemctl_gc"), "GRANT s TO idemctl_gc;", "GRANT it TO idemctl_gc;"),
        ),
    ]
    assert made[0].stores == ("payments", "webhooks")


def test_a_role_in_redis_is_one_line_that_says_each_word_once() -> None:
    scan = replace(SELECT, rule="+scan")
    reads = replace(SELECT, rule="+getrange ~idem:*")
    odd = replace(SELECT, rule='+strlen "~a b:*"')
    aim = target(rights=(scan, reads, odd, reads))[0]
    in_redis = replace(aim, engine=Engine.REDIS)
    [role] = roles([road(in_redis, purposes=(Purpose.READING,))], EVERY_VERB, a_run()).roles
    [said] = role.statements
    assert said == (
        "ACL SETUSER idemctl_reading on resetkeys resetchannels -@all +scan +getrange +strlen "
        '~idem:* "~a b:*"'
    )

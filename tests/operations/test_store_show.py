"""store show on tables in memory."""

from __future__ import annotations

from typing import Any

import pytest

from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.records import Pattern
from idemctl.errors import ExitStatus, Unreachable
from idemctl.operations.store_show import show
from idemctl.run.run import Stopped
from tests.operations.tables import NOW, a_run, target


def never(_store: str) -> dict[str, Any] | None:
    return None


def test_each_side_is_told_with_its_last_good_gc() -> None:
    (first, table), (second, _) = target(), target("webhooks")
    entry = {"run_id": "r", "finished_at": "t"}
    last_gc = {"payments": entry}
    outcome = show([first, second], {}, last_gc.get, a_run())
    assert outcome.status is ExitStatus.OK
    assert [(side.target.store, side.last_gc) for side in outcome.sides] == [
        ("payments", entry),
        ("webhooks", None),
    ]
    side = outcome.sides[0]
    assert side.pattern is Pattern.POSTGRES_UNIQUE
    assert side.clock == NOW
    assert side.description.row_estimate == 5
    assert table.modes == [False]
    assert table.closed == 1


def test_nothing_configured_is_nothing_shown() -> None:
    assert show([], {}, never, a_run()).sides == ()


def test_a_store_that_fails_is_closed_and_the_others_are_told() -> None:
    aim, table = target(describe_fails=Unreachable("away"))
    other, _ = target("webhooks")
    outcome = show([aim, other], {}, never, a_run())
    assert table.closed == 1
    assert [side.target.store for side in outcome.sides] == ["webhooks"]
    assert [one.message for one in outcome.failures] == ["away"]
    assert outcome.status is ExitStatus.UNREACHABLE


def test_a_stop_is_heard_between_stores() -> None:
    run = a_run()
    run.stop.ask(WhyStopped.TERMINATED)
    (first, _), (second, untouched) = target(), target("webhooks")
    with pytest.raises(Stopped):
        show([first, second], {}, never, run)
    assert untouched.closed == 0

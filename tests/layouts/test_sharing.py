"""Several layouts over one table: every row is of exactly one of them, the first that reads it."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

from idemctl.bootstrap.layouts import preset
from idemctl.domain.records import Status
from idemctl.layouts.conditions import reading
from idemctl.layouts.model import PostgresLayout
from idemctl.layouts.sharing import ALONE, apart, rows_of, turns
from idemctl.layouts.statuses import StatusReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WORDS = {"in_progress": {"field": "word", "is": "begun"}, "completed": {"field": "word", "is": "x"}}
OVERLAPPING = {
    "in_progress": {"field": "flag", "missing": True},
    "completed": {"any": [{"field": "word", "is": "x"}, {"field": "flag", "is": True}]},
    "failed": {"not": {"field": "word", "is": "x"}},
}
PRESENCE = {"completed": {"field": "flag", "missing": False}}
ROWS = [
    {"word": word, "flag": flag} for word in ("begun", "x", "odd", None) for flag in (True, False)
] + [{"word": "x"}, {"word": "begun"}, {}]


def layout(status: Any, only: Any = None) -> PostgresLayout:
    said = {"pattern": "postgres-unique", "table": "keys", "key": "id", "counted_from": "at"}
    return PostgresLayout.model_validate({**said, "status": status, "only": only})


LAYOUTS = [
    layout(WORDS),
    layout(OVERLAPPING),
    layout(PRESENCE),
    layout("unknown", only={"field": "word", "is": "odd"}),
    layout(OVERLAPPING, only={"field": "flag", "is": False}),
]


def orders() -> Iterator[Sequence[PostgresLayout]]:
    for some in combinations(LAYOUTS, 3):
        yield from permutations(some)


def speaks_of(one: PostgresLayout, row: dict[str, Any]) -> bool:
    return one.only is None or reading(one.only)(row)


def reads(one: PostgresLayout, row: dict[str, Any]) -> bool:
    return speaks_of(one, row) and StatusReader(one.status).of(row) != Status.MALFORMED


def test_rows_of_a_layout_are_those_that_have_a_status_through_it() -> None:
    told = [(reading(rows_of(one))(row), reads(one, row)) for one in LAYOUTS for row in ROWS]
    assert {said for said, _ in told} == {True, False}
    assert all(said is is_so for said, is_so in told)


def test_every_row_is_of_the_first_layout_that_reads_it_and_else_shown_by_the_last() -> None:
    for layouts in orders():
        *_, last = range(len(layouts))
        narrowed = list(apart(layouts))
        for row in ROWS:
            first = next((at for at, one in enumerate(layouts) if reads(one, row)), None)
            shown = [at for at, one in enumerate(narrowed) if speaks_of(one, row)]
            if first is None:
                assert shown == ([last] if speaks_of(layouts[last], row) else [])
            else:
                assert shown == [first]


def test_without_the_narrowing_rows_are_shown_by_several() -> None:
    shown = [sum(reads(one, row) for one in LAYOUTS) for row in ROWS]
    assert max(shown) > 1


def test_a_layout_alone_stays_as_it_is() -> None:
    [alone] = apart([LAYOUTS[0]])
    assert alone is LAYOUTS[0]
    redis = preset("reference").redis
    assert redis is not None
    assert list(turns([redis])) == [(redis, ALONE)]


def test_keys_come_to_the_second_after_the_first() -> None:
    one, two = preset("drf-idempotency").redis, preset("midaz").redis
    assert one is not None
    assert two is not None
    [(_, first), (_, second)] = turns([one, two])
    assert (first.before, first.is_last) == ((), False)
    assert (second.before, second.is_last) == ((one,), True)

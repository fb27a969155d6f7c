"""Conditions as Python reads them, and what is no condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from idemctl.domain.records import Status
from idemctl.layouts.conditions import Condition, as_text, fields_of, reading
from idemctl.layouts.paths import taking
from idemctl.layouts.sides import Statuses
from idemctl.layouts.statuses import StatusReader
from tests.layouts.table_of_conditions import CASES, DONE, EMPTY, IS_DONE, OTHER, STATUSES

if TYPE_CHECKING:
    from tests.layouts.table_of_conditions import Row

ADAPTER: TypeAdapter[Any] = TypeAdapter(Condition)


@pytest.mark.parametrize(("condition", "row", "holds"), CASES)
def test_a_condition_holds_as_the_table_says(condition: Any, row: Row, holds: bool) -> None:
    assert reading(ADAPTER.validate_python(condition))(row) is holds


@pytest.mark.parametrize(("condition", "row", "holds"), CASES)
def test_null_is_the_same_as_absent(condition: Any, row: Row, holds: bool) -> None:
    full = dict.fromkeys(("word", "flag", "number", "small", "short", "Odd Name%")) | row
    assert reading(ADAPTER.validate_python(condition))(full) is holds


@pytest.mark.parametrize(("condition", "row", "holds"), CASES)
def test_a_negation_is_always_the_opposite(condition: Any, row: Row, holds: bool) -> None:
    assert reading(ADAPTER.validate_python({"not": condition}))(row) is not holds


def told(statuses: Any, *rows: Row) -> list[Status]:
    """Tell the statuses of rows, column by column."""
    known = statuses if isinstance(statuses, str) else Statuses.model_validate(statuses)
    pairs = [] if isinstance(known, str) else known.conditions()
    fields = {field for _, condition in pairs for field in fields_of(condition)}
    columns = {field: list(map(taking(field), rows)) for field in fields}
    return list(map(Status, StatusReader(known).read(columns, len(rows))))


@pytest.mark.parametrize(("statuses", "row", "status"), STATUSES)
def test_a_status_is_told_as_the_table_says(statuses: Any, row: Row, status: str) -> None:
    assert told(statuses, row) == [Status[status]]
    known = statuses if isinstance(statuses, str) else Statuses.model_validate(statuses)
    assert StatusReader(known).of(row) == Status[status]
    # None is told otherwise for what stands beside it.
    assert told(statuses, DONE, OTHER, row, EMPTY, row)[2::2] == [Status[status]] * 2


@pytest.mark.parametrize(("condition", "row", "holds"), CASES)
def test_a_status_holds_where_its_condition_does(condition: Any, row: Row, holds: bool) -> None:
    statuses = told({"completed": condition}, row, EMPTY, row)
    assert statuses[::2] == [Status.COMPLETED if holds else Status.MALFORMED] * 2


@pytest.mark.parametrize("value", [1, 1.0, True, "1", "1.0", "true", b"1", [1], {"1": 1}, 0, None])
def test_values_that_python_takes_for_equal_are_told_apart(value: object) -> None:
    statuses = {"completed": {"field": "word", "is": 1}, "failed": {"field": "word", "is": True}}
    expected = {"1": Status.COMPLETED, "true": Status.FAILED}
    status = expected.get(str(as_text(value)), Status.MALFORMED)
    beside: list[Row] = [{"word": one} for one in (1, True, 1.0, "x", None)]
    assert told(statuses, *beside, {"word": value}, *beside)[5] is status
    assert told(statuses, {"word": value}) == [status]


def test_what_is_nested_as_deep_as_a_decoder_goes_equals_nothing() -> None:
    deep: object = "done"
    for _ in range(100_000):
        deep = [deep]
    assert told({"completed": IS_DONE}, {"word": deep}, DONE) == [
        Status.MALFORMED,
        Status.COMPLETED,
    ]
    # The control: Python itself cannot write it out.
    with pytest.raises(RecursionError):
        str(deep)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("never", "is no condition"),
        ({}, "is no condition"),
        ({"field": "x"}, "is no condition"),
        ([], "is no condition"),
        (None, "is no condition"),
        ({"field": "x", "is": None}, "of what is absent say missing: true"),
        ({"field": "x", "is": 1.5}, "compares with text, a whole number"),
        ({"field": "x", "begins": ""}, "at least 1 character"),
        ({"field": "x", "begins": 1}, "valid string"),
        ({"field": "x", "begins": "y", "is": "y"}, "Extra inputs"),
        ({"field": "x", "missing": "yes"}, "valid boolean"),
        ({"field": "x", "missing": 1}, "valid boolean"),
        ({"is": "x"}, "Field required"),
        ({"field": "x", "is": "y", "missing": True}, "Extra inputs"),
        ({"all": []}, "at least 1 item"),
        ({"any": []}, "at least 1 item"),
        ({"any": ["always"] * 101}, "at most 100 items"),
        ({"not": {"any": ["always", "sometimes"]}}, "is no condition"),
        ({"field": "x", "is": "y", "unless": "z"}, "Extra inputs"),
    ],
)
def test_what_is_no_condition_is_refused(written: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ADAPTER.validate_python(written)


def test_a_layout_without_any_status_is_refused() -> None:
    with pytest.raises(ValidationError, match="needs one of in_progress, completed, failed"):
        Statuses.model_validate({})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-7, "-7"),
        ("", ""),
        ("x", "x"),
        (b"x", "x"),
        (b"\xff", "\udcff"),
    ],
)
def test_a_value_is_compared_as_postgres_prints_it(value: object, text: str | None) -> None:
    assert as_text(value) == text


def test_conditions_survive_the_way_through_their_model() -> None:
    written = {"all": [{"field": "a", "is": True}, {"not": {"field": "b", "missing": False}}]}
    model = ADAPTER.validate_python(written)
    assert isinstance(model, BaseModel)
    assert model.model_dump(by_alias=True) == written

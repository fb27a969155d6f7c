"""Conditions as Python reads them, and what is no condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from idemctl.domain.records import Status
from idemctl.layouts.conditions import Condition, as_text, reading
from idemctl.layouts.rows import status_reading
from idemctl.layouts.sides import Statuses
from tests.layouts.table_of_conditions import CASES, STATUSES

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


@pytest.mark.parametrize(("statuses", "row", "status"), STATUSES)
def test_a_status_is_told_as_the_table_says(statuses: Any, row: Row, status: str) -> None:
    told = statuses if isinstance(statuses, str) else Statuses.model_validate(statuses)
    assert Status(status_reading(told)(row)) is Status[status]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("never", "is no condition"),
        ({}, "is no condition"),
        ({"field": "x"}, "is no condition"),
        ([], "is no condition"),
        (None, "is no condition"),
        ({"field": "x", "is": None}, "input_type=NoneType"),
        ({"field": "x", "is": 1.5}, "float"),
        ({"field": "x", "missing": "yes"}, "valid boolean"),
        ({"field": "x", "missing": 1}, "valid boolean"),
        ({"is": "x"}, "Field required"),
        ({"field": "x", "is": "y", "missing": True}, "Extra inputs"),
        ({"all": []}, "at least 1 item"),
        ({"any": []}, "at least 1 item"),
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

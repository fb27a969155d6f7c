"""Conditions and statuses as Postgres reads them: the same table as Python's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from psycopg import sql
from pydantic import TypeAdapter

from idemctl.domain.records import Status
from idemctl.layouts.conditions import Condition
from idemctl.layouts.sides import Statuses
from idemctl.stores.postgres.conditions import as_sql, status_as_sql
from tests.layouts.table_of_conditions import CASES, COLUMNS, STATUSES
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from tests.layouts.table_of_conditions import Row
    from tests.stores.postgres.tables import Session

ADAPTER: TypeAdapter[Any] = TypeAdapter(Condition)


def row_source(row: Row) -> sql.Composable:
    columns = sql.SQL(", ").join(
        sql.SQL("{}::{} AS {}").format(
            sql.Literal(_written(row.get(name))), sql.SQL(kind), sql.Identifier(name)
        )
        for name, kind in COLUMNS.items()
    )
    return sql.SQL("(SELECT {}) AS row_").format(columns)


def _written(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else value


def answer(session: Session, expression: sql.Composable, row: Row) -> Any:
    """Read the row through a real table expression, which nothing folds away."""
    found = session.execute(
        sql.SQL("SELECT {} FROM {} OFFSET 0").format(expression, row_source(row))
    ).fetchone()
    assert found is not None
    return found[0]


def test_a_condition_holds_in_sql_as_the_table_says(application: Session) -> None:
    for condition, row, holds in CASES:
        model = ADAPTER.validate_python(condition)
        assert answer(application, as_sql(model), row) is holds, (condition, row)


def test_no_condition_is_ever_null(application: Session) -> None:
    for condition, _, _ in CASES:
        for written in (condition, {"not": condition}):
            model = ADAPTER.validate_python(written)
            assert answer(application, as_sql(model), {}) in (True, False), written


def test_a_status_is_told_in_sql_as_the_table_says(application: Session) -> None:
    for statuses, row, status in STATUSES:
        told = statuses if isinstance(statuses, str) else Statuses.model_validate(statuses)
        layout = LAYOUTS["reference"].model_copy(update={"status": told})
        assert Status(answer(application, status_as_sql(layout), row)) is Status[status], (
            statuses,
            row,
        )


@pytest.mark.parametrize("value", ["'; DROP TABLE processed_events; --", "{}", "%s", "\\", "E'x'"])
def test_a_value_in_a_layout_is_never_code(application: Session, value: str) -> None:
    same = as_sql(ADAPTER.validate_python({"field": "word", "is": value}))
    assert answer(application, same, {"word": value}) is True
    column = sql.Identifier('x" OR true --')
    odd = as_sql(ADAPTER.validate_python({"field": 'x" OR true --', "is": "never"}))
    found = application.execute(
        sql.SQL("SELECT {} FROM (SELECT 'other'::text AS {}) AS row_").format(odd, column)
    ).fetchone()
    assert found == (False,)

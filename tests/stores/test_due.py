"""By when work has to be done: the layout's deadline, read in Python and in SQL alike."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from idemctl.domain.instants import FOREVER, LONG_PAST, MISSING, to_micros
from idemctl.errors import ConfigError
from idemctl.layouts.columns import missing
from idemctl.layouts.instants import At, Unit
from idemctl.layouts.rows import RowReader
from tests.stores.postgres.tables import open_table
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    import psycopg

AT = datetime(2026, 11, 29, 12, 0, 0, 123456, UTC)
DAY = timedelta(days=1)
CASES = [
    (AT, to_micros(AT), to_micros(AT + DAY)),
    (None, MISSING, MISSING),
    ("infinity", FOREVER, FOREVER),
    ("-infinity", LONG_PAST, LONG_PAST),
]


def due(within: timedelta | None) -> Any:
    return LAYOUTS["bare"].model_copy(update={"due": At(field="at", plus=within)})


@pytest.mark.parametrize("within", [None, DAY])
def test_postgres_reads_a_deadline(
    dsn: str, connection: psycopg.Connection[Any], within: timedelta | None
) -> None:
    connection.execute(
        "CREATE TABLE works (idempotency_key text, created_at timestamptz, at timestamptz)"
    )
    for number, (value, *_) in enumerate(CASES):
        connection.execute("INSERT INTO works VALUES (%s, now(), %s)", [str(number), value])
    with closing(open_table(dsn, "works", due(within), writable=False)) as store:
        (batch,) = store.scan()
    expected = [later if within else plain for _, plain, later in CASES]
    assert batch.due_at.tolist() == expected


@pytest.mark.parametrize("within", [None, DAY])
def test_a_row_of_this_process_reads_the_same(within: timedelta | None) -> None:
    rows: list[dict[str, Any]] = [{"at": AT}, {"at": None}, {"at": FOREVER}, {}]
    reader = RowReader(due(within), Unit.MICROSECONDS)
    nothing = [b""] * len(rows)
    column = reader.read(
        rows,
        keys=nothing,
        scopes=nothing,
        endpoints=nothing,
        key_expires_at=missing(len(rows)),
        sizes=missing(len(rows)),
    ).due_at
    first = to_micros(AT + DAY if within else AT)
    assert column.tolist() == [first, MISSING, FOREVER, MISSING]


def test_a_deadline_without_time_zone_is_refused(
    dsn: str, connection: psycopg.Connection[Any]
) -> None:
    connection.execute(
        "CREATE TABLE works (idempotency_key text, created_at timestamptz, at timestamp)"
    )
    with (
        closing(open_table(dsn, "works", due(None), writable=False)) as store,
        pytest.raises(ConfigError, match="at is a timestamp without time zone"),
    ):
        list(store.scan())


@pytest.mark.parametrize("wrong", ["", "soon", "24", "0s"])
def test_how_long_work_may_take_is_a_duration(wrong: str) -> None:
    assert At.model_validate({"field": "at", "plus": "1d"}).plus == DAY
    with pytest.raises(ValidationError, match="duration"):
        At.model_validate({"field": "at", "plus": wrong})

"""Instants in every form in which libraries write them: read alike, and collected in time."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from psycopg import sql

from idemctl.domain.instants import FOREVER, LONG_PAST, MISSING, to_micros
from idemctl.domain.retention import Retention
from idemctl.errors import ConfigError
from idemctl.layouts.instants import At, Unit
from idemctl.stores.postgres.places import instant, is_before
from tests.stores.contract import added
from tests.stores.postgres.tables import keys, open_table, walk_by
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.stores.postgres.table import PostgresTable
    from tests.stores.postgres.tables import Session

NOON = datetime(2026, 11, 30, 12, 0, 0, 123456, UTC)
AT = to_micros(NOON)
HOUR = timedelta(hours=1)
BERLIN = "Europe/Berlin"


@dataclass(frozen=True)
class Form:
    """How a column writes instants."""

    name: str
    type: str
    at: At
    noon: str
    """Noon in it, as far as it is exact, as SQL."""
    micros: int
    after: str = "{} + interval '1 microsecond'"
    """The next instant that it can write."""


def counted(name: str, type_: str, unit: Unit, noon: str, micros: int) -> Form:
    after = "{} + 10" if unit is Unit.TICKS else "{} + 1"
    return Form(name, type_, At(field="at", unit=unit), noon, micros, after)


FORMS = [
    Form("timestamptz", "timestamptz", At(field="at"), f"'{NOON.isoformat()}'::timestamptz", AT),
    Form(
        "naive", "timestamp", At(field="at", zone="UTC"), "'2026-11-30 12:00:00.123456'::timestamp",
        AT,
    ),
    Form(
        "naive in Berlin", "timestamp", At(field="at", zone=BERLIN),
        "'2026-11-30 13:00:00.123456'::timestamp", AT,
    ),
    counted("seconds", "int8", Unit.SECONDS, "1796040000", AT - 123456),
    counted("small seconds", "int4", Unit.SECONDS, "1796040000", AT - 123456),
    counted("milliseconds", "int8", Unit.MILLISECONDS, "1796040000123", AT - 456),
    counted("microseconds", "int8", Unit.MICROSECONDS, "1796040000123456", AT),
    counted("ticks", "int8", Unit.TICKS, "639316368001234560", AT),
    counted("numeric", "numeric", Unit.MILLISECONDS, "1796040000123", AT - 456),
    Form(
        "doubles", "float8", At(field="at", unit=Unit.SECONDS), "1796040000.25",
        AT - 123456 + 250_000, after="{} + 0.001",
    ),
    Form(
        "claimed", "timestamptz", At(field="at", plus=HOUR),
        f"'{(NOON - HOUR).isoformat()}'::timestamptz", AT,
    ),
    Form(
        "counted and claimed", "int8", At(field="at", unit=Unit.MILLISECONDS, plus=HOUR),
        "1796036400123", AT - 456, after="{} + 1",
    ),
    Form(
        "nested", "jsonb", At(field=("at", "until"), unit=Unit.MILLISECONDS),
        """'{"until": 1796040000123}'::jsonb""", AT - 456, after="""'{"until": 1796040000124}'""",
    ),
]  # fmt: skip
EACH = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)


@dataclass(frozen=True)
class Records:
    """A table with one column that is an instant, in whatever form."""

    database: str
    session: Session
    table: str

    def make(self, type_: str) -> None:
        self.session.execute(
            f"CREATE TABLE {self.table} (idempotency_key text,"
            f" created_at timestamptz DEFAULT now(), at {type_})"
        )

    def put(self, key: str, value: str) -> None:
        self.session.execute(
            f"INSERT INTO {self.table} (idempotency_key, at) VALUES ('{key}', {value})"
        )

    @contextmanager
    def opened(self, at: At) -> Iterator[PostgresTable]:
        layout = LAYOUTS["bare"].model_copy(update={"expires": at})
        with closing(open_table(self.database, self.table, layout)) as store:
            yield store

    def ends(self, at: At) -> dict[bytes, int]:
        with self.opened(at) as store:
            (batch,) = store.scan()
        return dict(zip(batch.keys, batch.expires_at.tolist(), strict=True))

    def collect(self, at: At, cutoff: datetime) -> int:
        with self.opened(at) as store:
            return added(store.collect(Retention(cutoff=cutoff, has_stored_expiry=True))).deleted


@pytest.fixture
def records(database: str, application: Session, schema: str) -> Records:
    return Records(database, application, f"{schema}.records")


@EACH
def test_an_instant_is_read_in_its_form(records: Records, form: Form) -> None:
    records.make(form.type)
    records.put("noon", form.noon)
    records.put("none", "NULL")
    assert records.ends(form.at) == {b"noon": form.micros, b"none": MISSING}


@pytest.mark.parametrize("walk", ["heap", "index"])
@EACH
def test_what_ends_before_the_cutoff_is_collected_and_what_ends_at_it_stays(
    records: Records, form: Form, walk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk_by(monkeypatch, walk)
    records.make(form.type)
    if not isinstance(form.at.field, tuple):
        records.session.execute(f"CREATE INDEX ON {records.table} (at)")
    records.put("noon", form.noon)
    records.put("next", form.after.replace("{}", form.noon))
    records.put("none", "NULL")
    cutoff = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=form.micros)
    assert records.collect(form.at, cutoff) == 0
    assert records.collect(form.at, cutoff + timedelta(microseconds=1)) == 1
    assert keys(records.session, records.table) == {"next", "none"}


WILD = [
    ("timestamptz", At(field="at"), {"'infinity'": FOREVER, "'-infinity'": LONG_PAST}),
    ("timestamp", At(field="at", zone="UTC"), {"'infinity'": FOREVER, "'-infinity'": LONG_PAST}),
    (
        "int8",
        At(field="at", unit=Unit.MILLISECONDS),
        {"9223372036854775807": FOREVER, "-9223372036854775808": LONG_PAST, "0": 0, "-1": -1000},
    ),
    ("int8", At(field="at", unit=Unit.SECONDS), {"9223372036854775807": FOREVER}),
    (
        "float8",
        At(field="at", unit=Unit.SECONDS),
        {"'NaN'": FOREVER, "'Infinity'": FOREVER, "'-Infinity'": LONG_PAST, "1e300": FOREVER},
    ),
    ("numeric", At(field="at", unit=Unit.SECONDS), {"'NaN'": FOREVER, "1e100": FOREVER}),
    ("int8", At(field="at", unit=Unit.SECONDS, plus=HOUR), {"9223372036854775807": FOREVER}),
    (
        "jsonb",
        At(field=("at", "until"), unit=Unit.SECONDS),
        {
            """'{"until": "soon"}'""": MISSING,
            """'{"until": null}'""": MISSING,
            """'{"until": [1]}'""": MISSING,
            """'[]'""": MISSING,
            """'7'""": MISSING,
            """'{"until": 99999999999999999999}'""": MISSING,
            """'{"until": "7"}'""": 7_000_000,
        },
    ),
]


@pytest.mark.parametrize(("type_", "at", "values"), WILD)
def test_nothing_that_stands_in_a_column_makes_a_walk_fail(
    records: Records, type_: str, at: At, values: dict[str, int]
) -> None:
    records.make(type_)
    for value in values:
        records.put(value.replace("'", "''"), value)
    assert records.ends(at) == {value.encode(): end for value, end in values.items()}
    over = sum(MISSING < end < AT for end in values.values())
    assert records.collect(at, NOON) == over


@pytest.mark.parametrize("zone", ["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe"])
@pytest.mark.parametrize("day", ["2026-10-25", "2026-03-29", "2026-11-01", "2026-04-05"])
def test_an_index_leaves_out_nothing_that_is_before_also_where_clocks_are_put_back(
    application: Session, zone: str, day: str
) -> None:
    """There a local time is two instants, or none."""
    at = At(field="at", zone=zone)
    first = datetime.fromisoformat(f"{day}T00:00:00+00:00")
    for minutes in range(-720, 1440, 30):
        moment = first + timedelta(minutes=minutes)
        rows = application.execute(
            sql.SQL(
                "SELECT at FROM generate_series({}::timestamp, {}::timestamp, '10 min') AS at"
                " WHERE {} < {}::timestamptz AND NOT ({})"
            ).format(
                sql.Literal((first - timedelta(days=1)).replace(tzinfo=None)),
                sql.Literal((first + timedelta(days=2)).replace(tzinfo=None)),
                instant(at),
                sql.Literal(moment),
                is_before(at, moment),
            )
        ).fetchall()
        assert rows == []


@pytest.mark.parametrize(
    ("type_", "at", "says"),
    [
        ("text", At(field="at", unit=Unit.SECONDS), "at is a text, and counts no seconds"),
        ("timestamptz", At(field="at", unit=Unit.SECONDS), "and counts no seconds"),
        ("timestamptz", At(field="at", zone="UTC"), "which needs no zone"),
        ("int8", At(field="at", zone="UTC"), "which needs no zone"),
        ("int8", At(field="at"), "so its instants are unknown"),
        ("timestamp", At(field="at"), "so its instants are unknown"),
    ],
)
def test_a_column_that_is_something_else_than_the_layout_says_is_refused(
    records: Records, type_: str, at: At, says: str
) -> None:
    records.make(type_)
    with records.opened(at) as store, pytest.raises(ConfigError, match=says):
        store.describe()

"""Tables of libraries: each is read as its library writes it, with its own DDL."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.bootstrap.layouts import preset, preset_files
from idemctl.documents import read_document
from idemctl.domain.retention import Retention
from idemctl.domain.secrets import Secret
from idemctl.layouts.besides import read_by
from idemctl.stores.postgres.table import PostgresTable
from tests.stores.contract import added

if TYPE_CHECKING:
    from idemctl.layouts.model import PostgresLayout
    from tests.stores.postgres.tables import Session

FILE = Path(__file__).with_name("libraries.yaml")
TABLES: dict[str, Any] = read_document(FILE).data
KEPT = {"in_progress", "unknown"}


def table_of(name: str) -> PostgresLayout:
    side = preset(name).postgres
    assert side is not None
    return side


@pytest.fixture
def place(application: Session, database: str, schema: str) -> Any:
    """Lay a library's table into a schema of its own, and open it there."""

    def lay(name: str) -> tuple[PostgresTable, str]:
        rows = TABLES[name]["rows"].values()
        own, _, table = table_of(name).table.rpartition(".")
        # A library's own schema is left out: two tests may run in one database.
        words = TABLES[name]["ddl"]
        if own:
            words = words.replace(f"CREATE SCHEMA {own};", "").replace(f"{own}.", "")
        application.execute(f"SET search_path TO {schema}")
        application.execute(words)
        values = ", ".join(row["values"] for row in rows)
        application.execute(f"INSERT INTO {table} VALUES {values}")
        store = PostgresTable(
            dsn=Secret(database),
            table=f"{schema}.{table}",
            layout=table_of(name),
            writable=True,
            application="idemctl test",
        )
        return store, f"{schema}.{table}"

    yield lay
    application.execute("RESET search_path")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_read_as_its_library_writes_it(place: Any, name: str) -> None:
    store, _ = place(name)
    with closing(store):
        batches = list(store.scan())
    records = [one.record(at) for one in batches for at in range(len(one))]
    assert {one.key.decode(): one.status.label for one in records} == {
        key: row["status"] for key, row in TABLES[name]["rows"].items()
    }


@pytest.mark.parametrize("name", TABLES)
def test_what_is_not_done_is_never_collected_however_old(
    place: Any, application: Session, name: str
) -> None:
    store, table = place(name)
    layout = table_of(name)
    row = application.execute("SELECT now() + interval '100 years'").fetchone()
    assert row is not None
    retention = Retention(
        cutoff=row[0], has_stored_expiry=layout.expires is not None,
        ttl=row[0] - row[0].replace(year=row[0].year - 1),
    )  # fmt: skip
    rows = TABLES[name]["rows"]
    is_business = layout.never_collected == "always"
    kept = {key for key, row in rows.items() if is_business or row["status"] in KEPT}
    with closing(store):
        assert added(store.collect(retention)).deleted == len(rows) - len(kept)
    left = application.execute(f'SELECT "{layout.key}" FROM {table}').fetchall()
    written = (key.decode() if isinstance(key, bytes) else str(key) for (key,) in left)
    assert set(written) == kept


@pytest.mark.parametrize("name", TABLES)
def test_a_layout_names_every_column_of_its_library_s_table(
    place: Any, application: Session, name: str
) -> None:
    store, table = place(name)
    store.close()
    columns = application.execute(f"SELECT * FROM {table} LIMIT 0").description or []
    layout = table_of(name)
    assert {column.name for column in columns} == read_by(layout) | set(layout.besides)


@pytest.mark.parametrize("name", TABLES)
def test_no_table_of_a_library_is_refused_for_what_hangs_on_it(place: Any, name: str) -> None:
    store, table = place(name)
    with closing(store):
        references = store.describe().references
    schema = table.partition(".")[0]
    hanging = {one.table.removeprefix(f"{schema}.").strip('"') for one in references}
    assert hanging == {one.strip('"') for one in table_of(name).drags}
    assert all(one.drags and one.is_meant for one in references)


def test_a_policy_speaks_of_an_endpoint_that_lies_in_two_columns(
    place: Any, application: Session
) -> None:
    store, table = place("brandur")
    application.execute(f"UPDATE {table} SET created_at = now() - interval '2 hours'")
    with closing(store):
        [batch] = list(store.scan())
        assert set(batch.endpoints) == {b"POST /x"}
        cutoff = store.clock()
        for endpoint, expected in ((b"/x", 0), (b"POST /x", 1)):
            retention = Retention(
                cutoff=cutoff,
                has_stored_expiry=False,
                policy_ttls={endpoint: timedelta(hours=1)},
            )
            assert added(store.collect(retention)).deleted == expected
        application.execute(f"UPDATE {table} SET request_method = ''")
        [batch] = list(store.scan())
        assert set(batch.endpoints) == {b""}


def test_every_table_that_nobody_has_tried_is_here() -> None:
    layouts = {name: preset(name) for name in preset_files()}
    described = {name for name, one in layouts.items() if one.postgres}
    assert {name for name in described if layouts[name].proven == "source"} <= set(TABLES)
    assert set(TABLES) <= described

"""Tables that hang on records, at the command line: refused, named, and then said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.test_layout_statements import FULL, through

if TYPE_CHECKING:
    from tests.cli.places import Database, Place

APPLY = ("gc", "--apply", "--store", "payments", "--pace", "full")
KEY = "receipt_record_fkey"


@pytest.fixture
def receipts(seeded: Database) -> Database:
    """Receipts for all payments, in a schema of their own, without an index."""
    seeded.observer.execute(
        "ALTER TABLE processed_events ADD COLUMN record bigserial UNIQUE;"
        'CREATE SCHEMA app; CREATE TABLE app."Receipt" AS SELECT record FROM processed_events'
    )
    return seeded


def refer(database: Database, action: str) -> None:
    database.observer.execute(
        f'ALTER TABLE app."Receipt" ADD CONSTRAINT {KEY} FOREIGN KEY (record)'
        f" REFERENCES processed_events (record) ON DELETE {action}".encode()
    )


def test_gc_refuses_names_the_line_and_goes_on_with_it(receipts: Database, place: Place) -> None:
    refer(receipts, "CASCADE")
    through(place)
    before = receipts.count("processed_events")
    hanging = f'app."Receipt" ({KEY}, ON DELETE CASCADE)'
    look = place.main("gc", "--store", "payments", "--pace", "full")
    assert look.status == 0
    assert f"gc --apply refuses, for it would also delete or change rows of {hanging}" in look.out
    refused = place.main(*APPLY)
    assert refused.status == 5
    assert f"deleting here would also delete or change rows of {hanging}" in refused.err
    line = "drags: ['app.\"Receipt\"']"
    assert f"add {line} to the postgres side of the layout" in refused.err
    assert receipts.count("processed_events") == receipts.count('app."Receipt"') == before

    through(place, line)
    assert place.main("layout", "check", "ours.yaml").status == 0
    look = place.main("gc", "--store", "payments", "--pace", "full")
    would = f"rows of {hanging} would go with their records; they were not counted"
    assert would in look.out
    assert 'no index on app."Receipt" (record): each deletion reads that whole table' in look.out
    done = place.main(*APPLY)
    assert done.status == 0
    assert f"rows of {hanging} went with their records; they were not counted" in done.out
    after = receipts.count("processed_events")
    assert after == receipts.count('app."Receipt"') < before
    nothing = place.main(*APPLY)
    assert (nothing.status, "went with their records" in nothing.out) == (0, False)


def test_what_loses_its_reference_is_said_and_stays(receipts: Database, place: Place) -> None:
    refer(receipts, "SET NULL")
    through(place, "drags: ['app.\"Receipt\"']")
    before = receipts.count('app."Receipt"')
    done = place.main(*APPLY, "-o", "json")
    assert (done.status, done.summary["deleted"] > 0) == (0, True)
    assert receipts.count('app."Receipt"') == before
    assert receipts.count('app."Receipt" WHERE record IS NULL') == done.summary["deleted"]
    [store] = done.summary["stores"]
    assert store["references"] == [
        {
            "table": 'app."Receipt"', "key": KEY, "on_delete": "SET NULL", "is_meant": True,
            "has_index": False,
        }
    ]  # fmt: skip


def test_records_to_which_rows_refer_stay_the_rest_goes_and_both_are_said(
    receipts: Database, place: Place
) -> None:
    receipts.observer.execute(
        'DELETE FROM app."Receipt" WHERE record % 3 > 0; CREATE INDEX ON app."Receipt" (record)'
    )
    refer(receipts, "NO ACTION")
    through(place)
    look = place.main("gc", "--store", "payments", *FULL)
    done = place.main(*APPLY, "-o", "json")
    assert (done.status, done.summary["failed"], done.summary["why_stopped"]) == (0, 0, "done")
    assert done.summary["deleted"] == look.summary["candidates"] > 0
    kept = [item for item in look.document["items"] if item["code"] == "referred-to"]
    assert sum(item["count"] for item in kept) > 0
    told = place.main(*APPLY).out
    assert f'records to which rows of app."Receipt" ({KEY}, ON DELETE NO ACTION) refer stay' in told
    assert "rows of another table refer to it, by a foreign key that keeps it" in told


@pytest.mark.parametrize("name", ["a.b.c", "a b", '"a', "1a", "", "a;drop"])
def test_what_is_no_name_of_a_table_is_told_by_its_place(place: Place, name: str) -> None:
    through(place, f"drags: [entries, '{name}']")
    done = place.main("layout", "check", "ours.yaml")
    assert done.status == 3
    assert "error: postgres.drags.1: is no name of a table: write entries, app.entries" in done.out

"""Tables that are not made for what they have to keep, or for letting go of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from idemctl.checks.tables import LARGE
from idemctl.domain.references import OnDelete, Reference
from idemctl.domain.shapes import Column
from tests.checks.tables import CALM, EXPIRY, GUARD, SHAPE, index, part, shaped, told, unjudged

if TYPE_CHECKING:
    from idemctl.domain.circumstances import PostgresCircumstances
    from idemctl.domain.shapes import Index


def test_unlogged_partitions_are_named() -> None:
    table = shaped(
        part(GUARD, name="p0"), part(GUARD, name="p1", is_unlogged=True), is_partitioned=True
    )
    said = told(table)["table-unlogged"]
    assert (said.count, said.evidence) == (1, "UNLOGGED: p1")


def large(*indexes: Index, row_count: int | None = LARGE) -> PostgresCircumstances:
    return shaped(part(GUARD, *indexes, name="app.seen", row_count=row_count))


@pytest.mark.parametrize(
    ("other", "is_found"),
    [
        (index("expires_at"), False),
        (index("expires_at", "key"), False),
        (index("key", "expires_at"), True),
        (index("expires_at", is_valid=False), True),
        (index("expires_at", is_partial=True), True),
        (index("expires_at", is_ordered=False), True),
    ],
    ids=str,
)
def test_gc_needs_an_index_that_leads_with_the_expiry(other: Index, *, is_found: bool) -> None:
    assert list(told(large(other))) == ["expiry-without-index"] * is_found
    assert told(large(other, row_count=LARGE - 1)) == {}


def test_a_table_that_nobody_has_counted_is_not_called_small() -> None:
    assert unjudged(large(row_count=None)) == {
        "expiry-without-index": "nobody has counted the rows of app.seen yet"
    }
    assert unjudged(large(EXPIRY, row_count=None)) == {}


def test_an_expiry_inside_of_another_column_cannot_be_judged_where_it_matters() -> None:
    def inside(rows: int) -> PostgresCircumstances:
        return shaped(part(GUARD, row_count=rows), expires_by=None)

    assert unjudged(inside(LARGE)) == {
        "expiry-without-index": "the expiry lies inside of another column"
    }
    assert unjudged(inside(10)) == {}


def test_of_what_is_never_collected_no_deletion_is_judged() -> None:
    kept = replace(large().shape, is_collected=False, delete_triggers=("notes",))
    assert told(replace(CALM, shape=kept, references=(CASCADE,))) == {}


def test_only_timestamps_without_zone_are_doubtful() -> None:
    zones = {"expires_at": "UTC", "claimed_at": "Europe/Berlin"}
    columns = {
        **SHAPE.columns,
        "expires_at": Column(type="timestamp", is_nullable=True),
        "claimed_at": Column(type="timestamp", is_nullable=True),
        "other_at": Column(type="timestamp", is_nullable=True),
    }
    said = told(shaped(columns=columns, zones=zones))["timestamp-without-zone"]
    assert said.count == 2
    assert said.evidence == (
        "timestamp without time zone: expires_at, which the layout takes for UTC; "
        "claimed_at, which the layout takes for Europe/Berlin"
    )
    assert told(shaped(columns=columns)) == {}


CASCADE = Reference(
    table="app.charges", key="fk", on_delete=OnDelete.CASCADE, is_meant=False, is_own=False,
    has_index=True, columns="event",
)  # fmt: skip


@pytest.mark.parametrize("on_delete", OnDelete)
@pytest.mark.parametrize("is_meant", [False, True])
def test_a_reference_that_the_layout_does_not_mean_drags(
    on_delete: OnDelete, *, is_meant: bool
) -> None:
    reference = replace(CASCADE, on_delete=on_delete, is_meant=is_meant)
    drags = on_delete not in {OnDelete.NO_ACTION, OnDelete.RESTRICT} and not is_meant
    said = told(replace(CALM, references=(reference,)))
    assert list(said) == ["deletion-drags-rows"] * drags
    if drags:
        assert said["deletion-drags-rows"].evidence == f"app.charges (fk, ON DELETE {on_delete})"


def test_a_reference_is_slow_without_an_index_meant_or_not() -> None:
    for is_meant in (False, True):
        slow = replace(CASCADE, on_delete=OnDelete.RESTRICT, has_index=False, is_meant=is_meant)
        said = told(replace(CALM, references=(slow,)))
        assert list(said) == ["reference-without-index"]
        assert said["reference-without-index"].evidence == "no index on app.charges (event)"


def test_triggers_that_run_for_each_row_are_named() -> None:
    said = told(shaped(delete_triggers=("audit", "notes")))["delete-trigger"]
    assert (said.count, said.evidence) == (2, "for each row: audit, notes")

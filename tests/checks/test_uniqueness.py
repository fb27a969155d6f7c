"""What lets two records of one identity into a table, or takes two identities for one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.domain.circumstances import Repeated, Unseen
from idemctl.domain.shapes import Column
from tests.checks.tables import (
    CALM,
    EXPIRY,
    GUARD,
    NULLABLE,
    SHAPE,
    index,
    part,
    shaped,
    told,
    unique,
    unjudged,
)

if TYPE_CHECKING:
    from idemctl.domain.circumstances import PostgresCircumstances
    from idemctl.domain.shapes import Index


def test_a_table_with_a_guard_is_well() -> None:
    assert (told(CALM), unjudged(CALM)) == ({}, {})
    assert SHAPE.keeps_identities_apart


@pytest.mark.parametrize(
    "guard",
    [
        GUARD,
        unique("key", "scope"),
        unique("key"),
        unique("scope", "key", is_ordered=False),
    ],
    ids=str,
)
def test_an_index_on_nothing_but_the_identity_guards_it(guard: Index) -> None:
    table = shaped(part(guard, EXPIRY))
    assert told(table) == {}
    assert table.shape.keeps_identities_apart


@pytest.mark.parametrize(
    "other",
    [
        index("scope", "key"),
        unique("scope", "key", is_partial=True),
        unique("scope", ""),
        unique("scope", "key", "created_at"),
        unique("scope"),
        unique("id"),
    ],
    ids=str,
)
def test_any_other_index_does_not(other: Index) -> None:
    table = shaped(part(other, EXPIRY))
    assert list(told(table)) == ["identity-not-unique"]
    assert not table.shape.keeps_identities_apart
    assert told(shaped(part(other, GUARD, EXPIRY))) == {}


def test_a_library_may_take_the_same_key_at_another_endpoint_for_another_request() -> None:
    wide = part(unique("scope", "key", "endpoint"), EXPIRY)
    assert told(shaped(wide, endpoint=("endpoint",))) == {}
    assert list(told(shaped(wide))) == ["identity-not-unique"]


def test_the_evidence_names_table_and_what_is_unique() -> None:
    said = told(shaped(part(unique("id", name="pkey"), name="app.seen")))["identity-not-unique"]
    assert said.evidence == ("app.seen: no unique index on (scope, key); unique are pkey (id)")
    bare = told(shaped(part(), scope=None))["identity-not-unique"]
    assert bare.evidence == "t: no unique index on (key); nothing is unique"


def test_of_partitions_those_without_a_guard_are_counted_and_named() -> None:
    names = [f"p{number}" for number in range(5)]
    guarded = part(GUARD, name="p9")
    table = shaped(guarded, *(part(name=name) for name in names), is_partitioned=True)
    said = told(table)["identity-not-unique"]
    assert said.count == 5
    assert said.evidence.startswith("p0, p1, p2 and 2 more: no unique index")


def test_an_invalid_guard_is_told_from_none_and_harmless_beside_a_valid_one() -> None:
    invalid = unique("scope", "key", name="half", is_valid=False)
    table = shaped(part(invalid, EXPIRY))
    said = told(table)
    assert list(said) == ["unique-index-invalid"]
    assert said["unique-index-invalid"].evidence == "INVALID: half (scope, key)"
    assert not table.shape.keeps_identities_apart
    assert told(shaped(part(invalid, GUARD, EXPIRY))) == {}


def halves(first: Index, second: Index, *split_by: str) -> PostgresCircumstances:
    return shaped(
        part(first, EXPIRY, name="p0"),
        part(second, EXPIRY, name="p1"),
        is_partitioned=bool(split_by),
        split_by=frozenset(split_by),
    )


def test_partitions_by_key_or_scope_keep_identities_apart() -> None:
    for split_by in (("key",), ("scope",), ("scope", "key")):
        table = halves(GUARD, GUARD, *split_by)
        assert told(table) == {}
        assert table.shape.keeps_identities_apart


@pytest.mark.parametrize("guard", [GUARD, unique("scope", "key", "created_at", name="wide")])
def test_partitions_by_anything_else_do_not(guard: Index) -> None:
    table = halves(guard, guard, "created_at")
    said = told(table)
    assert list(said) == ["unique-within-partitions"]
    assert said["unique-within-partitions"].count == 2
    assert said["unique-within-partitions"].evidence.startswith(
        "partitioned by created_at, in 2 tables, each with rows of any (scope, key)"
    )
    assert not table.shape.keeps_identities_apart


def test_of_wide_index_the_evidence_shows_the_columns() -> None:
    wide = unique("scope", "key", "created_at", name="wide")
    said = told(halves(wide, wide, "created_at"))["unique-within-partitions"].evidence
    assert said.endswith("; the index is wide (scope, key, created_at)")


def test_heirs_do_not_keep_identities_apart() -> None:
    table = halves(GUARD, GUARD)
    assert told(table)["unique-within-partitions"].evidence == (
        "2 tables, each with rows of any (scope, key)"
    )
    assert not table.shape.keeps_identities_apart


def test_partitions_by_an_expression_cannot_be_judged() -> None:
    table = halves(GUARD, GUARD, "")
    assert told(table) == {}
    assert unjudged(table) == {
        "unique-within-partitions": "the table is partitioned by an expression"
    }
    assert not table.shape.keeps_identities_apart


def test_a_scope_that_may_be_null_repeats_unless_the_index_says_otherwise() -> None:
    table = shaped(columns=NULLABLE)
    said = told(table)
    assert list(said) == ["unique-lets-nulls-repeat"]
    assert said["unique-lets-nulls-repeat"].evidence == (
        "scope may be NULL, and guard (scope, key) takes NULLs for different"
    )
    assert not table.shape.keeps_identities_apart
    strict = unique("scope", "key", lets_nulls_repeat=False)
    for guards in ((strict,), (GUARD, strict), (GUARD, unique("key"))):
        kept = shaped(part(*guards, EXPIRY), columns=NULLABLE)
        assert told(kept) == {}
        assert kept.shape.keeps_identities_apart


def test_a_key_that_may_be_null_is_no_record_and_no_finding() -> None:
    columns = {**SHAPE.columns, "key": Column(type="text", is_nullable=True)}
    assert told(shaped(columns=columns)) == {}


def test_what_folds_keys_is_named_by_type_or_collation() -> None:
    folding = unique("scope", "key", folds=True, collation="lower_all")
    said = told(shaped(part(folding, EXPIRY)))
    assert list(said) == ["unique-ignores-case"]
    assert said["unique-ignores-case"].evidence == (
        "scope is of the collation lower_all, key is of the collation lower_all, "
        "in one (scope, key)"
    )
    citext = {**SHAPE.columns, "key": Column(type="citext", is_nullable=False)}
    told_of = told(shaped(part(unique("key", folds=True), EXPIRY), columns=citext))
    assert told_of["unique-ignores-case"].evidence == "key is citext, in one (key)"
    other = unique("endpoint", folds=True)
    assert told(shaped(part(GUARD, other, EXPIRY))) == {}


@pytest.mark.parametrize(
    ("recorded", "actual", "is_outdated"),
    [("2.31", "2.36", True), ("2.36", "2.36", False), (None, "2.36", False), ("1", None, False)],
)
def test_a_collation_is_outdated_where_both_versions_are_known_and_differ(
    recorded: str | None, actual: str | None, *, is_outdated: bool
) -> None:
    versions: dict[str, Any] = {
        "recorded_version": recorded,
        "actual_version": actual,
        "collation": "en_US",
    }
    table = shaped(part(unique("scope", "key", **versions), EXPIRY))
    assert list(told(table)) == ["collation-outdated"] * is_outdated
    assert table.shape.keeps_identities_apart is not is_outdated
    beside = index("endpoint", **versions)
    assert told(shaped(part(GUARD, beside, EXPIRY))) == {}


def test_repeated_identities_are_counted_shown_or_not_judged() -> None:
    repeated = Repeated(count=2, row_count=5, sample=((b"a", b"eu"), (b"b", b"")))
    said = told(replace(CALM, repeated=repeated))["identity-repeated"]
    assert (said.count, said.evidence) == (2, "5 rows of 2 identities")
    assert said.sample == ({"key": "a", "scope": "eu"}, {"key": "b"})
    unseen = replace(CALM, repeated=Unseen("too many rows"))
    assert told(unseen) == {}
    assert unjudged(unseen) == {"identity-repeated": "too many rows"}

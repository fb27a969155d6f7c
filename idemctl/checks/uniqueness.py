"""Tables that let two records of one identity in, or take two identities for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.checks.check import BY_KEY, POSTGRES, Check, Source, Told
from idemctl.domain.circumstances import Unseen
from idemctl.domain.findings import Severity
from idemctl.domain.shapes import outdated
from idemctl.domain.sight import Sight

if TYPE_CHECKING:
    from collections.abc import Iterable

    from idemctl.checks.check import Facts
    from idemctl.domain.circumstances import PostgresCircumstances
    from idemctl.domain.shapes import Index, PhysicalTable, TableShape

_MOST_NAMED = 3


def _identity(shape: TableShape) -> str:
    columns = [shape.key] if shape.scope is None else [shape.scope, shape.key]
    return f"({', '.join(columns)})"


def _named(what: Iterable[object]) -> str:
    names = list(map(str, what))
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _unguarded(shape: TableShape) -> list[PhysicalTable]:
    return [part for part in shape.parts if not shape.guards(part)]


def _is_widened(shape: TableShape, index: Index) -> bool:
    """Whether only columns that choose a partition keep the index from being a guard."""
    rest = set(index.names) - shape.split_by
    return (
        index.is_unique
        and index.is_valid
        and not index.is_partial
        and shape.key in index.names
        and rest < set(index.names)
        and shape.identity.issuperset(rest)
    )


def _widened(shape: TableShape, parts: Iterable[PhysicalTable]) -> list[Index]:
    wide = ((one for one in part.indexes if _is_widened(shape, one)) for part in parts)
    return [index for indexes in wide for index in indexes]


def _not_unique(table: PostgresCircumstances, _facts: Facts) -> Told | None:
    shape = table.shape
    bare = [
        part
        for part in _unguarded(shape)
        if not shape.meant_as_guards(part) and not _widened(shape, [part])
    ]
    if not bare:
        return None
    others = [one for one in bare[0].indexes if one.is_unique]
    return Told(
        evidence=f"{_named(part.name for part in bare)}: no unique index on {_identity(shape)}; "
        + (f"unique are {_named(others)}" if others else "nothing is unique"),
        count=len(bare),
    )


def _invalid(table: PostgresCircumstances, _facts: Facts) -> Told | None:
    shape = table.shape
    invalid = [one for part in _unguarded(shape) for one in shape.meant_as_guards(part)]
    if not invalid:
        return None
    return Told(evidence=f"INVALID: {_named(invalid)}", count=len(invalid))


def _within_partitions(table: PostgresCircumstances, _facts: Facts) -> Told | Unseen | None:
    shape = table.shape
    unguarded = _unguarded(shape)
    if len(shape.parts) < 1 or any(not _widened(shape, [part]) for part in unguarded):
        return None  # Then nothing is unique even within one.
    if not unguarded and shape.keeps_equals_together is None:
        return Unseen("the table is partitioned by an expression")
    if not unguarded and shape.keeps_equals_together:
        return None
    said = f"{len(shape.parts):,} tables, each with rows of any {_identity(shape)}"
    if shape.is_partitioned:
        said = f"partitioned by {', '.join(sorted(shape.split_by)) or 'nothing'}, in {said}"
    wide = _widened(shape, unguarded)
    return Told(
        evidence=said + (f"; the index is {wide[0]}" if wide else ""), count=len(shape.parts)
    )


def _nulls(table: PostgresCircumstances, _facts: Facts) -> Told | None:
    shape = table.shape
    leaky = []
    for part in shape.parts:
        guards = shape.guards(part)
        if guards and all(map(shape.nullable, guards)):
            leaky += guards
    if not leaky:
        return None
    columns = sorted({name for one in leaky for name in shape.nullable(one)})
    said = f"{', '.join(columns)} may be NULL, and {_named(leaky)} takes NULLs for different"
    return Told(evidence=said, count=len(leaky))


def _folds(table: PostgresCircumstances, _facts: Facts) -> Told | None:
    shape = table.shape
    folding = [
        (index, column)
        for part in shape.parts
        for index in shape.meant_as_guards(part)
        for column in index.columns
        if column.folds
    ]
    if not folding:
        return None
    how = {
        column.name: shape.columns[column.name].type
        if column.name in shape.columns and shape.columns[column.name].type == "citext"
        else f"of the collation {column.collation}"
        for _, column in folding
    }
    said = ", ".join(f"{name} is {rule}" for name, rule in how.items())
    indexes = dict.fromkeys(index for index, _ in folding)
    return Told(evidence=f"{said}, in {_named(indexes)}", count=len(indexes))


def _collation(table: PostgresCircumstances, _facts: Facts) -> Told | None:
    shape = table.shape
    old = outdated(index for part in shape.parts for index in shape.meant_as_guards(part))
    if not old:
        return None
    _, column = old[0]
    indexes = dict.fromkeys(index for index, _ in old)
    return Told(
        evidence=f"{_named(indexes)}: the collation {column.collation} was of version "
        f"{column.recorded_version}, and is {column.actual_version} on this server; REINDEX, "
        "then REFRESH VERSION of the collation or the database",
        count=len(indexes),
    )


def _repeated(table: PostgresCircumstances, _facts: Facts) -> Told | Unseen | None:
    repeated = table.repeated
    if isinstance(repeated, Unseen):
        return repeated
    if not repeated.count:
        return None
    return Told(
        evidence=f"{repeated.row_count:,} rows of {repeated.count:,} identities",
        count=repeated.count,
        sample=repeated.sample,
    )


def _shared(table: PostgresCircumstances, _facts: Facts) -> Told | Unseen | None:
    count = table.client_count
    if isinstance(count, Unseen):
        return count
    if count <= 1:
        return None
    return Told(
        evidence=f"{count:,} clients, and nothing but {table.shape.key} keeps their requests apart",
        count=count,
    )


IDENTITY_NOT_UNIQUE = Check(
    code="identity-not-unique",
    severity=Severity.CRITICAL,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_not_unique,
    what="A table, or a partition of it, without a unique index on the key, or on the key with "
    "scope or endpoint.\n"
    "One that is partial, or holds an expression or another column, does not count.",
    why="Two requests that come at once both find nothing, both write, and both are carried out.",
    next="idemctl doctor --store {store}",
)
UNIQUE_INDEX_INVALID = Check(
    code="unique-index-invalid",
    severity=Severity.ERROR,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_invalid,
    what="The unique index on the identity is INVALID, and no valid one stands beside it.\n"
    "That is what is left of a CREATE INDEX CONCURRENTLY which failed.",
    why="Rows may be there already that it would refuse, no query uses it, and ON CONFLICT with "
    "its columns is an error.",
    next="idemctl doctor --store {store}",
)
UNIQUE_WITHIN_PARTITIONS = Check(
    code="unique-within-partitions",
    severity=Severity.CRITICAL,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_within_partitions,
    what="Partitions, or heirs, of which each keeps its own keys apart, or whose unique index "
    "also holds the column that chooses the partition.\n"
    "Partitions by key or scope are well; those by an expression cannot be judged.",
    why="A retry that falls into another partition, after midnight for one, is a new request.",
    next="idemctl doctor --store {store}",
)
UNIQUE_LETS_NULLS_REPEAT = Check(
    code="unique-lets-nulls-repeat",
    severity=Severity.WARNING,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_nulls,
    what="The scope may be NULL, and the unique index does not say NULLS NOT DISTINCT.",
    why="Two NULLs are never equal, so without a scope the same key goes in as often as it comes.",
    next="idemctl doctor --store {store}",
)
UNIQUE_IGNORES_CASE = Check(
    code="unique-ignores-case",
    severity=Severity.WARNING,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_folds,
    what="The unique index compares by citext or by a nondeterministic collation.",
    why="Keys that differ in case are one here and two in Redis: the second request gets the "
    "result of the first.",
    next="idemctl doctor --store {store}",
)
COLLATION_OUTDATED = Check(
    code="collation-outdated",
    severity=Severity.ERROR,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_collation,
    what="The collation of the unique index, or that of the database where it has no other, is "
    "of another version on this server than when it was recorded.\n"
    "The operating system or its libraries were changed below the data.",
    why="The index is in an order that is no longer looked for, so a key that is there is not "
    "found, and is written a second time.",
    next="idemctl doctor --store {store}",
)
IDENTITY_REPEATED = Check(
    code="identity-repeated",
    severity=Severity.CRITICAL,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_repeated,
    what="Key, scope and endpoint that several rows have together, which is looked for where no "
    "index excludes it.\n"
    "Exact, in one statement; where that meets its limit of a second, this cannot be judged.",
    why="The request was carried out more than once, and which of the results a retry gets is "
    "left to chance.",
    next="idemctl hits --store {store}",
)

CLIENTS_SHARE_KEYS = Check(
    code="clients-share-keys",
    severity=Severity.ERROR,
    engines=POSTGRES,
    patterns=BY_KEY,
    needs=((Sight.CLIENT,),),
    source=Source.CIRCUMSTANCES,
    look=_shared,
    what="The layout has a `client` and no `scope`, and among the first 10,000 rows there are "
    "several clients.\n"
    "Which of them a key in Redis belongs to is said of the pair's rows; where there is a scope, "
    "it is for the application to fill.",
    why="Two clients that choose one key are taken for one: the second gets the response that the "
    "first was given, or is turned away.",
    next="idemctl hits --store {store}",
)

CHECKS = (
    CLIENTS_SHARE_KEYS,
    IDENTITY_NOT_UNIQUE,
    UNIQUE_INDEX_INVALID,
    UNIQUE_WITHIN_PARTITIONS,
    UNIQUE_LETS_NULLS_REPEAT,
    UNIQUE_IGNORES_CASE,
    COLLATION_OUTDATED,
    IDENTITY_REPEATED,
)

"""Tables that are not made for what they have to keep, or for letting go of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.checks.check import POSTGRES, Check, Source, Told
from idemctl.domain.circumstances import Unseen
from idemctl.domain.findings import Severity

if TYPE_CHECKING:
    from idemctl.checks.check import Facts
    from idemctl.domain.circumstances import PostgresCircumstances

LARGE = 10_000
"""Rows; a smaller table is read as a whole in no time."""


def _unlogged(table: PostgresCircumstances, _facts: Facts) -> Told | None:
    unlogged = [part.name for part in table.shape.parts if part.is_unlogged]
    if not unlogged:
        return None
    return Told(evidence=f"UNLOGGED: {', '.join(unlogged)}", count=len(unlogged))


def _without_expiry_index(table: PostgresCircumstances, _facts: Facts) -> Told | Unseen | None:
    shape = table.shape
    if not shape.is_collected:
        return None
    column = shape.expires_by
    bare = [
        part
        for part in shape.parts
        if not any(
            one.is_ordered and one.is_valid and not one.is_partial and one.names[0] == column
            for one in part.indexes
        )
    ]
    large = [part for part in bare if part.row_count is not None and part.row_count >= LARGE]
    if column is None:
        return Unseen("the expiry lies inside of another column") if large else None
    if not large:
        unknown = [part.name for part in bare if part.row_count is None]
        return Unseen(f"nobody has counted the rows of {unknown[0]} yet") if unknown else None
    rows = sum(part.row_count or 0 for part in large)
    return Told(
        evidence=f"no index leads with {column}: {large[0].name}"
        + (f" and {len(large) - 1:,} more" if large[1:] else "")
        + f", about {rows:,} rows",
        count=len(large),
    )


def _zoneless(table: PostgresCircumstances, _facts: Facts) -> Told | None:
    shape = table.shape
    zoneless = [
        f"{name}, which the layout takes for {zone}"
        for name, zone in shape.zones.items()
        if name in shape.columns and shape.columns[name].type == "timestamp"
    ]
    if not zoneless:
        return None
    return Told(evidence=f"timestamp without time zone: {'; '.join(zoneless)}", count=len(zoneless))


def _drags(table: PostgresCircumstances, _facts: Facts) -> Told | None:
    unasked = [one for one in table.references if one.drags and not one.is_meant]
    if not unasked or not table.shape.is_collected:
        return None
    return Told(evidence=", ".join(map(str, unasked)), count=len(unasked))


def _slow_references(table: PostgresCircumstances, _facts: Facts) -> Told | None:
    slow = [one for one in table.references if not one.has_index]
    if not slow or not table.shape.is_collected:
        return None
    said = ", ".join(f"{one.table} ({one.columns})" for one in slow)
    return Told(evidence=f"no index on {said}", count=len(slow))


def _triggers(table: PostgresCircumstances, _facts: Facts) -> Told | None:
    triggers = table.shape.delete_triggers
    if not triggers or not table.shape.is_collected:
        return None
    return Told(evidence=f"for each row: {', '.join(triggers)}", count=len(triggers))


TABLE_UNLOGGED = Check(
    code="table-unlogged",
    severity=Severity.CRITICAL,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_unlogged,
    what="A table, or one of its partitions, that is UNLOGGED.",
    why="A crash of the server empties it, and a standby never has a row of it: after both every "
    "retry is taken for a new request.",
    next="idemctl doctor --store {store}",
)
EXPIRY_WITHOUT_INDEX = Check(
    code="expiry-without-index",
    severity=Severity.WARNING,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_without_expiry_index,
    what="A table, or a partition, of 10,000 rows or more without a valid btree index that leads "
    "with the column by which records expire.\nA partial one does not count.",
    why="Each gc reads the whole table to find the few rows that are due.",
    next="idemctl gc --store {store}",
)
TIMESTAMP_WITHOUT_ZONE = Check(
    code="timestamp-without-zone",
    severity=Severity.WARNING,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_zoneless,
    what="A column with an instant of a record that is a timestamp without time zone.\n"
    "Where the layout names no zone for it, the store is refused altogether.",
    why="It means what the session meant that wrote it: one writer with another TimeZone, or the "
    "end of summer time, and records go hours too early.",
    next="idemctl policy check",
)
DELETION_DRAGS_ROWS = Check(
    code="deletion-drags-rows",
    severity=Severity.ERROR,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_drags,
    what="A foreign key ON DELETE CASCADE, SET NULL or SET DEFAULT from a table that is neither "
    "the child nor among the `drags` of the layout.",
    why="Whoever deletes an old key deletes or changes rows of the business with it; gc refuses.",
    next="idemctl doctor --store {store}",
)
REFERENCE_WITHOUT_INDEX = Check(
    code="reference-without-index",
    severity=Severity.WARNING,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_slow_references,
    what="A foreign key to the table, from columns that no index leads with.",
    why="For each record that goes, the whole of the other table is read.",
    next="idemctl doctor --store {store}",
)
DELETE_TRIGGER = Check(
    code="delete-trigger",
    severity=Severity.INFO,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_triggers,
    what="A trigger that runs for each row that is deleted.\n"
    "Those of statements, and those that are disabled, do not count.",
    why="Each record that gc deletes pays for it, and one that raises keeps all of them.",
    next="idemctl gc --store {store}",
)

CHECKS = (
    TABLE_UNLOGGED,
    EXPIRY_WITHOUT_INDEX,
    TIMESTAMP_WITHOUT_ZONE,
    DELETION_DRAGS_ROWS,
    REFERENCE_WITHOUT_INDEX,
    DELETE_TRIGGER,
)

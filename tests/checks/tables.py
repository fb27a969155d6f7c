"""Tables as their servers describe them, and what one check says of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from idemctl.checks.check import Source
from idemctl.checks.examination import Examination
from idemctl.checks.registry import BY_CODE
from idemctl.domain.circumstances import PostgresCircumstances
from idemctl.domain.shapes import Column, Index, IndexColumn, PhysicalTable, TableShape
from tests.checks.places import POSTGRES

if TYPE_CHECKING:
    from idemctl.domain.findings import Finding


def index(*names: str, name: str = "one", is_unique: bool = False, **more: Any) -> Index:
    traits = {trait: more.pop(trait) for trait in list(more) if trait in TRAITS}
    columns = tuple(IndexColumn(name=one, **more) for one in names)
    return Index(name=name, columns=columns, is_unique=is_unique, **traits)


def unique(*names: str, **more: Any) -> Index:
    return index(*names, is_unique=True, **more)


def part(*indexes: Index, name: str = "t", row_count: int | None = 0, **more: Any) -> PhysicalTable:
    return PhysicalTable(name=name, row_count=row_count, indexes=indexes, **more)


TRAITS = {"is_valid", "is_partial", "is_ordered", "lets_nulls_repeat"}
EXPIRY = index("expires_at", name="by_expiry")
GUARD = unique("scope", "key", name="guard")
SHAPE = TableShape(
    key="key",
    scope="scope",
    expires_by="expires_at",
    columns={
        "key": Column(type="text", is_nullable=False),
        "scope": Column(type="text", is_nullable=False),
        "endpoint": Column(type="text", is_nullable=False),
        "expires_at": Column(type="timestamptz", is_nullable=True),
    },
    parts=(part(GUARD, EXPIRY),),
)
NULLABLE = {**SHAPE.columns, "scope": Column(type="text", is_nullable=True)}
CALM = PostgresCircumstances(shape=SHAPE)


def shaped(*parts: PhysicalTable, **more: Any) -> PostgresCircumstances:
    return replace(CALM, shape=replace(SHAPE, parts=parts or SHAPE.parts, **more))


def considered(table: PostgresCircumstances) -> Examination:
    made = Examination(
        POSTGRES, [one for one in BY_CODE.values() if one.source is Source.CIRCUMSTANCES]
    )
    made.consider(table)
    return made


def told(table: PostgresCircumstances) -> dict[str, Finding]:
    return {one.code: one for one in considered(table).findings("payments", "here")}


def unjudged(table: PostgresCircumstances) -> dict[str, str]:
    return {one.code: one.why for one in considered(table).cannot_judge}

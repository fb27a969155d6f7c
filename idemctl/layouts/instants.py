"""Instants: where one is found, and what was written for it.

Libraries write them as timestamps, with a zone or without, as texts, and as numbers that count
units from an epoch of their own; and where no end is written, it lies some time after a
beginning. What is no instant is missing, and never taken for one that is over.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    WithJsonSchema,
    model_validator,
)

from idemctl.domain.durations import parse_duration
from idemctl.domain.instants import FOREVER, MISSING, to_micros
from idemctl.layouts.paths import Path

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema


def _duration(given: object) -> object:
    return parse_duration(given) if isinstance(given, str) else given


Duration = Annotated[
    timedelta,
    BeforeValidator(_duration),
    WithJsonSchema({"type": "string", "examples": ["24h", "7d", "1h30m"]}),
]


class Unit(StrEnum):
    """What a number that is an instant counts; or that it is a text."""

    SECONDS = "seconds"
    MILLISECONDS = "milliseconds"
    MICROSECONDS = "microseconds"
    TICKS = "ticks"
    """.NET's: a tenth of a microsecond, from the year 1."""
    ISO = "iso"
    """Text: `2026-11-30T12:00:00Z`; without an offset it is UTC."""

    @property
    def scale(self) -> tuple[int, int]:
        """Microseconds in ten units, and how many units lie before 1970; none for texts."""
        return _SCALES[self]


_SCALES = {
    Unit.SECONDS: (10_000_000, 0),
    Unit.MILLISECONDS: (10_000, 0),
    Unit.MICROSECONDS: (10, 0),
    Unit.TICKS: (1, 621_355_968_000_000_000),
}


def _zone(name: str) -> str:
    if name == "UTC":
        return name  # Also on a machine that has no list of zones.
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError("is no time zone: write UTC, or a name such as Europe/Berlin") from None
    return name


class At(BaseModel):
    """Where an instant is, and what is written there; a path alone says the first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    field: Path
    unit: Unit | None = None
    """For numbers and texts; where absent, the layout's."""
    zone: Annotated[str, AfterValidator(_zone)] | None = None
    """For timestamps without time zone: the zone in which they were written."""
    plus: Duration | None = None
    """What has to be added: a lease of 90 seconds from `locked_at` on."""

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, given: object) -> object:
        if isinstance(given, At):
            return given
        said = dict(given) if isinstance(given, Mapping) else {"field": given}
        # What came as JSON is no JSON any more, and there a list is no tuple.
        field = said.get("field")
        if isinstance(field, list):
            said["field"] = tuple(field)
        return said

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Say that a path alone will do."""
        whole = handler.resolve_ref_schema(handler(core))
        return {"anyOf": [whole["properties"]["field"], dict(whole)]}


COUNTING = frozenset({"int2", "int4", "int8", "numeric", "float4", "float8"})
"""The types of Postgres in which a column counts units."""


def suits(at: At, type_: str) -> bool:
    """Tell whether a column of this type, as `pg_type` names it, holds what is said of it."""
    if at.unit is not None:
        return type_ in COUNTING
    return type_ == ("timestamptz" if at.zone is None else "timestamp")


_NUMBER = re.compile(r"-?\d{1,19}(\.\d{1,9})?", re.ASCII)


def read_instant(value: object, unit: Unit) -> int:
    """Read one value, in microseconds since 1970; `FOREVER` where no column can hold it."""
    if isinstance(value, datetime):
        return to_micros(value)
    if unit is Unit.ISO:
        return _iso(value)
    if isinstance(value, bytes):
        value = value.decode("ascii", errors="replace")
    if isinstance(value, str):
        if _NUMBER.fullmatch(value) is None:
            return MISSING
        value = float(value) if "." in value else int(value)
    if type(value) is float:
        return _fraction(value, unit)
    if type(value) is not int:
        return MISSING
    tenth, before = unit.scale
    micros = (value - before) * tenth // 10
    return micros if MISSING < micros < FOREVER else FOREVER


def _fraction(value: float, unit: Unit) -> int:
    if not math.isfinite(value):
        return MISSING
    tenth, before = unit.scale
    micros = (value - before) * tenth / 10
    return math.floor(micros) if abs(micros) < FOREVER else FOREVER


def _iso(value: object) -> int:
    if isinstance(value, bytes):
        value = value.decode("ascii", errors="replace")
    if not isinstance(value, str):
        return MISSING
    try:
        instant = datetime.fromisoformat(value)
        return to_micros(instant if instant.tzinfo else instant.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return MISSING

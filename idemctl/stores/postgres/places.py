"""Where the parts of a row are, spoken as SQL.

The other reading of `layouts.paths` and `layouts.instants`. Nothing that stands in a column
makes an expression fail: what is no number is NULL, and what no timestamp can hold is infinite.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from psycopg import sql

from idemctl.domain.instants import LAST_COUNTED, LONG_PAST, to_micros
from idemctl.layouts.instants import Unit
from idemctl.layouts.joins import pieces

if TYPE_CHECKING:
    from datetime import datetime

    from idemctl.layouts.instants import At
    from idemctl.layouts.joins import Where
    from idemctl.layouts.paths import Path

_MICROSECOND = timedelta(microseconds=1)
_DIGITS = r"^-?[0-9]{1,18}$"


def column_of(path: Path) -> str:
    """Give the column in which a path begins."""
    return str(path[0] if isinstance(path, tuple) else path)


def value(path: Path, *table: str) -> sql.Composable:
    """Write the value itself; what is nested in JSON is text."""
    column = sql.Identifier(*table, column_of(path))
    if not isinstance(path, tuple):
        return column
    # Names lead into objects only, and numbers into arrays only.
    *steps, last = map(sql.Literal, path[1:])
    way = [*(sql.SQL(" -> {}").format(step) for step in steps), sql.SQL(" ->> {}").format(last)]
    return sql.SQL("({}{})").format(column, sql.SQL("").join(way))


def text(path: Path, *table: str) -> sql.Composable:
    """Write the value as text."""
    return sql.SQL("{}::text").format(value(path, *table))


def whole(where: Where, *table: str) -> sql.Composable:
    """Write a part as text, with a space between its pieces; NULL where one is missing."""
    texts = [text(path, *table) for path in pieces(where)]
    if len(texts) == 1:
        return texts[0]
    there = [sql.SQL("nullif({}, '')").format(one) for one in texts]
    return sql.SQL("({})").format(sql.SQL(" || ' ' || ").join(there))


def number(path: Path, *table: str) -> sql.Composable:
    """Write the value as a number that a comparison can use."""
    if not isinstance(path, tuple):
        return value(path, *table)
    return sql.SQL("CASE WHEN {0} ~ {1} THEN {0}::int8 END").format(
        value(path, *table), sql.Literal(_DIGITS)
    )


def instant(at: At, *table: str) -> sql.Composable:
    """Write an instant as `timestamptz`."""
    if at.unit is not None:
        counted = _counted_units(at.unit, number(at.field, *table))
    elif at.zone is not None:
        counted = sql.SQL("({}::timestamp AT TIME ZONE {})").format(
            value(at.field, *table), sql.Literal(at.zone)
        )
    else:
        counted = value(at.field, *table)
    return counted if at.plus is None else later(counted, interval(at.plus))


def later(at: sql.Composable, length: sql.Composable) -> sql.Composable:
    """Add a length to an instant; where Postgres has no later instants, there is no end."""
    return sql.SQL(
        "CASE WHEN {at} < '294000-01-01 00:00:00+00' THEN {at} + {length}"
        " WHEN {length} IS NOT NULL AND {at} IS NOT NULL THEN 'infinity'::timestamptz END"
    ).format(at=at, length=length)


def is_before(at: At, moment: datetime) -> sql.Composable:
    """Write what holds of every row whose instant lies before a moment, for an index to answer."""
    if isinstance(at.field, tuple):
        return sql.SQL("{} < {}::timestamptz").format(instant(at), _literal(moment))
    column = value(at.field)
    if at.plus is not None:
        moment -= at.plus
    if at.unit is not None:
        tenth, before = at.unit.scale
        bound = -(-to_micros(moment) * 10 // tenth) + before
        return sql.SQL("{} < {}").format(column, sql.Literal(bound))
    if at.zone is not None:
        return sql.SQL("{} < ({}::timestamptz AT TIME ZONE {})").format(
            column, _literal(moment), sql.Literal(at.zone)
        )
    return sql.SQL("{} < {}::timestamptz").format(column, _literal(moment))


def interval(length: timedelta) -> sql.Composable:
    """Write a length in microseconds: a day is 86,400 seconds, also where there is summer time."""
    micros = length // _MICROSECOND
    return sql.SQL("{}::interval").format(sql.Literal(f"{micros} microseconds"))


def _counted_units(unit: Unit, count: sql.Composable) -> sql.Composable:
    if unit is Unit.TICKS:
        _, before = unit.scale
        count = sql.SQL("floor(({}::numeric - {}) / 10)").format(count, sql.Literal(before))
        unit = Unit.MICROSECONDS
    micros = unit.scale[0] // 10
    first, last = (sql.Literal(bound // micros) for bound in (LONG_PAST, LAST_COUNTED))
    return sql.SQL(
        "CASE WHEN {count} < {first} THEN '-infinity'::timestamptz"
        " WHEN {count} < {last} THEN 'epoch'::timestamptz + {count} * {one}::interval"
        " WHEN {count} IS NOT NULL THEN 'infinity'::timestamptz END"
    ).format(count=count, first=first, last=last, one=sql.Literal(f"{micros} microseconds"))


def _literal(moment: datetime) -> sql.Literal:
    return sql.Literal(moment.isoformat())

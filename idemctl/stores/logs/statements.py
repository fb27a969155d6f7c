"""What DuckDB is asked, in its own words."""

from __future__ import annotations

import glob
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from idemctl.domain.traffic import BUCKET_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from idemctl.domain.traffic import Fault

UNKEYED = "unkeyed"
"""The fault of a line that is none: it belongs to no keyed request."""
_MOST_BYTES = 16 * 1024 * 1024
"""A line longer than twice this ends the reading."""
_WITH_OFFSET = r"\d\d\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)? ?(Z|[+-]\d\d(:?\d\d)?)"
# Microseconds throughout: `epoch()` gives seconds as a number that rounds. A number below
# 1e11 is seconds, up to the year 5138; above it is milliseconds.
_LINES = """
SELECT "at", outcome, nullif(endpoint, '') AS endpoint, nullif(client, '') AS client,
       CASE WHEN regexp_full_match("at", '{with_offset}')
                 THEN epoch_us(try_cast(replace("at", ',', '.') AS TIMESTAMPTZ))
            WHEN number > 0 AND number < 1e11 THEN CAST(number * 1e6 AS BIGINT)
            WHEN number >= 1e11 AND number < 1e14 THEN CAST(number * 1e3 AS BIGINT)
       END AS instant,
       CASE WHEN coalesce("at", endpoint, client, key, outcome) IS NULL THEN 'not-json'
            WHEN coalesce(key, '') = '' THEN 'unkeyed'
            WHEN instant IS NULL THEN 'no-instant'
            WHEN outcome IS NULL OR outcome NOT IN ('created', 'replay', 'conflict', 'mismatch')
                 THEN 'unknown-outcome'
       END AS fault
  FROM (SELECT *, try_cast("at" AS DOUBLE) AS number FROM (SELECT {columns} FROM {files}))
"""
_COUNT = """
CREATE TEMP TABLE counted AS
SELECT fault, instant // {bucket} AS bucket, endpoint, client, count(*) AS requests,
       count(*) FILTER (outcome = 'replay') AS replay,
       count(*) FILTER (outcome = 'conflict') AS conflict,
       count(*) FILTER (outcome = 'mismatch') AS mismatch
  FROM (SELECT fault, outcome,
               CASE WHEN fault IS NULL THEN instant END AS instant,
               CASE WHEN fault IS NULL THEN endpoint END AS endpoint,
               CASE WHEN fault IS NULL THEN client END AS client
          FROM ({lines}))
 GROUP BY ALL
"""
_NAMES = """
CREATE TEMP TABLE {name}s AS
SELECT {name}, row_number() OVER (ORDER BY {name}) - 1 AS code
  FROM (SELECT DISTINCT {name} FROM counted WHERE fault IS NULL AND {name} IS NOT NULL)
"""
FAULTS = "SELECT coalesce(fault, ''), CAST(sum(requests) AS BIGINT) FROM counted GROUP BY 1"
_LIST = "SELECT {name} FROM {name}s ORDER BY code"
CODED = """
SELECT bucket, coalesce(endpoints.code, -1) AS endpoint, coalesce(clients.code, -1) AS client,
       requests, replay, conflict, mismatch
  FROM counted LEFT JOIN endpoints USING (endpoint) LEFT JOIN clients USING (client)
 WHERE fault IS NULL
"""
_SAMPLED = "SELECT {column} FROM ({lines}) WHERE fault = '{fault}' LIMIT {most}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """What the log's own fields are called."""

    at: str = "at"
    endpoint: str = "endpoint"
    client: str = "client"
    key: str = "key"
    outcome: str = "outcome"


def lines(files: Sequence[Path], names: Fields) -> str:
    """Read all lines, each with its instant and what is wrong with it."""
    named = {one.name: getattr(names, one.name) for one in fields(Fields)}
    declared = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in named.values())
    # DuckDB takes a name for a pattern: brackets keep what a shell would expand.
    listed = ", ".join(_text(glob.escape(str(file))) for file in files)
    return _LINES.format(
        with_offset=_WITH_OFFSET,
        columns=", ".join(f'{_name(own)} AS "{ours}"' for ours, own in named.items()),
        files=f"read_ndjson([{listed}], columns={{{declared}}}, ignore_errors=true,"
        f" hive_partitioning=false, maximum_object_size={_MOST_BYTES})",
    )


def count(source: str) -> str:
    """Group the lines into a table, once."""
    return _COUNT.format(bucket=BUCKET_SECONDS * 1_000_000, lines=source)


def code(column: str) -> str:
    """Number the names in a column of that table."""
    return _NAMES.format(name=column)


def names(column: str) -> str:
    """List those names in the order of their numbers."""
    return _LIST.format(name=column)


def sample(source: str, column: str, fault: Fault, most: int) -> str:
    """Show a column of some lines with a fault."""
    return _SAMPLED.format(lines=source, column=_name(column), fault=fault, most=most)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'

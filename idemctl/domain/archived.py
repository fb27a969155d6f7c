"""What an archive holds: the rows that gc deleted, as Postgres wrote them out, and of what form."""

from __future__ import annotations

from dataclasses import dataclass

Name = tuple[str, str]
"""Schema and name of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where the rows of one archive come from."""

    database: str
    table: Name
    """As configuration leads to it; the rows of a partition name that."""
    key: str
    """The column of the key."""
    scope: str | None = None
    child: Name | None = None
    join: str | None = None
    """The column, of one name in both tables, that ties a row of `child` to its record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column, as it was when its rows were archived."""

    name: str
    type: str
    is_generated: bool
    """Whether Postgres computes it, and takes no value for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The columns of one physical table, in the order in which its rows are written."""

    table: Name
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What one batch deleted: rows in Postgres's own text form, which no type loses anything in."""

    leaf: Name
    records: tuple[bytes, ...]
    children: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """How much was archived."""

    batches: int = 0
    records: int = 0
    children: int = 0

    def plus(self, taken: Taken) -> Sums:
        """Add one batch."""
        return self + Sums(batches=1, records=len(taken.records), children=len(taken.children))

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            batches=self.batches + other.batches,
            records=self.records + other.records,
            children=self.children + other.children,
        )

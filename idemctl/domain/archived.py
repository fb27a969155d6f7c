"""What an archive holds: the rows that gc deleted, as Postgres wrote them out, and of what form."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

Name = tuple[str, str]
"""Schema and name of a table."""
_MOST_TROUBLES = 20


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What became of some archived records, or would."""

    restored: int = 0
    """Records that came back; in a look those that are absent, and would."""
    children: int = 0
    same: int = 0
    """There, and as they were: they never went, or are back already."""
    renewed: int = 0
    """There is one of that key again, which stays as it is."""
    refused: int = 0
    """The database would not take them back."""
    altered: int = 0
    """Of those that came back, how many a trigger made another thing of."""
    troubles: tuple[str, ...] = ()
    took: timedelta = timedelta(0)

    @property
    def units(self) -> int:
        """How many records were looked at."""
        return self.restored + self.same + self.renewed + self.refused

    def __add__(self, other: Restored) -> Restored:
        return Restored(
            restored=self.restored + other.restored,
            children=self.children + other.children,
            same=self.same + other.same,
            renewed=self.renewed + other.renewed,
            refused=self.refused + other.refused,
            altered=self.altered + other.altered,
            troubles=tuple(dict.fromkeys((*self.troubles, *other.troubles)))[:_MOST_TROUBLES],
            took=self.took + other.took,
        )

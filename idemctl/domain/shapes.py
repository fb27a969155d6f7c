"""The shape of a table: its columns, its physical tables, and what their indexes promise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of the table."""

    type: str
    """Of a domain what it is over."""
    is_nullable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexColumn:
    """One column by which an index is ordered."""

    name: str
    """Empty for an expression."""
    folds: bool = False
    """Whether values are equal in it that differ in their bytes."""
    collation: str = ""
    recorded_version: str | None = None
    """Of the collation, when the index was made."""
    actual_version: str | None = None
    """Of the collation, on this server now."""

    @property
    def is_outdated(self) -> bool:
        """Whether the index was ordered by other rules than those that hold now."""
        known = self.recorded_version is not None and self.actual_version is not None
        return known and self.recorded_version != self.actual_version


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """One index of a physical table."""

    name: str
    columns: tuple[IndexColumn, ...]
    """Without those that it only includes."""
    is_unique: bool = False
    is_valid: bool = True
    is_partial: bool = False
    is_ordered: bool = True
    """Whether it is a btree."""
    lets_nulls_repeat: bool = True
    """Whether two NULLs are different values for it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(column.name for column in self.columns)

    def __str__(self) -> str:
        columns = ", ".join(name or "an expression" for name in self.names)
        return f"{self.name} ({columns}{') WHERE ...' if self.is_partial else ')'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicalTable:
    """The table itself, or one of its partitions or heirs."""

    name: str
    row_count: int | None
    """About how many rows; None where nobody has counted yet."""
    is_unlogged: bool = False
    """Whether a crash empties it, and no standby has it."""
    indexes: tuple[Index, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableShape:
    """The table that a layout reads, as its server describes it."""

    key: str
    scope: str | None = None
    endpoint: tuple[str, ...] = ()
    """Some libraries take the same key at another endpoint for another request."""
    expires_by: str | None = None
    """The column by which records expire; None where that lies inside of another one."""
    zones: Mapping[str, str] = field(default_factory=dict)
    """For columns with instants, the time zone that the layout names."""
    is_collected: bool = True
    """Whether gc ever deletes a row of it."""
    columns: Mapping[str, Column] = field(default_factory=dict)
    is_partitioned: bool = False
    split_by: frozenset[str] = frozenset()
    """The columns that decide in which partition a row lies; an empty name is an expression."""
    parts: tuple[PhysicalTable, ...] = ()
    """The physical tables that hold the rows."""
    delete_triggers: tuple[str, ...] = ()
    """Those that run for each row that goes."""

    @property
    def identity(self) -> frozenset[str]:
        """The columns that together say which request a record is of."""
        return frozenset({self.key, self.scope or self.key, *self.endpoint})

    @property
    def keeps_equals_together(self) -> bool | None:
        """Whether rows of one identity always lie in one physical table; None if nobody knows."""
        if not self.is_partitioned:
            return len(self.parts) <= 1
        return None if "" in self.split_by else self.split_by <= self.identity

    def guards(self, part: PhysicalTable) -> list[Index]:
        """Find what lets no second row of an identity into a physical table."""
        return [one for one in self.meant_as_guards(part) if one.is_valid]

    def meant_as_guards(self, part: PhysicalTable) -> list[Index]:
        """Find what would be one, if it were valid."""
        return [
            one
            for one in part.indexes
            if one.is_unique
            and not one.is_partial
            and self.key in one.names
            and self.identity.issuperset(one.names)
        ]

    def nullable(self, index: Index) -> list[str]:
        """Name the columns, beside the key, whose NULLs an index takes for different values."""
        if not index.lets_nulls_repeat:
            return []
        return [name for name in index.names if name != self.key and self._is_nullable(name)]

    @property
    def keeps_identities_apart(self) -> bool:
        """Whether the server lets no second row of an identity in, whatever is written."""
        return self.keeps_equals_together is True and all(
            any(not self.nullable(one) and not outdated([one]) for one in self.guards(part))
            for part in self.parts
        )

    def _is_nullable(self, name: str) -> bool:
        return name not in self.columns or self.columns[name].is_nullable


def outdated(indexes: Iterable[Index]) -> Sequence[tuple[Index, IndexColumn]]:
    """List the columns of indexes whose collation has changed since."""
    return [(one, column) for one in indexes for column in one.columns if column.is_outdated]

"""References: foreign keys by which rows of other tables hang on records."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class OnDelete(StrEnum):
    """What a foreign key does with the rows that refer to one that goes."""

    NO_ACTION = "NO ACTION"
    RESTRICT = "RESTRICT"
    CASCADE = "CASCADE"
    SET_NULL = "SET NULL"
    SET_DEFAULT = "SET DEFAULT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A foreign key by which rows of another table hang on records."""

    table: str
    """With its schema, and quoted as SQL needs it."""
    key: str
    """Its name."""
    on_delete: OnDelete
    is_meant: bool
    """Whether the layout says that these rows go along, or lose their reference."""
    is_own: bool
    """Whether the rows are records themselves: no layout may mean those."""
    has_index: bool
    """Whether an index finds the rows that refer to a record; without one each deletion reads
    their whole table."""
    columns: str
    """Those that refer to the record, as SQL lists them."""

    @property
    def drags(self) -> bool:
        """Whether a deletion deletes or changes its rows; if not, they keep it from happening."""
        return self.on_delete not in {OnDelete.NO_ACTION, OnDelete.RESTRICT}

    def __str__(self) -> str:
        return f"{self.table} ({self.key}, ON DELETE {self.on_delete})"

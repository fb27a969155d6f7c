"""Tables told by their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.layouts.detect.names import explained, known_names, needed_columns
from idemctl.layouts.instants import suits
from idemctl.layouts.tables import parts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from idemctl.layouts.detect.seen import SeenTable
    from idemctl.layouts.model import Layout, PostgresLayout

LEAST = 0.5
"""A layout that knows fewer of a table's columns than this says nothing about it: any table of
orders may have a unique idempotency_key."""
_ALIKE = 0.1
"""Layouts whose shares differ by no more fit alike."""
_JSON = {"json", "jsonb"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableClaim:
    """A layout that fits a table by its columns."""

    layout: Layout
    table: SeenTable
    known: frozenset[str]
    """The columns that the layout has heard of."""
    has_its_name: bool
    """Whether the table is called what the library calls it: of no weight by itself."""

    @property
    def side(self) -> PostgresLayout:
        """How its rows are read."""
        side = self.layout.postgres
        assert side is not None, "only such layouts claim tables"
        return side

    @property
    def share(self) -> float:
        """The share of the columns that it knows, 0 to 1."""
        return explained(self.table.columns.keys(), self.known)

    @property
    def is_unique(self) -> bool:
        """Whether nothing but the key, and its scope, is unique: two rows can have no one key."""
        identity = {self.side.key} | ({self.side.scope} if self.side.scope else set())
        return any(columns <= identity for columns in self.table.unique)


def claims_on_table(
    table: SeenTable, layouts: Iterable[Layout], others: Collection[str]
) -> list[TableClaim]:
    """List the layouts that fit a table, those that fit alike: the best one first.

    Args:
        table: its columns and their types.
        layouts: those that come into question.
        others: names of the tables in the same schema, for children.
    """
    claims = [
        TableClaim(
            layout=layout,
            table=table,
            known=frozenset(known_names(layout.postgres) & table.columns.keys()),
            has_its_name=parts_of(layout.postgres.table)[-1] == table.name,
        )
        for layout in layouts
        if layout.postgres is not None and _fits(layout.postgres, table, others)
    ]
    best = [one for one in claims if not any(one.known < other.known for other in claims)]
    best.sort(key=lambda one: (-one.share, not one.has_its_name, one.layout.layout))
    return [one for one in best if one.share >= max(LEAST, best[0].share - _ALIKE)]


def _fits(side: PostgresLayout, table: SeenTable, others: Collection[str]) -> bool:
    if not needed_columns(side) <= table.columns.keys():
        return False
    if side.child is not None and parts_of(side.child.table)[-1] not in others:
        return False
    nested = {path[0] for path in side.paths() if isinstance(path, tuple)}
    if any(table.columns[str(column)] not in _JSON for column in nested):
        return False
    plain = [at for at in side.instants() if isinstance(at.field, str)]
    return all(suits(at, table.columns[str(at.field)]) for at in plain)

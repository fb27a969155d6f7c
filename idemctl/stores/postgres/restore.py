"""Puts archived rows back into the table that they were deleted from, where they are absent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import sql

from idemctl.domain.archived import Restored
from idemctl.errors import Refused, Unsupported
from idemctl.stores.postgres.archiver import find_shape
from idemctl.stores.postgres.connect import BatchFailed, transaction
from idemctl.stores.postgres.queries import query
from idemctl.stores.postgres.row_text import fields_of
from idemctl.stores.postgres.statements import Clock

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from typing import Any

    import psycopg

    from idemctl.domain.archived import Name, Origin, Shape, Taken
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.postgres.leaves import Table

    Cursor = psycopg.Cursor[tuple[Any, ...]]

Row = dict[str, str | None]
"""The texts of the columns that are not generated, by name."""
_MOST_ROWS = 200
_MOST_VALUES = 20_000
"""The protocol takes 65,535 in one statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """How rows of one table are read from the archive, and where they go."""

    names: tuple[str | None, ...]
    """In the order in which they are written; `None` for what Postgres computes itself."""
    table: Name
    now: Shape

    def row(self, text: bytes) -> Row:
        """Take a row of the archive apart."""
        return _named(self.names, text.decode())

    def current(self, text: str) -> Row:
        """Take a row of the table apart, as far as the archive knows its columns."""
        names = [one.name if one.name in self.names else None for one in self.now.columns]
        return _named(names, text)

    @property
    def columns(self) -> list[str]:
        """What takes a value."""
        return [name for name in self.names if name is not None]


class Restorer:
    """Puts rows back. See `stores.archiving.Restorer`."""

    def __init__(self, connection: Connection, table: Table, origin: Origin, place: str) -> None:
        self._connection = connection
        self._table = (table.schema, table.name)
        self._origin = origin
        self._place = place
        self._forms: dict[Name, _Form] = {}
        came_from = (origin.database, origin.table)
        if came_from != (connection.info.dbname, self._table):
            raise Refused(
                f"{place}: the archive is of {'.'.join(origin.table)} in database "
                f"{origin.database}, not of {'.'.join(self._table)} in {connection.info.dbname}",
                hint="check --store and its connection string; nothing was changed",
            )
        self._is_partitioned = self._refuse_lookalikes(table)

    def expect(self, shape: Shape) -> None:
        """See `Restorer.expect`."""
        is_leaf = shape.table != self._origin.child
        goes_to = self._table if self._is_partitioned and is_leaf else shape.table
        now = find_shape(self._connection, goes_to, self._place)
        types = {one.name: one.type for one in now.columns if not one.is_generated}
        lost = [
            f"{one.name} {one.type}"
            for one in shape.columns
            if not one.is_generated and types.get(one.name) != one.type
        ]
        if lost:
            raise Refused(
                f"{self._place}: {'.'.join(goes_to)} has changed, and has no {', '.join(lost)}",
                hint="give it the columns that it had, or take the rows out of the archive by hand",
            )
        names = tuple(None if one.is_generated else one.name for one in shape.columns)
        self._forms[shape.table] = _Form(names=names, table=goes_to, now=now)

    def look(self, taken: Taken) -> Generator[Restored]:
        """See `Restorer.look`."""
        form = self._form(taken.leaf)
        rows = [form.row(one) for one in taken.records]
        children = self._children(taken)
        for part in _parts(rows, form):
            clock = Clock()
            with transaction(self._connection, place=self._place) as cursor:
                absent, same = self._absent(cursor, form, part)
            yield Restored(
                restored=len(absent),
                children=len(self._hanging(children, absent)),
                same=same,
                renewed=len(part) - len(absent) - same,
                took=clock.took(),
            )

    def restore(self, taken: Taken) -> Generator[Restored]:
        """See `Restorer.restore`."""
        form = self._form(taken.leaf)
        rows = [form.row(one) for one in taken.records]
        children = self._children(taken)
        waiting = list(_parts(rows, form))[::-1]
        while waiting:
            part, clock = waiting.pop(), Clock()
            try:
                done = self._restore(children, form, part)
            except BatchFailed as failure:
                if len(part) > 1:
                    middle = len(part) // 2
                    waiting += [part[middle:], part[:middle]]
                    continue
                done = Restored(refused=1, troubles=(failure.message,))
            yield done + Restored(took=clock.took())

    def _restore(
        self, children: Mapping[str | None, list[Row]], form: _Form, part: Sequence[Row]
    ) -> Restored:
        with transaction(self._connection, place=self._place) as cursor:
            absent, same = self._absent(cursor, form, part)
            back = self._insert(cursor, form, absent)
            hanging = self._hanging(children, back)
            if self._origin.child is not None:
                child = self._form(self._origin.child)
                for some in _parts(hanging, child):
                    self._insert(cursor, child, some)
        wanted = {_frozen(row) for row in absent}
        return Restored(
            restored=len(back),
            children=len(hanging),
            same=same,
            renewed=len(part) - len(back) - same,
            altered=sum(_frozen(row) not in wanted for row in back),
        )

    def _absent(self, cursor: Cursor, form: _Form, rows: Sequence[Row]) -> tuple[list[Row], int]:
        """Find the rows whose key nothing has now; count those that are there as they were."""
        key, scope = self._origin.key, self._origin.scope
        types = {one.name: sql.SQL(one.type) for one in form.now.columns}
        wanted = sql.SQL(", ").join(
            sql.SQL("({}, {}::{}, {})").format(
                sql.Literal(number),
                sql.Literal(row[key]),
                types[key],
                sql.NULL
                if scope is None
                else sql.SQL("{}::{}").format(sql.Literal(row[scope]), types[scope]),
            )
            for number, row in enumerate(rows)
        )
        same_scope: sql.Composable = sql.SQL("true")
        if scope is not None:
            same_scope = sql.SQL("there.{} IS NOT DISTINCT FROM wanted.scope").format(
                sql.Identifier(scope)
            )
        cursor.execute(query("by_index"))
        cursor.execute(
            query(
                "there",
                wanted=wanted,
                table=sql.Identifier(*self._table),
                key=sql.Identifier(key),
                same_scope=same_scope,
            )
        )
        there: dict[int, list[Row]] = {}
        for number, text in cursor:
            there.setdefault(number, []).append(form.current(text))
        same = sum(rows[number] in found for number, found in there.items())
        return [row for number, row in enumerate(rows) if number not in there], same

    def _insert(self, cursor: Cursor, form: _Form, rows: Sequence[Row]) -> list[Row]:
        """Insert rows; give those that nothing kept out, as they are now."""
        if not rows:
            return []
        columns = form.columns
        one = sql.SQL("({})").format(sql.SQL(", ").join([sql.Placeholder()] * len(columns)))
        cursor.execute(
            query(
                "restore",
                table=sql.Identifier(*form.table),
                columns=sql.SQL(", ").join(map(sql.Identifier, columns)),
                rows=sql.SQL(", ").join([one] * len(rows)),
            ),
            [row[name] for row in rows for name in columns],
        )
        return [form.current(text) for (text,) in cursor]

    def _children(self, taken: Taken) -> dict[str | None, list[Row]]:
        """Sort the archived children of a batch by what ties them to their records."""
        found: dict[str | None, list[Row]] = {}
        if self._origin.child is not None and self._origin.join is not None and taken.children:
            form = self._form(self._origin.child)
            for text in taken.children:
                row = form.row(text)
                found.setdefault(row[self._origin.join], []).append(row)
        return found

    def _hanging(
        self, children: Mapping[str | None, list[Row]], parents: Sequence[Row]
    ) -> list[Row]:
        join = self._origin.join or ""
        return [child for parent in parents for child in children.get(parent.get(join), ())]

    def _form(self, table: Name) -> _Form:
        if table not in self._forms:
            raise Refused(
                f"{self._place}: the archive does not say what columns {'.'.join(table)} had",
                hint="a part of it is damaged: idemctl runs check tells which",
            )
        return self._forms[table]

    def _refuse_lookalikes(self, table: Table) -> bool:
        """See to it that one key has one row; tell whether the table is partitioned."""
        identity = [self._origin.key, *([self._origin.scope] if self._origin.scope else [])]
        facts = {"oid": table.oid, "columns": identity}
        with transaction(self._connection, place=self._place) as cursor:
            row = cursor.execute(query("keeps_apart"), facts).fetchone()
        is_partitioned, keeps_apart = row or (False, False)
        if not keeps_apart:
            raise Unsupported(
                f"{self._place}: no unique index on {', '.join(identity)}: a record could come "
                "back beside a newer one of its key",
                hint="CREATE UNIQUE INDEX CONCURRENTLY on these columns, and undo then",
            )
        return bool(is_partitioned)


def _named(names: Sequence[str | None], text: str) -> Row:
    fields = fields_of(text)
    if len(fields) != len(names):
        raise Refused(
            "an archived row has other columns than its table had",
            hint="the table was changed while gc ran; take the row out of the archive by hand",
        )
    return {name: one for name, one in zip(names, fields, strict=True) if name is not None}


def _parts(rows: Sequence[Row], form: _Form) -> Generator[Sequence[Row]]:
    size = max(1, min(_MOST_ROWS, _MOST_VALUES // len(form.names)))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _frozen(row: Row) -> frozenset[tuple[str, str | None]]:
    return frozenset(row.items())

"""Holds rows against change while their twins are written.

`FOR SHARE` lets nobody update or delete a row, and `SKIP LOCKED` waits for nobody: what an
application has in hand it will write to Redis itself.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, LiteralString, cast

import msgspec
from psycopg import sql

from idemctl.domain.batch_size import BatchSize
from idemctl.errors import Unsupported
from idemctl.layouts.writing import written
from idemctl.stores.answers import Held
from idemctl.stores.postgres.conditions import among
from idemctl.stores.postgres.connect import BatchFailed, transaction
from idemctl.stores.postgres.leaves import PageWalk, heap_range
from idemctl.stores.postgres.look_up import Identity
from idemctl.stores.postgres.places import instant
from idemctl.stores.postgres.queries import query
from idemctl.stores.postgres.rows import FIELD_COUNT, fetched, fields, read, spelled

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    import psycopg

    from idemctl.layouts.model import PostgresLayout
    from idemctl.layouts.transcript import Transcript
    from idemctl.stores.answers import Shard, Wanted
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.postgres.leaves import Leaf, Table
    from idemctl.stores.postgres.rows import Row

_AS_IT_IS: LiteralString = "{}"
_AS_TEXT: LiteralString = "{}::text"
_AS_JSON: LiteralString = "to_json({})::text"
"""Whatever has no form of its own in Python: as Postgres writes it in JSON."""
_FORMS = {
    **dict.fromkeys(("text", "varchar", "int2", "int4", "int8"), _AS_IT_IS),
    **dict.fromkeys(("bpchar", "citext"), _AS_TEXT),
}
_TARGET = timedelta(milliseconds=15)
"""How long rows are held; twice as long halves the next range."""
_FIRST_PAGES = 16
_MOST_PAGES = 40


class Holder:
    """Locks rows of one table, and says what their twins would hold."""

    def __init__(
        self,
        connection: Connection,
        layout: PostgresLayout,
        transcript: Transcript,
        *,
        table: Table,
        place: str,
    ) -> None:
        self._connection = connection
        self._layout = layout
        self._fields = spelled(connection, fields(_as_owed(layout)))
        self._transcript = transcript
        self._table = table
        self._place = place
        self._identity = Identity(connection, table, layout, place)
        # Asked for here, for while rows are held nothing else is.
        self._columns = self._forms()
        self._values = self._spelled_values()

    def walk(
        self, leaves: list[Leaf], written_after: datetime, shard: Shard
    ) -> Generator[Held | None]:
        """Hold one range of pages after the other. See `Holds.hold`."""
        lately = spelled(self._connection, self._lately(written_after))
        size = BatchSize(current=_FIRST_PAGES, largest=_MOST_PAGES, target=_TARGET)
        for leaf in leaves:
            pages = PageWalk(leaf, shard, size)
            while (step := pages.step()) is not None:
                started = time.perf_counter()
                try:
                    with self._held_range(leaf, step, lately) as held:
                        pages.passed(step)
                        yield replace(held, done=pages.done)
                except BatchFailed:
                    if size.is_smallest:
                        raise
                    size.halve()
                    continue
                size.after(timedelta(seconds=time.perf_counter() - started))
                yield None

    @contextmanager
    def keys(self, wanted: Wanted) -> Iterator[Held]:
        """Hold the rows of some keys. See `Holds.hold_keys`."""
        arrays, _ = self._identity.asked(wanted)
        with self._transaction() as cursor:
            cursor.execute(query("by_index"))
            rows = fetched(
                cursor,
                query(
                    "hold_keys",
                    fields=self._fields,
                    values=self._values,
                    arrays=arrays,
                    table=self._table.identifier,
                    matches=self._identity.matches(),
                ),
            )
            yield self._held(rows, part=self._table.name, units=1)

    @contextmanager
    def _held_range(self, leaf: Leaf, pages: range, lately: sql.SQL) -> Iterator[Held]:
        with self._transaction() as cursor:
            rows = fetched(
                cursor,
                query(
                    "hold_range",
                    fields=self._fields,
                    values=self._values,
                    leaf=leaf.identifier,
                    range=among(self._layout, heap_range(pages)),
                    lately=lately,
                ),
            )
            yield self._held(rows, part=str(leaf), units=len(pages))

    def _transaction(self) -> AbstractContextManager[psycopg.Cursor[tuple[object, ...]]]:
        # A lock writes to the log, but nothing that a crash could lose is worth a wait.
        return transaction(self._connection, place=self._place, synchronous="off")

    def _lately(self, written_after: datetime) -> sql.Composable:
        """Write what holds for every row that Redis may owe, so that no other is locked."""
        layout, after = self._layout, sql.Literal(written_after.isoformat())
        # Where nothing says when a row was written, it may have been written just now.
        written = [instant(at, "leaf") for at in (layout.completed, layout.counted_from) if at]
        lately = sql.SQL("coalesce({}) > {}::timestamptz").format(
            sql.SQL(", ").join([*written, sql.SQL("'infinity'::timestamptz")]), after
        )
        if layout.lease is None:
            return lately
        lease = instant(layout.lease, "leaf")
        return sql.SQL("({} OR {} > clock_timestamp())").format(lately, lease)

    def _spelled_values(self) -> sql.SQL:
        """What twins are written from, after `fields`."""
        parts = (
            sql.SQL(", " + form).format(sql.Identifier("leaf", name))
            for name, form in self._columns.items()
        )
        return spelled(self._connection, sql.SQL("").join(parts))

    def _held(self, rows: list[Row], *, part: str, units: int) -> Held:
        batch = read(rows)
        more = list(zip(*rows, strict=True))[FIELD_COUNT:] if rows else [()] * len(self._columns)
        columns = {
            name: _fragments(values) if form is _AS_JSON else values
            for (name, form), values in zip(self._columns.items(), more, strict=True)
        }
        values = written(self._transcript, batch, columns)
        return Held(batch=batch, values=values, part=part, units=units)

    def _forms(self) -> dict[str, LiteralString]:
        """How the columns come out of which twins are written.

        Raises:
            Unsupported: JSON has no way to write one of them.
        """
        names = self._transcript.columns
        with transaction(self._connection, place=self._place) as cursor:
            rows = cursor.execute(
                query("column_types"), {"oid": self._table.oid, "names": names}
            ).fetchall()
        types = {name: kind for name, kind, _ in rows}
        for name in names:
            if types.get(name, "bytea") == "bytea":
                raise Unsupported(
                    f"{self._place}: JSON cannot hold {name}: {types.get(name, 'no column')}",
                    hint="idemctl reconcile without --apply reports the differences all the same",
                )
        return {name: _FORMS.get(types[name], _AS_JSON) for name in names}


def _as_owed(layout: PostgresLayout) -> PostgresLayout:
    """Leave out what does not say whether and until when Redis owes a row."""
    unasked = ["fingerprint", "fence", "epoch", "response_status"]
    # A policy speaks by the endpoint where no expiry is stored.
    unasked += ["endpoint"] if layout.expires is not None else []
    return layout.model_copy(update=dict.fromkeys(unasked))


def _fragments(values: Sequence[object]) -> list[object]:
    return [None if value is None else msgspec.Raw(cast("str", value)) for value in values]

"""Finds the rows of given keys, by the index that makes them unique."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from psycopg import sql

from idemctl.domain.keys import is_text
from idemctl.errors import Unsupported
from idemctl.stores.answers import Found
from idemctl.stores.postgres.conditions import among
from idemctl.stores.postgres.connect import transaction
from idemctl.stores.postgres.queries import query
from idemctl.stores.postgres.rows import fetched, fields, read, spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.answers import Wanted
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.postgres.leaves import Table

_TEXTS = {"text", "varchar"}
"""To `citext` two keys are one that are two to Redis; and no text finds it by its index."""


class Identity:
    """How a key and its scope are written in the columns that make a row unique."""

    def __init__(
        self, connection: Connection, table: Table, layout: PostgresLayout, place: str
    ) -> None:
        """Learn of what type the columns are.

        Raises:
            Unsupported: of one into which a client's bytes cannot be turned without doubt.
        """
        self._layout = layout
        self._columns = [name for name in (layout.key, layout.scope) if name is not None]
        with transaction(connection, place=place) as cursor:
            rows = cursor.execute(
                query("column_types"), {"oid": table.oid, "names": self._columns}
            ).fetchall()
        types = {name: kind for name, kind, _ in rows}
        for name in self._columns:
            if types.get(name) not in {*_TEXTS, "bytea"}:
                raise Unsupported(
                    f"{place}: {name} is {types.get(name, 'missing')}, and keys are looked up "
                    "only in columns that are text or bytea",
                    hint="idemctl gc works without looking keys up",
                )
        is_bytea = [types[name] == "bytea" for name in self._columns]
        self._is_bytea = [*is_bytea, False][:2]
        self._has_nullable_scope = any(
            nullable and name == layout.scope for name, _, nullable in rows
        )

    def asked(self, wanted: Wanted) -> tuple[sql.Composable, NDArray[np.intp]]:
        """Write the keys that a row could have as arrays for `unnest`, and give their places.

        Not all bytes are text, and where no column keeps a scope no row has one.
        """
        keys, scopes = wanted
        if self._is_plain(keys) and self._is_plain(scopes):
            places = np.arange(len(keys))
        else:
            possible = self._possible(wanted)
            places = np.array(possible, np.intp)
            keys, scopes = ([values[at] for at in possible] for values in wanted)
        arrays = [
            sql.SQL("{}::{}").format(
                sql.Literal(_array(values, is_bytea=is_bytea)),
                sql.SQL("bytea[]" if is_bytea else "text[]"),
            )
            for values, is_bytea in zip((keys, scopes), self._is_bytea, strict=True)
        ]
        return sql.SQL(", ").join(arrays), places

    def _is_plain(self, values: Sequence[bytes]) -> bool:
        """Tell whether all of them are text, with one look: so they are, nearly always."""
        return len(self._columns) > 1 and not any(self._is_bytea) and is_text(b" ".join(values))

    def _possible(self, wanted: Wanted) -> list[int]:
        return [
            at
            for at, parts in enumerate(zip(*wanted, strict=True))
            if all(
                is_bytea or is_text(part)
                for part, is_bytea in zip(parts, self._is_bytea, strict=True)
            )
            and (len(self._columns) > 1 or not parts[1])
        ]

    def matches(self) -> sql.Composable:
        """Write the condition that a row is the one that is wanted."""
        return among(self._layout, self._has_identity())

    def _has_identity(self) -> sql.Composable:
        key, *scope = (sql.Identifier("leaf", name) for name in self._columns)
        matches = sql.SQL("{} = idemctl_key").format(key)
        if not scope:
            return matches
        scoped = sql.SQL("({} AND {} = idemctl_scope)").format(matches, *scope)
        if not self._has_nullable_scope:
            return scoped
        # A scope that is NULL is read as none. Both arms name both columns, for the index.
        return sql.SQL("({} OR (idemctl_scope = '' AND {} AND {} IS NULL))").format(
            scoped, matches, *scope
        )


class LookUp:
    """Looks keys up in one table, through its layout."""

    def __init__(
        self, connection: Connection, table: Table, layout: PostgresLayout, place: str
    ) -> None:
        self._connection = connection
        self._table = table
        self._fields = spelled(connection, fields(layout))
        self._place = place
        self._identity = Identity(connection, table, layout, place)

    def answers(self, wanted: Iterable[Wanted]) -> Iterator[Found]:
        """Answer one request after another. See `LooksUp.look_up`."""
        for request in wanted:
            arrays, places = self._identity.asked(request)
            with transaction(self._connection, place=self._place) as cursor:
                cursor.execute(query("by_index"))
                rows = fetched(
                    cursor,
                    query(
                        "look_up",
                        fields=self._fields,
                        arrays=arrays,
                        table=self._table.identifier,
                        matches=self._identity.matches(),
                    ),
                )
            found = np.frombuffer(b"".join(row[-1] for row in rows), ">i8") - 1
            yield Found(batch=read(rows), at=places[found])


def _array(values: Sequence[bytes], *, is_bytea: bool) -> str:
    """Write an array as Postgres reads it: each value in quotes."""
    if is_bytea:
        return "{" + ",".join(f'"\\\\x{value.hex()}"' for value in values) + "}"
    joined = b"".join(values)
    if b'"' in joined or b"\\" in joined:
        values = [value.replace(b"\\", b"\\\\").replace(b'"', b'\\"') for value in values]
    quoted = b'","'.join(values).decode("utf-8")
    return f'{{"{quoted}"}}' if values else "{}"

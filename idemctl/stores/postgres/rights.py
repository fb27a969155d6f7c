"""Which rights in Postgres take what, and which of them this user has: asked of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from idemctl.domain.purposes import EVERY_VERB, Purpose
from idemctl.stores.answers import Right
from idemctl.stores.postgres.connect import transaction
from idemctl.stores.postgres.queries import query

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from idemctl.layouts.model import PostgresLayout
    from idemctl.stores.postgres.connect import Connection

_LOCKS = (Purpose.GC, Purpose.RECONCILE)
"""Both lock rows, and Postgres asks for UPDATE on one column before it locks any."""
_DELETES = (Purpose.GC,)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """A physical table under a name, or the name itself, and what this user may do there."""

    name: str
    is_itself: bool
    holds_rows: bool
    may_select: bool
    may_update: bool
    may_delete: bool


def list_rights(
    connection: Connection, *, oid: int, child_oid: int | None, layout: PostgresLayout, place: str
) -> Iterator[Right]:
    """List what is needed for a table, and for the one whose rows go with its rows."""
    with transaction(connection, place=place) as cursor:
        row = cursor.execute(query("user"), {"column": _lockable(layout)}).fetchone()
        oids = {"oids": [one for one in (oid, child_oid) if one is not None]}
        schemas = cursor.execute(query("schemas"), oids).fetchall()
    assert row is not None, "there is always a user"
    grantee, database, sees_sessions, column = row
    asks = Asks(grantee)
    yield asks.right(
        f"CONNECT on {database}", EVERY_VERB, f"CONNECT ON DATABASE {database}", granted=True
    )
    for schema, may_use in schemas:
        what = f"USAGE ON SCHEMA {schema}"
        yield asks.right(f"USAGE on {schema}", EVERY_VERB, what, granted=may_use)
    family = _family(connection, oid, place)
    yield asks.on("SELECT", EVERY_VERB, [(one.name, one.may_select) for one in family])
    yield asks.on("UPDATE", _LOCKS, [(one.name, one.may_update) for one in family], column=column)
    # Rows are deleted from physical tables, one after the other.
    leaves = [one for one in family if one.holds_rows]
    yield asks.on("DELETE", _DELETES, [(one.name, one.may_delete) for one in leaves])
    if child_oid is not None:
        # They go by the name of their table, and without having been locked.
        (child,) = (one for one in _family(connection, child_oid, place) if one.is_itself)
        yield asks.on("SELECT", EVERY_VERB, [(child.name, child.may_select)])
        yield asks.on("DELETE", _DELETES, [(child.name, child.may_delete)])
    name = "pg_read_all_stats"
    # Who does not see what else the server has to do, waits for it.
    seen_by = (Purpose.SIGHT, Purpose.GC)
    yield replace(asks.right(name, seen_by, name, granted=sees_sessions), is_spared=True)


class Asks:
    """Words rights for one user."""

    def __init__(self, grantee: str) -> None:
        self._grantee = grantee

    def right(
        self,
        name: str,
        purposes: tuple[Purpose, ...],
        what: str,
        *,
        granted: bool,
        lacking: str = "",
    ) -> Right:
        """Word one: what is to be granted, and what of it is not."""
        return Right(
            name=name,
            granted=granted,
            needed_for=purposes,
            rule=f"GRANT {what}",
            grant=f"GRANT {lacking or what} TO {self._grantee};",
        )

    def on(
        self,
        privilege: str,
        purposes: tuple[Purpose, ...],
        tables: Sequence[tuple[str, bool]],
        *,
        column: str = "",
    ) -> Right:
        """Word one that is needed on several tables, of which the first gives its name."""
        before = f"{privilege}{column and f' ({column})'} ON "
        names = [name for name, _ in tables]
        lacking = [name for name, granted in tables if not granted]
        return self.right(
            f"{privilege} on {names[0]}",
            purposes,
            before + ", ".join(names),
            granted=not lacking,
            lacking=before + ", ".join(lacking or names),
        )


def _family(connection: Connection, oid: int, place: str) -> list[_Named]:
    with transaction(connection, place=place) as cursor:
        rows = cursor.execute(query("rights"), {"oid": oid}).fetchall()
    return [
        _Named(
            name=name,
            is_itself=is_itself,
            holds_rows=holds_rows,
            may_select=may_select,
            may_update=may_update,
            may_delete=may_delete,
        )
        for name, is_itself, holds_rows, may_select, may_update, may_delete in rows
    ]


def _lockable(layout: PostgresLayout) -> str:
    """Choose the column that a lock takes a right to: never the one that a response is in."""
    ends = layout.ordered_by
    return ends.field if ends is not None and isinstance(ends.field, str) else layout.key

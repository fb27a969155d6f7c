"""Which rights in Postgres witness and freeze take, beside those that records take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from idemctl.domain.purposes import EVERY_VERB, Purpose
from idemctl.stores.postgres.connect import transaction
from idemctl.stores.postgres.queries import query
from idemctl.stores.postgres.rights import Asks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from idemctl.stores.answers import Right
    from idemctl.stores.postgres.connect import Connection

EPOCH = "idemctl_epoch"
_BEATS = (Purpose.GC, Purpose.RECONCILE, Purpose.STORE)
"""All of them raise the witness, and freeze a store whose Postgres went back in time."""
_RULES = (Purpose.STORE,)
"""Only who is asked to thaws a store, or acknowledges a restore."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTable:
    """One of idemctl's own, and what this user may do with it."""

    table: str
    named: str
    """As SQL writes it, with its schema."""
    may: dict[str, bool]


def own_tables(
    connection: Connection, *, schema: str, tables: Sequence[str], has_epoch: bool, place: str
) -> tuple[Asks, dict[str, bool], dict[str, OwnTable]]:
    """Look for them.

    Returns:
        Who asks, the schemas and whether they may be used, and the tables that are there.
    """
    values = {"schema": schema, "tables": list(tables), "epoch": EPOCH if has_epoch else None}
    with transaction(connection, place=place) as cursor:
        row = cursor.execute("SELECT quote_ident(current_user)").fetchone()
        rows = cursor.execute(query("own_rights"), values).fetchall()
    assert row is not None, "there is always a user"
    found = {
        table: OwnTable(
            table=table,
            named=named,
            may=dict(zip(("SELECT", "INSERT", "UPDATE", "DELETE"), rights, strict=True)),
        )
        for _, _, table, named, *rights in rows
    }
    return Asks(row[0]), {name: may_use for name, may_use, *_ in rows}, found


def list_rights(
    asks: Asks,
    schemas: dict[str, bool],
    *,
    witness: OwnTable,
    freeze: OwnTable,
    epoch: OwnTable | None,
    sequence: tuple[Any, ...] | None,
) -> Iterator[Right]:
    """List what reading and writing them takes, and what is moved when a restore is accepted."""
    for schema, may_use in schemas.items():
        what = f"USAGE ON SCHEMA {schema}"
        yield asks.right(f"USAGE on {schema}", EVERY_VERB, what, granted=may_use)

    def on(privilege: str, purposes: tuple[Purpose, ...], one: OwnTable) -> Right:
        return asks.on(privilege, purposes, [(one.named, one.may[privilege])])

    for one in (witness, freeze):
        yield on("SELECT", EVERY_VERB, one)
        yield on("INSERT", _BEATS, one)
        yield on("UPDATE", _BEATS, one)
    yield on("DELETE", _RULES, freeze)
    if epoch is not None:
        yield on("SELECT", EVERY_VERB, epoch)
        yield on("UPDATE", _RULES, epoch)
    if sequence is not None:
        _, name, _, may_read, may_move = sequence
        for privilege, purposes, granted in (
            ("SELECT", EVERY_VERB, may_read),
            ("UPDATE", _RULES, may_move),
        ):
            what = f"{privilege} ON SEQUENCE {name}"
            yield asks.right(f"{privilege} on {name}", purposes, what, granted=granted)

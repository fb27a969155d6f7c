"""Asks a Postgres server whether this is a moment to give it work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.domain.circumstances import Unseen
from idemctl.domain.throttle import Load
from idemctl.errors import IdemctlError
from idemctl.stores.postgres.connect import transaction
from idemctl.stores.postgres.replication import read_replication
from idemctl.stores.postgres.upkeep import read_upkeep

if TYPE_CHECKING:
    from idemctl.stores.postgres.connect import Connection


def read_load(connection: Connection, oid: int, place: str, query: str | None) -> Load:
    """Ask the catalogue, and what the operator wants asked; see `TellsLoad.load`."""
    return Load(
        replication=read_replication(connection, place),
        upkeep=read_upkeep(connection, oid, place),
        asked=False if query is None else _asked(connection, place, query),
    )


def _asked(connection: Connection, place: str, query: str) -> bool | Unseen:
    """Run the operator's query, which no session that writes is handed."""
    try:
        with transaction(connection, place=place) as cursor:
            # Bytes: it is the operator's text, and no part of a statement of ours.
            rows = cursor.execute(query.encode()).fetchmany(2)
    except IdemctlError as error:
        return Unseen(error.message.removeprefix(f"{place}: "))
    match rows:
        case [(bool(wait),)]:
            return wait
        case _:
            return Unseen("it has to give one row with one boolean")

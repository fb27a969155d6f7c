"""Asks a Postgres server how a table is kept clear of dead rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idemctl.domain.circumstances import Unseen
from idemctl.domain.upkeep import Cleared, Holder, Upkeep
from idemctl.stores.postgres.connect import BatchFailed, transaction
from idemctl.stores.postgres.queries import query
from idemctl.stores.postgres.shape import length, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from idemctl.stores.postgres.connect import Connection

_PREFIX = "autovacuum_vacuum_"


def read_upkeep(connection: Connection, oid: int, place: str) -> Upkeep | Unseen:
    """Ask for statistics and settings, in one statement."""
    try:
        with transaction(connection, place=place) as cursor:
            row = cursor.execute(query("upkeep"), {"oid": oid}).fetchone()
    except BatchFailed as error:
        return Unseen(error.message)
    assert row is not None, "a server has settings"
    is_standby, is_automatic, settings, tables, holders, hidden_count = row
    if is_standby:
        return Unseen("this server is a standby, and its primary vacuums")
    return Upkeep(
        tables=tuple(_cleared(one, settings) for one in tables or ()),
        holders=tuple(_holder(one) for one in holders or ()),
        hidden_session_count=hidden_count,
        is_automatic=is_automatic,
    )


def _cleared(told: dict[str, Any], settings: Mapping[str, str]) -> Cleared:
    own = dict(settings) | (told.pop("options") or {})
    due = int(own[f"{_PREFIX}threshold"]) + float(own[f"{_PREFIX}scale_factor"]) * told.pop("rows")
    most = int(own.get(f"{_PREFIX}max_threshold") or -1)
    return Cleared(
        name=shown(told.pop("name")),
        due_count=round(due if most < 0 else min(due, most)),
        vacuumed_for=length(told.pop("seconds")),
        **told,
    )


def _holder(told: dict[str, Any]) -> Holder:
    return Holder(
        name=shown(told["name"]),
        held_for=length(told["seconds"]),
        transaction_count=told["transactions"],
    )

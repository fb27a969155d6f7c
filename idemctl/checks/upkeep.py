"""Tables that are not cleared of what deletions leave behind."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.checks.check import POSTGRES, Check, Source, Told, about, micros_of
from idemctl.domain.circumstances import Unseen
from idemctl.domain.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Callable

    from idemctl.checks.check import Facts
    from idemctl.domain.circumstances import PostgresCircumstances
    from idemctl.domain.upkeep import Cleared, Holder, Upkeep

MANY_DEAD = 10_000
"""Dead rows; fewer cost nobody anything."""
VACUUM_AFTER = timedelta(hours=1)
"""How long autovacuum may take to come, and to end."""
HELD_FOR = timedelta(hours=1)
HELD_TRANSACTIONS = 1_000_000
"""Where nobody knows since when something is held back."""
_MEBIBYTE = 2**20


def _at(
    look: Callable[[Upkeep], Told | Unseen | None],
) -> Callable[[PostgresCircumstances, Facts], Told | Unseen | None]:
    def seen(table: PostgresCircumstances, _facts: Facts) -> Told | Unseen | None:
        return table.upkeep if isinstance(table.upkeep, Unseen) else look(table.upkeep)

    return seen


def _ago(one: Cleared) -> str:
    if one.vacuumed_for is None:
        return "none came yet"
    return f"the last one was {about(micros_of(one.vacuumed_for))} ago"


def _worst(tables: list[Cleared], said: Callable[[Cleared], str]) -> Told | None:
    """Tell of the table with the most dead rows."""
    if not tables:
        return None
    worst = max(tables, key=lambda one: one.dead_count)
    more = f"; and {len(tables) - 1:,} more" if tables[1:] else ""
    return Told(evidence=f"{worst.name}: {said(worst)}{more}", count=len(tables))


def _pile(upkeep: Upkeep) -> Told | None:
    return _worst(
        [one for one in upkeep.tables if one.dead_count >= max(MANY_DEAD, one.live_count)],
        lambda one: (
            f"{one.dead_count:,} dead rows beside {one.live_count:,}, in a table of "
            f"{one.table_bytes / _MEBIBYTE:,.1f} MiB with {one.index_bytes / _MEBIBYTE:,.1f} MiB "
            "of indexes"
        ),
    )


def _behind(upkeep: Upkeep) -> Told | None:
    return _worst(
        [
            one
            for one in upkeep.tables
            if one.is_automatic
            and upkeep.is_automatic
            and not one.is_running
            and one.dead_count >= max(MANY_DEAD, one.due_count)
            and (one.vacuumed_for is None or one.vacuumed_for > VACUUM_AFTER)
        ],
        lambda one: (
            f"{one.dead_count:,} dead rows, and a vacuum is due at {one.due_count:,}; {_ago(one)}"
        ),
    )


def _off(upkeep: Upkeep) -> Told | None:
    if not upkeep.is_automatic:
        return Told(evidence="the server has autovacuum or track_counts off")
    return _worst(
        [one for one in upkeep.tables if not one.is_automatic],
        lambda one: f"autovacuum_enabled is off; {one.dead_count:,} dead rows",
    )


def _holds(one: Holder) -> bool:
    if one.held_for is None:
        return one.transaction_count >= HELD_TRANSACTIONS
    return one.held_for > HELD_FOR


def _held_back(upkeep: Upkeep) -> Told | Unseen | None:
    holders = [one for one in upkeep.holders if _holds(one)]
    if holders:
        oldest = max(holders, key=lambda one: one.transaction_count)
        said = oldest.name
        if oldest.held_for is not None:
            said += f", for {about(micros_of(oldest.held_for))}"
        more = f"; and {len(holders) - 1:,} more" if holders[1:] else ""
        return Told(
            evidence=f"{said} and {oldest.transaction_count:,} transactions{more}",
            count=len(holders),
        )
    if upkeep.hidden_session_count:
        return Unseen(
            f"{upkeep.hidden_session_count:,} sessions show nothing to this user; "
            "GRANT pg_read_all_stats to it"
        )
    return None


DEAD_ROWS = Check(
    code="dead-rows",
    severity=Severity.WARNING,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_at(_pile),
    what="As many dead rows as live ones, and 10,000 of them or more, by the server's own "
    "estimate.",
    why="Rows went and the room did not: every walk and every look-up reads past them.",
    next="idemctl gc --store {store}",
)
AUTOVACUUM_BEHIND = Check(
    code="autovacuum-behind",
    severity=Severity.WARNING,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_at(_behind),
    what="More dead rows than the table's own settings allow, 10,000 or more, while no vacuum is "
    "at work and none ended in the last hour.",
    why="Its workers are busy elsewhere, throttled or kept out by a lock, and each gc adds to it.",
    next="idemctl doctor --store {store}",
)
AUTOVACUUM_OFF = Check(
    code="autovacuum-off",
    severity=Severity.WARNING,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_at(_off),
    what="Autovacuum is off: for the table, for a partition, or on the whole server.",
    why="Nothing clears what gc deletes, and nobody counts the rows for the planner.",
    next="idemctl doctor --store {store}",
)
VACUUM_HELD_BACK = Check(
    code="vacuum-held-back",
    severity=Severity.WARNING,
    engines=POSTGRES,
    source=Source.CIRCUMSTANCES,
    look=_at(_held_back),
    what="For more than an hour a session of this database, or a prepared transaction, has been "
    "able to see rows that are dead for everybody else.\n"
    "Of a standby or a replication slot that does so, without a time, a million transactions "
    "count instead.",
    why="Every vacuum runs and removes nothing, so a table with gc grows as one without.",
    next="idemctl doctor --store {store}",
)

CHECKS = (DEAD_ROWS, AUTOVACUUM_BEHIND, AUTOVACUUM_OFF, VACUUM_HELD_BACK)

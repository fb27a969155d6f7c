"""What keeps a table from being cleared, and what a server keeps for others, done to a real one."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import psycopg

from idemctl.checks import upkeep
from tests.cli.circumstances import Case
from tests.cli.circumstances_postgres import run

if TYPE_CHECKING:
    from tests.cli.pairs import Pairs

COUNTED = "SELECT pg_stat_force_next_flush()"
DEAD = (
    "INSERT INTO processed_events (idempotency_key, status, completed_at, expires_at)"
    " SELECT 'dead' || n, 'completed', now(), now() FROM generate_series(1, {count}) AS n"
)
GONE = "DELETE FROM processed_events WHERE idempotency_key LIKE 'dead%'"
OF_ITS_OWN = (
    "ALTER TABLE processed_events"
    " SET (autovacuum_vacuum_threshold = {least}, autovacuum_vacuum_scale_factor = {factor})"
)
OFF = "ALTER TABLE processed_events SET (autovacuum_enabled = {word})"
WAL = (
    "SELECT pg_logical_emit_message(false, 'test', repeat('x', 4000000))"
    " FROM generate_series(1, 17)"
)
NOT_DUE = OF_ITS_OWN.format(least=1_000_000, factor=0)


def due(pairs: Pairs) -> None:
    """Let a vacuum be due that does not come: it passes over a table that somebody has locked."""
    # Before it is due, for one may come the moment that it is.
    pairs.session().execute("LOCK TABLE processed_events IN SHARE UPDATE EXCLUSIVE MODE")
    run(DEAD.format(count=7_000), GONE, COUNTED)(pairs)


def dead_by_the_settings(pairs: Pairs) -> None:
    """Leave dead rows, fewer than the table's own settings allow."""
    # The seed ends with a vacuum.
    pairs.place.patch.setattr(upkeep, "VACUUM_AFTER", timedelta(0))
    # As many live ones, so that the dead are not the larger part.
    live = DEAD.replace("dead", "live").replace("now(), now() FROM", "now(), 'infinity' FROM")
    run(
        OF_ITS_OWN.format(least=11_000, factor=0.2),
        live.format(count=20_000),
        DEAD.format(count=12_000),
        "ANALYZE processed_events",
        GONE,
        COUNTED,
    )(pairs)


def look_without_patience(pairs: Pairs) -> None:
    pairs.place.patch.setattr(upkeep, "HELD_FOR", timedelta(0))


def idle_in_transaction(pairs: Pairs) -> None:
    """Leave a transaction open that has looked, and holds nothing."""
    look_without_patience(pairs)
    pairs.session().execute("SELECT count(*) FROM processed_events")


def still_looking(pairs: Pairs) -> None:
    session = pairs.session()
    session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    session.execute("SET application_name = 'report'")
    session.execute("SELECT count(*) FROM processed_events")


def slot(pairs: Pairs) -> None:
    pairs.admin.execute("SELECT pg_create_physical_replication_slot('gone', true)")
    pairs.stack.callback(pairs.admin.execute, "SELECT pg_drop_replication_slot('gone')")


UPKEEP: tuple[Case[Pairs], ...] = (
    Case(
        code="dead-rows",
        near=run(NOT_DUE, DEAD.format(count=9_000), GONE, COUNTED),
        sick=run(DEAD.format(count=9_000), GONE, COUNTED),
        says="18,000 dead rows beside ",
    ),
    Case(
        code="autovacuum-behind",
        near=dead_by_the_settings,
        sick=due,
        says="19,000 dead rows, and a vacuum is due at 18,000; the last one was",
    ),
    Case(
        code="autovacuum-off",
        near=run(OFF.format(word="on"), NOT_DUE),
        sick=run(OFF.format(word="off")),
        says="public.processed_events: autovacuum_enabled is off",
    ),
    Case(
        code="vacuum-held-back",
        near=idle_in_transaction,
        sick=still_looking,
        says=" of idemctl (report), idle in transaction, for 1s",
    ),
    Case(
        code="slot-retains-wal",
        near=slot,
        sick=run(WAL),
        says="nobody reads gone: ",
    ),
)

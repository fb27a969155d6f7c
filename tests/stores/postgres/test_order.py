"""Events that were overtaken: exactly those, and found by the index of their order."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.domain.inspections import Inspection
from idemctl.errors import Unsupported
from idemctl.stores.answers import WHOLE, Shard
from tests.cli.places import await_that
from tests.stores.postgres.tables import open_table
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    import psycopg

OUTBOX = LAYOUTS["outbox"]


@pytest.fixture
def events(connection: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    """Three hundred events of thirty aggregates, all dispatched an hour ago."""
    from idemctl.sandbox.seed.postgres import schema

    connection.execute(schema())
    connection.execute(
        "INSERT INTO outbox_events (key, aggregate, sequence, deadline_at, dispatched_at)"
        " SELECT 'event-' || n, 'order-' || n % 30, n / 30, now(), now() - interval '1 hour'"
        " FROM generate_series(0, 299) n"
    )
    return connection


def hold_back(events: psycopg.Connection[Any], *numbers: int) -> None:
    events.execute(
        "UPDATE outbox_events SET dispatched_at = NULL WHERE key = ANY(%s)",
        ([f"event-{number}" for number in numbers],),
    )


def overtaken(dsn: str, layout: Any = OUTBOX, shard: Shard = WHOLE) -> list[bytes]:
    with closing(open_table(dsn, "public.outbox_events", layout, writable=False)) as store:
        batches = store.inspect(Inspection.OVERTAKEN, shard)
        return sorted(key for batch in batches for key in batch.keys)


def test_only_what_waits_while_a_later_one_has_gone_counts(
    dsn: str, events: psycopg.Connection[Any]
) -> None:
    assert overtaken(dsn) == []
    # The last two of their aggregate, one in the middle of it, and the first.
    hold_back(events, 245, 275, 156, 7)
    assert overtaken(dsn) == [b"event-156", b"event-7"]
    events.execute("DELETE FROM outbox_events WHERE aggregate = 'order-7' AND sequence > 0")
    assert overtaken(dsn) == [b"event-156"]


def test_what_was_overtaken_a_moment_ago_may_be_on_its_way(
    dsn: str, events: psycopg.Connection[Any]
) -> None:
    hold_back(events, 156)
    events.execute(
        "UPDATE outbox_events SET dispatched_at = now() - interval '4 minutes'"
        " WHERE aggregate = 'order-6' AND dispatched_at IS NOT NULL"
    )
    assert overtaken(dsn) == []


def test_shards_together_see_every_event_once(dsn: str, events: psycopg.Connection[Any]) -> None:
    hold_back(events, 1, 100, 200)
    parts = [overtaken(dsn, shard=Shard(index, 2)) for index in range(2)]
    assert sorted(key for part in parts for key in part) == [b"event-1", b"event-100", b"event-200"]


def test_later_events_are_found_by_the_index_of_their_order(
    dsn: str, events: psycopg.Connection[Any]
) -> None:
    hold_back(events, *range(100))

    def scans() -> int:
        row = events.execute(
            "SELECT idx_scan FROM pg_stat_user_indexes"
            " WHERE indexrelname = 'outbox_events_aggregate_sequence_key'"
        ).fetchone()
        assert row is not None
        return int(row[0])

    before = scans()
    assert len(overtaken(dsn)) == 100
    await_that(lambda: scans() >= before + 100, "the server has counted")


@pytest.mark.parametrize("lacks", ["order", "status", "counted_from"])
def test_a_layout_that_says_nothing_of_order_is_refused(
    dsn: str, events: psycopg.Connection[Any], lacks: str
) -> None:
    assert events is not None
    less = {"order": None, "status": "unknown", "counted_from": None}[lacks]
    with pytest.raises(Unsupported, match="does not say in which order events go"):
        overtaken(dsn, OUTBOX.model_copy(update={lacks: less}))

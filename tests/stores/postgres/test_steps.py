"""Runs with a step that was done twice: exactly those, and each look short."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.domain.inspections import Inspection
from idemctl.errors import Unsupported
from idemctl.stores.answers import WHOLE, Shard
from idemctl.stores.postgres.connect import BatchFailed
from tests.cli.places import await_that
from tests.stores.postgres.tables import open_table
from tests.stores.worlds import LAYOUTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg

    from idemctl.domain.batch import Batch

WORKFLOW = LAYOUTS["workflow"]
RUNS = "public.workflow_runs"


@pytest.fixture
def runs(dsn: str, connection: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    from idemctl.sandbox.seed.postgres import schema

    connection.execute(schema())
    return connection


def begin(runs: psycopg.Connection[Any], count: int) -> None:
    """Make runs whose first step failed once, and whose both steps were done once."""
    runs.execute(
        "INSERT INTO workflow_runs (run_id, key, status, finished_at)"
        f" SELECT 'run-' || n, 'key-' || n, 'completed', now() FROM generate_series(1, {count}) n"
    )
    runs.execute(
        "INSERT INTO workflow_steps (run_id, step, ordinal, attempt, status)"
        " SELECT run_id, 'step', ordinal, attempt, steps.status FROM workflow_runs,"
        " (VALUES (1, 1, 'failed'), (1, 2, 'completed'), (2, 1, 'completed'))"
        " AS steps (ordinal, attempt, status)"
    )


def repeat(runs: psycopg.Connection[Any], number: int, attempts: int = 1) -> None:
    for attempt in range(attempts):
        runs.execute(
            "INSERT INTO workflow_steps (run_id, step, ordinal, attempt, status)"
            f" VALUES ('run-{number}', 'step', 2, {2 + attempt}, 'completed')"
        )


def repeated(dsn: str, layout: Any = WORKFLOW, shard: Shard = WHOLE) -> list[Batch]:
    with closing(open_table(dsn, RUNS, layout, writable=False)) as store:
        return list(store.inspect(Inspection.REPEATED_STEPS, shard))


def keys(batches: list[Batch]) -> list[bytes]:
    return sorted(key for batch in batches for key in batch.keys)


def test_only_a_step_that_was_done_twice_counts(dsn: str, runs: psycopg.Connection[Any]) -> None:
    begin(runs, 50)
    assert keys(repeated(dsn)) == []
    repeat(runs, 7)
    repeat(runs, 40, attempts=3)
    assert keys(repeated(dsn)) == [b"key-40", b"key-7"]


def test_shards_together_see_every_run_once(dsn: str, runs: psycopg.Connection[Any]) -> None:
    begin(runs, 300)
    for number in (1, 150, 300):
        repeat(runs, number)
    parts = [keys(repeated(dsn, shard=Shard(index, 2))) for index in range(2)]
    assert sorted(key for part in parts for key in part) == [b"key-1", b"key-150", b"key-300"]


def test_looks_are_many_and_empty_ones_are_told_too(
    dsn: str, runs: psycopg.Connection[Any]
) -> None:
    begin(runs, 3_000)
    batches = repeated(dsn)
    assert len(batches) > 3
    assert {len(batch) for batch in batches} == {0}


def test_the_steps_are_found_by_their_index(dsn: str, runs: psycopg.Connection[Any]) -> None:
    begin(runs, 2_000)

    def scans() -> tuple[int, int]:
        row = runs.execute(
            "SELECT seq_scan, idx_scan FROM pg_stat_user_tables WHERE relname = 'workflow_steps'"
        ).fetchone()
        assert row is not None
        return row[0], row[1]

    before, by_index = scans()
    repeated(dsn)
    await_that(lambda: scans()[1] >= by_index + 2_000, "the server has counted")
    assert scans()[0] == before


def test_without_an_index_a_look_gives_up_rather_than_take_long(
    dsn: str, runs: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import timedelta

    from idemctl.stores.postgres import connect

    begin(runs, 3_000)
    runs.execute("ALTER TABLE workflow_steps DROP CONSTRAINT workflow_steps_pkey")
    defaults = connect.transaction.__wrapped__.__kwdefaults__  # type: ignore[attr-defined]  # `contextmanager` keeps the function it wraps.
    monkeypatch.setitem(defaults, "statement_timeout", timedelta(milliseconds=50))
    with pytest.raises(BatchFailed, match="a statement reached its time limit"):
        repeated(dsn)


@pytest.mark.parametrize("missing", ["step", "done"])
def test_a_layout_that_says_nothing_of_steps_is_refused(
    dsn: str, runs: psycopg.Connection[Any], missing: str
) -> None:
    assert WORKFLOW.child is not None
    child = WORKFLOW.child.model_copy(update={missing: None})
    with pytest.raises(Unsupported, match="does not say what a step is"):
        repeated(dsn, WORKFLOW.model_copy(update={"child": child}))


def test_other_stores_say_that_nothing_hangs_on_their_records(
    redis_url: str, request: pytest.FixtureRequest
) -> None:
    from tests.stores.worlds import MemoryWorld, RedisWorld

    for world in (MemoryWorld("workflow"), RedisWorld("reference", redis_url, Any)):  # type: ignore[arg-type]  # Nothing is planted.
        with pytest.raises(Unsupported, match="no rows hang on"):
            next(_steps(world.open()))


def _steps(store: Any) -> Iterator[Batch]:
    yield from store.inspect(Inspection.REPEATED_STEPS)

"""Every adapter keeps the contract, and an adapter with a planted bug does not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import redis

from idemctl.domain.records import Status
from idemctl.stores.answers import WHOLE
from idemctl.stores.memory import MemoryStore
from tests.stores import contract
from tests.stores.cases import CASES
from tests.stores.worlds import MICROSECOND, MemoryWorld, PostgresWorld, RedisWorld

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from datetime import datetime

    from idemctl.domain.batch import Batch
    from idemctl.domain.collection import Chunk
    from idemctl.domain.retention import Retention
    from idemctl.stores.answers import Choose, Found, Shard, Wanted
    from tests.stores.worlds import World

TABLES = ("reference", "bare", "workflow", "outbox")


@pytest.fixture
def world(request: pytest.FixtureRequest) -> World:
    """The world named `adapter-layout`. A new adapter is a line here, and in `WORLDS`."""
    adapter, _, layout = request.param.partition("-")
    if adapter == "memory":
        return MemoryWorld(layout)
    if adapter == "redis":
        return RedisWorld(
            layout, request.getfixturevalue("redis_url"), request.getfixturevalue("redis_client")
        )
    return PostgresWorld(
        layout, request.getfixturevalue("database"), request.getfixturevalue("application")
    )


@pytest.fixture
def redis_client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as client:
        yield client


WORLDS = [f"{adapter}-{layout}" for adapter in ("memory", "postgres") for layout in TABLES]
WORLDS.append("redis-reference")
OTHER_LAYOUTS = [
    f"{adapter}-{layout}"
    for adapter in ("memory", "postgres")
    for layout in CASES
    if layout not in TABLES
]


@pytest.mark.parametrize("world", WORLDS, indirect=True)
@pytest.mark.parametrize("holds", contract.CONTRACT, ids=lambda holds: holds.__name__)
def test_an_adapter_keeps_the_contract(holds: Callable[[World], None], world: World) -> None:
    holds(world)


@pytest.mark.parametrize("world", OTHER_LAYOUTS, indirect=True)
def test_an_adapter_judges_through_other_layouts_as_the_table_of_cases_says(world: World) -> None:
    contract.a_survey_agrees_with_a_scan(world)


# Adapters with a bug. Each must fail the cases named beside it.


class CollectsAtTheCutoff(MemoryStore):
    """Says `<=` where it should say `<`."""

    def survey(self, retention: Retention, shard: Shard = WHOLE) -> Generator[Chunk]:
        return super().survey(_later(retention), shard)

    def collect(
        self, retention: Retention, shard: Shard = WHOLE, limit: int | None = None
    ) -> Generator[Chunk]:
        return super().collect(_later(retention), shard, limit)


def _later(retention: Retention) -> Retention:
    return replace(retention, cutoff=retention.cutoff + MICROSECOND)


class CollectsInProgress(MemoryStore):
    """Takes what is in progress for completed."""

    def _read(self, rows: list[dict[str, Any]]) -> Batch:
        batch = super()._read(rows)
        batch.status[batch.status == Status.IN_PROGRESS] = Status.COMPLETED
        return batch


class TakesMalformedForFailed(MemoryStore):
    """Guesses a status where none fits."""

    def _read(self, rows: list[dict[str, Any]]) -> Batch:
        batch = super()._read(rows)
        batch.status[batch.status == Status.MALFORMED] = Status.FAILED
        return batch


class TakesNoExpiryForLongAgo(MemoryStore):
    """Sorts NULL first and goes on from there."""

    def _read(self, rows: list[dict[str, Any]]) -> Batch:
        batch = super()._read(rows)
        batch.expires_at[batch.expires_at == np.iinfo(np.int64).min] = 0
        return batch


class ForgetsPolicies(MemoryStore):
    """Knows the stored expiry alone."""

    def collect(
        self, retention: Retention, shard: Shard = WHOLE, limit: int | None = None
    ) -> Generator[Chunk]:
        return super().collect(replace(retention, policy_ttls={}), shard, limit)


class CollectsWhatStays(MemoryStore):
    """Forgets what its layout says is never collected."""

    def _read(self, rows: list[dict[str, Any]]) -> Batch:
        batch = super()._read(rows)
        batch.never_collected[:] = False
        return batch


class CollectsWhatIsHeld(MemoryStore):
    """Does not look whether somebody is at work on a row."""

    def collect(
        self, retention: Retention, shard: Shard = WHOLE, limit: int | None = None
    ) -> Generator[Chunk]:
        self.held.clear()
        return super().collect(retention, shard, limit)


class ForgetsItsLimit(MemoryStore):
    """Takes as many as there are."""

    def collect(
        self, retention: Retention, shard: Shard = WHOLE, limit: int | None = None
    ) -> Generator[Chunk]:
        return super().collect(retention, shard)


class CountsAllThatThereIs(MemoryStore):
    """Goes on when it is too much already."""

    def count_expired(self, retention: Retention, at_most: int) -> Generator[Chunk]:
        return super().count_expired(retention, at_most + 1)


class ForgetsItsShard(MemoryStore):
    """Walks the whole store for every shard."""

    def _batches(self, shard: Shard) -> Iterator[list[dict[str, Any]]]:
        return super()._batches(WHOLE)


class StopsAtAShortBatch(MemoryStore):
    """Leaves the last batch, as a loop does that ends when one is not full."""

    def _batches(self, shard: Shard) -> Iterator[list[dict[str, Any]]]:
        return (rows for rows in super()._batches(shard) if len(rows) == self._batch_size)


class DeletesWhenSurveying(MemoryStore):
    """Has one code path too few."""

    def survey(self, retention: Retention, shard: Shard = WHOLE) -> Generator[Chunk]:
        return super().collect(retention, shard)


class CountsWithoutDeleting(MemoryStore):
    """Reports what it never committed."""

    def collect(
        self, retention: Retention, shard: Shard = WHOLE, limit: int | None = None
    ) -> Generator[Chunk]:
        rows = self.rows
        yield from super().collect(retention, shard, limit)
        self.rows = rows


class FindsTheNewest(MemoryStore):
    """Looks for the oldest promise at the wrong end."""

    def oldest_expired(self, retention: Retention) -> datetime | None:
        found = super().oldest_expired(retention)
        return None if found is None else retention.cutoff


class LetsEverybodyIn(MemoryStore):
    """Gives its lock to all who ask."""

    def lock(self, purpose: str) -> Any:
        self._locked_for.discard(purpose)
        return super().lock(purpose)


class AnswersOutOfPlace(MemoryStore):
    """Counts places among what it found, not among what was asked for."""

    def look_up(self, wanted: Iterable[Wanted]) -> Iterator[Found]:
        for found in super().look_up(wanted):
            yield replace(found, at=np.arange(len(found.at)))


class ForgetsScopes(MemoryStore):
    """Takes a key for the whole of a record's name."""

    def look_up(self, wanted: Iterable[Wanted]) -> Iterator[Found]:
        return super().look_up((keys, [b""] * len(keys)) for keys, _ in wanted)


class ListsNamesItDoesNotRead(MemoryStore):
    def names(self, shard: Shard = WHOLE) -> Iterator[Sequence[bytes]]:
        yield from super().names(shard)
        yield [b"ghost"]


class ReadsWhatNobodyChose(MemoryStore):
    def scan_named(self, choose: Choose, shard: Shard = WHOLE) -> Iterator[Batch]:
        del choose
        return self.scan(shard)


class LeavesOutEmptyAnswers(MemoryStore):
    """Has nothing to say where nothing is found."""

    def look_up(self, wanted: Iterable[Wanted]) -> Iterator[Found]:
        return (found for found in super().look_up(wanted) if len(found.at))


BROKEN = {
    CollectsAtTheCutoff: {"a_survey_agrees_with_a_scan"},
    CollectsInProgress: {"a_survey_agrees_with_a_scan", "what_is_expired_goes_and_nothing_else"},
    TakesMalformedForFailed: {"a_survey_agrees_with_a_scan"},
    TakesNoExpiryForLongAgo: {"a_survey_agrees_with_a_scan"},
    ForgetsPolicies: {"a_survey_agrees_with_a_scan"},
    CollectsWhatIsHeld: {"a_held_record_is_skipped_and_counted"},
    ForgetsItsLimit: {"no_more_go_than_a_limit_allows"},
    CountsAllThatThereIs: {"what_would_go_is_counted_until_it_is_too_much"},
    ForgetsItsShard: {"scanned_shards_make_the_whole", "surveyed_shards_make_the_whole"},
    StopsAtAShortBatch: {"every_record_is_scanned_once", "one_record_is_seen_once"},
    DeletesWhenSurveying: {"a_survey_changes_nothing"},
    CountsWithoutDeleting: {"what_is_expired_goes_and_nothing_else"},
    FindsTheNewest: {"the_oldest_promise_is_found"},
    LetsEverybodyIn: {"one_run_at_a_time_holds_a_purpose"},
    AnswersOutOfPlace: {
        "known_keys_are_found_in_their_places",
        "a_key_that_no_record_can_have_is_not_found",
    },
    ForgetsScopes: {"a_key_belongs_to_its_scope"},
    ListsNamesItDoesNotRead: {"names_are_those_of_the_keys", "names_are_listed_by_shard"},
    ReadsWhatNobodyChose: {"only_what_is_chosen_by_its_name_is_read"},
    LeavesOutEmptyAnswers: {"of_nothing_nothing_is_found", "requests_are_answered_in_their_order"},
}


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_an_adapter_with_a_bug_fails_the_contract(kind: type[MemoryStore]) -> None:
    assert BROKEN[kind] <= {
        holds.__name__
        for holds in contract.CONTRACT
        if _fails(holds, MemoryWorld("reference", kind))
    }


@pytest.mark.parametrize("layout", ["guarded", "business"])
def test_an_adapter_that_collects_what_stays_fails_the_contract(layout: str) -> None:
    agrees = contract.a_survey_agrees_with_a_scan
    assert _fails(agrees, MemoryWorld(layout, CollectsWhatStays))
    assert not _fails(agrees, MemoryWorld(layout))


def test_the_reference_adapter_fails_none_of_it() -> None:
    assert not [holds for holds in contract.CONTRACT if _fails(holds, MemoryWorld("reference"))]


def _fails(holds: Callable[[World], None], world: World) -> bool:
    try:
        holds(world)
    except (AssertionError, pytest.fail.Exception):
        return True
    return False

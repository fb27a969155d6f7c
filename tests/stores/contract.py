"""What every adapter keeps, as functions of a world: the ports in executable form.

`CONTRACT` is run against each adapter by `test_contract`, and against adapters with a
planted bug, which must fail it.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from datetime import UTC, timedelta
from typing import TYPE_CHECKING

import pytest

from idemctl.domain.circumstances import Unseen
from idemctl.domain.collection import Collection
from idemctl.domain.records import Status
from idemctl.domain.retention import Verdict, add_tallies, judge, tally
from idemctl.errors import Locked, Unsupported
from idemctl.stores.answers import WHOLE, Shard
from tests.stores.cases import CASES, DAY, HOUR, At, Planted
from tests.stores.look_ups import LOOK_UPS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from idemctl.domain.collection import Chunk
    from idemctl.domain.retention import Retention
    from idemctl.stores.ports import Store
    from tests.stores.cases import Case
    from tests.stores.worlds import World

ODD_KEYS = (
    "zo\u00eb",
    "\u202eabc",
    "a b\tc\nd",
    "'; DROP TABLE x;--",
    "%s {} \\",
    "\U0001f600",
    "k" * 2000,
)


def expired(key: str) -> Planted:
    return Planted(key=key, created=At(-10 * DAY), expires=At(-DAY))


def live(key: str) -> Planted:
    return Planted(key=key, created=At(-HOUR), expires=At(HOUR))


def working(key: str) -> Planted:
    return Planted(key=key, status="in_progress", created=At(-10 * DAY), expires=At(-DAY))


def added(chunks: Iterable[Chunk]) -> Collection:
    """Add up a walk, which must account for every candidate."""
    total = Collection()
    for chunk in chunks:
        assert 0 <= chunk.done <= 1
        total = total.plus(chunk)
    assert total.candidates == (
        total.deleted + total.skipped_locked + total.changed_meanwhile + total.failed
    )
    return total


def looked(chunks: Iterable[Chunk]) -> Collection:
    """Add up a survey, which must have done nothing."""
    total = Collection()
    for chunk in chunks:
        assert 0 <= chunk.done <= 1
        assert not chunk.wrote
        assert chunk.trouble is None
        total = total.plus(chunk)
    assert total.candidates in {0, total.count(Verdict.EXPIRED)}
    done = (total.deleted, total.children_deleted, total.skipped_locked, total.batches)
    assert done == (0, 0, 0, 0)
    return total


def names(prefix: str, count: int) -> set[str]:
    return {f"{prefix}-{number}" for number in range(count)}


def encoded(keys: Iterable[str]) -> set[bytes]:
    return {key.encode() for key in keys}


def cutoff_of(world: World, store: Store) -> datetime:
    """Read the store's clock, in its own smallest steps."""
    now = store.clock()
    return now - (now - now.replace(microsecond=0)) % world.tick


def planted(world: World, store: Store, *, each: int = 10) -> tuple[set[str], set[str], Retention]:
    """Plant records of every fate; give the keys that are expired, those that stay, promises."""
    cutoff = cutoff_of(world, store)
    gone, kept = names("expired", each), names("live", each)
    records = [expired(key) for key in gone] + [live(key) for key in kept]
    if world.knows("in_progress"):
        busy = names("working", each)
        records += [working(key) for key in busy]
        kept |= busy
    world.plant(sorted(records, key=lambda one: one.key[::-1]), cutoff)
    return gone, kept, world.retention(cutoff, DAY, {})


def its_clock_is_aware_and_moves(world: World) -> None:
    with closing(world.open()) as store:
        first, second = store.clock(), store.clock()
    assert first.utcoffset() == timedelta(0)
    assert timedelta(0) <= second - first < timedelta(minutes=1)
    assert first.tzinfo is not None
    assert first.astimezone(UTC) == first


def it_says_what_it_is(world: World) -> None:
    with closing(world.open()) as store:
        description = store.describe()
        rights = store.rights()
    assert description.product in {"PostgreSQL", "Redis", "Valkey", "memory"}
    assert description.supported
    assert description.place
    assert not description.is_replica
    assert description.hides_rows is None
    assert all(right.granted for right in rights)


def it_tells_its_load_where_others_follow_it(world: World) -> None:
    with closing(world.open()) as store:
        if world.collects:
            load = store.load()
            assert load.asked is False
            assert not isinstance(load.replication, Unseen)
            assert not isinstance(load.upkeep, Unseen)
        else:
            with pytest.raises(Unsupported):
                store.load()


def an_empty_store_has_nothing(world: World) -> None:
    with closing(world.open()) as store:
        promises = world.retention(store.clock(), DAY, {})
        assert sum(len(batch) for batch in store.scan()) == 0
        assert looked(store.survey(promises)).tallies == ()
        if world.collects:
            assert added(store.collect(promises)).candidates == 0
            assert store.oldest_expired(promises) is None


def one_record_is_seen_once(world: World) -> None:
    with closing(world.open()) as store:
        world.plant([expired("only")], store.clock())
        assert [key for batch in store.scan() for key in batch.keys] == [b"only"]


def every_record_is_scanned_once(world: World) -> None:
    with closing(world.open()) as store:
        gone, kept, _ = planted(world, store, each=100)
        seen = Counter(key for batch in store.scan() for key in batch.keys)
    assert seen == Counter(encoded(gone | kept))


def keys_are_exact(world: World) -> None:
    with closing(world.open()) as store:
        world.plant([live(key) for key in ODD_KEYS], store.clock())
        seen = Counter(key for batch in store.scan() for key in batch.keys)
    assert seen == Counter(encoded(ODD_KEYS))


def a_record_says_what_was_written(world: World) -> None:
    with closing(world.open()) as store:
        cutoff = cutoff_of(world, store)
        world.plant([live("written")], cutoff)
        found = [batch.record(0) for batch in store.scan() if len(batch)]
    assert len(found) == 1
    (record,) = found
    assert record.key == b"written"
    assert record.status in {Status.COMPLETED, Status.UNKNOWN}
    assert record.created_at == cutoff - HOUR
    stored = world.retention(cutoff, None, {}).has_stored_expiry
    assert record.expires_at == (cutoff + HOUR if stored else None)
    assert store.has_stored_expiry is stored


def scanned_shards_make_the_whole(world: World) -> None:
    with closing(world.open()) as store:
        gone, kept, _ = planted(world, store, each=100)
        for count in (2, 3, 7):
            seen: Counter[bytes] = Counter()
            for shard in _shards(count):
                seen.update(key for batch in store.scan(shard) for key in batch.keys)
            assert seen == Counter(encoded(gone | kept)), count


def surveyed_shards_make_the_whole(world: World) -> None:
    with closing(world.open()) as store:
        gone, _, promises = planted(world, store, each=100)
        whole = looked(store.survey(promises))
        assert whole.count(Verdict.EXPIRED) == len(gone)
        for count in (2, 3, 7):
            parts = [looked(store.survey(promises, shard)) for shard in _shards(count)]
            assert sum(parts, Collection()).tallies == whole.tallies, count


def a_survey_changes_nothing(world: World) -> None:
    with closing(world.open()) as store:
        _, _, promises = planted(world, store)
        before = world.keys()
        total = looked(store.survey(promises))
        assert total.tallies == looked(store.survey(promises)).tallies
        assert total.deleted == total.batches == 0
    assert world.keys() == before


def a_survey_agrees_with_a_scan(world: World) -> None:
    for cases in _groups(world):
        with closing(world.open()) as store:
            promises = _plant_cases(world, store, cases)
            expected = Counter((case.verdict, case.promise) for case in cases)
            names = {case.name.encode(): case for case in cases}
            for batch in store.scan():
                verdicts, spoke, _ = judge(batch, promises)
                for at, key in enumerate(batch.keys):
                    if key not in names:
                        continue
                    case = names.pop(key)
                    assert (Verdict(verdicts[at]), spoke[at]) == (case.verdict, case.promise), key
            assert names == {}
            tallies = looked(store.survey(promises)).tallies
            assert {(one.verdict, one.promise): one.count for one in tallies} == expected
            scanned = (one for batch in store.scan() for one in tally(batch, promises))
            if promises.has_stored_expiry:
                # Earliest and latest end too, infinities among them.
                assert list(tallies) == add_tallies(scanned)
            if world.collects:
                added(store.collect(promises))
                expected_keys = {c.name for c in cases if c.verdict is not Verdict.EXPIRED}
                assert world.keys() == encoded(expected_keys)
        world.clear()


def what_is_expired_goes_and_nothing_else(world: World) -> None:
    with closing(world.open()) as store:
        gone, kept, promises = planted(world, store, each=50)
        if not _collects(world, store, promises):
            return
        total = added(store.collect(promises))
        assert total.deleted == total.candidates == total.count(Verdict.EXPIRED) == len(gone)
        assert world.keys() == encoded(kept)
        assert total.batches > 0
        again = added(store.collect(promises))
        assert again.candidates == again.deleted == 0
        assert again.count(Verdict.EXPIRED) == 0
    assert world.keys() == encoded(kept)


def collected_shards_make_the_whole(world: World) -> None:
    with closing(world.open()) as store:
        gone, kept, promises = planted(world, store, each=100)
        if not _collects(world, store, promises):
            return
        parts = [added(store.collect(promises, shard)) for shard in _shards(3)]
        assert sum(parts, Collection()).deleted == len(gone)
    assert world.keys() == encoded(kept)


def no_more_go_than_a_limit_allows(world: World) -> None:
    with closing(world.open()) as store:
        gone, kept, promises = planted(world, store, each=50)
        if not _collects(world, store, promises):
            return
        first = added(store.collect(promises, limit=20))
        assert (first.deleted, first.candidates, first.limited) == (20, 20, True)
        assert len(world.keys()) == len(gone) + len(kept) - 20
        rest = added(store.collect(promises, limit=1_000))
        assert (rest.deleted, rest.limited) == (len(gone) - 20, False)
    assert world.keys() == encoded(kept)


def what_would_go_is_counted_until_it_is_too_much(world: World) -> None:
    with closing(world.open()) as store:
        gone, kept, promises = planted(world, store, each=50)
        if not _collects(world, store, promises):
            return
        for at_most, count in ((49, 50), (50, 50), (1_000, 50), (7, 8)):
            chunks = store.count_expired(promises, at_most)
            assert sum(chunk.candidates for chunk in chunks) == count
    assert world.keys() == encoded(gone | kept)


def a_held_record_is_skipped_and_counted(world: World) -> None:
    with closing(world.open()) as store:
        gone, kept, promises = planted(world, store)
        if not _collects(world, store, promises):
            return
        with world.hold("expired-3"):
            total = added(store.collect(promises))
            assert world.keys() == encoded(kept | {"expired-3"})
            assert store.oldest_expired(promises) is not None
        assert (total.deleted, total.skipped_locked) == (len(gone) - 1, 1)
        freed = added(store.collect(promises))
        assert (freed.deleted, freed.skipped_locked) == (1, 0)
        assert store.oldest_expired(promises) is None
    assert world.keys() == encoded(kept)


def a_walk_may_be_left_at_any_step(world: World) -> None:
    with closing(world.open()) as store:
        gone, kept, promises = planted(world, store, each=40)
        if not _collects(world, store, promises):
            return
        steps = store.collect(promises)
        first = next(steps)
        steps.close()
        assert len(world.keys()) == len(gone) + len(kept) - first.deleted
        assert added(store.collect(promises)).deleted == len(gone) - first.deleted
    assert world.keys() == encoded(kept)


def the_oldest_promise_is_found(world: World) -> None:
    with closing(world.open()) as store:
        cutoff = cutoff_of(world, store)
        world.plant(
            [
                Planted(key="old", created=At(-5 * DAY), expires=At(-4 * DAY)),
                Planted(key="older", created=At(-6 * DAY), expires=At(-5 * DAY)),
                live("live"),
            ],
            cutoff,
        )
        promises = world.retention(cutoff, DAY, {})
        if _collects(world, store, promises):
            assert store.oldest_expired(promises) == cutoff - 5 * DAY


def one_run_at_a_time_holds_a_purpose(world: World) -> None:
    with closing(world.open()) as store:
        if not world.collects:
            with pytest.raises(Unsupported):
                store.lock("gc")
            return
        lock = store.lock("gc")
        assert lock.is_held()
        with pytest.raises(Locked, match="another gc is at work"):
            store.lock("gc")
        assert lock.is_held()
        other = store.lock("another purpose")
        other.release()
        lock.release()
        assert not lock.is_held()
        lock.release()
        store.lock("gc").release()


CONTRACT = (
    its_clock_is_aware_and_moves,
    it_says_what_it_is,
    it_tells_its_load_where_others_follow_it,
    an_empty_store_has_nothing,
    one_record_is_seen_once,
    every_record_is_scanned_once,
    keys_are_exact,
    a_record_says_what_was_written,
    scanned_shards_make_the_whole,
    surveyed_shards_make_the_whole,
    a_survey_changes_nothing,
    a_survey_agrees_with_a_scan,
    what_is_expired_goes_and_nothing_else,
    collected_shards_make_the_whole,
    no_more_go_than_a_limit_allows,
    what_would_go_is_counted_until_it_is_too_much,
    a_held_record_is_skipped_and_counted,
    a_walk_may_be_left_at_any_step,
    the_oldest_promise_is_found,
    one_run_at_a_time_holds_a_purpose,
    *LOOK_UPS,
)


def _collects(world: World, store: Store, promises: Retention) -> bool:
    """Tell whether the adapter collects; one that does not must say so, and change nothing."""
    if not world.collects:
        before = world.keys()
        with pytest.raises(Unsupported):
            next(iter(store.collect(promises)))
        assert world.keys() == before
    return world.collects


def _shards(count: int) -> list[Shard]:
    return [WHOLE] if count == 1 else [Shard(index, count) for index in range(count)]


def _groups(world: World) -> list[list[Case]]:
    """Sort the cases of a world's layout by the promises that one run can have."""
    groups: dict[str, list[Case]] = {}
    for case in CASES[world.name]:
        groups.setdefault(f"{case.ttl} {sorted(case.policies.items())}", []).append(case)
    return list(groups.values())


def _plant_cases(world: World, store: Store, cases: list[Case]) -> Retention:
    cutoff = cutoff_of(world, store)
    world.plant([case.record for case in cases], cutoff)
    return world.retention(cutoff, cases[0].ttl, cases[0].policies)

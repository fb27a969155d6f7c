"""Comparing a pair: what stands still counts, what moves does not, and nothing is proven twice."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from idemctl.domain.differences import Difference
from idemctl.domain.instants import MISSING
from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.records import Flaw, Status
from idemctl.errors import Unreachable
from idemctl.run import comparison as comparison_module
from idemctl.run.comparison import compare
from idemctl.state.folder import StateFolder
from idemctl.state.suspects import SuspectsFile
from idemctl.stores import pair as pair_module
from tests.domain.batches import at
from tests.run.twins import CLAIM, Meanwhile, Named, Side, Twins, record, twin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from idemctl.domain.batch import Batch
    from idemctl.domain.sweeps import Suspects
    from idemctl.run.comparison import Comparison
    from idemctl.run.run import Run


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what has to stand still do so in no time."""
    monkeypatch.setattr(comparison_module, "_SETTLE", timedelta(0))


def compared(
    folder: Path, twins: Twins, run: Run | None = None, *, most: int = 1000, **more: Any
) -> Comparison:
    with SuspectsFile(StateFolder(folder), most=most) as suspects:
        return compare(Named().pair, twins.opened, run or Meanwhile(), suspects, **more)


def keys_of(comparison: Comparison) -> dict[Difference, list[bytes]]:
    return {kind: [key for key, _ in kept] for kind, kept in comparison.kept.items()}


ONE_OF_EACH = Twins(
    postgres=Side(
        record(b"equal"),
        record(b"missing"),
        record(b"stale", fence=6),
        record(b"divergent"),
        record(b"leaked"),
        record(b"outlives"),
        record(b"malformed"),
        record(b"over", expires_at=at(-1)),
        record(b"over, and stale", expires_at=at(-1), fence=6),
        record(b"lease over", status=CLAIM, lease_until=at(-1)),
    ),
    redis=Side(
        twin(b"equal"),
        twin(b"orphan", scopes=b"s"),
        twin(b"stale"),
        twin(b"divergent", fingerprints=b"g"),
        twin(b"leaked", key_expires_at=MISSING),
        twin(b"outlives", key_expires_at=at(5000)),
        twin(b"malformed", status=Status.MALFORMED, flaw=Flaw.UNREADABLE),
        twin(b"over, and stale"),
        # What cannot be read may be anybody's: it is nobody's orphan.
        twin(b"unreadable", status=Status.MALFORMED, flaw=Flaw.UNREADABLE),
        twin(b"nameless", status=Status.MALFORMED, flaw=Flaw.FOREIGN_NAME),
    ),
)


def test_a_difference_that_stands_counts_once(tmp_path: Path) -> None:
    found = compared(tmp_path, ONE_OF_EACH)
    assert keys_of(found) == {
        Difference.MISSING: [b"missing"],
        Difference.ORPHAN: [b"orphan"],
        Difference.STALE: [b"stale", b"over, and stale"],
        Difference.DIVERGENT: [b"divergent"],
        Difference.LEAKED: [b"leaked"],
        Difference.TTL_DIFFERS: [b"outlives"],
        Difference.MALFORMED: [b"malformed"],
    }
    assert found.kept[Difference.ORPHAN] == [(b"orphan", b"s")]
    assert found.counts.total() == 8
    assert (found.moving_count, found.unproven_count) == (0, 0)
    assert found.is_whole
    totals = found.totals
    assert (totals.postgres_scanned, totals.redis_scanned, totals.equal) == (10, 10, 1)
    assert totals.unreadable == 2


def test_a_pair_without_a_difference_is_not_looked_at_again(tmp_path: Path) -> None:
    rows = [b"key-%d" % number for number in range(10)]
    twins = Twins(Side(*map(record, rows)), Side(*map(twin, rows)))
    run = Meanwhile()
    found = compared(tmp_path, twins, run)
    assert (found.counts.total(), found.totals.equal, run.rest_count) == (0, 10, 0)
    assert found.is_whole
    # Its names were enough: nothing of Redis was read a second time.
    assert (found.totals.redis_scanned, twins.redis.scan_count) == (10, 0)
    assert compared(tmp_path, Twins(Side(), Side())).is_whole


def test_what_has_another_name_in_exchange_is_looked_at(tmp_path: Path) -> None:
    """As many names on both sides, so that a count of them would say that nothing differs."""
    twins = Twins(
        Side(*(record(b"key-%d" % number) for number in range(10))),
        Side(*(twin(b"key-%d" % number) for number in range(1, 11))),
    )
    found = compared(tmp_path, twins)
    assert keys_of(found) == {Difference.MISSING: [b"key-0"], Difference.ORPHAN: [b"key-10"]}


def test_what_is_owed_no_more_is_looked_at_from_redis(tmp_path: Path) -> None:
    over = {"expires_at": at(-1)}
    twins = Twins(
        Side(record(b"equal"), record(b"over", **over)),
        Side(twin(b"equal"), twin(b"over", key_expires_at=MISSING)),
    )
    assert keys_of(compared(tmp_path, twins)) == {Difference.LEAKED: [b"over"]}


def read_of(twins: Twins, is_read: bool) -> dict[str, Any]:
    """Read both sides as somebody does who looks at the records as well."""
    return {"read": lambda side: getattr(twins, side).scan()} if is_read else {}


BOTH_WAYS = pytest.mark.parametrize("is_read", [False, True], ids=["by-roll", "both-ways"])


@BOTH_WAYS
def test_what_a_scan_of_postgres_passes_by_is_found_from_redis(
    tmp_path: Path, *, is_read: bool
) -> None:
    twins = Twins(
        Side(record(b"still"), record(b"moves")),
        Side(twin(b"still"), twin(b"moves", key_expires_at=MISSING)),
    )
    twins.postgres.passed_by = {b"moves"}
    found = compared(tmp_path, twins, **read_of(twins, is_read))
    assert keys_of(found) == {Difference.LEAKED: [b"moves"]}


@BOTH_WAYS
def test_what_is_lost_after_it_was_compared_is_missing(tmp_path: Path, *, is_read: bool) -> None:
    keys = [b"key-%d" % number for number in range(50)]
    twins = Twins(
        Side(*map(record, keys), record(b"missing")), Side(*map(twin, keys), twin(b"orphan"))
    )
    twins.redis.before_listing = twins.redis.rows.clear
    found = compared(tmp_path, twins, **read_of(twins, is_read))
    assert found.counts == {Difference.MISSING: 51}
    assert (found.totals.equal, found.totals.postgres_scanned) == (0, 51)
    assert (found.moving_count, found.unproven_count) == (0, 0)
    assert found.is_whole


def test_a_few_that_end_meanwhile_are_no_reason_to_look_again(tmp_path: Path) -> None:
    keys = [b"key-%d" % number for number in range(200)]
    twins = Twins(Side(*map(record, keys)), Side(*map(twin, keys)))
    over = {"expires_at": at(-1)}

    def end() -> None:
        twins.redis.rows.pop((b"key-7", b""), None)
        twins.postgres.put(record(b"key-7", **over))

    twins.redis.before_listing = end
    found = compared(tmp_path, twins)
    assert (found.counts.total(), found.totals.equal, twins.postgres.scan_count) == (0, 200, 1)


# What moves.

K = b"k"
MOVES: Mapping[str, Any] = {
    "the twin is written": ([record(K)], [], lambda pair: pair.redis.put(twin(K))),
    "the row goes": ([record(K)], [], lambda pair: pair.postgres.drop(K)),
    "the row is over": ([record(K)], [], lambda pair: pair.postgres.put(record(K, expires_at=0))),
    "a newer row": ([record(K)], [], lambda pair: pair.postgres.put(record(K, fence=6))),
    "a lease renewed": (
        [record(K, status=CLAIM, lease_until=at(60))],
        [],
        lambda pair: pair.postgres.put(record(K, status=CLAIM, lease_until=at(90))),
    ),
    "an older twin": ([record(K)], [], lambda pair: pair.redis.put(twin(K, fence=4))),
    "the row commits": ([], [twin(K)], lambda pair: pair.postgres.put(record(K))),
    "the orphan goes": ([], [twin(K)], lambda pair: pair.redis.drop(K)),
    "the orphan is written": ([], [twin(K)], lambda pair: pair.redis.put(twin(K, fence=6))),
    "the twin catches up": (
        [record(K, fence=6)],
        [twin(K)],
        lambda pair: pair.redis.put(twin(K, fence=6)),
    ),
    "both move on": (
        [record(K, fence=6)],
        [twin(K)],
        lambda pair: (pair.postgres.put(record(K, fence=7)), pair.redis.put(twin(K, fence=6))),
    ),
    "the twin gets a TTL": (
        [record(K)],
        [twin(K, key_expires_at=MISSING)],
        lambda pair: pair.redis.put(twin(K)),
    ),
    "the leaked twin goes": (
        [record(K)],
        [twin(K, key_expires_at=MISSING)],
        lambda pair: pair.redis.drop(K),
    ),
}


def moving(folder: Path, name: str) -> Comparison:
    ours, theirs, happens = MOVES[name]
    twins = Twins(Side(*ours), Side(*theirs))
    run = Meanwhile(happens=lambda: happens(twins))
    found = compared(folder, twins, run)
    assert run.rest_count == 1
    assert sum(found.totals.seen.values()) == 1
    return found


@pytest.mark.parametrize("name", MOVES)
def test_a_difference_that_moves_does_not_count(tmp_path: Path, name: str) -> None:
    found = moving(tmp_path, name)
    assert (found.counts.total(), found.kept) == (0, {})
    assert (found.moving_count, found.unproven_count) == (1, 0)
    assert found.is_whole


@pytest.mark.parametrize(
    "name", ["a newer row", "a lease renewed", "the orphan is written", "both move on"]
)
def test_without_a_look_at_versions_it_would_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(pair_module, "of_pairs", lambda count, *_: np.zeros(count, np.uint64))
    found = moving(tmp_path, name)
    assert (found.counts.total(), found.moving_count) == (1, 0)


# What is told, and kept.


def test_who_repairs_is_told_what_stands_and_nothing_else(tmp_path: Path) -> None:
    rows = [record(b"key-%d" % number) for number in range(7)]
    twins = Twins(Side(*rows), Side(twin(b"orphan")))
    told: list[Suspects] = []
    run = Meanwhile(happens=lambda: twins.redis.put(*(twin(b"key-%d" % at) for at in (0, 1, 2, 4))))
    found = compared(tmp_path, twins, run, on_stable=told.append)
    # Of the first three nothing is left, and so nothing is told.
    assert [list(portion.keys) for portion in told] == [
        [b"key-3", b"key-5"],
        [b"key-6"],
        [b"orphan"],
    ]
    assert (found.counts[Difference.MISSING], found.moving_count) == (3, 4)


def test_the_first_of_each_kind_are_kept_and_all_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison_module, "_MOST_KEPT", 2)
    rows = [record(b"key-%d" % number) for number in range(5)]
    found = compared(tmp_path, Twins(Side(*rows), Side(twin(b"orphan"))))
    assert found.counts == {Difference.MISSING: 5, Difference.ORPHAN: 1}
    assert keys_of(found) == {
        Difference.MISSING: [b"key-0", b"key-1"],
        Difference.ORPHAN: [b"orphan"],
    }


def test_an_orphan_whose_key_is_no_text_is_counted_as_such(tmp_path: Path) -> None:
    theirs = Side(twin(b"\xff"), twin(b"text"), twin(b"a\x00"))
    found = compared(tmp_path, Twins(Side(record(b"\xfe")), theirs))
    assert found.counts == {Difference.MISSING: 1, Difference.ORPHAN: 3}
    assert found.textless_orphan_count == 2


def test_who_reads_both_sides_has_them_read_once(tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []

    def read(side: str) -> Iterator[Batch]:
        for some in getattr(ONE_OF_EACH, side).scan():
            seen.append((side, len(some)))
            yield some

    found = compared(tmp_path, ONE_OF_EACH, read=read)
    sizes = (3, 3, 3, 1)
    assert seen == [(side, size) for side in ("postgres", "redis") for size in sizes]
    assert {found.share(difference) for difference in Difference} == {None}


def test_of_a_sample_nothing_is_lost_and_shares_are_of_the_side_that_was_read(
    tmp_path: Path,
) -> None:
    keys = [b"key-%03d" % number for number in range(100)]
    there = [key for at, key in enumerate(keys) if at % 4]
    twins = Twins(Side(*map(record, keys)), Side(*(twin(key) for key in there), twin(b"orphan")))

    def read(side: str) -> Iterator[Batch]:
        yield from islice(getattr(twins, side).scan(), 20 if side == "postgres" else 2)

    found = compared(tmp_path, twins, read=read, is_sample=True)
    assert (found.totals.postgres_scanned, found.totals.redis_scanned) == (60, 6)
    # The six keys that were read are in place, and forty-five rows are, too.
    assert found.counts == {Difference.MISSING: 15}
    missing, orphan = found.share(Difference.MISSING), found.share(Difference.ORPHAN)
    assert missing is not None
    assert orphan is not None
    assert 0.1 < missing.low < 0.25 < missing.high < 0.4
    assert (orphan.low, round(orphan.high, 2)) == (0.0, 0.39)


# What cannot be proven.


def test_what_there_is_no_room_for_is_unproven(tmp_path: Path) -> None:
    rows = [record(b"key-%d" % number) for number in range(8)]
    found = compared(tmp_path, Twins(Side(*rows), Side(twin(b"orphan"))), most=5)
    assert found.counts == {Difference.MISSING: 5}
    assert (found.unproven_count, found.moving_count) == (4, 0)
    assert found.why_stopped is WhyStopped.DONE
    assert not found.is_whole


class StopsAt:
    """Progress that asks a run to stop when it hears of a side for the nth time."""

    def __init__(self, side: str, nth: int = 1) -> None:
        self.side = side
        self.left = nth
        self.run = Meanwhile(progress=self)

    def waits(self, why: str) -> None:
        """Never heard: nothing waits here."""

    def at(self, what: str, done: float, counts: Mapping[str, int]) -> None:
        self.left -= what == f"payments from {self.side}"
        if not self.left:
            self.run.stop.ask(WhyStopped.INTERRUPTED)


def three_missing() -> Twins:
    return Twins(Side(*(record(b"key-%d" % number) for number in range(3))), Side(twin(b"orphan")))


def test_a_stop_between_the_sweeps_leaves_everything_unproven_and_says_why(tmp_path: Path) -> None:
    twins = three_missing()
    told: list[Suspects] = []
    run = StopsAt("postgres").run
    found = compared(tmp_path, twins, run, on_stable=told.append)
    assert found.why_stopped is WhyStopped.INTERRUPTED
    assert (found.unproven_count, found.counts.total(), found.moving_count) == (3, 0, 0)
    assert (twins.redis.scan_count, run.rest_count, told) == (0, 0, [])
    assert not found.is_whole


def test_a_stop_while_names_are_listed_leaves_what_was_seen_unproven(tmp_path: Path) -> None:
    twins = three_missing()
    run = StopsAt("redis").run
    found = compared(tmp_path, twins, run)
    assert found.why_stopped is WhyStopped.INTERRUPTED
    assert (found.unproven_count, found.counts.total(), run.rest_count) == (3, 0, 0)
    assert twins.redis.scan_count == 0


def test_a_stop_in_the_second_sweep_leaves_what_both_saw_unproven(tmp_path: Path) -> None:
    run = StopsAt("redis", nth=2).run
    found = compared(tmp_path, three_missing(), run)
    assert found.why_stopped is WhyStopped.INTERRUPTED
    assert (found.unproven_count, found.counts.total(), run.rest_count) == (4, 0, 0)


def test_a_stop_while_waiting_leaves_everything_unproven(tmp_path: Path) -> None:
    run = Meanwhile()
    run.happens = lambda: run.stop.ask(WhyStopped.TERMINATED)
    found = compared(tmp_path, three_missing(), run)
    assert found.why_stopped is WhyStopped.TERMINATED
    assert (found.unproven_count, found.counts.total()) == (4, 0)


def test_a_stop_between_two_portions_keeps_what_was_looked_at(tmp_path: Path) -> None:
    run = Meanwhile()

    def interrupt(_: Suspects) -> None:
        run.stop.ask(WhyStopped.INTERRUPTED)

    found = compared(tmp_path, three_missing(), run, on_stable=interrupt)
    assert found.why_stopped is WhyStopped.INTERRUPTED
    assert (found.counts, found.unproven_count) == ({Difference.MISSING: 3}, 1)


def test_a_deadline_is_a_reason_too(tmp_path: Path) -> None:
    found = compared(tmp_path, three_missing(), Meanwhile(max_duration=timedelta(0)))
    assert found.why_stopped is WhyStopped.DEADLINE
    assert (found.unproven_count, found.counts.total()) == (3, 0)


@pytest.mark.parametrize("side", ["postgres", "redis"])
def test_a_store_that_cannot_be_read_to_its_end_is_an_error(tmp_path: Path, side: str) -> None:
    twins = three_missing()
    getattr(twins, side).fails_after = Unreachable("gone")
    told: list[Suspects] = []
    with pytest.raises(Unreachable, match="gone"):
        compared(tmp_path, twins, on_stable=told.append)
    assert told == []

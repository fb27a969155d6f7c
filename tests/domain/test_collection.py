"""Steps add up, in any order and grouping."""

from __future__ import annotations

from datetime import timedelta
from functools import reduce
from operator import add

from hypothesis import given, settings
from hypothesis import strategies as st

from idemctl.domain.collection import Chunk, Collection, add_collections
from idemctl.domain.instants import MISSING
from idemctl.domain.retention import Promise, Tally, Verdict

COUNTS = (
    "candidates",
    "deleted",
    "children_deleted",
    "skipped_locked",
    "changed_meanwhile",
    "failed",
)

ends = st.just(MISSING) | st.integers(-(10**15), 10**15)
tallies = st.lists(
    st.builds(
        Tally,
        verdict=st.sampled_from(Verdict),
        promise=st.sampled_from(Promise),
        count=st.integers(0, 100),
        oldest=ends,
        newest=ends,
    ),
    max_size=4,
).map(tuple)
chunks = st.lists(
    st.builds(
        Chunk,
        part=st.just("leaf"),
        took=st.just(timedelta(0)),
        held_for=st.integers(0, 10**6).map(lambda micros: timedelta(microseconds=micros)),
        tallies=tallies,
        trouble=st.sampled_from([None, "locked", "timed out"]),
        **{name: st.integers(0, 50) for name in COUNTS},
    ),
    max_size=8,
)


def total(steps: list[Chunk]) -> Collection:
    return reduce(Collection.plus, steps, Collection())


def test_nothing_is_the_sum_of_no_steps() -> None:
    assert add_collections([]) == Collection() == total([])
    assert Collection().protected == 0


@settings(max_examples=40)
@given(chunks, st.integers(0, 8))
def test_the_parts_of_a_walk_add_up_to_the_whole(steps: list[Chunk], at: int) -> None:
    parts = [total(steps[:at]), total(steps[at:])]
    assert add_collections(parts) == add(*parts) == total(steps)


@settings(max_examples=40)
@given(chunks)
def test_counts_do_not_depend_on_the_order_of_steps(steps: list[Chunk]) -> None:
    there, back = total(steps), total(steps[::-1])
    assert there.tallies == back.tallies
    assert set(there.troubles) == set(back.troubles)
    for name in (*COUNTS, "batches", "longest_batch_ms"):
        assert getattr(there, name) == getattr(back, name), name


@settings(max_examples=40)
@given(chunks)
def test_each_count_is_the_sum_of_its_steps(steps: list[Chunk]) -> None:
    whole = total(steps)
    for name in COUNTS:
        assert getattr(whole, name) == sum(getattr(step, name) for step in steps), name
    assert whole.batches == sum(step.deleted > 0 for step in steps)
    written = [step.held_for for step in steps]
    assert whole.longest_batch_ms == max(
        (held_for.total_seconds() * 1000 for held_for in written), default=0.0
    )
    for verdict in Verdict:
        assert whole.count(verdict) == sum(
            one.count for step in steps for one in step.tallies if one.verdict is verdict
        )


def test_a_step_wrote_only_when_it_deleted() -> None:
    look = Chunk(part="leaf", took=timedelta(seconds=1), candidates=9, skipped_locked=9)
    assert not look.wrote
    assert total([look]).longest_batch_ms == 0.0
    assert total([look]).batches == 0


def test_troubles_are_named_once_in_the_order_in_which_they_came() -> None:
    steps = [
        Chunk(part="leaf", took=timedelta(0), trouble=trouble)
        for trouble in ("second", "first", "second", None)
    ]
    assert total(steps).troubles == ("second", "first")


def test_protected_is_what_is_past_its_promise_and_kept_all_the_same() -> None:
    seen = tuple(
        Tally(verdict=verdict, promise=Promise.STORED_EXPIRY, count=10 ** int(verdict))
        for verdict in Verdict
    )
    assert Collection(tallies=seen).protected == 10**3 + 10**5 + 10**8

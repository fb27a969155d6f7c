"""A roll call finds every name that only one of two walks met, and keeps none of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.roll import BUCKETS, KEY_BYTES, Roll, marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

KEY = b"k" * KEY_BYTES
NAMES = [b"idem:acme:%d" % number for number in range(1000)]


def left_over(judged: Iterable[Sequence[bytes]], listed: Iterable[Sequence[bytes]]) -> set[bytes]:
    """Call the roll in portions; give the names of either walk that have to be looked at."""
    judged, listed = list(judged), list(listed)
    roll = Roll()
    for some in judged:
        roll.judged(marks(some, KEY))
    for some in listed:
        roll.listed(marks(some, KEY))
    uneven = roll.uneven(KEY)
    everything = {name for some in (*judged, *listed) for name in some}
    return set() if uneven is None else set(uneven.names(sorted(everything)))


def test_the_same_names_in_another_order_and_other_portions_leave_nothing() -> None:
    assert left_over([NAMES], [NAMES[700:], [], NAMES[:700]]) == set()
    assert left_over([], []) == set()


@pytest.mark.parametrize(
    ("judged", "listed"),
    [
        (NAMES, NAMES[1:]),
        (NAMES[1:], NAMES),
        (NAMES, [*NAMES, NAMES[0]]),
        ([*NAMES, NAMES[0]], NAMES),
        # As many on both sides: who only counts sees nothing.
        (NAMES[1:], [NAMES[0], *NAMES[2:]]),
    ],
    ids=["gone", "new", "listed twice", "judged twice", "exchanged"],
)
def test_a_name_that_one_walk_met_more_often_is_left_over(
    judged: list[bytes], listed: list[bytes]
) -> None:
    odd = set(Counter(judged) - Counter(listed)) | set(Counter(listed) - Counter(judged))
    left = left_over([judged], [listed])
    assert odd <= left
    # Of a thousand others, one in a thousand shares a bucket with it.
    assert len(left - odd) <= 20


@given(st.sets(st.binary(max_size=40)), st.sets(st.binary(max_size=40)))
def test_whatever_names_there_are_no_difference_is_lost(one: set[bytes], other: set[bytes]) -> None:
    assert one ^ other <= left_over([sorted(one)], [sorted(other)])


def test_marks_are_those_of_their_key() -> None:
    assert np.array_equal(marks(NAMES, KEY), marks(NAMES, KEY))
    assert not (marks(NAMES, KEY) == marks(NAMES, b"l" * KEY_BYTES)).any()
    assert marks([], KEY).shape == (0, 2)


def test_names_are_spread_over_all_buckets() -> None:
    names = [b"%d" % number for number in range(20_000)]
    buckets = marks(names, KEY)[:, 0] % BUCKETS
    counts = np.bincount((buckets // (BUCKETS // 16)).astype(np.intp), minlength=16)
    assert counts.min() > 1000
    assert len(np.unique(buckets)) > 19_000

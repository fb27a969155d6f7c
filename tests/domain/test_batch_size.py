"""A batch grows slowly and shrinks at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.batch_size import BatchSize

TARGET = timedelta(milliseconds=10)
QUICK, FAIR, SLOW = TARGET / 2, TARGET * 1.5, TARGET * 2 + timedelta(microseconds=1)


def size(current: int, largest: int = 1000) -> BatchSize:
    return BatchSize(current=current, largest=largest, target=TARGET)


@pytest.mark.parametrize(
    ("took", "expected"),
    [
        (timedelta(0), 150),
        (QUICK, 150),
        (TARGET, 100),
        (FAIR, 100),
        (TARGET * 2, 100),
        (SLOW, 50),
        (timedelta(seconds=9), 50),
    ],
)
def test_a_statement_that_took_so_long_makes_the_next_batch_so_large(
    took: timedelta, expected: int
) -> None:
    batch = size(100)
    batch.after(took)
    assert batch.current == expected


def test_growth_ends_at_the_largest() -> None:
    batch = size(900)
    batch.after(QUICK)
    assert batch.current == 1000
    batch.after(QUICK)
    assert batch.current == 1000


def test_growth_is_cautious_for_good_once_a_batch_was_too_large() -> None:
    batch = size(100)
    batch.halve()
    assert batch.current == 50
    batch.after(QUICK)
    assert batch.current == 55
    for _ in range(3):
        batch.after(QUICK)
    assert batch.current == 55 + 5 + 6 + 6


def test_the_smallest_batch_is_one_and_grows_again() -> None:
    batch = size(3)
    batch.halve()
    assert batch.is_smallest
    batch.halve()
    assert batch.current == 1
    batch.after(QUICK)
    assert batch.current == 2
    assert not batch.is_smallest


@given(
    st.integers(1, 1000),
    st.lists(st.sampled_from([timedelta(0), QUICK, TARGET, FAIR, SLOW, None]), max_size=60),
)
def test_a_batch_never_leaves_its_bounds(first: int, story: list[timedelta | None]) -> None:
    batch = size(first)
    for took in story:
        if took is None:
            batch.halve()
        else:
            batch.after(took)
        assert 1 <= batch.current <= 1000

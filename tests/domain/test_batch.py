"""Some records of a batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.batch import Batch
from tests.domain.batches import batch

NUMBERS = st.lists(st.integers(0, 9), max_size=9)


def numbered(count: int) -> Batch:
    """Give records that carry their number in every column."""
    names = [name for name in Batch.__slots__ if name not in {"status", "flaw"}]
    texts = {"keys", "scopes", "endpoints", "fingerprints"}
    return batch(
        *(
            {name: b"%d" % at if name in texts else at for name in names} | {"status": at % 5}
            for at in range(count)
        )
    )


@given(NUMBERS)
def test_records_are_taken_whole_and_in_the_order_asked_for(rows: list[int]) -> None:
    whole = numbered(10)
    taken = whole.take(np.array(rows, np.intp))
    assert len(taken) == len(rows)
    assert [taken.record(at) for at in range(len(rows))] == [whole.record(row) for row in rows]
    for name in Batch.__slots__:
        column, before = getattr(taken, name), getattr(whole, name)
        assert [column[at] for at in range(len(rows))] == [before[row] for row in rows]
        assert getattr(column, "dtype", None) == getattr(before, "dtype", None)


def test_columns_that_are_tuples_are_taken_from_too() -> None:
    # So they come out of Postgres.
    whole = replace(numbered(3), keys=(b"a", b"b", b"c"))
    assert list(whole.take(np.array([2, 0])).keys) == [b"c", b"a"]

"""The order that covers a range evenly."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.spread import spread


@given(st.integers(0, 5_000))
def test_every_number_comes_once_and_the_last_one_first(count: int) -> None:
    order = list(spread(count))
    assert sorted(order) == list(range(count))
    assert order[:1] == [count - 1][:count]


# Of fewer, a sample takes so many that no gap matters.
@given(st.integers(2_000, 20_000), st.integers(10, 100))
def test_however_early_one_stops_no_gap_of_many_is_wide(count: int, stopped_after: int) -> None:
    taken = sorted(number for number, _ in zip(spread(count), range(stopped_after), strict=False))
    bounds = zip([-1, *taken], [*taken, count], strict=True)
    assert max(after - before for before, after in bounds) <= 5 * count / stopped_after + 1

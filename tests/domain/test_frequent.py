"""The names that most records have."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from idemctl.domain import frequent
from idemctl.domain.frequent import Frequent


def counted(names: list[bytes], at_once: int = 1_000) -> Frequent:
    made = Frequent()
    for at in range(0, len(names), at_once):
        made.add(names[at : at + at_once])
    return made


def test_few_names_are_counted_exactly() -> None:
    made = counted([b"a"] * 5 + [b"b"] * 7 + [b""] * 9 + [b"c"], at_once=4)
    assert made.most(2) == [(b"b", 7), (b"a", 5)]
    assert (made.named, made.missed) == (13, 0)


def test_names_of_as_many_records_come_in_the_order_of_their_bytes() -> None:
    assert counted([b"b", b"a", b"c"]).most(9) == [(b"a", 1), (b"b", 1), (b"c", 1)]


@pytest.mark.parametrize("seed", range(5))
def test_among_very_many_names_the_frequent_ones_are_found_and_never_counted_too_high(
    seed: int,
) -> None:
    dice = random.Random(seed)
    names = [b"tenant-%d" % dice.randrange(10**6) for _ in range(60_000)]
    names += [b"big"] * 9_000 + [b"\xff\x00"] * 5_000
    dice.shuffle(names)
    made, true = counted(names), Counter(names)
    assert [name for name, _ in made.most(2)] == [b"big", b"\xff\x00"]
    assert 0 < made.missed <= 2 * len(names) / frequent._KEPT
    for name, count in made.most(100):
        assert count <= true[name] <= count + made.missed
    assert len(made._counts) <= frequent._MOST


def test_a_name_of_any_length_takes_no_memory() -> None:
    made = counted([b"x" * 10**6, b"a"])
    assert (made.most(9), made.named) == ([(b"a", 1)], 2)

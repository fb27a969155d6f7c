"""Steps of a sweep add up, and a digest tells one version from another."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.differences import Difference
from idemctl.domain.instants import MISSING
from idemctl.domain.records import Flaw, Status
from idemctl.domain.sweeps import Suspects, Swept, Totals, digest, of_pairs
from tests.domain.batches import at, batch

RECORD = {
    "status": Status.IN_PROGRESS,
    "fence": 5,
    "epoch": 1,
    "expires_at": at(1000),
    "lease_until": at(60),
    "response_status": MISSING,
    "fingerprints": b"f",
    "key_expires_at": at(900),
}


def suspects(*differences: Difference) -> Suspects:
    count = len(differences)
    return Suspects(
        keys=[b"key-%d" % number for number in range(count)],
        scopes=[b"scope-%d" % number for number in range(count)],
        difference=np.array(differences, np.uint8),
        versions=np.arange(count, dtype=np.uint64) + np.uint64(100),
    )


def test_some_suspects_are_taken_in_the_order_asked_for() -> None:
    some = suspects(Difference.MISSING, Difference.ORPHAN, Difference.STALE)
    taken = some.take(np.array([2, 0]))
    assert (len(some), len(taken)) == (3, 2)
    assert (taken.keys, taken.scopes) == ([b"key-2", b"key-0"], [b"scope-2", b"scope-0"])
    assert taken.difference.tolist() == [Difference.STALE, Difference.MISSING]
    assert taken.versions.tolist() == [102, 100]
    assert len(some.take(np.array([], np.intp))) == 0


def test_steps_add_up_and_the_longest_hold_stays() -> None:
    steps = [
        Swept(part="a", postgres_scanned=10, equal=7, held_for=timedelta(milliseconds=3)),
        Swept(
            part="b",
            redis_scanned=4,
            suspects=(
                suspects(Difference.MISSING, Difference.ORPHAN),
                suspects(Difference.MISSING),
            ),
        ),
        Swept(part="c", postgres_scanned=1, filled=2, held_for=timedelta(milliseconds=2.5)),
        Swept(part="d", suspects=(suspects(Difference.ORPHAN, Difference.LEAKED),)),
    ]
    totals = Totals()
    for step in steps:
        totals = totals.plus(step)
    assert totals == Totals(
        postgres_scanned=11,
        redis_scanned=4,
        equal=7,
        filled=2,
        longest_hold_ms=3.0,
        seen={Difference.MISSING: 2, Difference.ORPHAN: 2, Difference.LEAKED: 1},
    )


counts = st.integers(0, 10**9)
steps = st.builds(
    Swept,
    part=st.just("part"),
    postgres_scanned=counts,
    redis_scanned=counts,
    equal=counts,
    filled=counts,
    held_for=st.timedeltas(timedelta(0), timedelta(seconds=9)),
    suspects=st.lists(st.lists(st.sampled_from(Difference)).map(lambda one: suspects(*one))).map(
        tuple
    ),
)


@given(st.lists(steps, max_size=5), st.randoms())
def test_the_order_of_steps_changes_no_sum(some: list[Swept], chance: Any) -> None:
    def added(one_by_one: list[Swept]) -> Totals:
        totals = Totals()
        for step in one_by_one:
            totals = totals.plus(step)
        return totals

    shuffled = list(some)
    chance.shuffle(shuffled)
    assert added(shuffled) == added(some)
    suspected = sum(len(part) for step in some for part in step.suspects)
    assert sum(added(some).seen.values()) == suspected


@pytest.mark.parametrize(
    "change",
    [
        {"status": Status.COMPLETED},
        {"fence": 6},
        {"fence": MISSING},
        {"epoch": 2},
        {"epoch": MISSING},
        {"expires_at": at(2000)},
        {"expires_at": MISSING},
        {"lease_until": at(61)},
        {"lease_until": MISSING},
        {"response_status": 201},
        {"fingerprints": b"g"},
        {"fingerprints": b""},
        {"flaw": Flaw.NO_STATUS},
        {"key_expires_at": MISSING},
    ],
    ids=str,
)
def test_another_version_has_another_digest(change: dict[str, Any]) -> None:
    one, other = digest(batch(RECORD, RECORD | change)).tolist()
    assert one != other


@pytest.mark.parametrize(
    "change",
    [{"key_expires_at": at(901)}, {"size": 12}, {"keys": b"other"}],
    ids=str,
)
def test_what_is_no_part_of_the_version_changes_no_digest(change: dict[str, Any]) -> None:
    one, other = digest(batch(RECORD, RECORD | change)).tolist()
    assert one == other


def test_an_expiry_that_was_counted_from_a_ttl_wavers_and_changes_no_digest() -> None:
    # Redis before 7 tells no instant, and what stores no expiry of its own has the key's.
    flag, again = (
        {"status": Status.UNKNOWN, "expires_at": at(seconds), "key_expires_at": at(seconds)}
        for seconds in (910, 910.003)
    )
    one, other = digest(batch(flag, again)).tolist()
    assert one == other


columns = st.fixed_dictionaries(
    {
        "status": st.sampled_from(Status),
        "fence": st.integers(MISSING, 2**63 - 1),
        "epoch": st.integers(MISSING, 2**63 - 1),
        "expires_at": st.integers(MISSING, 2**63 - 1),
        "fingerprints": st.binary(max_size=8),
    }
)


@given(st.lists(columns, min_size=1, max_size=9), st.data())
def test_a_digest_is_the_record_s_own_whatever_lies_beside_it(
    records: list[dict[str, Any]], data: st.DataObject
) -> None:
    rows = np.array(data.draw(st.lists(st.integers(0, len(records) - 1))), np.intp)
    whole = batch(*records)
    assert digest(whole.take(rows)).tolist() == digest(whole)[rows].tolist()


@given(columns, columns, columns)
def test_a_pair_of_twins_has_another_digest_when_either_changes_or_goes(
    ours: dict[str, Any], theirs: dict[str, Any], new: dict[str, Any]
) -> None:
    def pair(*sides: dict[str, Any] | None) -> int:
        none = np.array([], np.intp)
        placed = [
            (batch(), none) if side is None else (batch(side), np.array([0])) for side in sides
        ]
        return int(of_pairs(1, *placed)[0])

    before = pair(ours, theirs)
    assert pair(ours, theirs) == before
    assert pair(None, theirs) != before
    assert pair(ours, None) != before
    assert pair(None, None) != before
    assert (pair(new, theirs) == before) == (digest(batch(new))[0] == digest(batch(ours))[0])
    assert (pair(ours, new) == before) == (digest(batch(new))[0] == digest(batch(theirs))[0])


def test_the_twins_of_many_pairs_are_put_where_they_belong() -> None:
    ours = batch({"fence": 1}, {"fence": 2})
    theirs = batch({"fence": 3}, {"fence": 4})
    one = of_pairs(3, (ours, np.array([0, 2])), (theirs, np.array([1, 2])))
    # The same pairs, found in another order.
    turned = np.array([1, 0])
    other = of_pairs(3, (ours.take(turned), np.array([2, 0])), (theirs, np.array([1, 2])))
    assert one.tolist() == other.tolist()
    assert len(set(one.tolist())) == 3
    # The sides are two: the same records the other way round are another pair.
    assert (
        of_pairs(3, (theirs, np.array([1, 2])), (ours, np.array([0, 2]))).tolist() != one.tolist()
    )

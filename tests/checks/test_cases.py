"""Every code of the registry, on a place where it must fire and on one where it must not."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from idemctl.checks.check import Source
from idemctl.checks.examination import Examination
from idemctl.checks.registry import BY_CODE, CHECKS
from idemctl.domain.instants import to_micros
from idemctl.domain.keys import escape
from idemctl.domain.records import Status
from idemctl.run import comparison
from idemctl.state.folder import StateFolder
from idemctl.state.repeats import Repeats
from idemctl.state.suspects import SuspectsFile
from tests.checks.cases import AROUND, PAIRS, RECORDS, uuid
from tests.checks.places import OUTBOX, POSTGRES
from tests.domain.batches import NOW, at, batch
from tests.run import test_locks
from tests.run.twins import Meanwhile, Named, Side, Twins, record, twin
from tests.stores.postgres import test_order, test_steps

if TYPE_CHECKING:
    from pathlib import Path

    from idemctl.checks.check import Facts
    from idemctl.domain.findings import Finding
    from tests.checks.cases import Around, Pair, Records, Row

BATCH = 50
PLANTED = {1, 13, 25, 37}
"""The rows of each batch that are faulty."""
NUMBERS = [number for number in range(3 * BATCH) if number % BATCH in PLANTED]
LOOKED_AT_TWICE = {
    "lock-outlives-record": (
        test_locks.test_a_lock_that_stays_beside_its_record_is_forgotten,
        test_locks.test_what_a_retry_takes_for_a_moment_is_not,
    ),
}
"""What one look does not show, by the tests of both kinds."""
ON_REAL_TABLES = {
    "workflow-step-repeated": test_steps.test_only_a_step_that_was_done_twice_counts,
    "outbox-overtaken": test_order.test_only_what_waits_while_a_later_one_has_gone_counts,
}
"""What a single server can show, by the test that has both kinds of rows."""


def codes_of(*sources: Source) -> set[str]:
    return {one.code for one in CHECKS if one.source in sources}


def test_no_code_is_without_its_case() -> None:
    assert set(RECORDS) == codes_of(Source.RECORDS)
    assert set(AROUND) == codes_of(
        Source.CIRCUMSTANCES, Source.CLOCKS, Source.HEADERS, Source.WITNESS
    )
    assert set(PAIRS) == codes_of(Source.TWINS)
    assert set(REPEATS) == codes_of(Source.REPEATS)
    assert set(ON_REAL_TABLES) == codes_of(Source.CHILD, Source.ORDER)
    assert set(LOOKED_AT_TWICE) == codes_of(Source.LOCKS)
    looked_at = {*RECORDS, *LOOKED_AT_TWICE, *AROUND, *PAIRS, *ON_REAL_TABLES, *REPEATS}
    assert looked_at == codes_of(*Source)


def seen(case: Records, *, is_faulty: bool) -> dict[str, Finding]:
    made = Examination(case.facts, CHECKS)
    for start in range(0, 3 * BATCH, BATCH):
        rows = [
            {"keys": case.key(number)} | case.faulty
            if is_faulty and number in NUMBERS
            else {"keys": case.near_key(number)} | case.near
            for number in range(start, start + BATCH)
        ]
        made.see(batch(*rows), to_micros(NOW))
    return {one.code: one for one in made.findings("payments", "here")}


@pytest.mark.parametrize("code", RECORDS)
def test_faulty_records_are_counted_and_shown_and_their_neighbours_are_not(code: str) -> None:
    case = RECORDS[code]
    found, otherwise = seen(case, is_faulty=True), seen(case, is_faulty=False)
    assert found.keys() - otherwise.keys() == {code}
    assert code not in otherwise
    assert found[code].count == len(NUMBERS)
    assert [one["key"] for one in found[code].sample] == [
        escape(case.key(number)) for number in NUMBERS[:5]
    ]


def considered(case: Around, *, is_faulty: bool) -> dict[str, Finding]:
    made = Examination(case.facts, [one for one in CHECKS if one.source is case.source])
    made.consider(case.faulty if is_faulty else case.near, case.source)
    assert made.cannot_judge == []
    return {one.code: one for one in made.findings("payments", "here")}


@pytest.mark.parametrize("code", AROUND)
def test_a_fault_around_the_records_is_counted_and_its_neighbour_is_not(code: str) -> None:
    case = AROUND[code]
    found, otherwise = considered(case, is_faulty=True), considered(case, is_faulty=False)
    assert found.keys() - otherwise.keys() == {code}
    assert code not in otherwise
    assert found[code].count == case.count
    assert tuple(one["key"] for one in found[code].sample) == case.sample


def pair_of(faulty: Pair, near: Pair, *, is_faulty: bool) -> Twins:
    said = [
        (uuid(number), faulty if is_faulty and number in NUMBERS else near)
        for number in range(3 * BATCH)
    ]
    return Twins(
        Side(*(record(key, **one.postgres) for key, one in said if one.postgres is not None)),
        Side(*(twin(key, **one.redis) for key, one in said if one.redis is not None)),
    )


@pytest.mark.parametrize("code", PAIRS)
def test_twins_that_differ_are_counted_and_shown_and_those_that_nearly_do_are_not(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "_SETTLE", timedelta(0))
    for is_faulty in (True, False):
        twins = pair_of(*PAIRS[code], is_faulty=is_faulty)
        with SuspectsFile(StateFolder(tmp_path), most=1000) as suspects:
            found = comparison.compare(Named().pair, twins.opened, Meanwhile(), suspects)
        counted = {one.label: count for one, count in found.counts.items()}
        shown = {one.label: {key for key, _ in kept} for one, kept in found.kept.items()}
        assert counted == ({code: len(NUMBERS)} if is_faulty else {})
        assert shown == ({code: set(map(uuid, NUMBERS))} if is_faulty else {})


CHARGES, REFUNDS = b"POST /v1/charges", b"POST /v1/refunds"
REPEATS: dict[str, tuple[Facts, Row, Row, Row]] = {
    "key-on-two-endpoints": (
        POSTGRES, {"endpoints": CHARGES}, {"endpoints": REFUNDS}, {"endpoints": CHARGES},
    ),
    "outbox-dispatched-twice": (
        OUTBOX,
        {"counted_from": at(-60)},
        {"counted_from": at(-30)},
        {"counted_from": at(-30), "status": Status.IN_PROGRESS},
    ),
}  # fmt: skip
"""Where, every record, a second one of the same key that is faulty, and one that is not."""


@pytest.mark.parametrize("code", REPEATS)
def test_keys_that_records_of_several_groups_have_are_shown(code: str, tmp_path: Path) -> None:
    facts, first, faulty, near = REPEATS[code]
    group = Examination(facts, CHECKS).group
    assert group == BY_CODE[code].group
    assert group is not None
    for second, expected in ((faulty, set(map(uuid, NUMBERS))), (near, set())):
        with Repeats(StateFolder(tmp_path)) as repeats:
            for more, numbers in ((first, range(3 * BATCH)), (second, NUMBERS)):
                one = batch(*({"keys": uuid(number)} | more for number in numbers))
                repeats.add(one.keys, group(one))
            assert set(repeats.found()) == expected

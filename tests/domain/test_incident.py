"""What two signs say happened, on evidence made by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idemctl.domain.incident import (
    Account,
    BlindWindow,
    Border,
    Evidence,
    Sign,
    Verdict,
    blind_window,
    find_border,
    together,
)

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
LOST = Border(lost_after=NOW - 10 * MINUTE, lost_before=NOW - 9 * MINUTE)
EMPTY_SINCE = Border(lost_after=NOW - 10 * MINUTE, lost_before=None)
QUIET = Account(uptime=30 * DAY, flush_calls=0, evicted_keys=0, used_memory=10, maxmemory=100)
FLUSHED = Account(uptime=30 * DAY, flush_calls=1, evicted_keys=0, used_memory=10, maxmemory=100)
EVICTS = Account(uptime=30 * DAY, flush_calls=0, evicted_keys=5, used_memory=99, maxmemory=100)
SILENT = Account()


def started(ago: timedelta) -> Account:
    return Account(uptime=ago, flush_calls=0, evicted_keys=0, loaded_keys=0)


@dataclass(frozen=True, kw_only=True)
class Case:
    """Evidence, and what it comes to."""

    name: str
    missing: int
    verdict: Verdict
    signs: tuple[Sign, ...] = ()
    sampled: int = 1000
    border: Border | None = None
    account: Account = QUIET

    @property
    def evidence(self) -> Evidence:
        return Evidence(
            sampled=self.sampled,
            missing=self.missing,
            border=self.border,
            account=self.account,
            at=NOW,
        )


BOTH = (Sign.PAIR, Sign.SERVER)
CASES = [
    Case(name="all is there", missing=0, verdict=Verdict.NORMAL),
    Case(name="a few are on their way", missing=10, verdict=Verdict.NORMAL),
    Case(name="a flush of long ago", missing=0, account=FLUSHED, verdict=Verdict.NORMAL),
    Case(name="few records, all there", sampled=3, missing=0, verdict=Verdict.NORMAL),
    Case(
        name="missing by age, and a flush was counted",
        missing=900,
        border=LOST,
        account=FLUSHED,
        verdict=Verdict.FLUSHED,
        signs=BOTH,
    ),
    Case(
        name="nothing is left, and a flush was counted",
        missing=1000,
        border=EMPTY_SINCE,
        account=FLUSHED,
        verdict=Verdict.FLUSHED,
        signs=BOTH,
    ),
    Case(
        name="the server started when the records were lost",
        missing=900,
        border=LOST,
        account=started(9.5 * MINUTE),
        verdict=Verdict.FLUSHED,
        signs=BOTH,
    ),
    Case(
        name="the server started long before",
        missing=900,
        border=LOST,
        account=started(30 * MINUTE),
        verdict=Verdict.SUSPECTED,
        signs=(Sign.PAIR,),
    ),
    Case(
        name="the server started since, and kept its data",
        missing=900,
        border=LOST,
        account=started(2 * MINUTE),
        verdict=Verdict.SUSPECTED,
        signs=(Sign.PAIR,),
    ),
    Case(
        name="missing by age, and the counters were reset",
        missing=900,
        border=LOST,
        verdict=Verdict.SUSPECTED,
        signs=(Sign.PAIR,),
    ),
    Case(
        name="missing by age, and the server may not be asked",
        missing=900,
        border=LOST,
        account=SILENT,
        verdict=Verdict.SUSPECTED,
        signs=(Sign.PAIR,),
    ),
    Case(
        name="flushed, and a part has come back",
        missing=400,
        account=FLUSHED,
        verdict=Verdict.SUSPECTED,
        signs=(Sign.SERVER,),
    ),
    Case(
        name="the oldest are evicted",
        missing=400,
        border=LOST,
        account=EVICTS,
        verdict=Verdict.EVICTED,
        signs=(Sign.PAIR,),
    ),
    Case(
        name="the oldest are evicted, and a flush was counted a month ago",
        missing=400,
        border=LOST,
        account=Account(
            uptime=30 * DAY, flush_calls=1, evicted_keys=5, used_memory=99, maxmemory=100
        ),
        verdict=Verdict.EVICTED,
        signs=(Sign.PAIR,),
    ),
    Case(
        name="flushed, where keys were evicted before",
        missing=900,
        border=LOST,
        account=Account(
            uptime=30 * DAY, flush_calls=1, evicted_keys=5, used_memory=9, maxmemory=100
        ),
        verdict=Verdict.FLUSHED,
        signs=BOTH,
    ),
    Case(name="any are evicted", missing=50, account=EVICTS, verdict=Verdict.EVICTED),
    Case(name="nothing explains it", missing=50, verdict=Verdict.INCOMPLETE),
    Case(name="too few to judge by", sampled=5, missing=3, verdict=Verdict.UNKNOWN),
    Case(
        name="nothing to judge by, and a flush was counted",
        sampled=0,
        missing=0,
        account=FLUSHED,
        verdict=Verdict.UNKNOWN,
    ),
    Case(
        name="the server is loading",
        missing=1000,
        border=EMPTY_SINCE,
        account=Account(flush_calls=1, is_loading=True),
        verdict=Verdict.UNKNOWN,
        signs=BOTH,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_evidence_comes_to_its_verdict(case: Case) -> None:
    assert case.evidence.verdict is case.verdict
    assert case.evidence.signs == case.signs


def test_one_sign_alone_calls_an_eviction_or_an_old_flush_a_flush() -> None:
    """The control: what either sign says alone is wrong here, and both together are right."""
    evicted = next(case for case in CASES if case.name == "the oldest are evicted").evidence
    assert evicted.border is not None
    assert evicted.verdict is Verdict.EVICTED

    old = next(case for case in CASES if case.name == "a flush of long ago").evidence
    assert old.account.flush_calls
    assert old.verdict is Verdict.NORMAL


@pytest.mark.parametrize(
    ("missing", "changes", "expected"),
    [
        (1000, {"key_count": 7}, True),
        (999, {"key_count": 7}, False),
        (0, {"key_count": 7}, False),
        # A server that is empty may have lost everything; of one that says nothing, who knows?
        (1000, {"key_count": 0}, False),
        (1000, {}, True),
        (1000, {"flush_calls": 1}, False),
        (1000, {"key_count": 7, "flush_calls": 1}, False),
        (1000, {"key_count": 7, "uptime": MINUTE}, False),
    ],
)
def test_nothing_found_beside_keys_of_others_is_no_loss_unless_the_server_tells_of_one(
    missing: int, changes: dict[str, Any], expected: bool
) -> None:
    account = replace(QUIET, **changes)
    border = Border(lost_after=NOW - 10 * MINUTE, lost_before=None) if missing else None
    evidence = Evidence(sampled=1000, missing=missing, border=border, account=account, at=NOW)
    assert evidence.is_unexplained_void is expected


def test_facts_are_flat_and_say_none_where_nothing_is_known() -> None:
    facts = Evidence(sampled=0, missing=0, at=NOW).facts()
    assert {type(value) for value in facts.values()} <= {str, int, float, bool, type(None)}
    unknown = {name for name, value in facts.items() if value is None}
    assert unknown == {
        *("missing_share", "lost_after", "lost_before", "flush_calls", "uptime_seconds"),
        *("loaded_keys", "evicted_keys", "used_memory", "maxmemory"),
    }
    told = Evidence(sampled=3, missing=1, border=LOST, account=FLUSHED, at=NOW).facts()
    assert told["missing_share"] == 0.3333
    assert told["lost_after"] == "2026-11-29T11:50:00.000Z"
    assert told["uptime_seconds"] == 30 * 86_400


LOSS = Evidence(sampled=9, missing=9, border=LOST, account=FLUSHED, at=NOW)
OPEN = BlindWindow(opened_at=LOST.lost_after, closed_at=NOW)


@pytest.mark.parametrize(
    ("write_order", "on_redis_miss", "window"),
    [
        ("postgres-first", "postgres", None),
        ("postgres-first", "proceed", OPEN),
        ("postgres-first", "unknown", OPEN),
        ("redis-first", "postgres", OPEN),
        ("unknown", "postgres", OPEN),
    ],
)
def test_only_who_looks_into_postgres_has_no_blind_window(
    write_order: str, on_redis_miss: str, window: BlindWindow | None
) -> None:
    asked = {"write_order": write_order, "on_redis_miss": on_redis_miss}
    assert blind_window(LOSS, **asked) == window
    assert blind_window(Evidence(sampled=9, missing=0, at=NOW), **asked) is None


def test_a_window_whose_beginning_nobody_knows_says_so() -> None:
    holes = Evidence(sampled=100, missing=50, at=NOW)
    window = blind_window(holes, write_order="unknown", on_redis_miss="proceed")
    assert window == BlindWindow(opened_at=None, closed_at=NOW)


def seconds(*there: bool) -> tuple[list[datetime], list[bool]]:
    return [NOW + timedelta(seconds=at) for at in range(len(there))], list(there)


@given(
    lost=st.integers(10, 300),
    since=st.integers(0, 300),
    returned=st.floats(0, 0.1),
    late=st.integers(0, 2),
    chance=st.randoms(use_true_random=False),
)
def test_a_loss_is_found_within_its_exceptions(
    lost: int, since: int, returned: float, late: int, chance: object
) -> None:
    """Some of what was lost is back, and some of what was written since is on its way.

    Each exception can move the border by two records, and no further.
    """
    there = [False] * lost + [True] * since
    middle = range(1, lost - 1)
    back = chance.sample(middle, int(returned * len(middle)))  # type: ignore[attr-defined]
    for at in back:
        there[at] = True
    missing = chance.sample(range(lost, lost + since), min(late, since))  # type: ignore[attr-defined]
    for at in missing:
        there[at] = False
    written, there = seconds(*there)

    border = find_border(written, there)

    assert border is not None
    moved = written.index(border.lost_after) - (lost - 1)
    assert -2 * len(back) <= moved <= 2 * len(missing)
    assert border.lost_before == next(
        (written[at] for at in range(lost + moved, lost + since)), None
    )


@pytest.mark.parametrize(
    "there",
    [
        [],
        [True] * 100,
        [False] * 9,
        [at % 20 != 7 for at in range(200)],
        [at % 2 == 0 for at in range(200)],
        [True] * 100 + [False] * 100,
    ],
    ids=["nothing", "all there", "too few", "one in twenty", "every second", "the newest"],
)
def test_what_is_missing_otherwise_has_no_border(there: list[bool]) -> None:
    assert find_border(*seconds(*there)) is None


@given(st.lists(st.booleans(), max_size=200))
def test_a_border_lies_between_one_that_is_lost_and_one_that_is_there(there: list[bool]) -> None:
    written, there = seconds(*there)
    border = find_border(written, there)
    if border is None:
        return
    assert not there[written.index(border.lost_after)]
    later = written[written.index(border.lost_after) + 1 :]
    assert border.lost_before == (later[0] if later else None)
    assert not later or there[written.index(later[0])]


def test_the_runs_of_servers_are_one_as_long_as_none_is_another() -> None:
    one, two = Account(run_id="b"), Account(run_id="a")
    assert together([one]).run_id == "b"
    assert together([one, two]).run_id == together([two, one]).run_id == "a,b"
    assert together([one, SILENT]).run_id is None

"""What stops gc before it deletes anything: decisions from numbers that were read before.

A brake refuses, names its numbers, and can be overridden for one run. What it would need to
know and does not, it says; then nothing of it is taken for harmless, and the fixed caps hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from idemctl.domain.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from idemctl.domain.past_runs import PastRun
    from idemctl.domain.policies import Policies
    from idemctl.domain.retention import Retention
    from idemctl.domain.skew import Skew

FEW = 10_000
"""So many records may go of any table."""
MANY = 1_000_000
"""More never go at once, unless that is usual there."""
_SHARE = 0.5
_TIMES_USUAL = 10
_ENOUGH_RUNS = 5
_MOST_SKEW = timedelta(seconds=2)
_MOST_JUMP = timedelta(minutes=5)
_LONG_PAUSE = timedelta(hours=6)
_TIMES_USUAL_PAUSE = 12
_ENOUGH_DAYS = timedelta(days=1)


class Brake(StrEnum):
    """What can stop gc."""

    VOLUME = "volume"
    SHORTER_PROMISE = "shorter-promise"
    SKEW = "skew"
    CLOCK_JUMP = "clock-jump"
    OUTAGE = "outage"


class Ruling(StrEnum):
    """What a brake says."""

    PASSES = "passes"
    REFUSES = "refuses"
    OVERRIDDEN = "overridden"
    """It would refuse, and the operator said to go on."""
    CANNOT_JUDGE = "cannot-judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one brake says of one store, with its numbers."""

    brake: Brake
    ruling: Ruling
    says: str
    seen: float | None = None
    """Records, or seconds."""
    most: float | None = None
    """From what on it refuses."""
    lacks_history: bool = False
    """Whether it cannot judge because too few runs are remembered."""

    @property
    def flag(self) -> str:
        """The words that override it for one run."""
        return f"--despite {self.brake}"

    def despite(self, overridden: Iterable[Brake]) -> Decision:
        """Let the operator's word count."""
        if self.ruling is not Ruling.REFUSES or self.brake not in overridden:
            return self
        return replace(self, ruling=Ruling.OVERRIDDEN)


NOT_COUNTED = Decision(
    brake=Brake.VOLUME, ruling=Ruling.OVERRIDDEN, says="what has expired was not counted first"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """How many records may have expired for gc to go on by itself."""

    count: int
    says: str
    """What that many is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """What gc honours now, for a look at what it honoured before."""

    retention: Retention
    announced: Mapping[str, timedelta] = field(default_factory=dict)
    """Longer ttls that a policy says it gave up, and until when they were owed."""

    @classmethod
    def of(cls, retention: Retention, policies: Policies) -> Promises:
        """Take them from one run's retention and the policies that it came from."""
        given_up = {
            name: policy.previously.ttl
            for name, policy in policies.endpoints.items()
            if policy.previously is not None
        }
        return cls(retention=retention, announced=given_up)


def cap_of(row_count: int | None, past: Sequence[PastRun] | None) -> Cap:
    """Say how many may have expired, by the table's size and by what is usual there.

    Args:
        row_count: about how many rows there are; `None` where nobody knows.
        past: runs on this table; `None` where no history is kept.
    """
    usual = _usual(past)
    most = max(MANY, int(_TIMES_USUAL * (usual or 0)))
    caps = [Cap(count=most, says=f"{most:,} records at once")]
    if row_count is not None:
        half = max(int(row_count * _SHARE), int(2 * (usual or 0)))
        caps.append(Cap(count=half, says=f"half of the table (about {row_count:,} rows)"))
    if usual is not None:
        often = int(_TIMES_USUAL * usual)
        caps.append(Cap(count=often, says=f"{_TIMES_USUAL} times the usual {usual:,.0f} a run"))
    least = min(caps, key=lambda cap: cap.count)
    return Cap(count=max(least.count, FEW), says=least.says)


def judge_volume(
    count: int | None, cap: Cap, past: Sequence[PastRun] | None, *, limit: int | None
) -> Decision:
    """Judge how many records have expired.

    Args:
        count: how many, counted until it was more than the cap; `None` where that failed.
        cap: how many may have.
        past: what the cap was made of.
        limit: how many may go in this run, by the operator's word.
    """
    if limit is not None:
        return _decision(Brake.VOLUME, Ruling.PASSES, f"no more than {limit:,} go", most=limit)
    if count is None:
        says = f"what has expired could not be counted; no more than {cap.count:,} go"
        return _decision(Brake.VOLUME, Ruling.CANNOT_JUDGE, says, most=cap.count)
    if count > cap.count:
        more = f"more than {cap.count:,} records have expired: more than {cap.says}"
        return _decision(Brake.VOLUME, Ruling.REFUSES, more, seen=count, most=cap.count)
    if _usual(past) is None:
        known = "no history is kept" if past is None else f"{len(past)} runs are remembered"
        says = f"what is usual here: {known}, and it takes {_ENOUGH_RUNS}; fixed caps hold"
        return _unknown(Brake.VOLUME, says, seen=count, most=cap.count)
    says = f"{count:,} records have expired"
    return _decision(Brake.VOLUME, Ruling.PASSES, says, seen=count, most=cap.count)


def judge_promises(now: Promises, past: Sequence[PastRun] | None) -> Decision:
    """Judge whether a promise is shorter than the last run honoured, and nobody announced it."""
    brake = Brake.SHORTER_PROMISE
    last = past[-1] if past else None
    if last is None or last.policy_ttls is None:
        return _unknown(brake, "no earlier run tells what was promised")
    shorter = list(_shorter(now, last, last.policy_ttls))
    if not shorter:
        return _decision(brake, Ruling.PASSES, "no promise is shorter than in the last run")
    says = "the last run honoured more: " + ", ".join(shorter)
    return _decision(brake, Ruling.REFUSES, says, seen=len(shorter), most=0)


def judge_skew(ahead: Skew | str) -> Decision:
    """Judge how far the clock of Redis is from that of Postgres, or why nobody could measure."""
    if isinstance(ahead, str):
        return _decision(Brake.SKEW, Ruling.CANNOT_JUDGE, ahead)
    seconds, most = ahead.size.total_seconds(), _MOST_SKEW.total_seconds()
    says = f"the clocks of Postgres and Redis are {seconds:.1f} s apart"
    ruling = Ruling.REFUSES if ahead.size > _MOST_SKEW else Ruling.PASSES
    return _decision(Brake.SKEW, ruling, says, seen=seconds, most=most)


def judge_jump(ahead: timedelta, past: Sequence[PastRun] | None) -> Decision:
    """Judge whether the database's clock moved against this host's since the last run."""
    last = past[-1].clock_ahead if past else None
    if last is None:
        return _unknown(Brake.CLOCK_JUMP, "no earlier run read the clock")
    jump = ahead - last
    seconds, most = abs(jump).total_seconds(), _MOST_JUMP.total_seconds()
    way = "forward" if jump > timedelta(0) else "back"
    says = f"since the last run the database's clock went {seconds:.0f} s {way} against this host's"
    ruling = Ruling.REFUSES if seconds > most else Ruling.PASSES
    return _decision(Brake.CLOCK_JUMP, ruling, says, seen=seconds, most=most)


def judge_pause(cutoff: datetime, past: Sequence[PastRun] | None) -> Decision:
    """Judge whether gc did not run for much longer than usual.

    Whatever kept it from running may have kept clients from retrying, too, and their keys
    went on expiring meanwhile.
    """
    runs = past or ()
    if len(runs) < _ENOUGH_RUNS or runs[-1].cutoff - runs[0].cutoff < _ENOUGH_DAYS:
        says = f"how often gc runs: it takes {_ENOUGH_RUNS} runs over a day to tell"
        return _unknown(Brake.OUTAGE, says)
    pauses = [(b.cutoff - a.cutoff).total_seconds() for a, b in pairwise(runs)]
    usual = timedelta(seconds=median(pauses))
    most = max(_LONG_PAUSE, _TIMES_USUAL_PAUSE * usual)
    pause = cutoff - runs[-1].cutoff
    says = f"the last gc ran {_rough(pause)} ago, usually one runs every {_rough(usual)}"
    if pause > most:
        says += "; clients that could not retry meanwhile still rely on keys that expired"
    return _decision(
        Brake.OUTAGE,
        Ruling.REFUSES if pause > most else Ruling.PASSES,
        says,
        seen=pause.total_seconds(),
        most=most.total_seconds(),
    )


def _shorter(now: Promises, last: PastRun, before: Mapping[str, timedelta]) -> Iterable[str]:
    retention = now.retention
    # Where records have an expiry of their own, the store's ttl speaks for none of them.
    fallback = None if retention.has_stored_expiry else retention.ttl
    if not retention.has_stored_expiry and fallback is not None:
        if last.ttl is None:
            yield f"ttl {format_duration(fallback)} instead of none, which is for ever"
        elif fallback < last.ttl:
            yield f"ttl {format_duration(fallback)} instead of {format_duration(last.ttl)}"
    for endpoint, was in before.items():
        ttl = retention.policy_ttls.get(endpoint.encode("utf-8"))
        owed = fallback if ttl is None else ttl
        if owed is None and not retention.has_stored_expiry:
            # Nothing ends these any more.
            continue
        honoured = max(owed or timedelta(0), now.announced.get(endpoint, timedelta(0)))
        if honoured < was:
            instead = "none" if owed is None else format_duration(owed)
            yield f"policy {endpoint} {instead} instead of {format_duration(was)}"


def _usual(past: Sequence[PastRun] | None) -> float | None:
    if past is None or len(past) < _ENOUGH_RUNS:
        return None
    return median(run.deleted for run in past)


def _rough(length: timedelta) -> str:
    return format_duration(timedelta(seconds=max(1, round(length.total_seconds()))))


def _decision(
    brake: Brake,
    ruling: Ruling,
    says: str,
    *,
    seen: float | None = None,
    most: float | None = None,
) -> Decision:
    return Decision(brake=brake, ruling=ruling, says=says, seen=seen, most=most)


def _unknown(
    brake: Brake, says: str, *, seen: float | None = None, most: float | None = None
) -> Decision:
    decision = _decision(brake, Ruling.CANNOT_JUDGE, says, seen=seen, most=most)
    return replace(decision, lacks_history=True)

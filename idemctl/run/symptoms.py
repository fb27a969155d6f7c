"""Symptoms: what samples of records, servers and logs say of a store, as flat facts.

The checks are audit's own, made on a sample; the logs are counted as `hits` counts them. Each
takes a few seconds at most, and what was not looked at says why.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.checks.check import Source
from idemctl.checks.registry import CHECKS
from idemctl.domain.causes import Cause, cause_of
from idemctl.domain.failures import CODES
from idemctl.domain.traffic import Hit, find_spikes
from idemctl.errors import ExitStatus, IdemctlError
from idemctl.run.examining import Look

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from idemctl.domain.incident import Fact
    from idemctl.domain.secrets import Secret
    from idemctl.domain.traffic import Reading
    from idemctl.run.keeper import Keeper
    from idemctl.run.run import Run
    from idemctl.run.target import Target
    from idemctl.state.repeats import Repeats
    from idemctl.stores.ports import Store

    ReadLog = Callable[[Callable[[], None]], Reading]
    """Counts the lines of a store's logs, and calls what it is handed meanwhile."""

_SAMPLED = 5_000
"""Records of each place that checks look at."""
_BACKLOG_AFTER = timedelta(hours=24)
_LATELY = timedelta(days=1)
_CHECKS = tuple(one for one in CHECKS if one.code in CODES)


class _TooLong(Exception):
    """The logs would take longer than an answer may."""


@dataclass(slots=True, kw_only=True)
class Symptoms:
    """What is known of one store beside the comparison of its sides."""

    facts: dict[str, Fact] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    """What checks found, by their codes, in a sentence each."""
    not_looked_at: list[str] = field(default_factory=list)
    silent: dict[Secret, str] = field(default_factory=dict)
    """What leads to servers that did not answer, and why not."""


def look_for_symptoms(
    sides: Iterable[Target],
    keeper: Keeper | None,
    read_log: ReadLog | None,
    run: Run,
    *,
    is_paired: bool,
    repeats: Callable[[], Repeats],
    within: timedelta,
    silent: Mapping[Secret, str],
) -> Symptoms:
    """Look at samples of one store; what cannot be looked at is no symptom, and is said.

    Args:
        sides: of the store.
        keeper: of its witness; `None` where nobody asks it.
        read_log: `None` where the store has no logs.
        run: asked between steps whether to go on.
        is_paired: whether the sides belong together.
        repeats: makes room for keys that several records have.
        within: how long that may take, about: half of it is for the logs.
        silent: servers that did not answer a moment ago, which are not waited for again.
    """
    found = Symptoms()
    now: datetime | None = None
    for side in sides:
        name = side.engine.value
        with (
            closing(side.opens.open(writable=False)) as store,
            repeats() as room,
            repeats() as locks,
        ):
            clock = _ask_clock(side, store, found, silent)
            if clock is None:
                continue
            now = clock
            try:
                look = Look(
                    side,
                    store,
                    room,
                    locks,
                    is_paired=is_paired,
                    backlog_after=_BACKLOG_AFTER,
                    checks=_CHECKS,
                )
                _sample(look, store, within / 4, run)
                look.consider()
            except IdemctlError as error:
                found.not_looked_at.append(f"{name}: {error.message}")
                continue
            _add(look, found)
    if found.silent:
        found.not_looked_at.append("witness and freeze: a side does not answer")
    elif keeper is not None:
        _ask_witness(keeper, found, run)
    _count(read_log, now or run.started_at, within / 2, found, run)
    return found


def _ask_clock(
    side: Target, store: Store, found: Symptoms, silent: Mapping[Secret, str]
) -> datetime | None:
    """Ask whether a side answers at all, and what time it is there."""
    name, server = side.engine.value, side.server
    fact = f"{name}_unreachable"
    why = None if server is None else silent.get(server)
    if why is None:
        try:
            clock = store.clock()
        except IdemctlError as error:
            why = error.message
            found.facts[fact] = error.status is ExitStatus.UNREACHABLE
        else:
            found.facts[fact] = False
            return clock
    else:
        found.facts[fact] = True
    if found.facts[fact] and server is not None:
        found.silent[server] = why
    found.not_looked_at.append(f"{name}: {why}")
    return None


def _sample(look: Look, store: Store, within: timedelta, run: Run) -> None:
    """Make the checks on some records from everywhere in the store."""
    began = started = time.perf_counter()
    for batch in store.sample():
        look.see(batch)
        now = time.perf_counter()
        is_late = now - began > within.total_seconds()
        if is_late or look.examination.overview.seen_count >= _SAMPLED:
            look.examination.is_sample = True
            return
        run.checkpoint(timedelta(seconds=now - started), len(batch))
        started = time.perf_counter()


def _add(look: Look, found: Symptoms) -> None:
    examination = look.examination
    seen = examination.overview.seen_count
    # What one side cannot show the other may.
    for code in examination.checked:
        found.facts.setdefault(code.replace("-", "_"), 0)
    by_records = set(examination.makes(Source.RECORDS))
    for finding in examination.findings(look.target.store, look.place):
        name = finding.code.replace("-", "_")
        found.facts[name] = int(found.facts.get(name) or 0) + finding.count
        among = f" of {seen:,} looked at" if finding.code in by_records else ""
        said = f"{finding.code}: {finding.count:,}{among} in {look.place}: {finding.evidence}"
        before = found.told.get(finding.code)
        found.told[finding.code] = said if before is None else f"{before}; {said}"


def _ask_witness(keeper: Keeper, found: Symptoms, run: Run) -> None:
    with keeper.opened(writable=False) as kept:
        looked = kept.look()
        found.facts["frozen"] = looked.freeze is not None
        if not kept.has_witness:
            why = keeper.why_no_witness
            found.not_looked_at.append(f"whether Postgres went back in time: {why}")
        elif looked.failure is not None:
            found.not_looked_at.append(f"the witness: {looked.failure.message}")
        else:
            judgement = kept.judge(looked, run)
            found.facts |= {
                "witness": judgement.verdict.value,
                "witness_copies": judgement.trace.value,
            }


def _count(
    read_log: ReadLog | None, now: datetime, within: timedelta, found: Symptoms, run: Run
) -> None:
    if read_log is None:
        found.not_looked_at.append("what requests found: no logs are configured")
        return
    deadline = time.monotonic() + within.total_seconds()

    def watch() -> None:
        run.checkpoint()
        if time.monotonic() > deadline:
            raise _TooLong

    try:
        reading = read_log(watch)
    except _TooLong:
        seconds = within.total_seconds()
        found.not_looked_at.append(f"the logs: not read in {seconds:.0f} s; see idemctl hits")
        return
    except IdemctlError as error:
        found.not_looked_at.append(f"the logs: {error.message}")
        return
    traffic = reading.traffic
    requests = traffic.request_count
    mismatches = traffic.hit_count(Hit.MISMATCH) if requests else 0
    spikes = find_spikes(traffic).spikes if requests else ()
    late = [one for one in spikes if one.hit is Hit.MISMATCH and one.ended_at > now - _LATELY]
    of_one = sum(cause_of(one) is Cause.ONE_CLIENT for one in late)
    found.facts |= {
        "requests": requests,
        "mismatches": mismatches,
        "mismatch_share": round(mismatches / requests, 4) if requests else None,
        "mismatch_spikes_of_one_client": of_one,
        "mismatch_spikes_of_many": len(late) - of_one,
    }

"""`idemctl audit`."""

from __future__ import annotations

import difflib
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from idemctl.cli.options import FailOn, ReadReplica, duration, option
from idemctl.cli.verb import Work, verb
from idemctl.domain.findings import Severity
from idemctl.domain.outcomes import Report
from idemctl.errors import IdemctlError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from idemctl.bootstrap import Workplace
    from idemctl.checks.check import Check
    from idemctl.domain.growth import Measure, Where
    from idemctl.run.audited import Outcome


_SAMPLE = 100_000
"""Records of each place that are looked at where no configuration names the stores."""
_ONLY_FOUND = (
    "that both sides belong together, and how long Redis keeps a record, is only known "
    "where idemctl.yaml says so"
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    verb(app, "audit")(audit)


def audit(
    work: Work,
    *,
    strict: Annotated[
        bool, option("--strict", help="end with 10 when something could not be judged")
    ] = False,
    fail_on: FailOn = Severity.WARNING,
    backlog_after: Annotated[
        timedelta,
        option(
            "--backlog-after",
            help="age at which expired records are a backlog",
            parser=duration,
            metavar="DURATION",
            show_default="1d",
        ),
    ] = timedelta(days=1),
    check: Annotated[
        list[str] | None,
        option("--check", help="make this check alone; may be repeated", metavar="CODE"),
    ] = None,
    skip: Annotated[
        list[str] | None,
        option("--skip", help="do not make this check; may be repeated", metavar="CODE"),
    ] = None,
    all: Annotated[  # noqa: A002 (its variable is IDEMCTL_ALL)
        bool, option("--all", help="look at all records, also of stores that were only found")
    ] = False,
    sample: Annotated[
        int | None,
        option("--sample", help="look at about so many records of each place", min=1, metavar="N"),
    ] = None,
    read_replica: ReadReplica = False,
    baseline: Annotated[
        Path | None,
        option("--baseline", help="findings that somebody answers for", metavar="FILE"),
    ] = None,
) -> Report:
    """Find what is wrong with the records of every store.

    idemctl audit                            what can be seen, and what is wrong
    idemctl audit --store payments -o json   one item for each finding
    idemctl audit -q --fail-on error         a line for cron
    idemctl audit --check eviction-enabled   one check; may read no record at all
    idemctl audit --sample 100000            of a huge store: shares and limits
    idemctl audit --read-replica             rows from a standby of Postgres
    idemctl audit --all                      all, also without a configuration
    idemctl audit --baseline accepted.yaml   what is accepted ends no run with 3

    Reads every record once, gently, and compares pairs both ways; a difference counts only
    when the same versions are seen twice, two seconds apart. First tells which failure modes
    the layout of each store lets it see at all. What it cannot judge is counted, and is
    never a finding. Changes no store; keeps large intermediate results in the state folder, and
    how much there was, by which the next audit tells growth.

    Where no configuration names a store, it finds them as layout detect does, says what it
    takes for what, and looks at about 100,000 records of each place.

    Exit status: 0 nothing at or over --fail-on, 3 findings, 10 a store cannot be reached, or
    with --strict something could not be judged, 12 rights missing, 78 configuration, 130 or
    143 stopped by a signal.
    """
    from idemctl.operations import audit as operation
    from idemctl.render.audit import report
    from idemctl.run.audited import Options, Past
    from idemctl.settings.baselines import read_baseline

    if all and sample is not None:
        raise UsageError("--all and --sample contradict one another", hint="leave one of them out")
    is_found = not work.workplace.settings.names_stores
    options = Options(
        strict=strict,
        fail_on=fail_on,
        backlog_after=backlog_after,
        sample=_SAMPLE if is_found and not all and sample is None else sample,
        checks=_chosen(check or [], skip or []),
        incomparable=_ONLY_FOUND if is_found else "",
        acceptances=() if baseline is None else read_baseline(baseline),
    )
    workplace, surroundings = work.workplace.found(work.run)
    workplace = workplace.on_replicas() if read_replica else workplace
    work = replace(work, workplace=workplace)
    keepers = workplace.keepers(work.run)
    targets, pairs = workplace.targets(work.run), workplace.pairs(work.run)
    work.say_what_is_assumed()
    outcome = operation.audit(
        targets,
        pairs,
        options,
        work.run,
        repeats=workplace.repeats,
        suspects=workplace.suspects,
        past=Past(
            last_gc=lambda store: workplace.history.last("gc", store),
            measured=lambda where: _measured(where, workplace),
            witness=lambda store: keepers[store].testimony(work.run),
        ),
        surroundings=surroundings,
    )
    _remember(outcome, work)
    for failure in outcome.failures:
        work.speech.complain(failure)
    return report(outcome, work.run, work.now())


def _measured(where: Where, workplace: Workplace) -> Sequence[Measure]:
    try:
        return workplace.measures.of(where)
    except IdemctlError:
        # That is said when this audit's own cannot be kept; what is found is worth no less.
        return ()


def _remember(outcome: Outcome, work: Work) -> None:
    """Keep what was measured, by which the next audit tells growth."""
    for place in outcome.places:
        if place.measured is not None:
            try:
                work.workplace.measures.add(place.measured.where, place.measured.now)
            except IdemctlError as error:
                work.speech.warn(f"growth cannot be told: {error.message}")
                return


def _chosen(only: list[str], skip: list[str]) -> tuple[Check, ...]:
    from idemctl.checks.registry import BY_CODE, CHECKS

    for flag, codes in (("--check", only), ("--skip", skip)):
        for code in codes:
            if code not in BY_CODE:
                close = difflib.get_close_matches(code, BY_CODE, n=1)
                raise UsageError(
                    f"{flag}: there is no check {code!r}",
                    hint=f"did you mean {close[0]}?" if close else "docs/audit.md lists them all",
                )
    chosen = [one for one in CHECKS if one.code in (only or BY_CODE) and one.code not in skip]
    if not chosen:
        raise UsageError("no check is left to be made", hint="take away --skip or --check")
    return tuple(chosen)

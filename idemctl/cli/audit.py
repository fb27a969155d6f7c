"""`idemctl audit`."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from idemctl.cli.options import FailOn, duration, option
from idemctl.cli.verb import Work, verb
from idemctl.domain.findings import Severity
from idemctl.domain.outcomes import Report


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
) -> Report:
    """Find what is wrong with the records of every store.

    idemctl audit                            what can be seen, and what is wrong
    idemctl audit --store payments -o json   one item for each finding
    idemctl audit -q --fail-on error         a line for cron

    Reads every record once, gently, and compares pairs both ways; a difference counts only
    when the same versions are seen twice, two seconds apart. First tells which failure modes
    the layout of each store lets it see at all. What it cannot judge is counted, and is
    never a finding. Changes nothing; keeps large intermediate results in the state folder.

    Exit status: 0 nothing at or over --fail-on, 3 findings, 10 a store cannot be reached, or
    with --strict something could not be judged, 12 rights missing, 78 configuration, 130 or
    143 stopped by a signal.
    """
    from idemctl.operations import audit as operation
    from idemctl.render.audit import report

    options = operation.Options(strict=strict, fail_on=fail_on, backlog_after=backlog_after)
    workplace = work.workplace
    targets, pairs = workplace.targets(work.run), workplace.pairs(work.run)
    work.say_what_is_assumed()
    outcome = operation.audit(
        targets,
        pairs,
        options,
        work.run,
        repeats=workplace.repeats,
        suspects=workplace.suspects,
    )
    for failure in outcome.failures:
        work.speech.complain(failure)
    return report(outcome, work.run, work.now())

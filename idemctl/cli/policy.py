"""`idemctl policy`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from idemctl.cli.options import FailOn
from idemctl.cli.verb import Work, verb
from idemctl.domain.findings import Severity
from idemctl.domain.outcomes import Report


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="For how long each endpoint promises to recognise a retry.")
    verb(group, "check", full_name="policy check")(check)
    app.add_typer(group, name="policy")


def check(
    work: Work,
    *,
    files: Annotated[
        list[Path] | None,
        # Told in the text, where it needs no `list[Path]` to be understood.
        typer.Argument(metavar="FILE", hidden=True),
    ] = None,
    fail_on: FailOn = Severity.WARNING,
) -> Report:
    """Check policy files: are they valid, and are their ttls long enough?

    idemctl policy check                           the files of every store
    idemctl policy check policies/*.yaml           these files, as in CI
    idemctl policy check --fail-on error -o json   warnings do not fail it

    Reads each FILE, or without any the files that the chosen stores name; asks no store and
    changes nothing. Names by file, line and column what makes a file invalid, a ttl out of
    range, a ttl that is over before the endpoint's provider stops to deliver again, and a
    longer ttl of before that is owed to nobody any more.

    Exit status: 0 nothing at or over --fail-on, 3 something was found, 78 a file cannot be
    read or no store names one.
    """
    from idemctl.operations.policy_check import check as operation
    from idemctl.render.policy_check import report
    from idemctl.settings.policies import policies_in

    outcome = operation(
        files or work.workplace.settings.policy_files(),
        policies_in,
        work.run,
        now=work.now(),
        fail_on=fail_on,
    )
    for failure in outcome.failures:
        work.speech.complain(failure)
    return report(outcome, work.run, work.now())

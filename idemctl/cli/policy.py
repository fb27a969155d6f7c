"""`idemctl policy`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from idemctl.cli.options import FailOn, option
from idemctl.cli.verb import Work, verb
from idemctl.domain.findings import Severity
from idemctl.domain.outcomes import Report
from idemctl.errors import ConfigError


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="For how long each endpoint promises to recognise a retry.")
    verb(group, "check", full_name="policy check")(check)
    verb(group, "show", full_name="policy show")(show)
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
    openapi: Annotated[
        Path | None,
        option("--openapi", help="name what this API offers without a policy", metavar="FILE"),
    ] = None,
    sarif: Annotated[
        Path | None,
        option("--sarif", help="write the findings there too, as SARIF", metavar="FILE"),
    ] = None,
) -> Report:
    """Check policy files: are they valid, and are their ttls long enough?

    idemctl policy check                           the files of every store
    idemctl policy check policies/*.yaml           these files, as in CI
    idemctl policy check --fail-on error -o json   warnings do not fail it

    Reads each FILE, or without any the files that the chosen stores name; asks no store and
    changes nothing. Names by file, line and column what makes a file invalid, a ttl that is
    over before the longest way back is, and whatever else makes that a retry is not
    recognised: docs/policies.md lists the rules.

    Exit status: 0 nothing at or over --fail-on, 3 something was found, 78 a file cannot be
    read or no store names one.
    """
    from idemctl.operations.policy_check import check as operation
    from idemctl.render.policy_check import report
    from idemctl.render.sarif import sarif as as_sarif
    from idemctl.settings.policies import policies_in

    outcome = operation(
        files or work.workplace.settings.policy_files(),
        policies_in,
        work.run,
        now=work.now(),
        fail_on=fail_on,
        openapi=openapi,
    )
    if sarif is not None:
        _write(sarif, as_sarif(outcome.findings))
    for failure in outcome.failures:
        work.speech.complain(failure)
    return report(outcome, work.run, work.now())


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise ConfigError(
            f"{file}: cannot be written: {error.strerror}", hint="check the path and the disk"
        ) from None


def show(
    work: Work,
    *,
    endpoint: Annotated[
        str | None,
        typer.Argument(metavar="ENDPOINT", hidden=True),
    ] = None,
    file: Annotated[
        list[Path] | None,
        option("--file", help="policy file; may be repeated", metavar="FILE"),
    ] = None,
    explain: Annotated[
        bool, option("--explain", help="the arithmetic behind what is required")
    ] = False,
) -> Report:
    """Show what policies promise, and how long each ttl must be.

    idemctl policy show                                     every endpoint
    idemctl policy show "POST /v1/charges/ch_1" --explain   what counts for it
    idemctl policy show --file policies/payments.yaml

    Reads the files that are named, or those of the chosen stores; asks no store and changes
    nothing. ENDPOINT is a label as the file has it, or a request: of several routes that fit,
    the most specific counts.

    Exit status: 0, 2 no policy says anything of ENDPOINT, 78 a file cannot be read, is
    invalid, or no store names one.
    """
    from idemctl.operations.policy_show import show as operation
    from idemctl.render.policy_show import report
    from idemctl.settings.policies import policies_in

    files = file or work.workplace.settings.policy_files()
    outcome = operation(files, policies_in, work.run, endpoint=endpoint)
    return report(outcome, work.run, work.now(), explain=explain)

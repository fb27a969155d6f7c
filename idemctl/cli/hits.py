"""`idemctl hits`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report


def register(app: typer.Typer) -> None:
    """Add the command."""
    verb(app, "hits")(hits)


def hits(
    work: Work,
    *,
    files: Annotated[
        list[Path] | None,
        # Told in the text, where it needs no `list[Path]` to be understood.
        typer.Argument(metavar="FILE", hidden=True),
    ] = None,
) -> Report:
    """Find out how many retries found their key, and when more did than usual.

    idemctl hits                         the logs that the configuration names
    idemctl hits --store payments -o json
    idemctl hits /var/log/api/*.json.gz  these files

    Reads JSON lines, one a keyed request, with the fields at, endpoint, client, key and
    outcome (created, replay, conflict or mismatch), or under the names that a store's
    logs.fields gives them; FILE with --store uses that store's names. Compares the rate of
    each kind of hit, for all requests, each endpoint, each client and each client at an
    endpoint, with the same hour of the other weeks. Asks no store and changes nothing. Reads
    with one processor, with --pace full with all.

    Exit status: 0 no spike, or too little history to judge; 3 a spike; 10 a log cannot be
    read; 12 a file may not be read; 78 no logs are configured, or a file is not there; 130
    or 143 stopped by a signal.
    """
    from idemctl.bootstrap.hit_logs import hit_logs
    from idemctl.operations.hits import hits as operation
    from idemctl.render.hits import report

    if not files:
        work.say_what_is_assumed()
    outcome = operation(hit_logs(work.workplace, work.run, files or ()), work.run)
    for failure in outcome.failures:
        work.speech.complain(failure)
    return report(outcome, work.run, work.now())

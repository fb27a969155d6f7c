"""`idemctl doctor`."""

from __future__ import annotations

import typer

from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report


def register(app: typer.Typer) -> None:
    """Add the command."""
    verb(app, "doctor")(doctor)


def doctor(work: Work) -> Report:
    """Tell whether idemctl can work here.

    idemctl doctor                     every configured store
    idemctl doctor --store payments    one of them

    Looks at configuration, connections, versions, rights and clocks; each line that is
    wrong comes with its fix. Reads no record and changes nothing.

    Exit status: 0 all well, 3 something to put right, 5 a server too old, 10 a store cannot
    be reached, 12 credentials or rights, 78 configuration.
    """
    from idemctl.operations.doctor import doctor as operation
    from idemctl.render.doctor import report

    targets = work.workplace.targets(work.run)
    outcome = operation(targets, work.workplace.known(), work.run)
    return report(outcome, work.run, work.now())

"""`idemctl store`."""

from __future__ import annotations

import typer

from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="What a store is, and when it was last taken care of.")
    verb(group, "show", full_name="store show")(show)
    app.add_typer(group, name="store")


def show(work: Work) -> Report:
    """Show the stores: pattern, server, size, clock, last good gc.

    idemctl store show
    idemctl store show --store payments -o json

    Reads the servers' own figures and the history in the state folder; no record, and
    changes nothing.

    Exit status: 0 all answer, 10 a store cannot be reached, 12 credentials or rights,
    78 configuration.
    """
    from idemctl.operations.store_show import show as operation
    from idemctl.render.store_show import report

    history = work.workplace.history
    targets = work.workplace.targets(work.run)
    outcome = operation(targets, lambda store: history.last("gc", store), work.run)
    return report(outcome, work.run, work.now())

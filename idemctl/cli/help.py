"""`idemctl help`."""

from __future__ import annotations

import typer

from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report, Sheet
from idemctl.errors import ExitStatus


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Facts about idemctl itself.")
    verb(group, "exit-codes", full_name="help exit-codes")(exit_codes)
    app.add_typer(group, name="help")


def exit_codes(work: Work) -> Report:
    """Print what each exit status means.

    Several at once: the first of 1, 130, 143, 12, 10, 11, 78, 5, 8, 4, 3.
    """
    rows = [(int(status), status.label, status.meaning) for status in ExitStatus]
    return Report(
        command="help-exit-codes",
        status=ExitStatus.OK,
        store=None,
        run_id=work.run.id,
        started_at=work.run.started_at,
        finished_at=work.now(),
        items=[{"code": code, "name": name, "meaning": meaning} for code, name, meaning in rows],
        sheets=[
            Sheet(
                headings=("code", "name", "meaning"),
                rows=[(str(code), name, meaning) for code, name, meaning in rows],
            )
        ],
        headline="exit statuses",
    )

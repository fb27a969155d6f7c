"""`idemctl doctor`."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from idemctl.cli.options import option
from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report
from idemctl.domain.purposes import EVERY_VERB, Purpose

if TYPE_CHECKING:
    from idemctl.operations.doctor import Here
    from idemctl.settings import Settings


class RoleName(StrEnum):
    """What `--role` takes."""

    READING = "reading"
    GC = "gc"
    RECONCILE = "reconcile"
    STORE = "store"


def register(app: typer.Typer) -> None:
    """Add the command."""
    verb(app, "doctor")(doctor)


def doctor(
    work: Work,
    *,
    role: Annotated[
        list[RoleName] | None,
        option("--role", help="what this user is to do; may be repeated; else everything"),
    ] = None,
    grants: Annotated[
        bool,
        option("--grants", help="print the smallest roles instead, for psql and redis-cli"),
    ] = False,
) -> Report:
    """Tell whether idemctl can work here.

    idemctl doctor                     every configured store
    idemctl doctor --store payments    one of them
    idemctl doctor --role reading      as a user who is only to audit
    idemctl doctor --grants | psql     a role for each purpose
    idemctl doctor --grants | grep ^ACL | redis-cli

    Looks, in this order, at configuration, terminal and cron; at the way to each server:
    name, connection, TLS, login, version, role, pooler, eviction; at rights, layout and
    some records of each store; and at the clocks of pairs. Each line that is wrong comes
    with its fix; behind one that fails nothing is looked at. Changes nothing.

    Exit status: 0 all well, 3 something to put right, 5 a server too old, 10 a store cannot
    be reached or judged, 12 credentials or rights, 78 configuration.
    """
    from idemctl.operations.doctor import doctor as operation
    from idemctl.operations.doctor import look_here, roles
    from idemctl.render import doctor as render

    purposes = [one for one in EVERY_VERB if not role or _NAMES[one] in role]
    roads = work.workplace.roads(work.run, purposes)
    found = roads.found()
    if grants:
        for _, error in roads.hindrances:
            raise error
        return render.of_roles(roles(found, purposes, work.run), work.run, work.now())
    known = [*roads.known(), *look_here(_here(work, roads.variables()))]
    return render.report(operation(found, known, work.run), work.run, work.now())


_NAMES = {
    Purpose.READING: RoleName.READING,
    Purpose.GC: RoleName.GC,
    Purpose.RECONCILE: RoleName.RECONCILE,
    Purpose.STORE: RoleName.STORE,
}


def _here(work: Work, variables: list[str]) -> Here:
    from idemctl.operations.doctor import Here

    return Here(
        is_terminal=sys.stdout.isatty(),
        width=shutil.get_terminal_size().columns,
        has_color=work.wants_color,
        encoding=sys.stdout.encoding,
        home=os.environ.get("HOME"),
        zone=time.tzname[0],
        program=_program(),
        options=_options(work.workplace.settings),
        variables=variables,
    )


def _program() -> str:
    """Say how idemctl is started from anywhere."""
    script = Path(sys.executable).with_name("idemctl")
    return shlex.join([str(script)] if script.exists() else [sys.executable, "-m", "idemctl"])


def _options(settings: Settings) -> str:
    """Give the option without which no file would be found elsewhere, if there is one."""
    if settings.origin("config") not in {"current folder", "--config"}:
        return ""
    return shlex.join(["--config", str(settings.file)])

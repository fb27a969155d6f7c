"""`idemctl reconcile`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated

import typer

from idemctl.cli.consent import Confirm, agree_to_write
from idemctl.cli.options import option
from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report


def register(app: typer.Typer) -> None:
    """Add the command."""
    verb(app, "reconcile")(reconcile)


def reconcile(
    work: Work,
    *,
    apply: Annotated[
        bool, option("--apply", env=False, help="fill what is missing; without it nothing changes")
    ] = False,
    yes: Annotated[
        bool, option("--yes", "-y", env=False, help="with --apply: do not ask first")
    ] = False,
    confirm: Confirm = None,
    workers: Annotated[
        int, option("--workers", help="processes that share the work", min=1, max=64, metavar="N")
    ] = 1,
) -> Report:
    """Compare Redis with Postgres, both ways, and fill what Redis lost.

    idemctl reconcile                               what differs, seen twice
    idemctl reconcile --apply --store payments      fill what is missing; asks
    idemctl reconcile --apply --yes --pace full     in an incident, without asking

    Reads both stores of each pair, gently. A record is expected in Redis until the earlier
    of its expiry and the keyspace's ttl after it was written. A difference counts only when
    the same versions are seen twice, two seconds apart. Keeps what it suspects in between in
    the state folder.

    With --apply writes what is missing in Redis: each twin while its row in Postgres is held,
    only where there is none, to expire no later than its row. Needs an application that
    writes Postgres first (write_order). Everything else is reported for a person.

    Exit status: 0 no difference, or all of them filled, 3 differences are left, 4 not all
    was compared or filled, 5 a guard said no, 6 the operator said no, 10 a store cannot be
    reached or judged, 11 another reconcile is at work, 12 rights missing, 78 no pair, 130
    or 143 stopped.
    """
    from idemctl.operations import reconcile as operation
    from idemctl.render.reconcile import report

    options = operation.Options(apply=apply, workers=workers)
    pairs = work.workplace.needed_pairs(work.run, writes=apply)
    work.say_what_is_assumed()
    if apply:
        names = [pair.store for pair in pairs]
        question = f"write to Redis what it is missing of {', '.join(names)}?"
        agree_to_write(work, names, question, yes=yes, confirm=confirm)
    with work.journal() if apply else nullcontext():
        outcome = operation.reconcile(pairs, options, work.run, work.workplace.suspects)
    for failure in outcome.failures:
        work.speech.complain(failure)
    made = report(outcome, work.run, work.now())
    return work.remember(made) if apply else made

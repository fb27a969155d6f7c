"""`idemctl gc`."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from idemctl.cli.options import duration, option
from idemctl.cli.verb import Work, verb
from idemctl.domain.brakes import Brake
from idemctl.domain.outcomes import IfLocked, Report
from idemctl.errors import worst


def register(app: typer.Typer) -> None:
    """Add the command."""
    verb(app, "gc")(gc)


def gc(
    work: Work,
    *,
    apply: Annotated[
        bool, option("--apply", env=False, help="collect; without it nothing is changed")
    ] = False,
    workers: Annotated[
        int, option("--workers", help="processes that share the work", min=1, max=64, metavar="N")
    ] = 1,
    limit: Annotated[
        int | None,
        option("--limit", help="stop after this many deletions, of all stores", min=1, metavar="N"),
    ] = None,
    despite: Annotated[
        list[Brake] | None,
        option(
            "--despite",
            env=False,
            help="go on for this once, though this brake refuses: "
            + ", ".join(Brake)
            + "; may be repeated",
            metavar="BRAKE",
        ),
    ] = None,
    explain: Annotated[
        bool, option("--explain", help="tell which promise spoke for each group of records")
    ] = False,
    backlog_after: Annotated[
        timedelta,
        option(
            "--backlog-after",
            help="age at which expired records left behind are an error",
            parser=duration,
            metavar="DURATION",
            show_default="1d",
        ),
    ] = timedelta(days=1),
    archive: Annotated[
        Path | None,
        option("--archive", help="folder to write each batch to before it commits", metavar="DIR"),
    ] = None,
    if_locked: Annotated[
        IfLocked,
        option("--if-locked", help="skip: a store that another gc is at work on is no failure"),
    ] = IfLocked.FAIL,
) -> Report:
    """Collect expired records.

    idemctl gc                              what would go, and why the rest stays
    idemctl gc --apply --store payments     collect it, in small committed batches
    idemctl gc --apply -q --max-duration 4m   a line for cron

    Reads the records of the chosen stores, gently, and judges them by a cutoff taken once
    from each database's own clock. A record is expired when the promise made to it is over: its
    stored expiry, or the policy's or the store's ttl. Records in progress are never
    collected, expired or not; neither are malformed ones. Where no configuration names a
    store, it finds them as audit does, and --apply refuses.

    With --apply deletes expired completed and failed records from Postgres, in batches of
    a few milliseconds, holding a lock that keeps a second gc away. Redis removes its own.
    With --archive the rows of a batch are on disk before it commits; runs undo brings back.

    Brakes refuse what looks like a mistake: too much at once, a promise that got shorter,
    clocks that are apart or jumped, a pause far longer than usual. A look says which would;
    --despite overrides one, and --limit is enough for the first.

    Exit status: 0 done, 4 records left behind for too long or refused by the database,
    5 a guard said no, 10 store unreachable, 11 another gc is at work and not --if-locked
    skip, 12 rights missing, 78 configuration, 130 or 143 stopped by a signal.
    """
    from idemctl.operations import gc as operation
    from idemctl.render.gc import report
    from idemctl.run.audited import Surroundings

    options = operation.Options(
        apply=apply,
        workers=workers,
        limit=limit,
        explain=explain,
        despite=frozenset(despite or ()),
        backlog_after=backlog_after,
        if_locked=if_locked,
    )
    if apply and archive is not None:
        room = work.workplace.archive(archive, work.run.id)
        room.make()
        options = replace(options, archive=room)
    beside = Surroundings()
    if not apply:
        workplace, beside = work.workplace.found(work.run)
        work = replace(work, workplace=workplace)
    targets = work.workplace.targets(work.run, writes=apply)
    work.say_what_is_assumed()
    with work.journal() if apply else nullcontext():
        outcome = operation.gc(targets, options, work.run, work.workplace.past)
    outcome = replace(outcome, failures=(*beside.failures, *outcome.failures))
    for failure in outcome.failures:
        work.speech.complain(failure)
    made = report(outcome, work.run, work.now())
    made = replace(made, status=worst([made.status, beside.why_stopped.status]))
    return work.remember(made, but_for={one.store for one in outcome.left}) if apply else made

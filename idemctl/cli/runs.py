"""`idemctl runs`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from idemctl.cli.consent import agree_severely
from idemctl.cli.options import option
from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report
from idemctl.errors import UsageError

if TYPE_CHECKING:
    from idemctl.domain.told_runs import PastRun
    from idemctl.operations.runs_undo import Undo
    from idemctl.state.past_runs import PastRuns

_RUN = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9a-f]{6}")
RunId = Annotated[str, typer.Argument(metavar="RUN", help="its id, as runs list says it")]
ArchiveDir = Annotated[
    Path | None,
    option("--archive", help="folder of the archive, where it was moved", metavar="DIR"),
]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Runs that were: history, journals, archives, undo.")
    for name, function in _COMMANDS.items():
        verb(group, name, full_name=f"runs {name}")(function)
    app.add_typer(group, name="runs")


def list_runs(
    work: Work,
    *,
    last: Annotated[int, option("--last", help="how many", min=1, metavar="N")] = 20,
) -> Report:
    """List the newest runs that changed something, or meant to.

    idemctl runs list
    idemctl runs list --store payments --last 100

    Reads history and journals in the state folder; asks no store and changes nothing. With
    --store only runs that named it.

    Exit status: 0, 78 the state folder cannot be read.
    """
    from idemctl.render.runs import list_report

    runs = _past_runs(work).newest(last, work.workplace.settings.asked)
    return list_report(runs, work.run, work.now())


def show(work: Work, run: RunId, *, archive: ArchiveDir = None) -> Report:
    """Show one run: its numbers, place by place, and its archive.

    idemctl runs show 20261129T174500-3f9a0c

    Reads its journal in the state folder, and lists the files of its archive; asks no store
    and changes nothing.

    Exit status: 0, 2 no such run, 78 the state folder cannot be read.
    """
    from idemctl.operations.runs import show as operation
    from idemctl.render.runs import show_report

    past = _find(work, run, archive)
    shown = operation(past, _past_runs(work).events(run) or [])
    return show_report(shown, _files(work, past, archive), work.run, work.now())


def check(work: Work, run: RunId, *, archive: ArchiveDir = None) -> Report:
    """Check the archive of a run: is it whole, and what of it is back?

    idemctl runs check 20261129T174500-3f9a0c

    Reads every file of the archive and compares it with the journal; looks up each record in
    its table. Changes nothing.

    Exit status: 0 whole, 2 no such run, 3 damaged, or journal and archive tell of different
    numbers, 5 the table has changed or is another one, 10 store unreachable, 78 no archive.
    """
    from idemctl.render.runs_undo import report

    past = _find(work, run, archive)
    undo = _undo(work, past, archive, writes=False)
    outcome = undo.look(work.run, is_check=True)
    for failure in outcome.failures:
        work.speech.complain(failure)
    return report(outcome, work.run, work.now())


def undo(
    work: Work,
    run: RunId,
    *,
    apply: Annotated[
        bool, option("--apply", env=False, help="do it; without it nothing is changed")
    ] = False,
    archive: ArchiveDir = None,
    confirm: Annotated[
        str | None,
        option(
            "--confirm", env=False, help="the store's name, instead of typing it", metavar="NAME"
        ),
    ] = None,
) -> Report:
    """Bring back what a gc with --archive collected.

    idemctl runs undo 20261129T174500-3f9a0c          what would come back
    idemctl runs undo 20261129T174500-3f9a0c --apply --confirm payments

    Reads the archive and looks up each record. With --apply inserts those whose key has no
    record now, children with them, under gc's lock; a record that is there stays as it is.
    They come back as they were: expired, and the next gc takes them again, unless what it
    goes by is changed first.

    Exit status: 0 done, 2 no such run, 4 the database refused some, or the archive is
    damaged, 5 a guard said no, 6 the operator said no, 10 store unreachable, 11 a gc is at
    work, 12 rights missing, 78 no archive, 130 or 143 stopped by a signal.
    """
    from idemctl.render.runs_undo import lines, report

    past = _find(work, run, archive)
    made = _undo(work, past, archive, writes=apply)
    if not apply:
        outcome = made.look(work.run)
        for failure in outcome.failures:
            work.speech.complain(failure)
        return report(outcome, work.run, work.now())
    [store, *others] = made.stores
    if others:
        raise UsageError(
            f"this run collected from {', '.join(made.stores)}; they come back one at a time",
            hint="name one: " + " or ".join(f"--store {name}" for name in made.stores),
        )
    if confirm is None:
        for line in lines(made.look(work.run)):
            work.speech.warn(line)
    question = f"bring back what {run} collected from {store}, as said above?"
    agree_severely(work, store, question, confirm=confirm)
    with work.journal():
        outcome = made.apply(work.run)
    for failure in outcome.failures:
        work.speech.complain(failure)
    return work.remember(report(outcome, work.run, work.now()))


def _past_runs(work: Work) -> PastRuns:
    from idemctl.state.folder import StateFolder
    from idemctl.state.past_runs import PastRuns

    return PastRuns(StateFolder(work.workplace.settings.state_folder))


def _find(work: Work, run: str, archive: Path | None) -> PastRun:
    """Find a run by its id; one whose archive alone is left is a run, too.

    Raises:
        UsageError: there is none.
    """
    from idemctl.domain.told_runs import PastRun

    hint = "idemctl runs list lists them"
    if not _RUN.fullmatch(run):
        raise UsageError(f"{run!r} is no id of a run", hint=hint)
    past = _past_runs(work).find(run)
    if past is None and archive is None:
        raise UsageError(f"no run {run} is remembered in this state folder", hint=hint)
    return past or PastRun(run_id=run)


def _files(work: Work, past: PastRun, archive: Path | None) -> list[Path]:
    folders = [Path(folder) for _, folder in past.archives] if archive is None else [archive]
    rooms = [work.workplace.archive(one, past.run_id) for one in dict.fromkeys(folders)]
    return [file for room in rooms for file in room.files()]


def _undo(work: Work, past: PastRun, archive: Path | None, *, writes: bool) -> Undo:
    from idemctl.domain.told_runs import add_parts
    from idemctl.operations.runs_undo import Undo

    targets = work.workplace.targets(work.run, writes=writes)
    shown = add_parts(_past_runs(work).events(past.run_id) or [])
    are_named = bool(work.workplace.settings.asked)
    return Undo(past, _files(work, past, archive), shown, targets, are_named=are_named)


_COMMANDS = {"list": list_runs, "show": show, "check": check, "undo": undo}

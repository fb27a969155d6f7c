"""`idemctl layout`."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from idemctl.cli.options import option
from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report, WhyStopped
from idemctl.errors import ConfigError, Refused, UsageError

if TYPE_CHECKING:
    from idemctl.domain.proofs import Proof
    from idemctl.layouts.model import Layout
    from idemctl.run.target import Target

STARTING_FILE = Path("idemctl.yaml")
"""What `layout detect --write` writes, in the folder at hand."""


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="How libraries write their records.")
    verb(group, "list", full_name="layout list")(list_layouts)
    verb(group, "show", full_name="layout show")(show)
    verb(group, "detect", full_name="layout detect")(detect)
    verb(group, "check", full_name="layout check")(check)
    app.add_typer(group, name="layout")


def list_layouts(work: Work) -> Report:
    """List the layouts that come with idemctl.

    idemctl layout list
    idemctl layout list -o json

    Reads what comes with idemctl; asks no store and changes nothing. Through a layout that
    was read from the source of its library, nothing is changed in a store before layout check
    --live has passed there.

    Exit status: 0.
    """
    from idemctl.bootstrap.layouts import preset, preset_files
    from idemctl.operations.layout_list import list_layouts as operation
    from idemctl.render.layout_list import report

    return report(operation(map(preset, preset_files())), work.run, work.now())


def show(
    work: Work, name: Annotated[str, typer.Argument(metavar="NAME", help="as layout list says it")]
) -> Report:
    """Print a layout that comes with idemctl, as a file to start from.

    idemctl layout show brandur > ours.yaml

    Reads what comes with idemctl; asks no store and changes nothing.

    Exit status: 0, 2 no such layout.
    """
    from idemctl.bootstrap.layouts import preset_files
    from idemctl.render.layout_show import report

    files = preset_files()
    if name not in files:
        close = difflib.get_close_matches(name, files, n=1)
        raise UsageError(
            f"there is no layout {name!r}",
            hint=f"did you mean {close[0]}?" if close else "idemctl layout list shows them",
        )
    return report(name, files[name].read_text("utf-8"), work.run, work.now())


def check(
    work: Work,
    *,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="layout files, or names that layout list says"),
    ],
    live: Annotated[
        bool, option("--live", help="read records of the chosen stores through them")
    ] = False,
    sample: Annotated[
        int, option("--sample", help="with --live: about so many records", min=1, metavar="N")
    ] = 10_000,
) -> Report:
    """Check layout files: are they valid, and what do they let anybody see?

    idemctl layout check mine.yaml
    idemctl layout check layouts/*.yaml -o json
    idemctl layout check mine.yaml --live --store payments
    idemctl layout check brandur --live --store payments

    Reads each FILE, or the layout of that name where there is no such file, and changes
    nothing in any store. Names by file, line and column what makes a file invalid; of a valid
    one, which failure modes can be seen through it, which can be cured, and what is missing for
    the others. Asks a store only with --live: then it says how each reads a sample of the
    records: statuses, parts, what fits none, and which instants make no sense. What comes of
    that is remembered in the state folder: where a layout says proven: source, nothing is
    changed through it but in stores where this very file has passed in the last 90 days.

    Exit status: 0 all are valid, and read right, 3 one is not, 10 a store cannot be reached,
    12 rights missing, 78 a file cannot be read, or configuration.
    """
    from idemctl.bootstrap.layouts import layout_document
    from idemctl.operations.layout_check import Trial
    from idemctl.operations.layout_check import check as operation
    from idemctl.render.layout_check import report

    def through(layout: Layout) -> list[Target]:
        return work.workplace.targets_through(layout, work.run)

    def remember(proof: Proof) -> None:
        work.workplace.proofs.add(proof)

    trial = Trial(targets=through, remember=remember, sample=sample) if live else None
    outcome = operation(files, work.run, layout_document, trial)
    for failure in outcome.failures:
        work.speech.complain(failure)
    return report(outcome, work.run, work.now())


def detect(
    work: Work,
    *,
    write: Annotated[
        bool, option("--write", help="write idemctl.yaml, to start from; never over another")
    ] = False,
    sample: Annotated[
        int, option("--sample", help="keys, and rows of a table, to look at", min=1, metavar="N")
    ] = 1_000,
) -> Report:
    """Find out which layouts write into the databases at hand.

    idemctl layout detect
    idemctl layout detect --write
    idemctl layout detect --store payments --sample 10000 -o json

    Reads the columns of every table, some rows of those that a layout fits, and some keys of
    Redis with what they hold; changes no store. A name alone proves nothing: tables are told
    by their columns, keys by what they hold. Where two layouts fit alike both are named, and
    where several libraries share a prefix, each with what it wrote. Says what there is where
    a configured prefix or table leads to nothing.

    Exit status: 0, 3 something fits twice, or not what is configured, 5 idemctl.yaml is there
    already, 10 a store cannot be reached, 12 rights missing, 78 configuration.
    """
    from idemctl.operations.layout_detect import detect as operation
    from idemctl.render.layout_detect import report
    from idemctl.render.starting_file import starting_file

    if write:
        _refuse_existing(STARTING_FILE)
    explored = work.workplace.exploration(work.run)
    outcome = operation(
        explored.databases, explored.keyspaces, explored.layouts, work.run, sample=sample
    )
    for failure in outcome.failures:
        work.speech.complain(failure)
    is_written = write and bool(outcome.places) and outcome.why_stopped is WhyStopped.DONE
    if is_written:
        _write(STARTING_FILE, starting_file(outcome.places))
    return report(outcome, work.run, work.now(), written=str(STARTING_FILE) if is_written else None)


def _refuse_existing(file: Path) -> None:
    if file.exists() or file.is_symlink():
        raise Refused(
            f"{file} is there already, and is not written over",
            hint="move it away, or run without --write and change it by hand",
        )


def _write(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        _refuse_existing(file)
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be written: {error.strerror or error}",
            hint="change to a folder of this user",
        ) from None

"""`idemctl runbook`."""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from idemctl.cli.consent import Confirm, protected_among, refuse_unconfirmed
from idemctl.cli.options import option
from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report
from idemctl.errors import UsageError

if TYPE_CHECKING:
    from idemctl.domain.runbooks import Book
    from idemctl.operations.runbook import Operator

BookId = Annotated[str, typer.Argument(metavar="BOOK", help="its id, as runbook list says it")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Documented recovery, walked through.")
    verb(group, "list", full_name="runbook list")(list_books)
    verb(group, "show", full_name="runbook show")(show)
    verb(group, "run", full_name="runbook run")(run)
    app.add_typer(group, name="runbook")


def list_books(work: Work) -> Report:
    """List the runbooks.

    idemctl runbook list

    Reads what comes with idemctl; asks no store and changes nothing.

    Exit status: 0.
    """
    from idemctl.cli.verbs import books
    from idemctl.render.runbook import list_report

    return list_report(books(), work.run, work.now())


def show(work: Work, book: BookId) -> Report:
    """Show a runbook: when it applies, and every step with its reason.

    idemctl runbook show store-data-loss

    Reads what comes with idemctl; asks no store and changes nothing.

    Exit status: 0, 2 no such book.
    """
    from idemctl.render.runbook import show_report

    return show_report(_find(book), work.run, work.now())


def run(
    work: Work,
    book: BookId,
    *,
    yes: Annotated[
        bool, option("--yes", "-y", env=False, help="take every action without asking")
    ] = False,
    confirm: Confirm = None,
) -> Report:
    """Walk through a runbook, step by step.

    idemctl runbook run store-data-loss --store payments
    idemctl runbook run store-data-loss --store payments --yes   unattended

    Diagnoses first: a book that does not apply is not begun. Then shows each step; before an
    action its dry run, with the numbers. Asks: c continues, s skips it and wants a reason, w
    says why it is there, a ends the walk. The last checks prove the recovery.

    Changes what the actions change, after your yes or with --yes, and keeps a journal in the
    state folder. Begun again after it ended early, it finds what is done.

    Exit status: 0 recovered, or the book does not apply, 2 nobody is there to ask, 5 a guard
    said no, 6 the operator said no, 7 a step waits for a person, 8 not recovered, 10 cannot
    judge, 11 another run is at work, 12 rights missing, 78 no pair, 130 or 143 stopped.
    """
    from idemctl.cli.verbs import verbs
    from idemctl.operations.runbook import run_book
    from idemctl.render.runbook import run_report

    chosen = _find(book)
    [pair, *others] = work.workplace.needed_pairs(work.run, writes=True)
    if others:
        raise UsageError(
            "a runbook is walked through for one store", hint=f"name it: --store {pair.store}"
        )
    operator = _operator(work, pair.store, yes=yes, confirm=confirm)
    work.say_what_is_assumed()
    with work.journal():
        outcome = run_book(chosen, pair.store, verbs(work, pair.store), operator, work.run)
    if outcome.walk.behind:
        work.story.write("\n")
    if outcome.failure is not None:
        work.speech.complain(outcome.failure)
    return work.remember(run_report(outcome, work.run, work.now()))


def _operator(work: Work, store: str, *, yes: bool, confirm: str | None) -> Operator:
    """Find out who decides, before anything is begun.

    Raises:
        UsageError: nobody is there to ask, and a flag that says enough is missing.
    """
    from idemctl.cli.walk import INSTEAD, Person, Unattended

    protected = protected_among(work, [store])
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(
                "a runbook asks before it acts, and there is no terminal to ask on",
                hint=f"walk it on a terminal, or unattended with {INSTEAD}",
            )
        return Person(work=work, typed=protected)
    refuse_unconfirmed(protected, confirm)
    return Unattended(work=work)


def _find(book: str) -> Book:
    from idemctl.cli.verbs import books

    shelf = {one.id: one for one in books()}
    if book not in shelf:
        close = difflib.get_close_matches(book, shelf, n=1)
        raise UsageError(
            f"there is no runbook {book!r}",
            hint=f"did you mean {close[0]}?" if close else f"there are: {', '.join(shelf)}",
        )
    return shelf[book]

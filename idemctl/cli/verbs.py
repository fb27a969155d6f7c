"""The verbs that a runbook may name, run as if they were typed, and the books that name them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import typer

from idemctl.cli.options import Shared
from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report
from idemctl.domain.runbooks import Book
from idemctl.run.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from idemctl.operations.runbook import Verb

_CONSENT = ("yes", "confirm")
_SHARED = {one.name for one in fields(Shared)} | {"help"}


def verbs(work: Work, store: str) -> dict[str, Verb]:
    """Map each verb to what runs it: for that store, and stopped by the same signals."""
    return {name: partial(_run, name, work, store) for name in _functions()}


@cache
def books() -> tuple[Book, ...]:
    """Read every runbook that comes with idemctl.

    Raises:
        ConfigError: one is invalid, or names a verb or a flag that there is not.
    """
    from idemctl.settings.runbooks import shipped_books

    return tuple(shipped_books({name: _flags(name) for name in _functions()}))


def _functions() -> Mapping[str, Callable[..., Report]]:
    from idemctl.cli import diagnose, reconcile

    return {"diagnose": diagnose.diagnose, "reconcile": reconcile.reconcile}


def _run(name: str, work: Work, store: str, words: Sequence[str]) -> Report:
    """Run a verb in a run of its own; whoever walks through the book has consented."""
    command = _command(name)
    given = command.make_context(name, list(words)).params
    own = {option: value for option, value in given.items() if option not in _SHARED}
    if "yes" in own:
        own |= {"yes": True, "confirm": store}
    run = Run(
        verb=name,
        pace_name=work.run.pace_name,
        max_duration=work.run.max_duration,
        stop=work.run.stop,
        progress=work.run.progress,
    )
    return _functions()[name](replace(work, run=run), **own)


def _flags(name: str) -> frozenset[str]:
    """Give the flags of a verb that a book may set: all of its own but its consent."""
    return frozenset(
        word
        for option in _command(name).params
        if getattr(option, "is_flag", False)
        and option.name not in _SHARED
        and option.name not in _CONSENT
        for word in option.opts
    )


def _command(name: str) -> Any:
    app = typer.Typer(add_completion=False)
    verb(app, name)(_functions()[name])
    return typer.main.get_command(app)

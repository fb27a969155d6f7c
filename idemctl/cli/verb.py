"""What every command does around its own part: options, run, report. Once."""

from __future__ import annotations

import inspect
import io
import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

import typer

from idemctl.bootstrap import Workplace
from idemctl.cli.options import SHARED, Shared
from idemctl.cli.speech import Speech
from idemctl.domain.outcomes import Report
from idemctl.errors import ExitStatus, IdemctlError, worst
from idemctl.render.envelope import failure, instant
from idemctl.render.formats import Format, show
from idemctl.run.run import Run

_VERBATIM = ("idemctl ", "eval ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a command is handed beside its own options."""

    run: Run
    workplace: Workplace
    speech: Speech
    wants_color: bool
    """Whether the report will be in color."""
    story: TextIO
    """Where a command that tells as it goes writes: stdout, unless a program reads that; with
    --quiet nowhere."""

    @staticmethod
    def now() -> datetime:
        """Read this host's clock: good for a report's times, never for an expiry."""
        return datetime.now(UTC)

    def say_what_is_assumed(self) -> None:
        """Tell what nobody said and was taken for granted."""
        settings = self.workplace.settings
        for sentence in settings.assumed:
            self.speech.warn(sentence)
        self.speech.note(f"configuration: {settings.file or 'none'}")

    @contextmanager
    def journal(self) -> Iterator[None]:
        """Write down what this run does in the block, and how it failed when it did."""
        self.run.journal = self.workplace.journal(self.run)
        self.run.journal.write("start", {"run_id": self.run.id, "verb": self.run.verb})
        try:
            yield
        except IdemctlError as error:
            self.run.journal.write("end", {"exit": int(error.status), "error": error.message})
            raise

    def remember(self, report: Report, *, but_for: Collection[str] = ()) -> Report:
        """Keep a finished run in journal and history; give the report, which says if that failed.

        What the run did is done, so its report must not be lost with them.

        Args:
            report: what the run has to say.
            but_for: stores that it left alone, so that it is no run of theirs.
        """
        try:
            self.run.journal.write("end", {"exit": int(report.status)})
            self.workplace.history.add(self._entry(report, but_for))
        except IdemctlError as error:
            if failure(error) in report.errors:
                return report
            self.speech.complain(error)
            return replace(
                report,
                status=worst([report.status, error.status]),
                errors=[*report.errors, failure(error)],
            )
        return report

    def _entry(self, report: Report, but_for: Collection[str]) -> dict[str, Any]:
        return {
            "run_id": self.run.id,
            "verb": self.run.verb,
            "stores": [store for store in self.workplace.settings.chosen() if store not in but_for],
            "started_at": instant(report.started_at),
            "finished_at": instant(report.finished_at),
            "exit": int(report.status),
            "summary": report.summary,
        }


def verb(app: typer.Typer, name: str, *, full_name: str | None = None) -> Callable[..., Any]:
    """Register a command; the options of every command are added to its own.

    The function takes a `Work`, then its own options, and returns a `Report`.
    """

    def register(function: Callable[..., Report]) -> Callable[..., Report]:
        _, *own = inspect.signature(function, eval_str=True).parameters.values()

        def command(**given: Any) -> int:
            shared = Shared(**{one.name: given.pop(one.name) for one in fields(Shared)})
            return _execute(full_name or name, function, shared, given)

        command.__doc__ = laid_out(inspect.getdoc(function) or "")
        command.__signature__ = inspect.Signature([*own, *SHARED])  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in (*own, *SHARED)}
        app.command(name)(command)
        return function

    return register


def laid_out(text: str) -> str:
    """Mark the paragraphs of a help text whose lines stay as they are: examples, statuses."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(f"\b\n{one}" if one.startswith(_VERBATIM) else one for one in paragraphs)


def _here() -> Path:
    """Give the current folder; where it is gone or forbidden, one without configuration."""
    try:
        return Path.cwd()
    except OSError:
        return Path("/")


def _execute(
    name: str, function: Callable[..., Report], shared: Shared, own: dict[str, Any]
) -> int:
    speech = Speech(quiet=shared.quiet, verbose=shared.verbose, command=name)
    run = Run(
        verb=name,
        pace_name=shared.pace,
        max_duration=shared.max_duration,
        progress=speech,
    )
    workplace = Workplace(
        config=shared.config,
        stores=tuple(shared.store or ()),
        environ=os.environ,
        folder=_here(),
    )
    story: TextIO = sys.stdout if shared.output is Format.TABLE else sys.stderr
    if shared.quiet:
        story = io.StringIO()
    work = Work(
        run=run,
        workplace=workplace,
        speech=speech,
        wants_color=shared.wants_color,
        story=story,
    )
    with run.stop.heeding_signals():
        try:
            report = function(work, **own)
        finally:
            speech.end_progress()
    silent = shared.quiet and report.status is ExitStatus.OK and shared.output is Format.TABLE
    if silent:
        return int(report.status)
    return show(report, shared.output, sys.stdout, color=shared.wants_color)

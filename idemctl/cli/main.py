"""The boundary: argv in, an exit status out, and no traceback ever.

Whatever ends a command arrives here and becomes one line on stderr, the right status, and
with `-o json` a valid document on stdout.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import Abort, TyperException

from idemctl import __version__
from idemctl.cli.speech import abandon, complain
from idemctl.cli.verb import laid_out
from idemctl.domain.outcomes import Report
from idemctl.errors import ExitStatus, IdemctlError, UsageError
from idemctl.render.envelope import failure
from idemctl.render.formats import Format, show
from idemctl.run.run import Stopped, new_run_id

_SIGPIPE = 13
_GROUP_AND_COMMAND = 2
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
"""What stdout answers when it takes no more; files that are ours are named, or answered for."""
_FAILURE_FORMS = {Format.JSON, Format.NDJSON, Format.NAGIOS}
"""The forms that programs read, which must hold when a command fails, too."""
_OUTPUT = re.compile(r"(?:--output|-[a-z]*?o)(?P<attached>=?.*)")


def main(argv: Sequence[str]) -> int:
    """Run one command; give its exit status."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A terminal or a cron job without UTF-8 gets an escape, not an exception.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    try:
        status = _run(argv)
        sys.stdout.flush()
    except BrokenPipeError:
        return _nobody_reads()
    except OSError as error:
        return _undelivered(argv, error)
    return status


def _run(argv: Sequence[str]) -> int:
    try:
        words = list(argv) or ["--help"]
        return _status_of(application()(words, prog_name="idemctl", standalone_mode=False))
    except Stopped as stopped:
        # A stop that the verb had no partial result for.
        status = max(stopped.why.status, ExitStatus.PARTIAL)
        return _fail(argv, IdemctlError(f"stopped early ({stopped.why})"), status)
    except IdemctlError as error:
        return _fail(argv, error, error.status)
    except TyperException as error:
        return _fail(argv, UsageError(_said(error), hint=_see_help(error)))
    except Abort:
        return int(ExitStatus.DECLINED)
    except KeyboardInterrupt:
        return int(ExitStatus.INTERRUPTED)
    except SystemExit:
        # Typer's answer to a pipe that was closed, and to nothing else.
        return _nobody_reads()
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FULL and error.filename is None:
            raise
        return _fail(argv, _bug(error))


def application() -> typer.Typer:
    """Build the command tree."""
    from idemctl.cli import (
        audit,
        demo,
        diagnose,
        doctor,
        gc,
        hits,
        layout,
        policy,
        reconcile,
        runbook,
        runs,
        sandbox,
        schedule,
        schema,
        store,
    )
    from idemctl.cli import help as help_

    app = typer.Typer(
        name="idemctl",
        help=laid_out(_HELP),
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_top)
    for module in (
        *(demo, doctor, audit, diagnose, hits, gc, reconcile),
        *(policy, layout, runbook, runs, store, schedule, schema, sandbox, help_),
    ):
        module.register(app)
    return app


_HELP = """\
Look after idempotency-key stores in Postgres and Redis.

idemctl demo                  a tour on embedded servers, in under a minute
idemctl doctor                can idemctl work here?
idemctl audit                 what is wrong with the records?
idemctl diagnose              was Redis flushed?
idemctl gc                    what would be collected, and why the rest stays
idemctl reconcile             Redis against Postgres, both ways

Nothing is changed without --apply. Reports go to stdout, talk goes to stderr.
"""


def _show_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"idemctl {__version__}\n")
        raise typer.Exit(0)


def _top(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="print the version and exit",
            is_eager=True,
            callback=_show_version,
        ),
    ] = False,
) -> None:
    """Carry the option; its callback speaks before a command is asked for."""


def _status_of(result: Any) -> int:
    return result if isinstance(result, int) else 0


def _fail(argv: Sequence[str], error: IdemctlError, status: ExitStatus | None = None) -> int:
    status = status or error.status
    command = _command(argv)
    complain(command, error)
    form = _wanted_form(argv)
    if form not in _FAILURE_FORMS:
        return int(status)
    now = datetime.now(UTC)
    report = Report(
        command=command.replace(" ", "-") or "idemctl",
        status=status,
        store=None,
        run_id=new_run_id(now),
        started_at=now,
        finished_at=now,
        errors=[failure(error) | {"status": status.label}],
        headline=error.message,
    )
    return show(report, Format(form), sys.stdout, color=False)


def _bug(error: Exception) -> IdemctlError:
    """Describe an unexpected error by where it happened; its text may hold a secret."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code if trace is not None else None
    where = f"{Path(code.co_filename).name}:{trace.tb_lineno}" if code and trace else "?"
    return IdemctlError(
        f"unexpected {type(error).__name__} in {where}; idemctl {__version__}",
        hint="this is a bug: please report this line, and what you ran",
    )


def _command(argv: Sequence[str]) -> str:
    """Tell which command the words were meant for; options come after its name."""
    words: list[str] = []
    for word in argv:
        if word.startswith("-") or len(words) == _GROUP_AND_COMMAND:
            break
        words.append(word)
    groups = {"runbook", "runs", "sandbox", "store", "policy", "schedule", "schema", "help"}
    return " ".join(words if words and words[0] in groups else words[:1])


def _wanted_form(argv: Sequence[str]) -> str:
    """Tell from the bare words, since they may be the very thing that is wrong."""
    words = list(argv)
    form = os.environ.get("IDEMCTL_OUTPUT", "")
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option = _OUTPUT.fullmatch(word)
        if option is not None:
            form = option["attached"].removeprefix("=") or following
    return form


def _said(error: TyperException) -> str:
    """Give a message in one line, without the word for its class that pydantic begins with."""
    return " ".join(error.format_message().split()).replace(": Value error, ", ": ")


def _see_help(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    return f"see {context.command_path if context else 'idemctl'} --help"


def _open_closed_streams() -> None:
    """Fill the places of standard streams that were closed before the start.

    A connection would take them, and what is printed would go to a store.
    """
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            mode = os.O_RDONLY if name == "stdin" else os.O_WRONLY
            os.dup2(os.open(os.devnull, mode), number)
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", closefd=False))


def _undelivered(argv: Sequence[str], error: OSError) -> int:
    abandon(sys.stdout)
    told = IdemctlError(
        f"the report could not be written: {error.strerror or error}",
        hint="what the command did is done; running it again is safe",
    )
    complain(_command(argv), told)
    return int(ExitStatus.PARTIAL)


def _nobody_reads() -> int:
    abandon(sys.stdout)
    return 128 + _SIGPIPE

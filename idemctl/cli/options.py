"""Options that every command takes, and what they come to."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from idemctl.domain.durations import parse_duration
from idemctl.domain.findings import Severity
from idemctl.render.formats import Format
from idemctl.run.pace import PaceName


class ColorWhen(StrEnum):
    """What `--color` takes."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def option(name: str, *more: str, help: str, env: bool = True, **rest: Any) -> Any:  # noqa: A002 (as typer calls it)
    """Declare an option; its environment variable follows from its name.

    Options that consent to something, or override a guard, have none (`env=False`).
    """
    variable = "IDEMCTL_" + name.lstrip("-").replace("-", "_").upper() if env else None
    return typer.Option(name, *more, help=help, envvar=variable, **rest)


def duration(given: str | timedelta) -> timedelta:
    """Parse a duration; typer hands defaults through here, too."""
    return given if isinstance(given, timedelta) else parse_duration(given)


def severity(given: str | Severity) -> Severity:
    """Parse the word of a severity; typer hands defaults through here, too."""
    if isinstance(given, Severity):
        return given
    for one in Severity:
        if given == one.label:
            return one
    raise ValueError(f"{given!r} is no severity; write one of {_SEVERITIES.replace('|', ', ')}")


_SEVERITIES = "|".join(one.label for one in Severity)
ReadReplica = Annotated[
    bool, option("--read-replica", help="read Postgres from the replica that the store names")
]
FailOn = Annotated[
    Severity,
    option(
        "--fail-on",
        help="the least severity of a finding that ends with 3",
        parser=severity,
        metavar=f"<{_SEVERITIES}>",
        show_default=Severity.WARNING.label,
    ),
]
"""For every verb that reports findings; its default is `Severity.WARNING`."""


def _shared(
    *,
    config: Annotated[
        Path | None,
        # settings reads IDEMCTL_CONFIG and IDEMCTL_STORE itself, to tell where they came from.
        option(
            "--config",
            env=False,
            help="configuration file [env var: IDEMCTL_CONFIG]",
            metavar="FILE",
        ),
    ] = None,
    store: Annotated[
        list[str] | None,
        option(
            "--store",
            env=False,
            help="store to work on; may be repeated [env var: IDEMCTL_STORE]",
            metavar="NAME",
        ),
    ] = None,
    output: Annotated[Format, option("--output", "-o", help="form of the report")] = Format.TABLE,
    quiet: Annotated[
        bool, option("--quiet", "-q", help="print nothing unless something is wrong")
    ] = False,
    verbose: Annotated[
        bool, option("--verbose", "-v", help="say on stderr what is used and assumed")
    ] = False,
    color: Annotated[ColorWhen, option("--color", help="color on the terminal")] = ColorWhen.AUTO,
    max_duration: Annotated[
        timedelta | None,
        option(
            "--max-duration",
            help="stop tidily after this long, as in 90s or 10m",
            parser=duration,
            metavar="DURATION",
        ),
    ] = None,
    pace: Annotated[
        PaceName, option("--pace", help="gentle takes a quarter of the time")
    ] = PaceName.GENTLE,
) -> None:
    """Carry the declarations; never called."""


SHARED = tuple(inspect.signature(_shared, eval_str=True).parameters.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What the options of every command were set to."""

    config: Path | None
    store: list[str] | None
    output: Format
    quiet: bool
    verbose: bool
    color: ColorWhen
    max_duration: timedelta | None
    pace: PaceName

    @property
    def wants_color(self) -> bool:
        """Decide about color on stdout."""
        return wants_color(self.color, os.environ)


def wants_color(when: ColorWhen, environ: Mapping[str, str]) -> bool:
    """Decide about color: the flag first, then NO_COLOR, FORCE_COLOR, and the terminal.

    An empty variable counts as unset; `FORCE_COLOR=0` is no wish for color.
    """
    if when is not ColorWhen.AUTO:
        return when is ColorWhen.ALWAYS
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return False
    forced = environ.get("FORCE_COLOR") or environ.get("CLICOLOR_FORCE")
    if forced:
        return forced != "0"
    return environ.get("CLICOLOR") != "0" and sys.stdout.isatty()

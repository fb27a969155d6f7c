"""What surrounds idemctl on this machine: the terminal, the locale, and what cron leaves out."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.operations.doctor.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PATH_OF_CRON = "/usr/bin:/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """What a process sees of its surroundings."""

    is_terminal: bool
    """Whether stdout is one."""
    width: int
    has_color: bool
    encoding: str
    """That of stdout."""
    home: str | None
    zone: str
    """By which cron counts hours."""
    program: str
    """How idemctl is started from anywhere, with whole paths."""
    options: str
    """What each of its commands needs then to find the configuration."""
    variables: Sequence[str]
    """Those that the configuration needs, and this shell has."""


def look_here(here: Here) -> Iterator[Line]:
    """Tell of terminal and locale, and what a crontab must say that a shell need not."""
    yield Line(about="terminal", says=_terminal(here))
    yield Line(about="locale", says=_locale(here))
    yield Line(about="cron", says=_cron(here))


def _terminal(here: Here) -> str:
    color = "color" if here.has_color else "no color"
    if not here.is_terminal:
        return f"stdout is none; {color}, and tables as wide as they are"
    return f"{here.width} columns, {color}"


def _locale(here: Here) -> str:
    name = codecs.lookup(here.encoding).name
    if name == "utf-8":
        return name
    return f"{name}: what it cannot show is printed as \\xNN; LC_ALL=C.UTF-8 shows more"


def _cron(here: Here) -> str:
    home = f"HOME={here.home}" if here.home else "no HOME"
    says = f"a job starts with {home} and PATH={_PATH_OF_CRON}, so write {here.program}"
    if here.options:
        says += f" with {here.options}"
    if here.variables:
        says += f"; set {', '.join(here.variables)} in the crontab"
    return f"{says}; its hours are those of {here.zone}, and reports are in UTC"

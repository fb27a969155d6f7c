"""The error tree, and the one table of exit statuses.

Every error that a user can meet is a class here or below one of these; it carries
its exit status, one line that says what happened, and a way out. The command line
prints just that: a traceback is only ever a bug.

    IdemctlError
    ├── UsageError          2   wrong words
    ├── Refused             5   a guard said no
    │   └── Frozen          5   somebody said that nothing is to be written
    ├── Declined            6   the operator said no
    ├── Unreachable        10   a store is down, or cannot be judged
    ├── Locked             11   another run is at work
    ├── Denied             12   credentials or rights
    ├── ConfigError        78   a file or a setting is wrong
    └── Unsupported         5   this store cannot do that
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable


class ExitStatus(IntEnum):
    """What a shell, cron or CI learns from a run."""

    OK = 0
    BUG = 1
    USAGE = 2
    FINDINGS = 3
    PARTIAL = 4
    REFUSED = 5
    DECLINED = 6
    WAITING = 7
    NOT_RECOVERED = 8
    UNREACHABLE = 10
    LOCKED = 11
    DENIED = 12
    CONFIG = 78
    INTERRUPTED = 130
    TERMINATED = 143

    @property
    def label(self) -> str:
        """The name used in output: `not recovered`, `ok`."""
        return self.name.lower().replace("_", " ")

    @property
    def meaning(self) -> str:
        """One line for people."""
        return _MEANINGS[self]


_MEANINGS = {
    ExitStatus.OK: "done; nothing to do; nothing found",
    ExitStatus.BUG: "unexpected error, with a report to send in",
    ExitStatus.USAGE: "wrong words; or a prompt was needed and there is no terminal",
    ExitStatus.FINDINGS: "finished, and found something at or over --fail-on",
    ExitStatus.PARTIAL: "some done, some left that should not be; safe to run again",
    ExitStatus.REFUSED: "a guard said no: brake, skew, stale plan, wrong shape",
    ExitStatus.DECLINED: "the operator said no",
    ExitStatus.WAITING: "a runbook is parked; the resume command is printed",
    ExitStatus.NOT_RECOVERED: "a runbook ran and its verification failed",
    ExitStatus.UNREACHABLE: "a store is down or cannot be judged",
    ExitStatus.LOCKED: "another run holds the lock",
    ExitStatus.DENIED: "credentials or rights",
    ExitStatus.CONFIG: "a file needed on the way is invalid, with file:line:column",
    ExitStatus.INTERRUPTED: "stopped by SIGINT (128+2), after the current batch",
    ExitStatus.TERMINATED: "stopped by SIGTERM (128+15), after the current batch",
}

_WORST_FIRST = (
    ExitStatus.BUG,
    ExitStatus.INTERRUPTED,
    ExitStatus.TERMINATED,
    ExitStatus.DENIED,
    ExitStatus.UNREACHABLE,
    ExitStatus.LOCKED,
    ExitStatus.CONFIG,
    ExitStatus.REFUSED,
    ExitStatus.NOT_RECOVERED,
    ExitStatus.PARTIAL,
    ExitStatus.FINDINGS,
)


def worst(statuses: Iterable[ExitStatus]) -> ExitStatus:
    """Pick the one status that a run with several ends with; ok when there is none.

    >>> worst([ExitStatus.PARTIAL, ExitStatus.OK, ExitStatus.DENIED]).name
    'DENIED'
    """
    seen = set(statuses)
    for status in _WORST_FIRST:
        if status in seen:
            return status
    return max(seen, default=ExitStatus.OK)


class IdemctlError(Exception):
    """Something that a user can understand and act on."""

    status: ClassVar[ExitStatus] = ExitStatus.BUG

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        """One line: what happened, and to what."""
        self.hint = hint
        """One line: the way out, as a command or a setting where there is one."""


class UsageError(IdemctlError):
    """The words of the command were wrong."""

    status = ExitStatus.USAGE


class Refused(IdemctlError):
    """A guard said no; nothing was changed."""

    status = ExitStatus.REFUSED


class Frozen(Refused):
    """The store is frozen: somebody said that nothing is to be written, until when, and why."""


class Unsupported(Refused):
    """The store, or the layout that reads it, has no such capability."""


class Declined(IdemctlError):
    """The operator said no; nothing was changed."""

    status = ExitStatus.DECLINED


class Unreachable(IdemctlError):
    """A store is down, loading, or otherwise unable to answer: unknown, not absent."""

    status = ExitStatus.UNREACHABLE


class Locked(IdemctlError):
    """Another run of the same verb is at work on the same store."""

    status = ExitStatus.LOCKED


class Denied(IdemctlError):
    """The store answered, and refused these credentials or this right."""

    status = ExitStatus.DENIED


class ConfigError(IdemctlError):
    """A file or a setting needed on the way is invalid."""

    status = ExitStatus.CONFIG

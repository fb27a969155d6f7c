"""Why a run ended, and what it says of itself in the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from idemctl.errors import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


class WhyStopped(StrEnum):
    """Why a walk ended where it did."""

    DONE = "done"
    DEADLINE = "deadline"
    THROTTLED = "throttled"
    """The server had too much to do for longer than a run waits."""
    STOP_FILE = "stop-file"
    """Somebody put it there."""
    LIMIT = "limit"
    """As many went as the operator had asked for."""
    INTERRUPTED = "interrupted"
    TERMINATED = "terminated"
    LOCK_LOST = "lock-lost"
    BRAKED = "braked"
    """A brake refused before anything went."""
    FROZEN = "frozen"
    """Somebody froze the store meanwhile."""
    FAILED = "failed"
    """By an error, which says more."""
    LOCKED_OUT = "locked-out"
    """Nothing but locks and refusals for so long that going on made no sense."""

    @property
    def status(self) -> ExitStatus:
        """The exit status that this alone would give a run."""
        return _STATUSES.get(self, ExitStatus.OK)


class IfLocked(StrEnum):
    """What becomes of a run where another one of its verb is at work on a store."""

    SKIP = "skip"
    """The other one does the work: leave it to it, and end well."""
    FAIL = "fail"


_STATUSES = {
    WhyStopped.INTERRUPTED: ExitStatus.INTERRUPTED,
    WhyStopped.TERMINATED: ExitStatus.TERMINATED,
    WhyStopped.LOCK_LOST: ExitStatus.PARTIAL,
    WhyStopped.BRAKED: ExitStatus.REFUSED,
    WhyStopped.FROZEN: ExitStatus.REFUSED,
    WhyStopped.LOCKED_OUT: ExitStatus.PARTIAL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A small table for people: a title, rows under headings, and lines after it."""

    title: str = ""
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    lines: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a verb has to say, in the forms that all renderings are made of."""

    command: str
    status: ExitStatus
    store: str | None
    run_id: str
    started_at: datetime
    finished_at: datetime
    summary: dict[str, Any] = field(default_factory=dict)
    items: Sequence[dict[str, Any]] = ()
    errors: Sequence[dict[str, Any]] = ()
    sheets: Sequence[Sheet] = ()
    headline: str = ""
    """The whole in one line: Nagios's, and the last line on a terminal."""

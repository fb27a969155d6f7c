"""What doctor says: lines, in the order in which things were looked at."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.errors import ExitStatus, IdemctlError, worst
from idemctl.stores.ways import Seen

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that was looked at, or was to be."""

    about: str
    says: str
    server: str = ""
    """The variable with the way there; for what needs no server, nothing."""
    store: str = ""
    """For what is the same for all stores of a server, nothing."""
    status: ExitStatus = ExitStatus.OK
    fix: str | None = None
    is_judged: bool = True
    """False where nobody can tell whether it is right."""
    is_looked_at: bool = True
    """False where what comes before it failed."""
    took: timedelta = timedelta(0)

    @property
    def mark(self) -> str:
        """Say in a word or two what came of it."""
        if not self.is_looked_at:
            return "not looked at"
        if self.status is ExitStatus.OK and not self.is_judged:
            return "cannot judge"
        return self.status.label


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All lines."""

    lines: tuple[Line, ...]

    @property
    def status(self) -> ExitStatus:
        """The worst of the lines; what cannot be judged is no fault."""
        return worst(line.status for line in self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What lines are about: a server, and one of its stores if they are about that alone."""

    server: str = ""
    store: str = ""

    def looked(self, about: str, look: Callable[[], Seen]) -> Line:
        """Make a line of one look, with the time that it took; a failure is a line too."""
        started = time.perf_counter()
        try:
            seen = look()
        except IdemctlError as error:
            seen = Seen(says=error.message, status=error.status, fix=error.hint)
        return replace(
            self.line(about, seen), took=timedelta(seconds=time.perf_counter() - started)
        )

    def line(self, about: str, seen: Seen) -> Line:
        """Make a line of what came of a look."""
        return Line(
            server=self.server,
            store=self.store,
            about=about,
            says=seen.says,
            status=seen.status,
            fix=seen.fix,
            is_judged=seen.is_judged,
        )

    def left_out(self, about: str, failed: str) -> Line:
        """Make the line of what was not looked at, because of what comes before it."""
        return Line(
            server=self.server,
            store=self.store,
            about=about,
            says=f"behind {failed}, which failed",
            is_looked_at=False,
        )

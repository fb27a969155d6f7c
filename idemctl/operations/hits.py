"""hits: what keyed requests found, and when they found more than usual.

Gather: each application's logs, counted. Decide: `domain.traffic` holds every series against
its own other weeks. There is nothing to apply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from idemctl.domain.traffic import find_spikes
from idemctl.errors import ExitStatus, IdemctlError, worst

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from idemctl.domain.traffic import Judged, Reading
    from idemctl.run.run import Run


class Log(Protocol):
    """The logs of one application."""

    @property
    def store(self) -> str | None:
        """The store whose logs these are; None for files of no store in particular."""
        ...

    def read(self, watch: Callable[[], None]) -> Reading:
        """Count every line, and call `watch` meanwhile."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What came of one application's logs."""

    store: str | None
    reading: Reading
    judged: Judged | None
    """None where no line tells of a keyed request."""

    @property
    def status(self) -> ExitStatus:
        """Grade one: a spike is a finding, and logs of which no line can be read are unknown."""
        if self.judged is None:
            blind = self.reading.unreadable_count > 0
            return ExitStatus.UNREACHABLE if blind else ExitStatus.OK
        return ExitStatus.FINDINGS if self.judged.spikes else ExitStatus.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a look at logs."""

    logs: tuple[Looked, ...]
    failures: tuple[IdemctlError, ...] = ()
    """What kept logs from being read; the others were read all the same."""

    @property
    def status(self) -> ExitStatus:
        """The exit status of the whole."""
        return worst([one.status for one in self.logs] + [one.status for one in self.failures])


def hits(logs: Iterable[Log], run: Run) -> Outcome:
    """Read the logs of each application in turn, and judge them.

    Raises:
        IdemctlError: no log could be read. Else errors are part of the outcome.
    """
    looked: list[Looked] = []
    failures: list[IdemctlError] = []
    for log in logs:
        try:
            reading = log.read(run.checkpoint)
        except IdemctlError as error:
            failures.append(error)
            continue
        run.checkpoint()
        judged = find_spikes(reading.traffic) if reading.traffic.request_count else None
        looked.append(Looked(store=log.store, reading=reading, judged=judged))
    if failures and not looked:
        raise failures[0]
    return Outcome(logs=tuple(looked), failures=tuple(failures))

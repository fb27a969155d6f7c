"""The throttle: before a batch, a look whether the server has time for it."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.throttle import Limits, Reason, Strain, reasons
from idemctl.errors import IdemctlError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from idemctl.run.run import Run
    from idemctl.run.target import Target
    from idemctl.stores.ports import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttling:
    """What a configuration says of waiting."""

    limits: Limits = field(default_factory=Limits)
    query: str | None = None
    """Asked at each look: true says to wait."""
    pause_file: Path | None = None
    stop_file: Path | None = None
    longest_wait: timedelta = timedelta(minutes=5)
    """After so long in one piece a run gives up."""


@dataclass(slots=True, kw_only=True)
class Waited:
    """How long a run waited, and what for."""

    total: timedelta = timedelta(0)
    reasons: dict[Strain, str] = field(default_factory=dict)
    """What was said of each at last."""

    def heard(self, why: list[Reason]) -> None:
        """Remember why it waits now."""
        for strain in dict.fromkeys(one.strain for one in why):
            self.reasons[strain] = "; ".join(one.says for one in why if one.strain is strain)


@dataclass(slots=True)
class Throttle:
    """Looks at one server, by a session of its own that cannot write."""

    settings: Throttling
    store: Store
    waited: Waited = field(default_factory=Waited)

    def why_stop(self) -> WhyStopped | None:
        """Tell whether somebody put the stop file there, or nobody can tell."""
        return WhyStopped.STOP_FILE if _is_there(self.settings.stop_file) else None

    def look(self) -> list[Reason]:
        """List why to wait now."""
        found = []
        if _is_there(self.settings.pause_file):
            found.append(Reason(Strain.PAUSE_FILE, f"{self.settings.pause_file} is there"))
        if not self.settings.limits.wait_for and self.settings.query is None:
            return found
        try:
            found += reasons(self.store.load(self.settings.query), self.settings.limits)
        except IdemctlError as error:
            found.append(Reason(Strain.QUERY, f"the server does not tell: {error.message}"))
        return found


@contextmanager
def throttled(target: Target, run: Run) -> Iterator[Waited]:
    """Let a run wait for the server of a target, for the length of the block."""
    if target.throttling is None:
        yield Waited()
        return
    with closing(target.opens.open(writable=False)) as store:
        throttle = Throttle(target.throttling, store)
        with run.throttled(throttle):
            yield throttle.waited


def _is_there(file: Path | None) -> bool:
    """Tell whether a file is there; one that cannot be looked for counts as there."""
    if file is None:
        return False
    try:
        file.lstat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True

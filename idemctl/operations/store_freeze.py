"""store freeze and store thaw: the kill switch of a store, for every host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.errors import ExitStatus, worst

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import timedelta

    from idemctl.domain.freezes import Freeze
    from idemctl.run.copies import Copy
    from idemctl.run.keeper import Keeper
    from idemctl.run.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What came of one store."""

    keeper: Keeper
    copies: tuple[Copy, ...]
    """What each place holds now; without `apply` what it holds, which stays."""
    freeze: Freeze | None = None
    """What was written; `None` for a thaw, and without `apply`."""

    @property
    def is_for_every_host(self) -> bool:
        """Whether a place has a copy that every host reads."""
        return self.keeper.postgres is not None or self.keeper.redis is not None

    @property
    def status(self) -> ExitStatus:
        """Grade one store: with a place out of reach, or none for others, it is half done."""
        unreached = any(one.failure is not None for one in self.copies)
        return ExitStatus.PARTIAL if unreached or not self.is_for_every_host else ExitStatus.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of all of them."""

    apply: bool
    changed: tuple[Changed, ...]

    @property
    def status(self) -> ExitStatus:
        """The exit status of the whole."""
        if not self.apply:
            failures = (copy.failure for one in self.changed for copy in one.copies)
            return worst(one.status for one in failures if one is not None)
        return worst(one.status for one in self.changed)


def freeze(
    keepers: Iterable[Keeper], reason: str, length: timedelta, run: Run, *, apply: bool
) -> Outcome:
    """Freeze each store in every place that can be reached.

    Raises:
        IdemctlError: no store of one tells the time by which it would end.
    """
    changed = []
    for keeper in keepers:
        run.checkpoint()
        with keeper.opened(writable=apply) as kept:
            if apply:
                made, copies = kept.freeze(reason, length, run)
                changed.append(Changed(keeper=keeper, copies=tuple(copies), freeze=made))
            else:
                changed.append(Changed(keeper=keeper, copies=kept.look().copies))
    return Outcome(apply=apply, changed=tuple(changed))


def thaw(keepers: Iterable[Keeper], run: Run, *, apply: bool) -> Outcome:
    """Remove every copy that can be reached."""
    changed = []
    for keeper in keepers:
        run.checkpoint()
        with keeper.opened(writable=apply) as kept:
            copies = kept.thaw() if apply else kept.look().copies
            changed.append(Changed(keeper=keeper, copies=tuple(copies)))
    return Outcome(apply=apply, changed=tuple(changed))

"""store show: what a store is, what its witness says, and when gc last took care of it.

A side that does not answer keeps nobody from seeing the rest.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from idemctl.errors import IdemctlError, worst

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from idemctl.domain.records import Pattern
    from idemctl.domain.verdicts import Judgement
    from idemctl.errors import ExitStatus
    from idemctl.run.copies import Looked
    from idemctl.run.keeper import Keeper
    from idemctl.run.run import Run
    from idemctl.run.target import Target
    from idemctl.stores.answers import Description


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a store as it is now."""

    target: Target
    pattern: Pattern
    description: Description
    clock: datetime
    last_gc: dict[str, Any] | None
    """The history's entry of the last run of gc that ended well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """Witness and freeze of one store."""

    keeper: Keeper
    looked: Looked
    judgement: Judgement | None
    """`None` where there can be no witness, or a copy cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Every side, and every witness."""

    sides: tuple[Side, ...]
    watched: tuple[Watched, ...] = ()
    failures: tuple[IdemctlError, ...] = ()
    """What kept the other sides from being shown."""

    @property
    def status(self) -> ExitStatus:
        """The exit status of the whole; a verdict is shown, and is no failure."""
        looks = (one.looked.failure for one in self.watched)
        failures = [*self.failures, *(one for one in looks if one is not None)]
        return worst(one.status for one in failures)


def show(
    targets: Iterable[Target],
    keepers: Mapping[str, Keeper],
    last_gc: Callable[[str], dict[str, Any] | None],
    run: Run,
) -> Outcome:
    """Look at every target, and at what is kept of each store."""
    sides, failures = [], []
    for target in targets:
        try:
            with closing(target.opens.open(writable=False)) as store:
                sides.append(
                    Side(
                        target=target,
                        pattern=store.pattern,
                        description=store.describe(),
                        clock=store.clock(),
                        last_gc=last_gc(target.store),
                    )
                )
        except IdemctlError as error:
            failures.append(error)
        run.checkpoint()
    watched = tuple(_watched(keeper, run) for keeper in keepers.values())
    return Outcome(sides=tuple(sides), watched=watched, failures=tuple(failures))


def _watched(keeper: Keeper, run: Run) -> Watched:
    with keeper.opened(writable=False) as kept:
        looked = kept.look()
        can_judge = kept.has_witness and looked.failure is None
        return Watched(
            keeper=keeper,
            looked=looked,
            judgement=kept.judge(looked, run) if can_judge else None,
        )

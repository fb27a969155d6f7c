"""store show: what a store is, and when gc last took care of it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from idemctl.errors import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from idemctl.domain.records import Pattern
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
class Outcome:
    """Every side."""

    sides: tuple[Side, ...]
    status: ExitStatus = ExitStatus.OK


def show(
    targets: Iterable[Target], last_gc: Callable[[str], dict[str, Any] | None], run: Run
) -> Outcome:
    """Look at every target."""
    sides = []
    for target in targets:
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
        run.checkpoint()
    return Outcome(sides=tuple(sides))

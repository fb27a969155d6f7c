"""The clocks of a pair, which decide together when a record ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.domain.differences import SKEW
from idemctl.errors import ExitStatus
from idemctl.operations.doctor.lines import Where
from idemctl.stores.clock import Clock
from idemctl.stores.ways import Seen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.operations.doctor.lines import Line
    from idemctl.stores.ports import Store


def compare(name: str, sides: list[tuple[str, Store]]) -> Iterator[Line]:
    """Measure how far they are apart; a store alone has nothing to compare."""
    match sides:
        case [(place, first), (other, second)]:
            yield Where(store=name).looked("clock", lambda: _apart(place, first, other, second))


def _apart(place: str, first: Store, other: str, second: Store) -> Seen:
    ahead = Clock.measured(first, second, "").redis_ahead
    wide = ahead.size > SKEW
    return Seen(
        says=f"{other} is {ahead.seen_from(place)}",
        status=ExitStatus.FINDINGS if wide else ExitStatus.OK,
        fix="let both servers follow one time source" if wide else None,
    )

"""Several layouts over one table or prefix: a record is the first's whose conditions hold.

Each is read by itself, and leaves to the earlier ones what is theirs. What fits none is shown
through the last, as malformed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.layouts.conditions import AllOf, AnyOf, Not
from idemctl.layouts.sides import Statuses

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from idemctl.layouts.conditions import Condition
    from idemctl.layouts.model import PostgresLayout, RedisLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """When it is a Redis layout's turn."""

    before: tuple[RedisLayout, ...] = ()
    """Those that are asked first."""
    is_last: bool = True
    """Whether it shows what fits none."""


ALONE = Turn()


def turns(layouts: Sequence[RedisLayout]) -> Iterator[tuple[RedisLayout, Turn]]:
    """Give each its turn."""
    for at, layout in enumerate(layouts):
        yield layout, Turn(before=tuple(layouts[:at]), is_last=at == len(layouts) - 1)


def apart(layouts: Sequence[PostgresLayout]) -> Iterator[PostgresLayout]:
    """Narrow each layout down to the rows that are its own."""
    theirs: list[Condition] = []
    for layout in layouts:
        reads = rows_of(layout)
        # The last one shows what fits none, of the rows that it speaks of.
        own = layout.only if layout is layouts[-1] else reads
        only = [*([] if own is None else [own]), *map(_not, theirs)]
        yield layout.model_copy(update={"only": _all(only)}) if only else layout
        theirs.append(reads)


def rows_of(layout: PostgresLayout) -> Condition:
    """Write as one condition that a row is a record of this layout, and not malformed.

    Among the rows that it speaks of, exactly one of its statuses holds.
    """
    speaks_of = [] if layout.only is None else [layout.only]
    if not isinstance(layout.status, Statuses):
        return _all(speaks_of) if speaks_of else "always"
    tests = [condition for _, condition in layout.status.conditions()]
    alone = [_all([test, *(_not(other) for other in tests if other is not test)]) for test in tests]
    return _all([*speaks_of, alone[0] if len(alone) == 1 else AnyOf(any=alone)])


def _all(parts: list[Condition]) -> Condition:
    return parts[0] if len(parts) == 1 else AllOf(all=parts)


def _not(part: Condition) -> Condition:
    return Not(**{"not": part})

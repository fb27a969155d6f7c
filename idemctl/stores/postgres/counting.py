"""Counts what would go, and no further than it takes to know that it is too much."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.batch_size import BatchSize
from idemctl.domain.collection import Chunk
from idemctl.stores.answers import WHOLE
from idemctl.stores.postgres.connect import BatchFailed
from idemctl.stores.postgres.leaves import by_ranges, heap_range
from idemctl.stores.postgres.statements import Clock

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from idemctl.stores.postgres.conditions import Judgement
    from idemctl.stores.postgres.leaves import Leaf
    from idemctl.stores.postgres.statements import Statements

_FIRST_PAGES, _MOST_PAGES = 64, 8192
_TARGET = timedelta(milliseconds=50)


def count_expired(
    statements: Statements, leaves: list[Leaf], judgement: Judgement, at_most: int
) -> Generator[Chunk]:
    """Count expired rows until they are more than `at_most`. See `Collects.count_expired`."""
    wanted = at_most + 1
    for leaf in leaves:
        for chunk in _counted(statements, leaf, judgement, wanted):
            wanted -= chunk.candidates
            yield chunk
            if wanted <= 0:
                return


def _counted(
    statements: Statements, leaf: Leaf, judgement: Judgement, wanted: int
) -> Iterator[Chunk]:
    if leaf.has_index:
        clock = Clock()
        try:
            count = statements.count_along_index(leaf, judgement, wanted)
        except BatchFailed:
            # Too many for one statement; pages are counted some at a time.
            pass
        else:
            yield Chunk(part=str(leaf), took=clock.took(), done=1.0, candidates=count)
            return
    size = BatchSize(current=_FIRST_PAGES, largest=_MOST_PAGES, target=_TARGET)

    def look(leaf: Leaf, pages: range) -> Chunk:
        clock = Clock()
        count = statements.count(leaf, judgement, heap_range(pages), up_to=wanted)
        return Chunk(part=str(leaf), took=clock.took(), units=len(pages), candidates=count)

    for chunk in by_ranges([leaf], WHOLE, size, look):
        wanted -= chunk.candidates
        yield chunk

"""Rows that a first pass left behind: deleted around their holders, in ever smaller parts.

One row that the database refuses to delete takes its whole statement along, so in the end
each row has a statement of its own, and is accounted for by itself.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.collection import Chunk
from idemctl.stores.postgres.connect import BatchFailed
from idemctl.stores.postgres.leaves import heap_range, row_at
from idemctl.stores.postgres.statements import Clock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.domain.allowance import Allowance
    from idemctl.stores.postgres.conditions import Judgement
    from idemctl.stores.postgres.leaves import Leaf
    from idemctl.stores.postgres.statements import Statements


class Leftovers:
    """The second pass over pages of one physical table."""

    def __init__(
        self,
        statements: Statements,
        leaf: Leaf,
        judgement: Judgement,
        place: str,
        allowance: Allowance,
    ) -> None:
        self._statements = statements
        self._leaf = leaf
        self._judgement = judgement
        self._place = place
        self._allowance = allowance

    def second_pass(self, step: range, pending: int) -> Iterator[Chunk]:
        """Come back to pages where rows were left, and account for all that are still there.

        Args:
            step: the pages.
            pending: how many candidates the first pass saw there and did not delete.
        """
        blind = False
        for chunk in self._around(step):
            pending -= chunk.candidates
            blind = blind or (chunk.trouble is not None and not chunk.candidates)
            yield chunk
        if pending > 0 and not self._allowance.is_spent:
            yield Chunk(
                part=str(self._leaf),
                took=timedelta(0),
                done=1.0,
                candidates=pending,
                skipped_locked=pending if blind else 0,
                changed_meanwhile=0 if blind else pending,
            )

    def _around(self, place: range | str) -> Iterator[Chunk]:
        """Delete around the holders in pages, or one row by its ctid; what fails, in parts."""
        if self._allowance.is_spent:
            return
        clock = Clock()
        where = row_at(place) if isinstance(place, str) else heap_range(place)
        try:
            deleted = self._statements.delete_unlocked(
                self._leaf, self._judgement, where, self._allowance.left
            )
        except BatchFailed as failure:
            yield from self._in_parts(place, failure)
            return
        held_for = clock.took()
        self._allowance.spend(deleted.count)
        refused, trouble = deleted.picked - deleted.count, None
        left = refused
        try:
            # What a limit leaves is held by nobody.
            if not self._allowance.is_spent:
                left = self._statements.count(self._leaf, self._judgement, where)
        except BatchFailed as failure:
            trouble = failure.message
        if refused:
            trouble = f"{self._place}: a trigger keeps expired rows"
        yield Chunk(
            part=str(self._leaf),
            took=clock.took(),
            held_for=held_for,
            done=1.0,
            candidates=deleted.count + max(left, refused),
            deleted=deleted.count,
            children_deleted=deleted.children,
            skipped_locked=max(left, refused) - refused,
            failed=refused,
            limited=self._allowance.is_spent,
            trouble=trouble,
        )

    def _in_parts(self, place: range | str, failure: BatchFailed) -> Iterator[Chunk]:
        """Go on in smaller parts after a failure; in the end it is one row that fails."""
        if isinstance(place, str):
            yield self._kept(failure, row_count=1)
            return
        try:
            parts = self._parts(place)
        except BatchFailed as blindness:
            yield self._kept(blindness, row_count=0)
            return
        for part in parts:
            yield from self._around(part)

    def _kept(self, failure: BatchFailed, *, row_count: int) -> Chunk:
        return Chunk(
            part=str(self._leaf),
            took=timedelta(0),
            done=1.0,
            candidates=row_count,
            skipped_locked=row_count if failure.met_lock else 0,
            failed=0 if failure.met_lock else row_count,
            blind=not row_count,
            trouble=failure.message,
        )

    def _parts(self, pages: range) -> list[range | str]:
        """Take pages apart: into halves, and one page into its expired rows."""
        if len(pages) > 1:
            middle = (pages.start + pages.stop) // 2
            return [range(pages.start, middle), range(middle, pages.stop)]
        return [*self._statements.list_expired(self._leaf, self._judgement, heap_range(pages))]

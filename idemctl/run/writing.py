"""Writing to a store: the one door through which every verb goes that changes something.

Behind it the store is locked and is not frozen, and stays so from batch to batch: whoever loses
the lock, or is frozen meanwhile, stops at the next checkpoint.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.errors import IdemctlError, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.domain.verdicts import Judgement
    from idemctl.run.copies import Beat
    from idemctl.run.keeper import Kept
    from idemctl.run.run import Run
    from idemctl.stores.locking import Locks

FROZEN_BY_ITSELF_FOR = timedelta(hours=24)


@dataclass(slots=True, kw_only=True)
class Door:
    """What stands open to a verb that writes to one store."""

    run: Run
    kept: Kept | None
    judgement: Judgement | None = None
    """What the witness said at the beginning; `None` where there is none."""
    beat: Beat | None = None
    """What came of the beat at the end."""

    def end_well(self, *, after_filling: bool = False) -> IdemctlError | None:
        """Raise the witness, for all went well; give what kept it from being raised.

        Args:
            after_filling: whether Redis was seen just now to have all that it owes.
        """
        if self.kept is None or not self.kept.has_witness:
            return None
        try:
            self.beat = self.kept.beat(self.run, after_filling=after_filling)
            self.judgement = self.beat.judgement
            if self.beat.witness is not None and not self.judgement.may_beat:
                # What it told was mended, and is not true any more.
                self.judgement = self.kept.judge(self.kept.look(), self.run)
        except IdemctlError as error:
            return error
        return None


@contextmanager
def writing(
    store_name: str, locks: Locks, run: Run, *, purpose: str | None = None
) -> Iterator[Door]:
    """Lock a store for the length of the block.

    Args:
        store_name: as it is configured.
        locks: its side that can be locked.
        run: stopped when the lock is lost, or the store is frozen.
        purpose: the verb whose lock it is; the run's own, unless it undoes what another did.

    Raises:
        Frozen: somebody said that nothing is to be written.
        Refused: Postgres went back in time; the store is frozen now.
        Locked: another run of this verb is at work.
        IdemctlError: whether it is frozen cannot be told.
    """
    purpose = purpose or run.verb
    keeper = run.keepers.get(store_name)
    if keeper is None:
        with run.holding(locks.lock(purpose)):
            yield Door(run=run, kept=None)
        return
    with keeper.opened(writable=True) as kept:
        kept.refuse_frozen()
        with run.holding(locks.lock(purpose)), run.heeding(kept):
            door = Door(run=run, kept=kept)
            if kept.has_witness:
                door.judgement = _refuse_back_in_time(kept, run)
            yield door


def _refuse_back_in_time(kept: Kept, run: Run) -> Judgement:
    """Freeze a store whose Postgres went back in time: what it forgot, only a person knows."""
    looked = kept.look()
    if looked.failure is not None:
        raise looked.failure
    judgement = kept.judge(looked, run)
    if judgement.verdict.is_back_in_time:
        store = kept.keeper.store
        _, copies = kept.freeze(
            "Postgres went back in time: what it forgot may have been done",
            FROZEN_BY_ITSELF_FOR,
            run,
        )
        unreached = [one.place for one in copies if one.failure is not None]
        raise Refused(
            f"{store}: Postgres went back in time ({judgement.verdict.value}, by two signs); "
            "the store is frozen now" + (f", but for {', '.join(unreached)}" if unreached else ""),
            hint=f"idemctl store show --store {store} tells the signs; "
            f"idemctl store accept --store {store} acknowledges the restore",
        )
    return judgement

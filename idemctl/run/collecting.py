"""The walk of gc through one store, or through one shard of it."""

from __future__ import annotations

from contextlib import closing, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.collection import Collection
from idemctl.domain.outcomes import WhyStopped
from idemctl.errors import IdemctlError
from idemctl.run.run import Stopped
from idemctl.run.shards import ShardedWalk
from idemctl.stores.answers import WHOLE

if TYPE_CHECKING:
    from collections.abc import Generator

    from idemctl.domain.allowance import Allowance
    from idemctl.domain.collection import Chunk
    from idemctl.domain.retention import Retention
    from idemctl.run.run import Run
    from idemctl.state.archive import ArchiveFolder
    from idemctl.stores.answers import Shard
    from idemctl.stores.ports import Opens, Store


_TROUBLES_TO_GIVE_UP = 20


@dataclass(frozen=True, slots=True)
class ShardTask:
    """One shard of a walk, for a worker process. See `run.shards.Task`."""

    opens: Opens
    retention: Retention
    apply: bool
    allowance: Allowance
    store: str = ""
    archive: ArchiveFolder | None = None
    """Where each batch is written before it commits."""

    def steps(self, shard: Shard) -> Generator[Chunk]:
        """See `Task.steps`."""
        store = self.opens.open(writable=self.apply)
        try:
            yield from self.steps_in(store, shard)
        finally:
            store.close()

    def steps_in(self, store: Store, shard: Shard) -> Generator[Chunk]:
        """Do it in a store that is open; each shard has its part of what may go."""
        if not self.apply:
            return store.survey(self.retention, shard)
        limit = self.allowance.part(shard.index, shard.count)
        if self.archive is None:
            return store.collect(self.retention, shard, limit)
        return self._archived(self.archive, store, shard, limit)

    def _archived(
        self, folder: ArchiveFolder, store: Store, shard: Shard, limit: int | None
    ) -> Generator[Chunk]:
        with closing(folder.open(self.store)) as archive:
            yield from store.collect_into(archive, self.retention, shard, limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """What came of a walk."""

    collection: Collection
    why_stopped: WhyStopped
    failure: IdemctlError | None = None


def walk(task: ShardTask, store: Store, name: str, workers: int, run: Run) -> Walked:
    """Go through a store until its end, or until the run must stop.

    Args:
        task: what is done, whole or by shards.
        store: where it is done, opened.
        name: the store's, as it is configured.
        workers: processes that share the work.
        run: asked after each step.
    """
    if task.apply and task.allowance.is_spent:
        return Walked(collection=Collection(), why_stopped=WhyStopped.LIMIT)
    try:
        run.await_calm()
    except Stopped as stopped:
        return Walked(collection=Collection(), why_stopped=stopped.why)
    total, why, failure = Collection(), WhyStopped.DONE, None
    troubles = 0
    sharded = None
    steps: ShardedWalk[Chunk] | Generator[Chunk]
    # A worker that may take nothing has nothing to do.
    workers = task.allowance.of(workers)
    if workers > 1:
        steps = sharded = ShardedWalk(task, workers, run.pace_name, watch=run.checkpoint)
    else:
        steps = task.steps_in(store, WHOLE)
    with closing(steps), run.leading(sharded) if sharded else nullcontext():
        try:
            for chunk in steps:
                total = total.plus(chunk)
                _tell(run, name, chunk, total)
                # A row that the database refuses is no sign that the next one is locked, too.
                troubles = troubles + 1 if chunk.trouble and not chunk.failed else 0
                if troubles >= _TROUBLES_TO_GIVE_UP:
                    why = WhyStopped.LOCKED_OUT
                    break
                run.checkpoint(timedelta(0) if sharded else chunk.took, chunk.units)
        except Stopped as stopped:
            why = stopped.why
        except IdemctlError as error:
            failure = error
        if sharded is not None and (failure is not None or why is not WhyStopped.DONE):
            total, later = _end(sharded, name, total, run)
            failure = failure or later
        unsettled = _settled(steps)
        failure = failure or unsettled
    if total.limited and why is WhyStopped.DONE:
        why = WhyStopped.LIMIT
    return Walked(collection=total, why_stopped=why, failure=failure)


def _settled(steps: ShardedWalk[Chunk] | Generator[Chunk]) -> IdemctlError | None:
    """Let a walk that ends early finish what it owes, and hear whether it could."""
    try:
        steps.close()
    except IdemctlError as error:
        return error
    return None


def _end(
    sharded: ShardedWalk[Chunk], name: str, total: Collection, run: Run
) -> tuple[Collection, IdemctlError | None]:
    """Let every worker finish its batch, and count it: nothing works on without the lock."""
    sharded.ask_to_stop()
    failure = None
    try:
        for chunk in sharded:
            total = total.plus(chunk)
            try:
                _tell(run, name, chunk, total)
            except IdemctlError as error:
                failure = failure or error
    except IdemctlError as error:
        failure = failure or error
    return total, failure


def _tell(run: Run, name: str, chunk: Chunk, total: Collection) -> None:
    run.progress.at(
        f"{name} {chunk.part}",
        chunk.done,
        {"candidates": total.candidates, "deleted": total.deleted},
    )
    if chunk.wrote or chunk.trouble:
        facts = {
            "store": name,
            "part": chunk.part,
            "deleted": chunk.deleted,
            "children_deleted": chunk.children_deleted,
            "took_ms": round(chunk.held_for.total_seconds() * 1000, 3),
        }
        run.journal.write("batch", facts | ({"trouble": chunk.trouble} if chunk.trouble else {}))

"""gc: collects expired records.

Gather: the store's own clock gives one cutoff for the run, and with the layout, the policy
and the store's ttl it makes the promises by which records are judged. Decide and apply are
one walk, in the store, a committed batch at a time; without `apply` the same walk counts.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.collection import Collection
from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.retention import Retention
from idemctl.errors import (
    Denied,
    ExitStatus,
    IdemctlError,
    Refused,
    Unreachable,
    worst,
)
from idemctl.run.run import Stopped
from idemctl.run.shards import ShardedWalk
from idemctl.stores.ports import WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from idemctl.domain.collection import Chunk
    from idemctl.domain.records import Pattern
    from idemctl.run.run import Run
    from idemctl.run.target import Target
    from idemctl.stores.ports import Description, Opens, Shard, Store

_TROUBLES_TO_GIVE_UP = 20
_ENDS_THE_RUN = {WhyStopped.INTERRUPTED, WhyStopped.TERMINATED, WhyStopped.LOCK_LOST}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the operator decided."""

    apply: bool = False
    workers: int = 1
    backlog_after: timedelta = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What came of one target."""

    target: Target
    pattern: Pattern
    place: str
    cutoff: datetime
    collection: Collection
    why_stopped: WhyStopped
    expires_by_itself: bool = False
    """Whether the store removes expired records itself: there is only something to see."""
    oldest_left_at: datetime | None = None
    """When the oldest promise that is over ended, among what was left behind."""
    left_unknown: bool = False
    """Whether it could not be told how old the rest is."""

    def status(self, options: Options) -> ExitStatus:
        """Grade one target.

        Records left behind are normal while they are young: the next run takes them. That
        some row is locked must page nobody; that none goes for a day must.
        """
        statuses = [self.why_stopped.status]
        if self.collection.failed or self.left_unknown:
            statuses.append(ExitStatus.PARTIAL)
        left = self.oldest_left_at
        if left is not None and self.cutoff - left > options.backlog_after:
            statuses.append(ExitStatus.PARTIAL)
        return worst(statuses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a run of gc."""

    options: Options
    targets: tuple[Collected, ...]
    failure: IdemctlError | None = None
    """What ended the run before all targets were done."""

    @property
    def status(self) -> ExitStatus:
        """The exit status of the whole."""
        statuses = [one.status(self.options) for one in self.targets]
        if self.failure is not None:
            statuses.append(self.failure.status)
        return worst(statuses)


@dataclass(frozen=True, slots=True)
class ShardTask:
    """One shard of a walk, for a worker process. See `run.shards.Task`."""

    opens: Opens
    retention: Retention
    apply: bool

    def steps(self, shard: Shard) -> Iterator[Chunk]:
        """See `Task.steps`."""
        store = self.opens.open(writable=self.apply)
        try:
            yield from (store.collect if self.apply else store.survey)(self.retention, shard)
        finally:
            store.close()


def gc(targets: Iterable[Target], options: Options, run: Run) -> Outcome:
    """Collect from each target in turn.

    Raises:
        IdemctlError: before anything was looked at. Later errors are part of the outcome:
            what was collected until then is gone and must be told.
    """
    done: list[Collected] = []
    for target in targets:
        try:
            collected, failure = _collect(target, options, run)
        except IdemctlError as error:
            if not done:
                raise
            return Outcome(options=options, targets=tuple(done), failure=error)
        done.append(collected)
        # After a deadline every store still gets a batch and a look at how old its rest is:
        # the last one in the file must not starve in silence.
        if failure is not None or collected.why_stopped in _ENDS_THE_RUN:
            return Outcome(options=options, targets=tuple(done), failure=failure)
    return Outcome(options=options, targets=tuple(done))


def _collect(target: Target, options: Options, run: Run) -> tuple[Collected, IdemctlError | None]:
    store = target.opens.open(writable=options.apply)
    with closing(store):
        description = store.describe()
        cutoff = store.clock()
        retention = Retention(
            cutoff=cutoff,
            has_stored_expiry=store.has_stored_expiry,
            ends_with_key=description.expires_records,
            ttl=target.ttl,
            policy_ttls=target.policies.ttls_owed(cutoff),
        )
        collected = Collected(
            target=target,
            pattern=store.pattern,
            place=description.place,
            cutoff=cutoff,
            collection=Collection(),
            why_stopped=WhyStopped.DONE,
            expires_by_itself=description.expires_records,
        )
        _refuse_blindness(description)
        if not options.apply:
            return _walk(collected, store, retention, options, run)
        if description.expires_records:
            return collected, None
        with run.holding(store.lock(run.verb)):
            _refuse_unfit(description)
            collected, failure = _walk(collected, store, retention, options, run)
        if failure is None and _left_something(collected):
            collected = _look_back(collected, store, retention)
        return collected, failure


def _walk(
    collected: Collected, store: Store, retention: Retention, options: Options, run: Run
) -> tuple[Collected, IdemctlError | None]:
    """Go through the store until its end, or until the run must stop."""
    total, why, failure = Collection(), WhyStopped.DONE, None
    troubles = 0
    sharded = None
    steps: Iterable[Chunk]
    if options.workers > 1:
        task = ShardTask(collected.target.opens, retention, options.apply)
        steps = sharded = ShardedWalk(task, options.workers, run.pace_name)
    else:
        steps = (store.collect if options.apply else store.survey)(retention, WHOLE)
    try:
        for chunk in steps:
            total = total.plus(chunk)
            _tell(run, collected, chunk, total)
            # A row that the database refuses is no sign that the next one is locked, too.
            troubles = troubles + 1 if chunk.trouble and not chunk.failed else 0
            if troubles >= _TROUBLES_TO_GIVE_UP:
                raise Stopped(WhyStopped.LOCKED_OUT)  # noqa: TRY301 (as a checkpoint would)
            run.checkpoint(timedelta(0) if sharded else chunk.took)
    except Stopped as stopped:
        why = stopped.why
    except IdemctlError as error:
        failure = error
    if sharded is not None and (failure is not None or why is not WhyStopped.DONE):
        total, later = _end(sharded, collected, total, run)
        failure = failure or later
    return replace(collected, collection=total, why_stopped=why), failure


def _end(
    sharded: ShardedWalk, collected: Collected, total: Collection, run: Run
) -> tuple[Collection, IdemctlError | None]:
    """Let every worker finish its batch, and count it: nothing works on without the lock."""
    sharded.ask_to_stop()
    failure = None
    try:
        for chunk in sharded:
            total = total.plus(chunk)
            try:
                _tell(run, collected, chunk, total)
            except IdemctlError as error:
                failure = failure or error
    except IdemctlError as error:
        failure = failure or error
    return total, failure


def _tell(run: Run, collected: Collected, chunk: Chunk, total: Collection) -> None:
    run.progress.at(
        f"{collected.target.store} {chunk.part}",
        chunk.done,
        {"candidates": total.candidates, "deleted": total.deleted},
    )
    if chunk.wrote or chunk.trouble:
        facts = {
            "store": collected.target.store,
            "part": chunk.part,
            "deleted": chunk.deleted,
            "children_deleted": chunk.children_deleted,
            "took_ms": round(chunk.held_for.total_seconds() * 1000, 3),
        }
        run.journal.write("batch", facts | ({"trouble": chunk.trouble} if chunk.trouble else {}))


def _refuse_blindness(description: Description) -> None:
    if description.hides_rows is not None:
        raise Unreachable(
            f"{description.place}: cannot judge: {description.hides_rows}",
            hint="use a role that sees every row, or ask for BYPASSRLS",
        )


def _refuse_unfit(description: Description) -> None:
    if description.is_replica:
        raise Refused(
            f"{description.place}: this server is a replica", hint="connect to the primary"
        )
    if not description.supported:
        raise Refused(
            f"{description.place}: {description.product} {description.version} is too old",
            hint="idemctl doctor names the oldest version that works",
        )
    lacking = [right for right in description.rights if not right.granted]
    if lacking:
        raise Denied(
            f"{description.place}: {description.user} lacks "
            + ", ".join(right.name for right in lacking),
            hint=" ".join(right.grant for right in lacking),
        )


def _left_something(collected: Collected) -> bool:
    total = collected.collection
    return bool(total.skipped_locked) or collected.why_stopped is not WhyStopped.DONE


def _look_back(collected: Collected, store: Store, retention: Retention) -> Collected:
    """Find out how old the rest is, to tell a late run from a backlog."""
    try:
        return replace(collected, oldest_left_at=store.oldest_expired(retention))
    except IdemctlError:
        return replace(collected, left_unknown=True)

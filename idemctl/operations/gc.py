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

from idemctl.domain.allowance import Allowance
from idemctl.domain.collection import Collection
from idemctl.domain.outcomes import WhyStopped
from idemctl.domain.retention import Retention
from idemctl.errors import ExitStatus, IdemctlError, worst
from idemctl.run.collecting import ShardTask
from idemctl.run.fitness import refuse_blindness, refuse_business, refuse_unfit
from idemctl.run.run import Stopped
from idemctl.run.shards import ShardedWalk
from idemctl.run.writing import writing
from idemctl.stores.answers import WHOLE

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from datetime import datetime

    from idemctl.domain.collection import Chunk
    from idemctl.domain.records import Pattern
    from idemctl.domain.references import Reference
    from idemctl.domain.verdicts import Judgement
    from idemctl.run.run import Run
    from idemctl.run.target import Target
    from idemctl.stores.ports import Store

_TROUBLES_TO_GIVE_UP = 20
_ENDS_WELL = {WhyStopped.DONE, WhyStopped.DEADLINE, WhyStopped.LIMIT}
_ENDS_THE_RUN = {WhyStopped.INTERRUPTED, WhyStopped.TERMINATED, WhyStopped.LOCK_LOST}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the operator decided."""

    apply: bool = False
    workers: int = 1
    limit: int | None = None
    """The most records that may go in this run, of all targets."""
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
    references: tuple[Reference, ...] = ()
    """Foreign keys by which other rows hang on those that are collected."""
    oldest_left_at: datetime | None = None
    """When the oldest promise that is over ended, among what was left behind."""
    left_unknown: bool = False
    """Whether it could not be told how old the rest is."""
    witness: Judgement | None = None
    """What the witness says of the store; `None` where there is none, or nothing was changed."""

    def status(self, options: Options) -> ExitStatus:
        """Grade one target.

        Records left behind are normal while they are young: the next run takes them. That
        some row is locked must page nobody; that none goes for a day must.
        """
        statuses = [self.why_stopped.status]
        if self.collection.failed or self.left_unknown:
            statuses.append(ExitStatus.PARTIAL)
        # What a limit leaves behind was meant to stay for now.
        left = None if self.why_stopped is WhyStopped.LIMIT else self.oldest_left_at
        if left is not None and self.cutoff - left > options.backlog_after:
            statuses.append(ExitStatus.PARTIAL)
        return worst(statuses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a run of gc."""

    options: Options
    targets: tuple[Collected, ...]
    failures: tuple[IdemctlError, ...] = ()
    """What kept targets from being done; the others were done all the same."""

    @property
    def status(self) -> ExitStatus:
        """The exit status of the whole."""
        statuses = [one.status(self.options) for one in self.targets]
        statuses += [failure.status for failure in self.failures]
        return worst(statuses)


def gc(targets: Iterable[Target], options: Options, run: Run) -> Outcome:
    """Collect from each target in turn.

    A store that cannot be reached is no reason to leave another one uncollected.

    Raises:
        IdemctlError: nothing was looked at. Else errors are part of the outcome: what was
            collected is gone and must be told.
    """
    done: list[Collected] = []
    allowance = Allowance(options.limit)
    failures: list[IdemctlError] = []
    for target in targets:
        if options.apply and target.expires_by_itself:
            continue
        try:
            collected, failure = _collect(target, options, run, allowance)
        except IdemctlError as error:
            failures.append(error)
            continue
        done.append(collected)
        allowance.spend(collected.collection.deleted)
        failures += [failure] if failure is not None else []
        # After a deadline every store still gets a batch and a look at how old its rest is:
        # the last one in the file must not starve in silence.
        if collected.why_stopped in _ENDS_THE_RUN:
            break
    if failures and not done:
        raise failures[0]
    return Outcome(options=options, targets=tuple(done), failures=tuple(failures))


def _collect(
    target: Target, options: Options, run: Run, allowance: Allowance
) -> tuple[Collected, IdemctlError | None]:
    refuse_business(target)
    store = target.opens.open(writable=options.apply)
    with closing(store):
        description = store.describe()
        cutoff = store.clock()
        retention = Retention(
            cutoff=cutoff,
            has_stored_expiry=store.has_stored_expiry,
            ends_with_key=target.expires_by_itself,
            ttl=target.ttl,
            policy_ttls=target.policies.ttls_owed(cutoff),
        )
        collected = Collected(
            target=target,
            pattern=store.pattern,
            place=target.named(description.place),
            cutoff=cutoff,
            collection=Collection(),
            why_stopped=WhyStopped.DONE,
            references=description.references,
        )
        task = ShardTask(target.opens, retention, options.apply, replace(allowance))
        refuse_blindness(description)
        if not options.apply:
            return _walk(collected, store, task, options, run)
        with writing(target.store, store, run) as door:
            refuse_unfit(description, store.rights())
            collected, failure = _walk(collected, store, task, options, run)
            if failure is None and _left_something(collected):
                collected = _look_back(collected, store, retention)
            if collected.why_stopped is WhyStopped.FROZEN:
                failure = failure or run.frozen
            if failure is None and collected.why_stopped in _ENDS_WELL:
                failure = door.end_well()
        return replace(collected, witness=door.judgement), failure


def _walk(
    collected: Collected, store: Store, task: ShardTask, options: Options, run: Run
) -> tuple[Collected, IdemctlError | None]:
    """Go through the store until its end, or until the run must stop."""
    if options.apply and task.allowance.is_spent:
        return replace(collected, why_stopped=WhyStopped.LIMIT), None
    total, why, failure = Collection(), WhyStopped.DONE, None
    troubles = 0
    sharded = None
    steps: ShardedWalk[Chunk] | Generator[Chunk]
    # A worker that may take nothing has nothing to do.
    workers = task.allowance.of(options.workers)
    if workers > 1:
        steps = sharded = ShardedWalk(task, workers, run.pace_name, watch=run.checkpoint)
    else:
        steps = task.steps_in(store, WHOLE)
    with closing(steps):
        try:
            for chunk in steps:
                total = total.plus(chunk)
                _tell(run, collected, chunk, total)
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
            total, later = _end(sharded, collected, total, run)
            failure = failure or later
        unsettled = _settled(steps)
        failure = failure or unsettled
    if total.limited and why is WhyStopped.DONE:
        why = WhyStopped.LIMIT
    return (
        replace(collected, collection=total, why_stopped=why, left_unknown=total.blind),
        failure,
    )


def _settled(steps: ShardedWalk[Chunk] | Generator[Chunk]) -> IdemctlError | None:
    """Let a walk that ends early finish what it owes, and hear whether it could."""
    try:
        steps.close()
    except IdemctlError as error:
        return error
    return None


def _end(
    sharded: ShardedWalk[Chunk], collected: Collected, total: Collection, run: Run
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


def _left_something(collected: Collected) -> bool:
    total = collected.collection
    return bool(total.skipped_locked) or collected.why_stopped is not WhyStopped.DONE


def _look_back(collected: Collected, store: Store, retention: Retention) -> Collected:
    """Find out how old the rest is, to tell a late run from a backlog."""
    try:
        oldest = store.oldest_expired(retention)
    except IdemctlError:
        return replace(collected, left_unknown=True)
    ended = collected.why_stopped is WhyStopped.LIMIT and oldest is None
    why = WhyStopped.DONE if ended else collected.why_stopped
    return replace(collected, oldest_left_at=oldest, why_stopped=why)

"""gc: collects expired records.

Gather: the store's own clock gives one cutoff for the run, and with the layout, the policy
and the store's ttl it makes the promises by which records are judged. Decide and apply are
one walk, in the store, a committed batch at a time; without `apply` the same walk counts.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from idemctl.domain.allowance import Allowance
from idemctl.domain.collection import Collection
from idemctl.domain.outcomes import IfLocked, WhyStopped
from idemctl.domain.partitions import past_partitions
from idemctl.domain.retention import Retention
from idemctl.domain.sight import Engine
from idemctl.errors import ExitStatus, IdemctlError, Locked, worst
from idemctl.run.braking import Beside, Braking, no_history
from idemctl.run.collecting import ShardTask, walk
from idemctl.run.fitness import refuse_blindness, refuse_business, refuse_unfit
from idemctl.run.throttle import Waited, throttled
from idemctl.run.writing import writing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from idemctl.domain.brakes import Brake, Decision
    from idemctl.domain.partitions import Partition
    from idemctl.domain.records import Pattern
    from idemctl.domain.references import Reference
    from idemctl.domain.verdicts import Judgement
    from idemctl.run.braking import Past
    from idemctl.run.run import Run
    from idemctl.run.target import Target
    from idemctl.state.archive import ArchiveFolder
    from idemctl.stores.ports import Store

_ENDS_WELL = {
    WhyStopped.DONE, WhyStopped.DEADLINE, WhyStopped.LIMIT, WhyStopped.THROTTLED,
    WhyStopped.STOP_FILE,
}  # fmt: skip
_ENDS_THE_RUN = {WhyStopped.INTERRUPTED, WhyStopped.TERMINATED, WhyStopped.LOCK_LOST}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the operator decided."""

    apply: bool = False
    workers: int = 1
    limit: int | None = None
    """The most records that may go in this run, of all targets."""
    explain: bool = False
    """Whether the report tells which promise spoke for each group."""
    despite: frozenset[Brake] = frozenset()
    """Brakes that are overridden for this run."""
    backlog_after: timedelta = timedelta(hours=24)
    archive: ArchiveFolder | None = None
    """Where each batch is written before it commits."""
    if_locked: IfLocked = IfLocked.FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftToOther:
    """A store that was left to the gc that is at work on it."""

    store: str
    says: str
    """Who holds its lock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What came of one target."""

    target: Target
    pattern: Pattern
    place: str
    cutoff: datetime
    collection: Collection
    why_stopped: WhyStopped
    retention: Retention | None = None
    """What was honoured."""
    clock_ahead: timedelta = timedelta(0)
    """How far the store's clock was ahead of this host's."""
    brakes: tuple[Decision, ...] = ()
    references: tuple[Reference, ...] = ()
    """Foreign keys by which other rows hang on those that are collected."""
    partitions: tuple[Partition, ...] = ()
    """Those in which no promise holds any more."""
    oldest_left_at: datetime | None = None
    """When the oldest promise that is over ended, among what was left behind."""
    left_unknown: bool = False
    """Whether it could not be told how old the rest is."""
    witness: Judgement | None = None
    """What the witness says of the store; `None` where there is none, or nothing was changed."""
    waited: Waited = field(default_factory=Waited)
    """For its server, and why."""

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
    left: tuple[LeftToOther, ...] = ()
    """What another gc was doing, where the operator said that this is well."""

    @property
    def status(self) -> ExitStatus:
        """The exit status of the whole."""
        statuses = [one.status(self.options) for one in self.targets]
        statuses += [failure.status for failure in self.failures]
        return worst(statuses)


def gc(
    targets: Iterable[Target],
    options: Options,
    run: Run,
    past: Past = no_history,
) -> Outcome:
    """Collect from each target in turn.

    A store that cannot be reached is no reason to leave another one uncollected.

    Args:
        targets: both sides of stores.
        options: what the operator decided.
        run: asked between batches whether to go on.
        past: tells earlier runs by store and place; `None` where no history is kept.

    Raises:
        IdemctlError: nothing was looked at, nor left to another gc. Else errors are part of
            the outcome: what was collected is gone and must be told.
    """
    done: list[Collected] = []
    allowance = Allowance(options.limit)
    targets = list(targets)
    twins = {one.store: one for one in targets if one.engine is Engine.REDIS}
    failures: list[IdemctlError] = []
    left: list[LeftToOther] = []
    for target in targets:
        if options.apply and target.expires_by_itself:
            continue
        try:
            beside = Beside(twin=twins.get(target.store), past=past)
            collected, failure = _collect(target, options, run, allowance, beside)
        except IdemctlError as error:
            if isinstance(error, Locked) and options.if_locked is IfLocked.SKIP:
                left.append(LeftToOther(store=target.store, says=error.message))
            else:
                failures.append(error)
            continue
        done.append(collected)
        allowance.spend(collected.collection.deleted)
        failures += [failure] if failure is not None else []
        # After a deadline every store still gets a batch and a look at how old its rest is:
        # the last one in the file must not starve in silence.
        if collected.why_stopped in _ENDS_THE_RUN:
            break
    if failures and not (done or left):
        raise failures[0]
    return Outcome(options=options, targets=tuple(done), failures=tuple(failures), left=tuple(left))


def _collect(
    target: Target, options: Options, run: Run, allowance: Allowance, beside: Beside
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
            retention=retention,
            clock_ahead=cutoff - datetime.now(UTC),
            references=description.references,
            partitions=past_partitions(description.partitions, retention),
        )
        task = ShardTask(
            target.opens,
            retention,
            options.apply,
            replace(allowance),
            target.store,
            options.archive,
        )
        refuse_blindness(description)
        braking = Braking(
            target=target,
            place=collected.place,
            store=store,
            retention=retention,
            row_count=description.row_estimate,
            clock_ahead=collected.clock_ahead,
            beside=beside,
            despite=options.despite,
            limit=options.limit,
        )
        if not options.apply:
            collected, failure = _walk(collected, store, task, options, run)
            return replace(collected, brakes=_would(collected, braking)), failure
        with writing(target.store, store, run) as door, throttled(target, run) as waited:
            refuse_unfit(description, store.rights())
            collected = replace(collected, waited=waited)
            braked = braking.brake(run, task.allowance)
            collected = replace(collected, brakes=braked.decisions)
            if braked.why is not None:
                why, left = braked.why, braked.why is not WhyStopped.BRAKED
                collected = replace(collected, why_stopped=why, left_unknown=left)
                return replace(collected, witness=door.judgement), braked.refusal
            if options.archive is not None:
                folder = str(options.archive.folder)
                run.journal.write("archive", {"store": target.store, "folder": folder})
            collected, failure = _walk(collected, store, task, options, run)
            if failure is None and _left_something(collected):
                collected = _look_back(collected, store, retention)
            if collected.why_stopped is WhyStopped.FROZEN:
                failure = failure or run.frozen
            if failure is None and collected.why_stopped in _ENDS_WELL:
                failure = door.end_well()
        return replace(collected, witness=door.judgement), failure


def _would(collected: Collected, braking: Braking) -> tuple[Decision, ...]:
    """Say what the brakes would, of what a look saw; part of a store is at least that much."""
    if collected.target.expires_by_itself:
        return ()
    count = collected.collection.candidates
    is_whole = collected.why_stopped is WhyStopped.DONE or count > braking.cap.count
    return braking.decisions(count if is_whole else None)


def _walk(
    collected: Collected, store: Store, task: ShardTask, options: Options, run: Run
) -> tuple[Collected, IdemctlError | None]:
    """Go through the store until its end, or until the run must stop."""
    walked = walk(task, store, collected.target.store, options.workers, run)
    collected = replace(
        collected,
        collection=walked.collection,
        why_stopped=walked.why_stopped,
        left_unknown=walked.collection.blind,
    )
    return collected, walked.failure


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

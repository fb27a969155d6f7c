"""store accept: acknowledges a restore, so that what is written from now on comes after all.

Gather: the largest epoch and the highest fence that anything holds: rows, keys, the copies of
the witness, the sequence. Apply: the epoch is raised past the one, the sequence moved past the
other, a new witness written, and the store thawed; in that order, so that who stops on the way
has still written nothing that goes back.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import timedelta
from secrets import token_hex
from typing import TYPE_CHECKING

from idemctl.domain.sight import Engine
from idemctl.domain.witness import next_beat
from idemctl.errors import ExitStatus
from idemctl.run.fitness import refuse_blindness, refuse_replica

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import ExitStack

    from idemctl.domain.batch import Batch
    from idemctl.domain.verdicts import Judgement
    from idemctl.domain.witness import Witness
    from idemctl.run.copies import Copy, Looked
    from idemctl.run.keeper import Keeper, Kept
    from idemctl.run.run import Run
    from idemctl.run.target import Target
    from idemctl.stores.keeping import Generation
    from idemctl.stores.ports import Store


@dataclass(slots=True, kw_only=True)
class Highest:
    """The largest numbers that were seen; 0 where there was none."""

    epoch: int = 0
    fence: int = 0
    record_count: int = 0

    def see(self, batch: Batch) -> None:
        """Look at some records."""
        self.record_count += len(batch)
        if len(batch):
            # What a record does not say is below every number.
            self.epoch = max(self.epoch, int(batch.epoch.max()))
            self.fence = max(self.fence, int(batch.fence.max()))

    def hear(self, epoch: int | None, fence: int | None) -> None:
        """Take what something else holds."""
        self.epoch = max(self.epoch, epoch or 0)
        self.fence = max(self.fence, fence or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What accepting would do, and has to do with the store as it was seen."""

    store: str
    judgement: Judgement
    generation: Generation
    """As it is."""
    highest: Highest
    witness: Witness
    """The one to be written."""
    frozen: tuple[Copy, ...]
    """Places that hold a freeze, which will go."""

    @property
    def epoch(self) -> int | None:
        """That of the records to come; `None` where the layout has none."""
        return None if self.generation.epoch is None else self.witness.epoch

    @property
    def fence(self) -> int | None:
        """The number after which fences go on; `None` where no sequence gives them out."""
        return None if self.generation.sequence is None else self.highest.fence

    @property
    def moves_fence(self) -> bool:
        """Whether the sequence is behind what was seen."""
        return self.fence is not None and (self.generation.fence or 0) < self.fence


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of it."""

    plan: Plan
    applied: bool
    thawed: tuple[Copy, ...] = ()

    @property
    def status(self) -> ExitStatus:
        """A place that could not be thawed still stops everybody."""
        unreached = any(one.failure is not None for one in self.thawed)
        return ExitStatus.PARTIAL if unreached else ExitStatus.OK


@dataclass(slots=True, kw_only=True)
class Acceptance:
    """A look at one store, and what is to be done about it; open until the block ends."""

    keeper: Keeper
    sides: Sequence[Target]
    run: Run
    _kept: Kept = field(init=False)
    _looked: Looked = field(init=False)

    def plan(self, stack: ExitStack, *, apply: bool) -> Plan:
        """Read everything; with `apply` the store is locked until the stack is closed.

        Raises:
            IdemctlError: something cannot be read, and may hold a higher number.
        """
        kept = self._kept = stack.enter_context(self.keeper.opened(writable=apply))
        looked = self._looked = kept.look()
        if looked.failure is not None:
            raise looked.failure
        generation = looked.generation
        assert generation is not None, "a store with a witness has a Postgres"
        highest = Highest()
        highest.hear(generation.epoch, generation.fence)
        for copy in looked.copies:
            if copy.witness is not None:
                highest.hear(copy.witness.epoch, copy.witness.fence)
        for target in self.sides:
            store = stack.enter_context(closing(target.opens.open(writable=False)))
            description = store.describe()
            refuse_blindness(description)
            refuse_replica(description)
            if apply and target.engine is Engine.POSTGRES:
                stack.enter_context(self.run.holding(store.lock(self.run.verb)))
            self._see(store, target.store, highest)
        return Plan(
            store=self.keeper.store,
            judgement=kept.judge(looked, self.run),
            generation=generation,
            highest=highest,
            witness=_new_witness(looked, highest),
            frozen=tuple(one for one in looked.copies if one.freeze is not None),
        )

    def apply(self, plan: Plan) -> Outcome:
        """Do it.

        Raises:
            IdemctlError: nothing more was done after what the message says.
        """
        postgres = self._kept.postgres
        assert postgres is not None, "a store with a witness has a Postgres"
        self.run.checkpoint()
        self.run.journal.write("accept", {"epoch": plan.epoch, "fence": plan.fence})
        postgres.renew(epoch=plan.epoch, fence=plan.fence)
        witness = replace(plan.witness, fence=postgres.generation().fence)
        self._kept.write_everywhere(witness, self._looked.witnesses)
        return Outcome(plan=plan, applied=True, thawed=tuple(self._kept.thaw()))

    def _see(self, store: Store, name: str, highest: Highest) -> None:
        started = time.perf_counter()
        for batch in store.scan():
            highest.see(batch)
            self.run.progress.at(
                f"{name} epochs and fences", 0.0, {"records": highest.record_count}
            )
            self.run.checkpoint(timedelta(seconds=time.perf_counter() - started), len(batch))
            started = time.perf_counter()


def _new_witness(looked: Looked, highest: Highest) -> Witness:
    """Make one that comes after every copy, and that no old copy can be taken for."""
    seen = looked.witnesses
    made = next_beat(seen, looked.servers, epoch=None, fence=None, nonce="")
    beats = 1 + max((one.beats for one in seen.all), default=0)
    return replace(made, nonce=token_hex(8), epoch=highest.epoch + 1, beats=beats)

"""The keeper of one store: its witness and its freeze, in all the places that they are kept."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from secrets import token_hex
from typing import TYPE_CHECKING

from idemctl.domain.circumstances import Unseen
from idemctl.domain.freezes import Freeze
from idemctl.domain.verdicts import judge
from idemctl.domain.witness import Trace, next_beat, trace_of
from idemctl.errors import IdemctlError, Locked
from idemctl.run.copies import Beat, Copy, Looked
from idemctl.run.evidence import recent_in_redis, some_in_postgres
from idemctl.run.pairing import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime, timedelta

    from idemctl.domain.verdicts import Judgement, Sample
    from idemctl.domain.witness import Copies, Witness
    from idemctl.run.run import Run
    from idemctl.run.target import Pair, Target
    from idemctl.stores.keeping import (
        Cluster,
        Generation,
        Keeps,
        KeepsInPostgres,
        KeepsInRedis,
        OpensInPostgres,
        OpensInRedis,
        Process,
    )

_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeper:
    """What opens the places of one store."""

    store: str
    who: str
    """Whoever runs this, and where: `ann@db1`."""
    folder: Keeps
    postgres: OpensInPostgres | None
    """`None` where idemctl has no tables of its own."""
    redis: OpensInRedis | None
    """`None` where the store has no Redis."""
    pair: Pair | None
    side: Target
    """Its first, which tells the time where nothing else of the store is opened."""
    why_no_witness: str = ""

    @contextmanager
    def opened(self, *, writable: bool) -> Iterator[Kept]:
        """Open the places; each connects when it is first asked something."""
        kept = Kept(
            keeper=self,
            postgres=None if self.postgres is None else self.postgres.open(writable=writable),
            redis=None if self.redis is None else self.redis.open(writable=writable),
        )
        try:
            yield kept
        finally:
            for one in kept.places:
                one.close()

    def testimony(self, run: Run) -> Judgement | Unseen:
        """Ask the witness what happened; or say why it cannot be asked."""
        with self.opened(writable=False) as kept:
            looked = kept.look()
            if looked.failure is not None:
                return Unseen(looked.failure.message)
            return kept.judge(looked, run)


@dataclass(slots=True, kw_only=True)
class Kept:
    """The places of one store, opened."""

    keeper: Keeper
    postgres: KeepsInPostgres | None
    redis: KeepsInRedis | None
    _names: dict[str, Keeps] = field(init=False)

    def __post_init__(self) -> None:
        places = {"postgres": self.postgres, "redis": self.redis, "folder": self.keeper.folder}
        self._names = {name: place for name, place in places.items() if place is not None}

    @property
    def places(self) -> tuple[Keeps, ...]:
        """All that there are."""
        return tuple(self._names.values())

    @property
    def has_witness(self) -> bool:
        """Whether there can be one: its row is in Postgres."""
        return self.postgres is not None

    def look(self) -> Looked:
        """Read everything; what cannot be read says why."""
        copies = []
        told: dict[str, Cluster | Generation | Process] = {}
        for name, place in self._names.items():
            try:
                if place is self.postgres:
                    told["cluster"] = self.postgres.cluster()
                    told["generation"] = self.postgres.generation()
                elif place is self.redis:
                    told["process"] = self.redis.process()
                witness = place.witness() if self.has_witness else None
                copies.append(
                    Copy(name=name, place=place.place, witness=witness, freeze=self._freeze(place))
                )
            except IdemctlError as error:
                copies.append(Copy(name=name, place=place.place, failure=error))
        return Looked(copies=tuple(copies), **told)  # type: ignore[arg-type]

    def refuse_frozen(self, *, midway: bool = False) -> None:
        """Refuse to write to a store that is frozen.

        Args:
            midway: whether a run is at work that began when all places could be read. Then
                one that cannot be read any more stops nobody while another one can.

        Raises:
            Frozen: one of the copies says so.
            IdemctlError: one cannot be read, and may say so.
        """
        failures: list[IdemctlError] = []
        read_count = 0
        for place in self.places:
            try:
                freeze = self._freeze(place)
            except IdemctlError as error:
                failures.append(error)
                continue
            if freeze is not None:
                raise freeze.refusal(place.place)
            read_count += place is not self.keeper.folder
        if failures and not (midway and read_count):
            raise failures[0]

    def judge(self, looked: Looked, run: Run) -> Judgement:
        """Give the verdict, with a look from one store into the other where one is needed."""
        copies = looked.witnesses
        in_redis = in_postgres = None
        match trace_of(copies):
            case Trace.REDIS_MISSING | Trace.REDIS_BEHIND:
                assert copies.postgres is not None, "Redis is behind it"
                in_redis = self._sampled(run, before=copies.postgres.beat_at)
            case Trace.POSTGRES_BEHIND:
                in_postgres = self._sampled(run, before=None)
        return judge(copies, looked.servers, in_redis=in_redis, in_postgres=in_postgres)

    def beat(self, run: Run, *, after_filling: bool = False) -> Beat:
        """Raise the witness, unless that would hide what it tells.

        Args:
            run: asked whether to go on where a sample is taken.
            after_filling: whether Redis was seen just now to have all that it owes.

        Raises:
            Locked: others raise it all the time.
        """
        assert self.postgres is not None, "its row is in Postgres"
        for _ in range(_TRIES):
            looked = self.look()
            if looked.failure is not None:
                raise looked.failure
            judgement = self.judge(looked, run)
            if not (judgement.may_beat or (after_filling and judgement.is_mended_by_filling)):
                return Beat(judgement=judgement, witness=None)
            assert looked.generation is not None, "Postgres was read"
            made = next_beat(
                looked.witnesses,
                looked.servers,
                epoch=looked.generation.epoch,
                fence=looked.generation.fence,
                nonce=token_hex(8),
            )
            if self.postgres.write_witness(made, instead_of=looked.witnesses.postgres):
                self._follow(made, looked.witnesses)
                return Beat(judgement=judgement, witness=made)
        raise Locked(
            f"{self.keeper.store}: other runs raise the witness at the same time",
            hint="run again",
        )

    def write_everywhere(self, witness: Witness, seen: Copies) -> None:
        """Put a witness in the place of all that were seen, after somebody said that it is right.

        Raises:
            Locked: another one came in between.
        """
        before = {"postgres": seen.postgres, "redis": seen.redis, "folder": seen.folder}
        for name, place in self._names.items():
            if not place.write_witness(witness, instead_of=before[name]):
                raise Locked(
                    f"{place.place}: another run wrote the witness meanwhile",
                    hint="run again; what was written until now stays right",
                )

    def freeze(self, reason: str, length: timedelta, run: Run) -> tuple[Freeze, list[Copy]]:
        """Freeze the store in every place that can be reached; tell what came of each.

        Raises:
            IdemctlError: no store tells the time by which it would end.
        """
        now = self.clock()
        freeze = Freeze(
            store=self.keeper.store,
            by=self.keeper.who,
            reason=reason,
            run_id=run.id,
            frozen_at=now,
            until=now + length,
        )
        return freeze, self._each(lambda place: place.write_freeze(freeze), freeze)

    def thaw(self) -> list[Copy]:
        """Remove every copy of a freeze that can be reached; tell what came of each."""
        return self._each(lambda place: place.thaw(), None)

    def clock(self) -> datetime:
        """Give the time by the first store that answers.

        Raises:
            IdemctlError: none does.
        """
        asks: list[Callable[[], Cluster | Process]] = []
        asks += [] if self.postgres is None else [self.postgres.cluster]
        asks += [] if self.redis is None else [self.redis.process]
        failure: IdemctlError | None = None
        for ask in asks:
            try:
                return ask().now
            except IdemctlError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        with closing(self.keeper.side.opens.open(writable=False)) as store:
            return store.clock()

    def _each(self, change: Callable[[Keeps], object], freeze: Freeze | None) -> list[Copy]:
        copies = []
        for name, place in self._names.items():
            try:
                change(place)
                copies.append(Copy(name=name, place=place.place, freeze=freeze))
            except IdemctlError as error:
                copies.append(Copy(name=name, place=place.place, failure=error))
        return copies

    def _freeze(self, place: Keeps) -> Freeze | None:
        freeze = place.freeze()
        if freeze is not None and place is self.keeper.folder:
            try:
                return place.freeze(self.clock())
            except IdemctlError:
                # Nobody can tell that it is over.
                return freeze
        return freeze

    def _follow(self, made: Witness, seen: Copies) -> None:
        """Copy a beat on; where somebody wrote meanwhile, the next judgement tells what."""
        if self.redis is not None:
            self.redis.write_witness(made, instead_of=seen.redis)
        self.keeper.folder.write_witness(made, instead_of=seen.folder)

    def _sampled(self, run: Run, *, before: datetime | None) -> Sample | None:
        """Look from one store into the other; nothing is no sign."""
        pair = self.keeper.pair
        if pair is None:
            return None
        try:
            with opened(pair, writable=False) as both:
                if before is None:
                    return some_in_postgres(both, run)
                return recent_in_redis(both, pair.store, before, run)
        except IdemctlError:
            return None

"""Opening a pair: both stores, the promises between them, and their clocks."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from idemctl.domain.differences import Terms
from idemctl.errors import Unsupported
from idemctl.run.fitness import (
    refuse_blindness,
    refuse_lag,
    refuse_primary,
    refuse_replica,
)
from idemctl.run.shards import ShardedWalk
from idemctl.stores.answers import WHOLE
from idemctl.stores.clock import Clock
from idemctl.stores.pair import OpenPair

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from idemctl.domain.roll import Uneven
    from idemctl.domain.skew import Skew
    from idemctl.domain.sweeps import Swept
    from idemctl.layouts.transcript import Transcript
    from idemctl.run.run import Run
    from idemctl.run.target import Pair
    from idemctl.stores.answers import Shard


@contextmanager
def opened(pair: Pair, *, writable: bool, may_lag: bool = False) -> Iterator[OpenPair]:
    """Open both stores of a pair.

    Args:
        pair: which.
        writable: without it the stores themselves refuse every write.
        may_lag: whether rows from a standby do, as they were a minute ago; only for who asks
            Redis for them, and never the other way round.

    Raises:
        Refused: their clocks are so far apart that no expiry means the same in both.
        Unreachable: one does not answer, hides some of its records, or may be behind.
    """
    with (
        closing(pair.postgres.opens.open(writable=writable)) as postgres,
        closing(pair.redis.opens.open(writable=writable)) as redis,
    ):
        description = postgres.describe()
        refuse_blindness(description)
        refuse_primary(pair.postgres, description)
        if may_lag and pair.postgres.reads_replica:
            refuse_lag(postgres, description)
        else:
            refuse_replica(description)
        described = redis.describe()
        refuse_blindness(described)
        refuse_replica(described)
        clock = Clock.read(postgres, redis, pair.store)
        terms = Terms(
            redis_ttl=pair.redis_ttl,
            has_stored_expiry=postgres.has_stored_expiry,
            ttl=pair.postgres.ttl,
            policy_ttls=pair.postgres.policies.ttls_owed(clock.read_at),
        )
        yield OpenPair(
            postgres=postgres,
            redis=redis,
            terms=terms,
            clock=clock,
            row_estimate=description.row_estimate,
        )


def skew_of(pair: Pair) -> Skew:
    """Measure by how much Redis's clock is ahead, however far that is."""
    with (
        closing(pair.postgres.opens.open(writable=False)) as postgres,
        closing(pair.redis.opens.open(writable=False)) as redis,
    ):
        return Clock.measured(postgres, redis, pair.store).redis_ahead


class Sweep(StrEnum):
    """The walks over a pair."""

    CALL_ROLL = "call-roll"
    FROM_POSTGRES = "from-postgres"
    FROM_REDIS = "from-redis"
    REFILL = "refill"


@dataclass(frozen=True, slots=True)
class SweepTask:
    """One shard of a walk over a pair, for a worker process. See `run.shards.Task`."""

    pair: Pair
    sweep: Sweep
    key: bytes = b""
    """Of the roll call, for `CALL_ROLL`."""
    among: Uneven | None = None
    """What `FROM_REDIS` looks at."""

    def steps(self, shard: Shard) -> Generator[Swept]:
        """See `Task.steps`."""
        with opened(self.pair, writable=self.sweep is Sweep.REFILL) as both:
            yield from self.on(both, shard)

    def on(self, both: OpenPair, shard: Shard = WHOLE) -> Generator[Swept]:
        """Do the work on a pair that is open."""
        match self.sweep:
            case Sweep.CALL_ROLL:
                yield from both.call_roll(self.key, shard)
            case Sweep.FROM_POSTGRES:
                yield from both.from_postgres(shard)
            case Sweep.FROM_REDIS:
                yield from both.from_redis(shard, among=self.among)
            case Sweep.REFILL:
                yield from both.refill(transcript_of(self.pair), shard)

    def walk(self, both: OpenPair, run: Run, workers: int) -> ShardedWalk[Swept] | Generator[Swept]:
        """Start the walk: in so many processes, or here if one is enough."""
        if workers > 1:
            return ShardedWalk(self, workers, run.pace_name, watch=run.checkpoint)
        return self.on(both)


def transcript_of(pair: Pair) -> Transcript:
    """Give how twins are written.

    Raises:
        Unsupported: they cannot be written without loss.
    """
    if isinstance(pair.transcript, Unsupported):
        raise pair.transcript
    return pair.transcript

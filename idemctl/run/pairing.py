"""Opening a pair: both stores, the promises between them, and their clocks."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from idemctl.domain.differences import SKEW, Terms
from idemctl.errors import Refused, Unsupported
from idemctl.run.fitness import refuse_blindness, refuse_replica
from idemctl.stores.pair import Clock, OpenPair

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from idemctl.domain.sweeps import Swept
    from idemctl.layouts.transcript import Transcript
    from idemctl.run.target import Pair
    from idemctl.stores.answers import Shard


@contextmanager
def opened(pair: Pair, *, writable: bool) -> Iterator[OpenPair]:
    """Open both stores of a pair.

    Raises:
        Refused: their clocks are so far apart that no expiry means the same in both.
        Unreachable: one does not answer, hides some of its records, or may be behind.
    """
    with (
        closing(pair.postgres.opens.open(writable=writable)) as postgres,
        closing(pair.redis.opens.open(writable=writable)) as redis,
    ):
        description = postgres.describe()
        for one in (description, redis.describe()):
            refuse_blindness(one)
            refuse_replica(one)
        clock = Clock.read(postgres, redis)
        if clock.skew > SKEW:
            raise Refused(
                f"{pair.store}: the clocks of both stores are {clock.skew.total_seconds():.1f} s "
                "apart, so their expiries cannot be compared",
                hint="let both servers follow one time source",
            )
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


class Sweep(StrEnum):
    """The walks over a pair."""

    BOTH_WAYS = "both-ways"
    REFILL = "refill"


@dataclass(frozen=True, slots=True)
class SweepTask:
    """One shard of a walk over a pair, for a worker process. See `run.shards.Task`."""

    pair: Pair
    sweep: Sweep

    def steps(self, shard: Shard) -> Generator[Swept]:
        """See `Task.steps`."""
        refills = self.sweep is Sweep.REFILL
        with opened(self.pair, writable=refills) as both:
            if refills:
                yield from both.refill(transcript_of(self.pair), shard)
            else:
                yield from both.both_ways(shard)


def transcript_of(pair: Pair) -> Transcript:
    """Give how twins are written.

    Raises:
        Unsupported: they cannot be written without loss.
    """
    if isinstance(pair.transcript, Unsupported):
        raise pair.transcript
    return pair.transcript

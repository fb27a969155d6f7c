"""Verdicts: what the witness and a second sign say happened to a store.

A copy of the witness that is behind, or gone, may have another reason: somebody removed a key.
So a verdict takes a second sign, of the servers or of the records; without it nothing can be
judged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from idemctl.domain.witness import Trace, trace_of

if TYPE_CHECKING:
    from idemctl.domain.witness import Copies, Servers, Witness

_FEWEST = 20
"""So many records are the least that say anything."""
_FEW = 2
"""So many are missing at any time: they are on their way."""
_NOISE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Some records of one store, looked up in the other."""

    asked: int
    missing: int

    @property
    def is_enough(self) -> bool:
        """Whether there are enough to judge by."""
        return self.asked >= _FEWEST

    @property
    def shows_loss(self) -> bool:
        """Whether more is missing than a live application explains."""
        return self.is_enough and self.missing > max(_FEW, _NOISE * self.asked)

    @property
    def shows_none(self) -> bool:
        """Whether what is expected is there."""
        return self.is_enough and not self.shows_loss


class Verdict(StrEnum):
    """What the witness and a second sign say happened."""

    NORMAL = "normal"
    REDIS_RESTARTED = "redis-restarted"
    """Another process than at the last beat, with everything in it."""
    PROMOTED = "promoted"
    """Postgres is on another timeline, and lost nothing."""
    NEW_CLUSTER = "new-cluster"
    """Postgres is another cluster, with everything in it."""
    REDIS_FLUSHED = "redis-flushed"
    REDIS_RESTORED = "redis-restored"
    """It came back with an older file, or a failover lost writes."""
    POSTGRES_RESTORED = "postgres-restored"
    """It went back in time."""
    BOTH_RESTORED = "both-restored"
    UNKNOWN = "unknown"
    """Cannot be judged."""

    @property
    def is_well(self) -> bool:
        """Whether nothing was lost."""
        return self in _WELL

    @property
    def is_back_in_time(self) -> bool:
        """Whether Postgres forgot what it knew: then no store can be trusted to be right."""
        return self in {Verdict.POSTGRES_RESTORED, Verdict.BOTH_RESTORED}


_WELL = {Verdict.NORMAL, Verdict.REDIS_RESTARTED, Verdict.PROMOTED}
_LOSSES = {
    Trace.REDIS_MISSING: Verdict.REDIS_FLUSHED,
    Trace.REDIS_BEHIND: Verdict.REDIS_RESTORED,
    Trace.POSTGRES_BEHIND: Verdict.POSTGRES_RESTORED,
    Trace.BOTH_BEHIND: Verdict.BOTH_RESTORED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict, and what it stands on."""

    verdict: Verdict
    trace: Trace
    """The first sign."""
    sample_says: bool = False
    server_says: bool = False
    in_redis: Sample | None = None
    """Records of Postgres, looked up in Redis; `None` where nobody looked."""
    in_postgres: Sample | None = None
    """Records of Redis, looked up in Postgres."""

    @property
    def may_beat(self) -> bool:
        """Whether the next beat hides nothing."""
        return self.verdict.is_well or self.trace is Trace.NONE

    @property
    def is_mended_by_filling(self) -> bool:
        """Whether all is well again once Redis has what Postgres has."""
        return self.trace in {Trace.REDIS_MISSING, Trace.REDIS_BEHIND}


def judge(
    copies: Copies,
    servers: Servers,
    *,
    in_redis: Sample | None = None,
    in_postgres: Sample | None = None,
) -> Judgement:
    """Give the verdict.

    Args:
        copies: what stands in each place.
        servers: what they say of themselves.
        in_redis: records of Postgres, written before the last beat, looked up in Redis.
        in_postgres: records of Redis, looked up in Postgres.
    """
    trace = trace_of(copies)
    made = Judgement(
        verdict=Verdict.UNKNOWN, trace=trace, in_redis=in_redis, in_postgres=in_postgres
    )
    match trace:
        case Trace.NONE | Trace.STRANGERS:
            return made
        case Trace.CONTINUOUS:
            assert copies.postgres is not None, "without it nothing is continuous"
            return replace(made, verdict=_of_servers(servers, copies.postgres))
        case Trace.REDIS_MISSING | Trace.REDIS_BEHIND:
            assert copies.postgres is not None, "Redis is behind Postgres's"
            sample, server = in_redis, servers.redis_changed(copies.postgres)
        case Trace.POSTGRES_BEHIND:
            newer = copies.redis or copies.folder
            assert newer is not None, "Postgres is behind one of them"
            sample, server = in_postgres, servers.postgres_changed(newer)
        case Trace.BOTH_BEHIND:
            assert copies.folder is not None, "only the folder's shows it"
            # Both stores may agree on what both forgot: no look from one into the other tells.
            sample = None
            server = servers.postgres_changed(copies.folder) or servers.redis_changed(copies.folder)
    lost = sample is not None and sample.shows_loss
    # A key may be removed by hand, and a server restarted for its own reasons, while every
    # record is there: what is there was not flushed.
    refuted = trace is Trace.REDIS_MISSING and sample is not None and sample.shows_none
    seconded = (lost or server) and not refuted
    return replace(
        made,
        verdict=_LOSSES[trace] if seconded else Verdict.UNKNOWN,
        sample_says=lost,
        server_says=server,
    )


def _of_servers(servers: Servers, since: Witness) -> Verdict:
    if servers.is_other_cluster(since):
        return Verdict.NEW_CLUSTER
    if servers.is_promoted(since):
        return Verdict.PROMOTED
    if servers.run_id is not None and since.run_ids and servers.run_id not in since.run_ids:
        return Verdict.REDIS_RESTARTED
    return Verdict.NORMAL

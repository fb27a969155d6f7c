"""The witness: one heartbeat, kept in Postgres, in Redis and in the state folder.

Each beat raises it in Postgres first, then in Redis, then in the folder. A copy that stands
behind another one tells that its store went back in time. That is one sign; `domain.verdicts`
takes two.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

_SLACK = timedelta(seconds=5)
"""How exactly an uptime in seconds tells when a server started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """One copy of it."""

    nonce: str
    """Made with the first beat: copies of one witness have the same."""
    epoch: int
    """The generation of the store: raised at each restore that somebody acknowledges."""
    beats: int
    beat_at: datetime
    """By the clock of Postgres."""
    system_identifier: str | None = None
    """Of the Postgres cluster; here and below `None` where the server does not say."""
    timeline: int | None = None
    run_ids: tuple[str, ...] = ()
    """Of the Redis servers."""
    flush_calls: int | None = None
    fence: int | None = None
    """The last number that the sequence of fences gave out."""

    def encoded(self) -> bytes:
        """Write it as JSON, the same bytes for the same witness."""
        return json.dumps(asdict(self) | {"beat_at": self.beat_at.isoformat()}).encode()


def decoded(text: bytes) -> Witness:
    """Read what `Witness.encoded` wrote.

    Raises:
        ValueError: it is something else.
    """
    try:
        said: dict[str, Any] = json.loads(text)
        at = datetime.fromisoformat(said["beat_at"])
        made = Witness(**said | {"beat_at": at, "run_ids": tuple(said["run_ids"])})
        if at.tzinfo is None or type(made.epoch) is not int or type(made.beats) is not int:
            raise ValueError("no number or no instant")
    except (TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError("is no witness") from error
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """What stands in each place; `None` where there is none."""

    postgres: Witness | None = None
    redis: Witness | None = None
    folder: Witness | None = None
    is_pair: bool = True
    """Whether there is a Redis that could have one."""

    @property
    def all(self) -> tuple[Witness, ...]:
        """Those that there are."""
        return tuple(one for one in (self.postgres, self.redis, self.folder) if one is not None)


class Trace(StrEnum):
    """What the copies say by themselves."""

    NONE = "none"
    """There is no witness yet."""
    CONTINUOUS = "continuous"
    REDIS_MISSING = "redis-missing"
    REDIS_BEHIND = "redis-behind"
    POSTGRES_BEHIND = "postgres-behind"
    BOTH_BEHIND = "both-behind"
    """Only the third copy can show it."""
    STRANGERS = "strangers"
    """The one in Redis belongs to another store."""


def trace_of(copies: Copies) -> Trace:
    """Compare the copies."""
    postgres, redis = copies.postgres, copies.redis
    if postgres is None:
        return Trace.NONE if redis is None else Trace.POSTGRES_BEHIND
    folder = copies.folder
    if folder is not None and (folder.nonce != postgres.nonce or folder.epoch < postgres.epoch):
        # A folder that served another store, or saw nothing since a restore, tells nothing.
        folder = None
    ahead = folder is not None and folder.beats > postgres.beats
    if not copies.is_pair:
        return Trace.POSTGRES_BEHIND if ahead else Trace.CONTINUOUS
    if redis is None:
        return Trace.BOTH_BEHIND if ahead else Trace.REDIS_MISSING
    if redis.nonce != postgres.nonce:
        # An old file may hold the one from before a restore that was acknowledged since.
        return Trace.REDIS_BEHIND if redis.epoch < postgres.epoch else Trace.STRANGERS
    if folder is not None and folder.beats > max(redis.beats, postgres.beats):
        return Trace.BOTH_BEHIND
    if redis.beats > postgres.beats:
        return Trace.POSTGRES_BEHIND
    # A beat that was cut off between the two leaves Redis one behind.
    return Trace.REDIS_BEHIND if redis.beats < postgres.beats - 1 else Trace.CONTINUOUS


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """What the servers say of themselves now; `None` where they do not."""

    now: datetime
    """By the clock of Postgres."""
    system_identifier: str | None = None
    timeline: int | None = None
    postgres_started_at: datetime | None = None
    run_id: str | None = None
    redis_started_at: datetime | None = None
    flush_calls: int | None = None

    def redis_changed(self, since: Witness) -> bool:
        """Whether Redis restarted, is another server, or was flushed since a beat."""
        if self.run_id is not None and since.run_ids:
            if self.run_id not in since.run_ids:
                return True
            return (self.flush_calls or 0) > (since.flush_calls or 0)
        return self._is_after(self.redis_started_at, since)

    def postgres_changed(self, since: Witness) -> bool:
        """Whether Postgres restarted, was promoted, or is another cluster since a beat."""
        return (
            self.is_other_cluster(since)
            or self.is_promoted(since)
            or self._is_after(self.postgres_started_at, since)
        )

    def is_other_cluster(self, since: Witness) -> bool:
        """Whether Postgres is another cluster than the one of a beat."""
        return _differ(self.system_identifier, since.system_identifier)

    def is_promoted(self, since: Witness) -> bool:
        """Whether Postgres is on another timeline than at a beat."""
        return _differ(self.timeline, since.timeline)

    @staticmethod
    def _is_after(started_at: datetime | None, since: Witness) -> bool:
        return started_at is not None and started_at > since.beat_at + _SLACK


def _differ(one: object, other: object) -> bool:
    return one is not None and other is not None and one != other


def next_beat(
    copies: Copies, servers: Servers, *, epoch: int | None, fence: int | None, nonce: str
) -> Witness:
    """Make the next beat: after every copy that there is.

    Args:
        copies: what stands in each place.
        servers: what they say of themselves.
        epoch: that of the store; `None` where it keeps none.
        fence: the last that was given out; `None` where there is no such number.
        nonce: for the first beat.
    """
    own = copies.postgres
    ours = [one for one in copies.all if own is None or one.nonce == own.nonce]
    return Witness(
        nonce=nonce if own is None else own.nonce,
        epoch=max(epoch or 1, 1 if own is None else own.epoch),
        beats=1 + max((one.beats for one in ours), default=0),
        beat_at=servers.now,
        system_identifier=servers.system_identifier,
        timeline=servers.timeline,
        run_ids=() if servers.run_id is None else (servers.run_id,),
        flush_calls=servers.flush_calls,
        fence=fence,
    )

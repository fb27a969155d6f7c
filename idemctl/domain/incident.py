"""What happened to a pair: did Redis lose its records, and how?

Two signs are asked, because either alone is wrong too often. The pair: after a flush all
that was written before one instant is missing, and what was written after it is there; but
an eviction that takes the oldest first looks the same. The server's own account: a flush is
counted, and a restart shows in its uptime; but the count may be an old one, or of another
database.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

T = TypeVar("T")

Fact = str | int | float | bool | None
"""One thing that is known under a name; `None` where it is not known."""

NOISE = 0.01
"""A share of missing records that a live application has now and then."""
FEWEST = 20
"""So many records are the least that a judgement by their share can stand on."""
_FEWEST_LOST = 10
_EXCEPTIONS = 0.2
"""Of what was written before a loss, so much may be back, for retries bring their keys with
them; and so much as this share of what is missing may have been written since."""
_FEW = 2
"""So many exceptions are never too many: they are on their way."""
_FULL_SHARE = 0.9
_SLACK = timedelta(seconds=5)
"""How exactly a server's uptime in seconds tells when it started."""


class Verdict(StrEnum):
    """What two signs say happened."""

    NORMAL = "normal"
    FLUSHED = "flushed"
    """Both signs say so."""
    SUSPECTED = "suspected"
    """One sign says so, and the other is silent."""
    EVICTED = "evicted"
    """Records are missing, the server evicts, and nothing else explains it."""
    INCOMPLETE = "incomplete"
    """Records are missing here and there, and nothing explains it."""
    UNKNOWN = "unknown"
    """Cannot be judged."""


class Sign(StrEnum):
    """Who says that records were lost all at once."""

    PAIR = "pair"
    SERVER = "server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a Redis server says of its own past; `None` where it does not say."""

    uptime: timedelta | None = None
    run_id: str | None = None
    """Of the process: another one after each start."""
    flush_calls: int | None = None
    """FLUSHALL and FLUSHDB, in any database, since its start or its last CONFIG RESETSTAT."""
    evicted_keys: int | None = None
    """Counted as `flush_calls`."""
    loaded_keys: int | None = None
    """How many keys it read from its file when it started."""
    key_count: int | None = None
    """How many keys the database holds, whoever wrote them."""
    used_memory: int | None = None
    maxmemory: int | None = None
    """0 where there is no limit."""
    is_loading: bool = False

    @property
    def evicts(self) -> bool:
        """Whether it has evicted keys."""
        return bool(self.evicted_keys)

    @property
    def is_full(self) -> bool:
        """Whether it is at its limit; a flush would have left it empty."""
        if not self.maxmemory or self.used_memory is None:
            return False
        return self.used_memory >= _FULL_SHARE * self.maxmemory


def together(accounts: Sequence[Account]) -> Account:
    """Make one account of those of all servers that share the keys.

    What is counted adds up, where all of them count; of memory the fullest speaks, and of
    uptime the last to start. Their runs are one as long as none of them is another.
    """
    fullest = max(accounts, key=lambda one: (one.used_memory or 0) / (one.maxmemory or math.inf))
    return Account(
        uptime=_over(min, [one.uptime for one in accounts]),
        run_id=_over(_joined, [one.run_id for one in accounts]),
        flush_calls=_over(sum, [one.flush_calls for one in accounts]),
        evicted_keys=_over(sum, [one.evicted_keys for one in accounts]),
        loaded_keys=_over(sum, [one.loaded_keys for one in accounts]),
        key_count=_over(sum, [one.key_count for one in accounts]),
        used_memory=fullest.used_memory,
        maxmemory=fullest.maxmemory,
        is_loading=any(one.is_loading for one in accounts),
    )


def _joined(names: list[str]) -> str:
    return ",".join(sorted(names))


def _over(fold: Callable[[list[T]], T], values: Sequence[T | None]) -> T | None:
    known = [value for value in values if value is not None]
    return fold(known) if len(known) == len(values) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """The instant of a loss, as near as the records tell: between two of them."""

    lost_after: datetime
    """When the newest lost record was written."""
    lost_before: datetime | None
    """When the oldest was written that is there; `None` where none is, so until now."""


def find_border(written: Sequence[datetime], there: Sequence[bool]) -> Border | None:
    """Find the instant before which records are missing and after which they are not.

    Args:
        written: when each record was written, in rising order.
        there: whether Redis has it.

    Returns:
        The border with the fewest exceptions; `None` where even that has too many.
    """
    best = errors = there.count(False)
    split = 0
    for at, is_there in enumerate(there, start=1):
        errors += 1 if is_there else -1
        if errors <= best:
            best, split = errors, at
    before, after = there[:split], there[split:]
    lost, returned, late = before.count(False), before.count(True), after.count(False)
    if lost < _FEWEST_LOST or returned > _EXCEPTIONS * len(before):
        return None
    if late > max(_FEW, _EXCEPTIONS * lost):
        return None
    return Border(lost_after=written[split - 1], lost_before=written[split] if after else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was found out about one pair."""

    sampled: int
    """Records that Redis is expected to have, and was asked for."""
    missing: int
    """Those of them that it does not have."""
    border: Border | None = None
    account: Account = field(default_factory=Account)
    at: datetime
    """When, by the clock of Postgres."""

    @property
    def missing_share(self) -> float | None:
        """Of what was sampled; `None` where nothing was."""
        return self.missing / self.sampled if self.sampled else None

    @property
    def is_unexplained_void(self) -> bool:
        """Whether nothing at all was found of what is expected, beside keys of others.

        It is as likely that somebody looks in a wrong place; unless the server tells of a loss.
        Whether there are keys of others may be unknown, too.
        """
        may_hold_others = self.account.key_count is None or self.account.key_count > 0
        return self.is_void and may_hold_others and Sign.SERVER not in self.signs

    @property
    def is_void(self) -> bool:
        """Whether nothing at all was found of what is expected."""
        return 0 < self.missing == self.sampled

    @property
    def is_noticeable(self) -> bool:
        """Whether more is missing than a live application explains."""
        return self.missing > NOISE * self.sampled

    @property
    def signs(self) -> tuple[Sign, ...]:
        """Who says that what is missing was lost all at once."""
        if not self.is_noticeable:
            return ()
        pair = (Sign.PAIR,) if self.border is not None else ()
        return (*pair, Sign.SERVER) if self._server_says_so else pair

    @property
    def verdict(self) -> Verdict:
        """What happened."""
        if self.account.is_loading or not self.sampled:
            return Verdict.UNKNOWN
        if not self.is_noticeable:
            # A flush is long past when all that is expected is there.
            return Verdict.NORMAL
        signs, evicts = self.signs, self.account.evicts
        if len(signs) == len(Sign):
            return Verdict.FLUSHED
        if evicts and Sign.SERVER not in signs:
            return Verdict.EVICTED
        if signs:
            return Verdict.SUSPECTED
        return Verdict.INCOMPLETE if self.sampled >= FEWEST else Verdict.UNKNOWN

    def facts(self) -> dict[str, Fact]:
        """Give all of it flat, under the names that runbooks know."""
        account, signs, border = self.account, self.signs, self.border
        share, uptime = self.missing_share, account.uptime
        return {
            "verdict": self.verdict.value,
            "sampled": self.sampled,
            "missing": self.missing,
            "missing_share": None if share is None else round(share, 4),
            "lost_after": _text(border.lost_after if border else None),
            "lost_before": _text(border.lost_before if border else None),
            "signs": len(signs),
            "pair_sign": Sign.PAIR in signs,
            "server_sign": Sign.SERVER in signs,
            "flush_calls": account.flush_calls,
            "uptime_seconds": None if uptime is None else int(uptime.total_seconds()),
            "loaded_keys": account.loaded_keys,
            "evicted_keys": account.evicted_keys,
            "used_memory": account.used_memory,
            "maxmemory": account.maxmemory,
            "loading": account.is_loading,
        }

    @property
    def _server_says_so(self) -> bool:
        account = self.account
        if account.evicts and account.is_full:
            return False
        return bool(account.flush_calls) or self._restarted_then

    @property
    def _restarted_then(self) -> bool:
        """Whether the server started at the very instant of the loss."""
        if self.border is None or self.account.uptime is None:
            return False
        started_at = self.at - self.account.uptime
        latest = self.border.lost_before or self.at
        return self.border.lost_after - _SLACK <= started_at <= latest + _SLACK


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindWindow:
    """A time for which no store that survived can tell a retry from a new request."""

    opened_at: datetime | None
    """`None` where nobody can tell."""
    closed_at: datetime


def blind_window(evidence: Evidence, *, write_order: str, on_redis_miss: str) -> BlindWindow | None:
    """Say for how long requests may have been taken for new ones; `None` for no time at all.

    Where the application writes Postgres first, and looks there when Redis knows no such key,
    nothing that Redis lost was ever out of its sight.
    """
    if evidence.verdict in {Verdict.NORMAL, Verdict.UNKNOWN}:
        return None
    if write_order == "postgres-first" and on_redis_miss == "postgres":
        return None
    border = evidence.border
    return BlindWindow(opened_at=border.lost_after if border else None, closed_at=evidence.at)


def _text(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

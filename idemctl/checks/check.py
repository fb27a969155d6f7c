"""What a check is, and what it is handed: columns, and facts about their place."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from idemctl.domain.durations import LONGEST, format_duration
from idemctl.domain.records import Pattern, Status
from idemctl.domain.retention import judge
from idemctl.domain.shares import Hits
from idemctl.domain.sight import Engine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from idemctl.domain.batch import Batch
    from idemctl.domain.circumstances import Unseen
    from idemctl.domain.findings import Severity
    from idemctl.domain.growth import Measure
    from idemctl.domain.retention import Retention
    from idemctl.domain.shares import Interval
    from idemctl.domain.sight import Needs, Sight

    Mask = NDArray[np.bool_]
    Int64 = NDArray[np.int64]

EVERY_PATTERN: Final = frozenset(Pattern)
BY_KEY: Final = frozenset({Pattern.POSTGRES_UNIQUE, Pattern.REDIS_SETNX, Pattern.URL_PATH})
"""The patterns in which a record answers the retry of one request."""
BOTH: Final = frozenset(Engine)
POSTGRES: Final = frozenset({Engine.POSTGRES})
REDIS: Final = frozenset({Engine.REDIS})

_MICROSECOND = timedelta(microseconds=1)
_YEAR = timedelta(days=365, hours=6)
_SHOWN_TO = ((timedelta(days=2), timedelta(hours=1)), (timedelta(hours=2), timedelta(minutes=1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a check knows of a place beside its records."""

    engine: Engine
    pattern: Pattern
    sight: frozenset[Sight]
    retention: Retention
    """The promises, with the cutoff of this run."""
    keeps_for: timedelta | None = None
    """How long a key stays in Redis after it was written, by the configuration."""
    backlog_after: timedelta = timedelta(hours=24)
    """How long a record may lie past its promise before that is a backlog."""
    policy_ttls: Mapping[bytes, timedelta] = field(default_factory=dict)
    """What policies promise by endpoint, also where the store keeps nothing by them."""
    is_paired: bool = False
    has_locks: bool = False
    """Whether a key of its own says that work is in progress."""
    has_witness: bool = False
    """Whether the store has somewhere to keep one."""
    has_opaque_values: bool = False
    """Whether values are never taken apart, for to read one is to run it."""
    known_faults: Mapping[str, str] = field(default_factory=dict)
    """By the code of a check, what the library that writes there is known to get wrong."""
    measured: tuple[Measure, ...] = ()
    """What earlier audits saw of the place."""
    replica_count: int = 0
    """How many servers have to copy this one, by the configuration."""
    is_configured: bool = True
    """Whether a file names the store, so that other commands know it, too."""


class Looked:
    """A batch beside the facts; what several checks ask is computed once."""

    def __init__(self, batch: Batch, facts: Facts, now: int) -> None:
        self.batch = batch
        self.facts = facts
        self.now = now
        """By the store's clock, in microseconds."""

    @cached_property
    def readable(self) -> Mask:
        """Where a record is what its layout writes."""
        mask: Mask = self.batch.status != Status.MALFORMED
        return mask

    @cached_property
    def claimed(self) -> Mask:
        """Where work is in progress."""
        mask: Mask = self.batch.status == Status.IN_PROGRESS
        return mask

    @cached_property
    def settled(self) -> Mask:
        """Where work is done, well or not."""
        status = self.batch.status
        mask: Mask = (status == Status.COMPLETED) | (status == Status.FAILED)
        return mask

    @cached_property
    def key_lengths(self) -> Int64:
        """Give how many bytes each key has."""
        return lengths(self.batch.keys)

    @cached_property
    def all_keys(self) -> bytes:
        """Give the keys in one, a space between two of them: for a look at all at once."""
        return b" ".join(self.batch.keys)

    @cached_property
    def judged(self) -> tuple[NDArray[np.uint8], Int64]:
        """What gc makes of each record, and when the promise made to it ends."""
        verdicts, _, ends = judge(self.batch, self.facts.retention)
        return verdicts, ends


class Source(StrEnum):
    """Where a check finds what it names."""

    RECORDS = "records"
    """In the columns, by its mask."""
    REPEATS = "repeats"
    """In what all records together say of a key."""
    CHILD = "child"
    """In the rows of a child table."""
    ORDER = "order"
    """In the rows that come after one."""
    TWINS = "twins"
    """In the comparison of a pair."""
    CLOCKS = "clocks"
    """In how far the clocks of a pair are apart."""
    LOCKS = "locks"
    """In locks beside their records, each seen twice."""
    HEADERS = "headers"
    """In the headers that some of the records keep."""
    CIRCUMSTANCES = "circumstances"
    """In what the server says of the place."""
    WITNESS = "witness"
    """In the verdict of the witness on the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What circumstances tell."""

    evidence: str
    count: int = 1
    """Of what the evidence speaks: indexes, keys, sessions."""
    sample: tuple[tuple[bytes, bytes], ...] = ()
    """Keys, each with its scope."""


@dataclass(slots=True)
class Gathered:
    """What one check found in one place; adds up batch by batch."""

    count: int = 0
    low: int = 0
    """The smallest of what the check measures; with `high` the span of it."""
    high: int = 0
    sample: tuple[tuple[bytes, bytes], ...] = ()
    """Keys, each with its scope."""
    hits: Hits = field(default_factory=Hits)
    """The same count batch by batch, for a share of what was only sampled."""
    share: Interval | None = None
    """Of what was only sampled, where it is known otherwise."""
    kinds: Counter[int] = field(default_factory=Counter)
    """How many there are of each kind, where the check tells kinds apart."""

    def add(self, count: int, values: Int64 | None, sample: list[tuple[bytes, bytes]]) -> None:
        """Add what was found in one more batch."""
        if values is not None and len(values):
            low, high = int(values.min()), int(values.max())
            self.low = min(self.low, low) if self.count else low
            self.high = max(self.high, high) if self.count else high
        self.count += count
        self.sample += tuple(sample)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that can be wrong, with all that is said about it."""

    code: str
    severity: Severity
    engines: frozenset[Engine]
    patterns: frozenset[Pattern] = EVERY_PATTERN
    needs: Needs = ()
    source: Source = Source.RECORDS
    mask: Callable[[Looked], Mask] | None = None
    """Which records are concerned; only of a check whose source is the records."""
    measure: Callable[[Looked], Int64] | None = None
    """A number for each record, whose span over those concerned the evidence tells."""
    group: Callable[[Batch], Sequence[bytes]] | None = None
    """To what each record says that its key belongs, empty where it says nothing; a key with
    several is what is found. Only of a check whose source are repeats."""
    kind: Callable[[Looked], NDArray[np.uint8]] | None = None
    """What kind of it each record is, where the evidence tells how many there are of each."""
    look: Callable[[Any, Facts], Told | Unseen | None] | None = None
    """What the circumstances tell, or clocks, headers, or the witness; only of a check whose
    source they are. Circumstances are the engine's own, and a check of both engines is handed
    either."""
    evidence: Callable[[Gathered, Facts], str] | None = None
    """What was found, in a sentence; what circumstances tell has its own."""
    what: str
    """What it finds, exactly: sentences, a line each, for the documentation."""
    why: str
    """Why it hurts, in one sentence."""
    next: str
    """The command to type next, with a place for the store's name."""
    next_alone: str = ""
    """The same where the store is no pair, if that is another one."""

    def applies(self, facts: Facts) -> bool:
        """Tell whether such records can have this at all."""
        if self.source in {Source.TWINS, Source.CLOCKS} and not facts.is_paired:
            return False
        if self.source is Source.LOCKS and not facts.has_locks:
            return False
        if self.source is Source.WITNESS and not facts.has_witness:
            return False
        if self.source is Source.REPEATS and facts.is_paired and facts.engine is Engine.REDIS:
            # The rows of the pair say the same, and more of it.
            return False
        return facts.engine in self.engines and facts.pattern in self.patterns


def lengths(values: Sequence[bytes]) -> Int64:
    """Give how many bytes each value has."""
    return np.fromiter(map(len, values), np.int64, len(values))


def between(found: Gathered) -> str:
    """Write the span of lengths that a check measured: `2d`, `2d to 4d`."""
    low, high = about(found.low), about(found.high)
    return low if low == high else f"{low} to {high}"


def about(micros: int) -> str:
    """Write a length of time without what does not matter beside the rest: `2d1h`, `40m`."""
    length = max(abs(micros) * _MICROSECOND, timedelta(seconds=1))
    if length > LONGEST:
        return f"{length // _YEAR:,} years"
    unit = next((unit for least, unit in _SHOWN_TO if length >= least), timedelta(seconds=1))
    return format_duration(max(length // unit, 1) * unit)


def micros_of(length: timedelta) -> int:
    """Give a length of time in microseconds."""
    return length // _MICROSECOND

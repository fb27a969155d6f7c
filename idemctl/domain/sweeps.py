"""What a sweep over a pair sees, step by step, and how that adds up.

Suspects are differences that were seen once. They travel as columns, for after a flush they
are as many as the records.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.differences import Difference
from idemctl.domain.incident import NOISE
from idemctl.domain.instants import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from idemctl.domain.batch import Batch

_MIXER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_ABSENT = np.uint64(1)
_MINUTE = 60_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspects:
    """Differences seen once; columns of equal length."""

    keys: Sequence[bytes]
    scopes: Sequence[bytes]
    difference: NDArray[np.uint8]
    versions: NDArray[np.uint64]
    """A digest of both twins' versions: the same digest, the same difference."""

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: NDArray[np.intp]) -> Suspects:
        """Give some of them, in this order."""
        chosen = rows.tolist()
        return Suspects(
            keys=[self.keys[row] for row in chosen],
            scopes=[self.scopes[row] for row in chosen],
            difference=self.difference[rows],
            versions=self.versions[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """One step of a sweep; steps add up."""

    part: str
    took: timedelta = timedelta(0)
    done: float = 0.0
    units: int = 1
    postgres_scanned: int = 0
    redis_scanned: int = 0
    equal: int = 0
    unreadable: int = 0
    """Records in Redis that cannot be read, and that no row is known to belong to."""
    suspects: tuple[Suspects, ...] = ()
    judged: NDArray[np.uint64] | None = None
    """Marks of the names in Redis whose records are equal, where a roll is called."""
    listed: NDArray[np.uint64] | None = None
    """Marks of the names that Redis has."""
    filled: int = 0
    unknown: int = 0
    """Twins of which nobody can tell whether they were written."""
    held_for: timedelta = timedelta(0)
    """How long rows were held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The sums of steps."""

    postgres_scanned: int = 0
    redis_scanned: int = 0
    equal: int = 0
    unreadable: int = 0
    filled: int = 0
    unknown: int = 0
    longest_hold_ms: float = 0.0
    seen: Mapping[Difference, int] = field(default_factory=dict)
    """Differences seen once."""

    @property
    def has_lost(self) -> bool:
        """Whether Redis has fewer names than records that were equal, by more than expire.

        They were lost after they were compared.
        """
        return self.equal - self.redis_scanned > NOISE * self.equal

    def plus(self, step: Swept) -> Totals:
        """Add one step."""
        seen = dict(self.seen)
        for some in step.suspects:
            for number, count in zip(*np.unique(some.difference, return_counts=True), strict=True):
                seen[Difference(number)] = seen.get(Difference(number), 0) + int(count)
        return Totals(
            postgres_scanned=self.postgres_scanned + step.postgres_scanned,
            redis_scanned=self.redis_scanned + step.redis_scanned,
            equal=self.equal + step.equal,
            unreadable=self.unreadable + step.unreadable,
            filled=self.filled + step.filled,
            unknown=self.unknown + step.unknown,
            longest_hold_ms=max(self.longest_hold_ms, step.held_for.total_seconds() * 1000),
            seen=seen,
        )


def digest(batch: Batch) -> NDArray[np.uint64]:
    """Give a number a record that changes when its version does."""
    fingerprints = np.fromiter(map(zlib.crc32, batch.fingerprints), np.uint64, len(batch))
    # What stores no expiry of its own has its key's, and Redis before 7 tells no instant:
    # counted from a TTL, it wavers by milliseconds.
    minutes = batch.expires_at // _MINUTE
    columns = (
        batch.status, batch.fence, batch.epoch, minutes, batch.lease_until,
        batch.response_status, batch.flaw, batch.key_expires_at == MISSING, fingerprints,
    )  # fmt: skip
    return _mixed(column.astype(np.uint64) for column in columns)


def of_pairs(count: int, *sides: tuple[Batch, NDArray[np.intp]]) -> NDArray[np.uint64]:
    """Give a number a pair of twins that changes when the version of either does.

    Args:
        count: how many pairs.
        sides: the records of each side, and to which pair each belongs; a pair without one
            has none there.
    """
    columns = []
    for batch, at in sides:
        column = np.full(count, _ABSENT, np.uint64)
        column[at] = digest(batch)
        columns.append(column)
    return _mixed(columns)


def _mixed(columns: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    first, *rest = columns
    total = first * _MIXER
    for column in rest:
        total = (total ^ column) * _MIXER
        total ^= total >> _SHIFT
    return total

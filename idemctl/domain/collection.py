"""What collecting saw and did, statement by statement, and how that adds up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.retention import Verdict, add_tallies

if TYPE_CHECKING:
    from collections.abc import Iterable

    from idemctl.domain.retention import Tally

_PROTECTED = (Verdict.IN_PROGRESS_PAST_EXPIRY, Verdict.PRESENCE_ONLY, Verdict.REFERRED_TO)
_MOST_TROUBLES = 20
"""A trigger may word each row's refusal differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One step through a store: a survey's look, or one committed batch.

    Once all steps of a walk are added, candidates = deleted + skipped_locked +
    changed_meanwhile + failed.
    """

    part: str
    """The leaf table, or the node, that was looked at."""
    took: timedelta
    held_for: timedelta = timedelta(0)
    """How long the transaction of a batch was open: what others had to wait for it."""
    done: float = 0.0
    """The share of this walk that lies behind, 0 to 1."""
    tallies: tuple[Tally, ...] = ()
    """By verdict and promise: what was deleted, and what is left."""
    candidates: int = 0
    deleted: int = 0
    children_deleted: int = 0
    skipped_locked: int = 0
    """Candidates that somebody else held, still there after a second pass."""
    changed_meanwhile: int = 0
    """Candidates that were no longer any when their turn came."""
    failed: int = 0
    """Candidates that the database refused to delete."""
    blind: bool = False
    """Whether something in this step could not be looked at: then nothing here is zero."""
    units: int = 1
    """Pages or records looked at, by which steps of different size compare."""
    limited: bool = False
    """Whether the walk ended here because no more were to go."""
    trouble: str | None = None
    """Why this step did nothing; the same records are tried again in smaller steps."""

    @property
    def wrote(self) -> bool:
        """Whether this step was a committed batch."""
        return self.deleted > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """The sum of steps; sums of shards add up to the whole."""

    tallies: tuple[Tally, ...] = ()
    candidates: int = 0
    deleted: int = 0
    children_deleted: int = 0
    skipped_locked: int = 0
    changed_meanwhile: int = 0
    failed: int = 0
    batches: int = 0
    longest_batch_ms: float = 0.0
    """The longest transaction of a batch, also of one that was rolled back."""
    blind: bool = False
    """Whether some part could not be looked at."""
    limited: bool = False
    """Whether some shard ended because no more were to go."""
    troubles: tuple[str, ...] = ()
    """The first distinct reasons, in the order in which they came."""

    def plus(self, chunk: Chunk) -> Collection:
        """Add one step."""
        return self + Collection(
            tallies=chunk.tallies,
            candidates=chunk.candidates,
            deleted=chunk.deleted,
            children_deleted=chunk.children_deleted,
            skipped_locked=chunk.skipped_locked,
            changed_meanwhile=chunk.changed_meanwhile,
            failed=chunk.failed,
            batches=int(chunk.wrote),
            longest_batch_ms=chunk.held_for.total_seconds() * 1000,
            blind=chunk.blind,
            limited=chunk.limited,
            troubles=(chunk.trouble,) if chunk.trouble else (),
        )

    def __add__(self, other: Collection) -> Collection:
        return Collection(
            tallies=tuple(add_tallies(iter((*self.tallies, *other.tallies)))),
            candidates=self.candidates + other.candidates,
            deleted=self.deleted + other.deleted,
            children_deleted=self.children_deleted + other.children_deleted,
            skipped_locked=self.skipped_locked + other.skipped_locked,
            changed_meanwhile=self.changed_meanwhile + other.changed_meanwhile,
            failed=self.failed + other.failed,
            batches=self.batches + other.batches,
            longest_batch_ms=max(self.longest_batch_ms, other.longest_batch_ms),
            blind=self.blind or other.blind,
            limited=self.limited or other.limited,
            troubles=tuple(dict.fromkeys((*self.troubles, *other.troubles)))[:_MOST_TROUBLES],
        )

    def count(self, verdict: Verdict) -> int:
        """Count the records of one verdict."""
        return sum(one.count for one in self.tallies if one.verdict is verdict)

    @property
    def protected(self) -> int:
        """Records past their promise that are kept all the same, and need a person."""
        return sum(map(self.count, _PROTECTED))


def add_collections(parts: Iterable[Collection]) -> Collection:
    """Add up the shards of one walk."""
    return sum(parts, start=Collection())

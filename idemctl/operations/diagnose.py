"""diagnose: what happened to a pair, from a sample and the server's own account.

Gather: rows from all over the table that Redis is expected to have, which of them it has,
and what the server counted. Decide: `domain.incident`. Nothing is changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.incident import Verdict, blind_window
from idemctl.errors import ExitStatus, IdemctlError, worst
from idemctl.run.evidence import gather
from idemctl.run.fitness import refuse_void
from idemctl.run.pairing import opened

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from idemctl.domain.incident import BlindWindow, Evidence, Fact
    from idemctl.domain.runbooks import Book
    from idemctl.run.run import Run
    from idemctl.run.target import Pair

_READ_FOR = timedelta(seconds=10)
"""For all pairs together: an answer is wanted in half a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosed:
    """What was found out about one pair."""

    pair: Pair
    evidence: Evidence
    expected: int
    """Records among the rows that Redis is expected to have."""
    rows_read: int
    row_estimate: int | None
    """About how many rows the table has; `None` where that is not known."""
    book: Book | None
    """The runbook for it, where one applies."""

    @property
    def status(self) -> ExitStatus:
        """Grade one pair."""
        match self.evidence.verdict:
            case Verdict.NORMAL:
                return ExitStatus.OK
            case Verdict.UNKNOWN:
                return ExitStatus.UNREACHABLE
            case _:
                return ExitStatus.FINDINGS

    @property
    def window(self) -> BlindWindow | None:
        """For how long nobody could tell a retry from a new request."""
        return blind_window(
            self.evidence,
            write_order=self.pair.write_order,
            on_redis_miss=self.pair.on_redis_miss,
        )

    @property
    def facts(self) -> dict[str, Fact]:
        """All of it, flat: what runbooks decide by."""
        return facts_of(self.pair, self.evidence)


def facts_of(pair: Pair, evidence: Evidence) -> dict[str, Fact]:
    """Join what is configured of a pair to what was found out about it."""
    configured = {"write_order": pair.write_order, "on_redis_miss": pair.on_redis_miss}
    return {"store": pair.store} | evidence.facts() | configured


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was found out about all of them."""

    diagnosed: tuple[Diagnosed, ...]
    alone: Mapping[str, str]
    """Stores that are no pairs, and of what they consist: nothing to judge them by. Of both
    sides, said with no word, where one of them has several layouts."""
    failures: tuple[IdemctlError, ...] = ()
    """What kept pairs from being judged."""

    @property
    def status(self) -> ExitStatus:
        """The exit status of the whole."""
        statuses = [one.status for one in self.diagnosed]
        statuses += [failure.status for failure in self.failures]
        return worst(statuses) if statuses else ExitStatus.UNREACHABLE


def diagnose(
    pairs: Sequence[Pair], alone: Mapping[str, str], books: Iterable[Book], run: Run
) -> Outcome:
    """Look at each pair in turn; one that does not answer keeps nobody from the others."""
    shelf = tuple(books)
    done: list[Diagnosed] = []
    failures: list[IdemctlError] = []
    for pair in pairs:
        try:
            done.append(_diagnose(pair, shelf, _READ_FOR / len(pairs), run))
        except IdemctlError as error:
            failures.append(error)
    return Outcome(diagnosed=tuple(done), alone=alone, failures=tuple(failures))


def _diagnose(pair: Pair, shelf: Iterable[Book], read_for: timedelta, run: Run) -> Diagnosed:
    with opened(pair, writable=False, may_lag=True) as both:
        found = gather(both, pair.store, read_for, run)
        refuse_void(both.redis, found.evidence, run)
    facts = facts_of(pair, found.evidence)
    return Diagnosed(
        pair=pair,
        evidence=found.evidence,
        expected=found.expected,
        rows_read=found.rows_read,
        row_estimate=both.row_estimate,
        book=next((book for book in shelf if book.applies(facts)), None),
    )

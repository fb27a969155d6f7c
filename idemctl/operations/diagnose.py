"""diagnose: what happened to a store, from samples and the servers' own accounts.

Gather: rows from all over the table that Redis is expected to have, which of them it has, and
what the server counted; then what checks find in samples, what the witness says, and what logs
tell. Decide: `domain.incident` for the loss of a store, `domain.failures` for the rank of all
failure modes. Nothing is changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from idemctl.domain.failures import rank
from idemctl.domain.findings import Severity
from idemctl.domain.incident import Verdict, blind_window
from idemctl.errors import ExitStatus, IdemctlError, Unreachable, worst
from idemctl.run.evidence import gather
from idemctl.run.fitness import refuse_void
from idemctl.run.pairing import opened
from idemctl.run.symptoms import Symptoms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from idemctl.domain.failures import Ranked
    from idemctl.domain.incident import BlindWindow, Evidence, Fact
    from idemctl.domain.runbooks import Book
    from idemctl.domain.secrets import Secret
    from idemctl.run.evidence import Gathered
    from idemctl.run.run import Run
    from idemctl.run.target import Pair

    Look = Callable[[str, Mapping[Secret, str]], Symptoms]

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
    symptoms: Symptoms = field(default_factory=Symptoms)

    @property
    def status(self) -> ExitStatus:
        """Grade one pair by what it lost."""
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
        return facts_of(self.pair, self.evidence) | self.symptoms.facts


def facts_of(pair: Pair, evidence: Evidence) -> dict[str, Fact]:
    """Join what is configured of a pair to what was found out about it."""
    configured = {"write_order": pair.write_order, "on_redis_miss": pair.on_redis_miss}
    return {"store": pair.store} | evidence.facts() | configured


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A failure mode for which something speaks in one store."""

    store: str
    ranked: Ranked
    facts: Mapping[str, Fact]
    """Those that it stands on."""
    book: Book | None
    """The runbook for it; `None` where there is none yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was found out about all of them."""

    diagnosed: tuple[Diagnosed, ...]
    suspects: tuple[Suspect, ...] = ()
    """The gravest first."""
    symptoms: Mapping[str, Symptoms] = field(default_factory=dict)
    """By store, also of those that are no pairs, and those that could not be compared."""
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
        if any(one.ranked.severity >= Severity.WARNING for one in self.suspects):
            statuses.append(ExitStatus.FINDINGS)
        if not self.diagnosed and not self.failures:
            # What a store lost cannot be told by itself.
            statuses.append(ExitStatus.UNREACHABLE)
        return worst(statuses) if statuses else ExitStatus.UNREACHABLE


def diagnose(
    pairs: Sequence[Pair],
    alone: Mapping[str, str],
    books: Iterable[Book],
    run: Run,
    *,
    look: Look = lambda _store, _silent: Symptoms(),
) -> Outcome:
    """Look at each store in turn; one that does not answer keeps nobody from the others.

    Args:
        pairs: stores whose sides can be compared.
        alone: those that are no pairs, and of what they consist.
        books: the runbooks that there are.
        run: asked between steps whether to go on.
        look: looks for symptoms of one store; it is told which servers did not answer.
    """
    shelf = tuple(books)
    done: list[Diagnosed] = []
    failures: list[IdemctlError] = []
    symptoms: dict[str, Symptoms] = {}
    facts: dict[str, dict[str, Fact]] = {}
    silent: dict[Secret, str] = {}
    for pair in pairs:
        # Before anything else: a server that is full evicts keys for what it is asked.
        found = None
        try:
            _refuse_silence(pair, silent)
            found = _gathered(pair, _READ_FOR / len(pairs), run)
        except IdemctlError as error:
            failures.append(error)
        symptoms[pair.store] = look(pair.store, silent)
        silent |= symptoms[pair.store].silent
        if found is not None:
            one = _diagnosed(pair, found, symptoms[pair.store], shelf)
            done.append(one)
            facts[pair.store] = one.facts
    for name in alone:
        symptoms[name] = look(name, silent)
        silent |= symptoms[name].silent
    suspects = [
        suspect
        for name, found in symptoms.items()
        for suspect in _suspects(name, facts.get(name, found.facts), found, shelf)
    ]
    return Outcome(
        diagnosed=tuple(done),
        suspects=tuple(sorted(suspects, key=lambda one: -one.ranked.severity)),
        symptoms=symptoms,
        alone=alone,
        failures=tuple(failures),
    )


def _suspects(
    store: str, facts: Mapping[str, Fact], found: Symptoms, shelf: Iterable[Book]
) -> Iterator[Suspect]:
    for ranked in rank(facts, found.told):
        books = (one for one in shelf if one.failure_mode == ranked.mode and one.applies(facts))
        yield Suspect(
            store=store,
            ranked=ranked,
            facts={name: facts.get(name) for name in ranked.facts},
            book=next(books, None),
        )


def _refuse_silence(pair: Pair, silent: Mapping[Secret, str]) -> None:
    """Wait for no server that has just not answered: the whole is to take half a minute.

    Raises:
        Unreachable: one side lies on such a server.
    """
    for side in (pair.postgres, pair.redis):
        if side.server is not None and side.server in silent:
            raise Unreachable(
                f"{pair.store}, {side.engine.value}: {silent[side.server]}",
                hint=f"check that the server runs; idemctl doctor --store {pair.store} tells more",
            )


def _gathered(pair: Pair, read_for: timedelta, run: Run) -> tuple[Gathered, int | None]:
    """Compare the sides of a pair on a sample; tell also about how many rows there are."""
    with opened(pair, writable=False, may_lag=True) as both:
        found = gather(both, pair.store, read_for, run)
        refuse_void(both.redis, found.evidence, run)
        return found, both.row_estimate


def _diagnosed(
    pair: Pair, gathered: tuple[Gathered, int | None], symptoms: Symptoms, shelf: Iterable[Book]
) -> Diagnosed:
    found, row_estimate = gathered
    facts = facts_of(pair, found.evidence) | symptoms.facts
    return Diagnosed(
        pair=pair,
        evidence=found.evidence,
        expected=found.expected,
        rows_read=found.rows_read,
        row_estimate=row_estimate,
        book=next((book for book in shelf if book.applies(facts)), None),
        symptoms=symptoms,
    )

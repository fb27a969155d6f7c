"""An examination: all checks of one place, fed batch by batch."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from idemctl.checks.check import Gathered, Looked, Source, Told
from idemctl.checks.overview import Overview
from idemctl.domain.circumstances import PostgresCircumstances, RedisCircumstances, Unseen
from idemctl.domain.findings import MOST_SAMPLED, Finding, sample_of
from idemctl.domain.shares import interval
from idemctl.domain.sight import blindness, lacking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from idemctl.checks.check import Check, Facts
    from idemctl.domain.batch import Batch
    from idemctl.domain.circumstances import Circumstances
    from idemctl.domain.credentials import Exposure
    from idemctl.domain.shares import Interval
    from idemctl.domain.skew import Skew
    from idemctl.domain.verdicts import Judgement


@dataclass(frozen=True, slots=True, kw_only=True)
class CannotJudge:
    """A check that could not be made, and why: never a finding, and never zero."""

    code: str
    why: str


class Examination:
    """Makes the checks that the sight of a place allows, and adds up what they find."""

    def __init__(self, facts: Facts, checks: Iterable[Check]) -> None:
        self.facts = facts
        self.overview = Overview()
        self.is_sample = False
        """Whether there are more records than were looked at, and those stand for all."""
        self.cannot_judge: list[CannotJudge] = []
        self._able: dict[str, Check] = {}
        self._gathered: dict[str, Gathered] = {}
        self._told: dict[str, Told] = {}
        for check in checks:
            if not check.applies(facts):
                continue
            lacks = lacking(check.needs, facts.sight)
            if lacks:
                why = blindness(lacks, facts.engine)
                self.cannot_judge.append(CannotJudge(code=check.code, why=why))
            else:
                self._able[check.code] = check
        self._masked = [one for one in self._able.values() if one.source is Source.RECORDS]

    @property
    def checked(self) -> list[str]:
        """The codes of the checks that are made here."""
        return list(self._able)

    def makes(self, source: Source) -> list[str]:
        """List the codes of the checks that are made here and find what they name there."""
        return [code for code, check in self._able.items() if check.source is source]

    @property
    def group(self) -> Callable[[Batch], Sequence[bytes]] | None:
        """What the check goes by that looks for keys of several groups; a pattern has one."""
        groups = [one.group for one in self._able.values() if one.group is not None]
        assert len(groups) <= 1, "one pass over the keys tells of one kind of group"
        return groups[0] if groups else None

    def give_up(self, code: str, why: str) -> None:
        """Say of a check that it cannot be made after all; what it found is forgotten."""
        if self._able.pop(code, None) is not None:
            self._gathered.pop(code, None)
            self._told.pop(code, None)
            self._masked = [one for one in self._masked if one.code != code]
            self.cannot_judge.append(CannotJudge(code=code, why=why))

    def give_up_all(self, why: str) -> None:
        """Say of every check that it cannot be made after all."""
        for code in self.checked:
            self.give_up(code, why)

    def see(self, batch: Batch, now: int) -> None:
        """Make every check on one batch, at that instant by the store's clock."""
        looked = Looked(batch, self.facts, now)
        self.overview.see(looked)
        for check in self._masked:
            assert check.mask is not None, "a check on records has a mask"
            mask = check.mask(looked)
            if not mask.any():
                continue
            rows = np.flatnonzero(mask)
            found = self._gathered.setdefault(check.code, Gathered())
            room = MOST_SAMPLED - len(found.sample)
            found.hits.add(len(rows), len(batch))
            if check.kind is not None:
                found.kinds.update(check.kind(looked)[rows].tolist())
            found.add(
                len(rows),
                None if check.measure is None else check.measure(looked)[rows],
                [(batch.keys[row], batch.scopes[row]) for row in rows[:room].tolist()],
            )

    def add(
        self,
        code: str,
        count: int,
        sample: Iterable[tuple[bytes, bytes]],
        share: Interval | None = None,
    ) -> None:
        """Add what a check found that looks at something else than single records."""
        if count and code in self._able:
            found = self._gathered.setdefault(code, Gathered())
            found.share = share
            room = MOST_SAMPLED - len(found.sample)
            found.add(count, None, list(sample)[:room])

    def consider(
        self,
        seen: Circumstances | Skew | Exposure | Judgement,
        source: Source = Source.CIRCUMSTANCES,
    ) -> None:
        """Make every check that looks at one thing as a whole: by itself what servers say."""
        several: Sequence[tuple[str, object]] = [("", seen)]
        if isinstance(seen, PostgresCircumstances | RedisCircumstances):
            several = seen.servers
        for code in self.makes(source):
            look = self._able[code].look
            assert look is not None, "a check on such a source looks at it"
            looked = [(name, look(one, self.facts)) for name, one in several]
            told = [(name, one) for name, one in looked if isinstance(one, Told)]
            unseen = [one for _, one in looked if isinstance(one, Unseen)]
            if told:
                self._told[code] = _together(told, len(looked))
            elif unseen:
                self.give_up(code, unseen[0].why)

    def findings(self, store: str, place: str) -> list[Finding]:
        """Give what was found, in the order of the checks."""
        return [
            self._finding(check, store, place)
            for code, check in self._able.items()
            if code in self._gathered or code in self._told
        ]

    def _finding(self, check: Check, store: str, place: str) -> Finding:
        known = self.facts.known_faults.get(check.code)
        if check.evidence is None:
            told = self._told[check.code]
        else:
            found = self._gathered[check.code]
            evidence = check.evidence(found, self.facts)
            told = Told(evidence=evidence, count=found.count, sample=found.sample)
        return Finding(
            code=check.code,
            severity=check.severity,
            store=store,
            engine=self.facts.engine,
            pattern=self.facts.pattern,
            place=place,
            count=told.count,
            sample=tuple(sample_of(key, scope) for key, scope in told.sample),
            evidence=told.evidence,
            share=self._share(check),
            why=check.why if known is None else f"{check.why} This is {known}.",
            next=self._next(check).format(store=store),
        )

    def _next(self, check: Check) -> str:
        following = check.next
        if check.next_alone and not self.facts.is_paired:
            following = check.next_alone
        if not self.facts.is_configured and "{store}" in following:
            return f"idemctl layout detect --write, then {following}"
        return following

    def _share(self, check: Check) -> Interval | None:
        found = self._gathered.get(check.code, Gathered())
        if self.is_sample and check.source is Source.RECORDS:
            return interval(found.hits, self.overview.sampled)
        return found.share


def _together(told: Sequence[tuple[str, Told]], count: int) -> Told:
    """Make one of what some of `count` servers tell; what all say alike is said once."""
    first = told[0][1]
    if len(told) == count and all(one == first for _, one in told):
        return first
    return Told(
        evidence="; ".join(f"{name}: {one.evidence}" for name, one in told),
        count=sum(one.count for _, one in told),
        sample=tuple(chain.from_iterable(one.sample for _, one in told)),
    )

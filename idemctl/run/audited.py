"""What an audit is asked for, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from idemctl.checks.check import Source
from idemctl.checks.registry import CHECKS
from idemctl.domain.acceptances import accepted, useless
from idemctl.domain.circumstances import Unseen
from idemctl.domain.findings import Severity
from idemctl.domain.outcomes import WhyStopped
from idemctl.errors import ExitStatus, worst

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date

    from idemctl.checks.check import Check
    from idemctl.checks.examination import CannotJudge
    from idemctl.checks.overview import Overview
    from idemctl.domain.acceptances import Acceptance
    from idemctl.domain.findings import Finding
    from idemctl.domain.growth import Measure, Measured, Where
    from idemctl.domain.records import Pattern
    from idemctl.domain.sight import Engine, View
    from idemctl.domain.verdicts import Judgement
    from idemctl.errors import IdemctlError
    from idemctl.run.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the operator decided."""

    strict: bool = False
    """Whether a check that cannot be made is an error."""
    fail_on: Severity = Severity.WARNING
    backlog_after: timedelta = timedelta(hours=24)
    checks: tuple[Check, ...] = CHECKS
    """Those that are made."""
    sample: int | None = None
    """How many records of each place are looked at, about; `None` for all."""
    incomparable: str = ""
    """Why the sides of pairs are not compared, though all records are read."""
    acceptances: tuple[Acceptance, ...] = ()
    """What somebody answers for."""

    def asks(self, *sources: Source) -> bool:
        """Tell whether any check that is made finds what it names in one of these."""
        return any(check.source in sources for check in self.checks)

    @property
    def compares(self) -> bool:
        """Whether the sides of pairs have to be compared for what is asked."""
        return not self.incomparable and self.asks(Source.TWINS)

    @property
    def reads_records(self) -> bool:
        """Whether the records have to be read for what is asked."""
        return self.asks(Source.RECORDS, Source.REPEATS, Source.LOCKS, Source.TWINS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What earlier runs left behind; nothing, where nobody kept it."""

    last_gc: Callable[[str], Mapping[str, Any] | None] = lambda _store: None
    """Finds the last run of gc on a store that ended well."""
    measured: Callable[[Where], Sequence[Measure]] = lambda _where: ()
    """Finds what earlier audits saw of a place."""
    witness: Callable[[str], Judgement | Unseen] = lambda _store: Unseen("nobody asked it")
    """Asks the witness of a store what happened to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What there is beside the stores, where they were found and nobody configured them."""

    left_out: Mapping[str, str] = field(default_factory=dict)
    """Places that are not audited, and why."""
    failures: tuple[IdemctlError, ...] = ()
    """What kept databases from being looked through."""
    why_stopped: WhyStopped = WhyStopped.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """What came of one place."""

    target: Target
    pattern: Pattern
    place: str
    overview: Overview | None
    """`None` where no check that looks at records was asked for."""
    is_sample: bool = False
    """Whether only some records were looked at, which stand for all."""
    row_estimate: int | None
    """About how many records there are, where the store knows."""
    measured: Measured | None = None
    """How much there is, and how it grows; `None` where nobody gave the place a name."""
    last_gc: Mapping[str, Any] | None = None
    """The history's entry of the last run of gc on this store that ended well."""
    findings: Sequence[Finding]
    checked: Sequence[str]
    """The codes of the checks that were made."""
    cannot_judge: Sequence[CannotJudge]
    why_stopped: WhyStopped


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSight:
    """What one store shows of the failure modes, both of its sides together."""

    store: str
    engine: Engine
    """By whose words the reasons are given: of a pair it is Postgres."""
    views: tuple[View, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of an audit."""

    options: Options
    sights: tuple[StoreSight, ...]
    places: tuple[Audited, ...]
    on: date
    """The day, in UTC, on which acceptances hold or do not."""
    failures: tuple[IdemctlError, ...] = ()
    """What kept places from being looked at; the others were looked at all the same."""
    surroundings: Surroundings = field(default_factory=Surroundings)

    @property
    def findings(self) -> list[Finding]:
        """All findings, the gravest first."""
        found = [finding for place in self.places for finding in place.findings]
        return sorted(found, key=lambda one: -one.severity)

    def acceptance_of(self, finding: Finding) -> Acceptance | None:
        """Find who answers for a finding; `None` where nobody does."""
        return accepted(finding, self.options.acceptances, self.on)

    @property
    def open_findings(self) -> list[Finding]:
        """Those for which nobody answers, the gravest first."""
        return [one for one in self.findings if self.acceptance_of(one) is None]

    @property
    def useless_acceptances(self) -> list[tuple[Acceptance, str]]:
        """List the acceptances that cover nothing, and why; of what was looked at."""
        stores = {one.target.store for one in self.places if one.why_stopped is WhyStopped.DONE}
        made = {check.code for check in self.options.checks}
        looked_for = [
            one for one in self.options.acceptances if one.code in made and one.store in stores
        ]
        return useless(looked_for, self.findings, self.on)

    @property
    def status(self) -> ExitStatus:
        """The exit status of the whole."""
        statuses = [why.status for why in self.ends]
        statuses += [failure.status for failure in self.failures]
        if any(finding.severity >= self.options.fail_on for finding in self.open_findings):
            statuses.append(ExitStatus.FINDINGS)
        if self.options.strict and not self.is_whole:
            statuses.append(ExitStatus.UNREACHABLE)
        return worst(statuses)

    @property
    def is_whole(self) -> bool:
        """Whether every check was made on everything."""
        return self.was_all_looked_at and not any(place.cannot_judge for place in self.places)

    @property
    def was_all_looked_at(self) -> bool:
        """Whether nothing kept the audit from any place, or from a part of it."""
        return not (self.failures or self.ends or self.surroundings.left_out)

    @property
    def ends(self) -> list[WhyStopped]:
        """Why looking ended early, where it did."""
        ends = (self.surroundings.why_stopped, *(place.why_stopped for place in self.places))
        return [why for why in ends if why is not WhyStopped.DONE]

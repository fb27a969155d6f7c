"""Examinations, with what is known of a place before its records are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.checks.check import Facts, Source
from idemctl.checks.examination import Examination
from idemctl.checks.registry import CHECKS
from idemctl.domain.circumstances import Unseen
from idemctl.domain.retention import Retention
from idemctl.domain.sight import Sight

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime, timedelta

    from idemctl.checks.check import Check
    from idemctl.domain.growth import Measure
    from idemctl.domain.records import Pattern
    from idemctl.domain.verdicts import Judgement
    from idemctl.run.target import Target


def examination_of(
    target: Target,
    pattern: Pattern,
    cutoff: datetime,
    *,
    is_paired: bool,
    backlog_after: timedelta,
    checks: Iterable[Check] = CHECKS,
    measured: Sequence[Measure] = (),
) -> Examination:
    """Make an examination with the promises and the sight of one place."""
    known = {Sight.TWIN} if is_paired else set[Sight]()
    if target.keeps_for or target.ttl or target.policies.endpoints:
        known.add(Sight.TTL)
    if target.promised.endpoints:
        known.add(Sight.POLICY)
    facts = Facts(
        engine=target.engine,
        pattern=pattern,
        sight=target.sight | known,
        retention=Retention(
            cutoff=cutoff,
            has_stored_expiry=Sight.EXPIRY in target.sight,
            ends_with_key=target.expires_by_itself,
            ttl=target.ttl,
            policy_ttls=target.policies.ttls_owed(cutoff),
        ),
        keeps_for=target.keeps_for,
        backlog_after=backlog_after,
        policy_ttls=target.promised.ttls_owed(cutoff),
        is_paired=is_paired,
        has_locks=target.has_locks,
        has_witness=target.has_witness,
        has_opaque_values=target.has_opaque_values,
        known_faults=target.known_faults,
        replica_count=target.replica_count,
        is_configured=target.is_configured,
        measured=tuple(measured),
    )
    return Examination(facts, checks)


def hear(examination: Examination, told: Judgement | Unseen) -> None:
    """Make the checks that go by the verdict of the witness."""
    if not isinstance(told, Unseen):
        examination.consider(told, Source.WITNESS)
        return
    for code in examination.makes(Source.WITNESS):
        examination.give_up(code, told.why)

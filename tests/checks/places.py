"""Facts of places, and what one check says of rows made by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from idemctl.checks.check import Facts, Source
from idemctl.checks.examination import Examination
from idemctl.checks.registry import BY_CODE
from idemctl.domain.instants import to_micros
from idemctl.domain.records import Pattern
from idemctl.domain.retention import Retention
from idemctl.domain.sight import Engine, Sight
from tests.domain.batches import NOW, batch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from idemctl.checks.check import Check
    from idemctl.domain.circumstances import Circumstances
    from idemctl.domain.findings import Finding

HOUR = 3600
DAY = 24 * HOUR
MINUTE = 60
UUID = b"0b9d3e6e-5d0f-4e0a-9d51-3a7c1c5f8e21"
"""A key with which nothing is wrong."""

POSTGRES = Facts(
    engine=Engine.POSTGRES,
    pattern=Pattern.POSTGRES_UNIQUE,
    sight=frozenset(Sight) - {Sight.KEY_TTL, Sight.STEPS},
    retention=Retention(cutoff=NOW, has_stored_expiry=True),
)
REDIS = Facts(
    engine=Engine.REDIS,
    pattern=Pattern.REDIS_SETNX,
    sight=frozenset(Sight) - {Sight.STEPS},
    retention=Retention(cutoff=NOW, has_stored_expiry=True, ends_with_key=True),
    keeps_for=timedelta(hours=24),
)
WORKFLOW = replace(POSTGRES, pattern=Pattern.WORKFLOW, sight=frozenset(Sight))
OUTBOX = replace(POSTGRES, pattern=Pattern.OUTBOX)
URL_PATH = replace(REDIS, pattern=Pattern.URL_PATH)
BODY_HASH = replace(
    REDIS,
    pattern=Pattern.BODY_HASH,
    sight=frozenset({Sight.KEY_TTL, Sight.TTL}),
    keeps_for=timedelta(hours=1),
)


def examined(facts: Facts, *rows: Mapping[str, Any], check: Check | None = None) -> Examination:
    checks = [check] if check is not None else BY_CODE.values()
    made = Examination(facts, checks)
    made.see(batch(*({"keys": UUID, **row} for row in rows)), to_micros(NOW))
    return made


def found(facts: Facts, *rows: Mapping[str, Any], check: Check | None = None) -> list[Finding]:
    return examined(facts, *rows, check=check).findings("payments", "here")


def codes(facts: Facts, *rows: Mapping[str, Any]) -> list[str]:
    return [finding.code for finding in found(facts, *rows)]


def told(facts: Facts, circumstances: Circumstances) -> dict[str, str]:
    """What circumstances tell, by code: the evidence, or `cannot judge: ` and why."""
    checks = [check for check in BY_CODE.values() if check.source is Source.CIRCUMSTANCES]
    made = Examination(facts, checks)
    made.consider(circumstances)
    found = {one.code: one.evidence for one in made.findings("payments", "here")}
    return found | {one.code: f"cannot judge: {one.why}" for one in made.cannot_judge}

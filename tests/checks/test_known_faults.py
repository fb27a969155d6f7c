"""What layouts say is known of their libraries, beside the checks that see it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from idemctl.bootstrap.layouts import preset, preset_files
from idemctl.checks.check import Facts
from idemctl.checks.registry import BY_CODE
from idemctl.domain.retention import Retention
from idemctl.domain.sight import Engine, Sight, lacking
from idemctl.layouts.sight import sight_of
from tests.checks.places import POSTGRES, found
from tests.domain.batches import NOW, at

if TYPE_CHECKING:
    from idemctl.layouts.sides import Side

STATED = [
    (name, engine, code)
    for name in preset_files()
    for engine in Engine
    for code in getattr(getattr(preset(name), engine.value), "breaks", {})
]


def test_some_presets_state_what_their_library_breaks() -> None:
    assert ("powertools-python", Engine.REDIS, "fingerprint-missing") in STATED


@pytest.mark.parametrize(("name", "engine", "code"), STATED)
def test_what_a_preset_states_is_seen_by_a_check_that_is_made_there(
    name: str, engine: Engine, code: str
) -> None:
    side: Side = getattr(preset(name), engine.value)
    # What is not the layout's to show: a ttl, and a pair.
    sight = sight_of(side) | {Sight.TTL, Sight.TWIN}
    facts = Facts(
        engine=engine, pattern=side.pattern, sight=sight, is_paired=True,
        retention=Retention(cutoff=NOW, has_stored_expiry=True),
    )  # fmt: skip
    check = BY_CODE[code]
    assert check.applies(facts)
    assert not lacking(check.needs, facts.sight)


def test_a_finding_says_what_is_known_and_another_one_does_not() -> None:
    late = {"fingerprints": b"", "expires_at": at(-9 * 86_400)}
    known = {"fingerprint-missing": "known of theirs: it drops the digest"}
    plain = {one.code: one.why for one in found(POSTGRES, late)}
    told = {one.code: one.why for one in found(replace(POSTGRES, known_faults=known), late)}
    assert set(plain) == {"fingerprint-missing", "expired-backlog"}
    assert told == plain | {
        "fingerprint-missing": plain["fingerprint-missing"]
        + " This is known of theirs: it drops the digest."
    }

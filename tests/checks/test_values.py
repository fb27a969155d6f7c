"""Values that are never decoded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from idemctl.domain.records import Flaw, Status
from idemctl.domain.sight import Sight
from tests.checks.places import HOUR, REDIS, found
from tests.domain.batches import at

PHP = replace(REDIS, has_opaque_values=True, sight=frozenset({Sight.KEY_TTL, Sight.TTL}))
VALUE = {"status": Status.UNKNOWN, "key_expires_at": at(HOUR)}


def test_opaque_values_are_counted_with_their_sizes() -> None:
    broken = {"status": Status.MALFORMED, "flaw": Flaw.OTHER_TYPE}
    rows: list[dict[str, Any]] = [VALUE | {"size": 120}, VALUE | {"size": 40_960}, broken]
    opaque, wrong = sorted(found(PHP, *rows), key=lambda one: one.severity)
    assert (opaque.code, opaque.severity.label, opaque.count) == ("value-opaque", "info", 2)
    assert opaque.evidence == "values of 120 to 40,960 bytes that are never decoded"
    assert wrong.code == "wrong-type"


def test_a_flag_says_nothing_and_hides_nothing() -> None:
    assert found(replace(PHP, has_opaque_values=False), VALUE | {"size": 1}) == []

"""All checks, a theme after the other: the one list that audit and its documentation go by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idemctl.checks import (
    brevity,
    capacity,
    claims,
    clocks,
    credentials,
    durability,
    flows,
    guessing,
    keys,
    lost,
    promises,
    replication,
    shape,
    standbys,
    tables,
    twins,
    uniqueness,
    upkeep,
    values,
)

if TYPE_CHECKING:
    from idemctl.checks.check import Check

CHECKS: tuple[Check, ...] = (
    *flows.CHECKS,
    *claims.CHECKS,
    *keys.CHECKS,
    *guessing.CHECKS,
    *shape.CHECKS,
    *values.CHECKS,
    *credentials.CHECKS,
    *promises.CHECKS,
    *brevity.CHECKS,
    *clocks.CHECKS,
    *uniqueness.CHECKS,
    *tables.CHECKS,
    *upkeep.CHECKS,
    *capacity.CHECKS,
    *durability.CHECKS,
    *standbys.CHECKS,
    *replication.CHECKS,
    *twins.CHECKS,
    *lost.CHECKS,
)
BY_CODE = {check.code: check for check in CHECKS}

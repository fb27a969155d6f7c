"""Values that nobody but their own library can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from idemctl.checks.check import REDIS, Check
from idemctl.domain.findings import Severity

if TYPE_CHECKING:
    from idemctl.checks.check import Looked, Mask


def _opaque(looked: Looked) -> Mask:
    if not looked.facts.has_opaque_values:
        return np.zeros(len(looked.batch), np.bool_)
    return looked.readable


VALUE_OPAQUE = Check(
    code="value-opaque",
    severity=Severity.INFO,
    engines=REDIS,
    mask=_opaque,
    measure=lambda looked: looked.batch.size,
    evidence=lambda found, _facts: (
        f"values of {found.low:,} bytes that are never decoded"
        if found.low == found.high
        else f"values of {found.low:,} to {found.high:,} bytes that are never decoded"
    ),
    what="A value that its layout calls `opaque`, `pickle`, `php` or `java`: to read one is to "
    "run what it says.\n"
    "Of such a record idemctl sees key, TTL and size, and counts it as of unknown status.",
    why="Whether work is in progress, for which request, and with which answer, nobody can tell "
    "but the application.",
    next="idemctl layout list",
)

CHECKS = (VALUE_OPAQUE,)

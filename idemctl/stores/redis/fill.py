"""Writes twins where there are none."""

from __future__ import annotations

from datetime import timedelta
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from idemctl.stores.redis.bulk import Sets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from idemctl.stores.redis.bulk import Lane

PATIENCE = timedelta(seconds=1)
"""How long a reply is waited for: rows in Postgres are held meanwhile."""
_MICROS = 1000


def fill(
    lane: Lane, names: Sequence[bytes | None], values: Sequence[bytes], until: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Write what is absent, and say which were; no twin without a name. See `Fills.fill`."""
    named = np.array([name is not None for name in names], np.bool_)
    sets = Sets(
        names=[name for name in names if name is not None],
        values=list(compress(values, named)),
        until_ms=(until[named] // _MICROS).tolist(),
    )
    replies = lane.ask(sets)
    for reply in replies:
        lane.checked(reply)
    written = np.zeros(len(names), np.bool_)
    written[named] = [reply is not None for reply in replies]
    return written

"""An order that covers a range evenly, however early one stops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_GOLDEN = (5**0.5 - 1) / 2
"""Steps of this share of a circle stay evenly spread, wherever they end."""


def spread(count: int) -> Iterator[int]:
    """Give each number below `count` once, the last one first.

    >>> list(spread(8))
    [7, 4, 1, 6, 3, 0, 5, 2]
    """
    golden = round(count * _GOLDEN)
    nearest = (at for apart in range(count) for at in (golden - apart, golden + apart))
    # A step that shares no factor with the count comes by every number.
    step = next((at for at in nearest if at > 0 and math.gcd(at, count) == 1), 1)
    yield from ((count - 1 + turn * step) % count for turn in range(count))

"""Texts joined into one for a file, and cut out of it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def lengths(texts: Sequence[bytes]) -> NDArray[np.int64]:
    """Measure texts, so that they can be told apart when they are joined."""
    return np.fromiter(map(len, texts), np.int64, len(texts))


def cut(joined: bytes, lengths: NDArray[np.int64]) -> list[bytes]:
    """Take texts apart that were joined."""
    ends = np.cumsum(lengths).tolist()
    return [joined[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]

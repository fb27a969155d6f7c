"""Python's collector of cycles, told to look less often.

A batch is thousands of objects that live as long as it does, and none of them is part of a
cycle: at its usual pace the collector goes through all of them several times.
"""

from __future__ import annotations

import gc

_OBJECTS = 50_000
_YOUNG_ROUNDS = 20
_OLD_ROUNDS = 50


def collect_rarely() -> None:
    """Let it look once in some batches; for a process that streams."""
    gc.set_threshold(_OBJECTS, _YOUNG_ROUNDS, _OLD_ROUNDS)

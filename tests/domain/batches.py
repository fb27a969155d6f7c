"""Batches made by hand, a mapping a record."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from idemctl.domain.batch import Batch
from idemctl.domain.instants import MISSING, to_micros
from idemctl.domain.records import Flaw, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
_BYTES = {"keys": b"k", "scopes": b"", "endpoints": b"", "fingerprints": b""}
_NUMBERS = (
    "counted_from", "completed_at", "expires_at", "key_expires_at", "lease_until", "due_at",
    "fence", "epoch", "response_status", "size",
)  # fmt: skip


def at(seconds: float) -> int:
    """Give the instant so many seconds after `NOW`, as a column has it."""
    return to_micros(NOW) + round(seconds * 1_000_000)


def batch(*rows: Mapping[str, Any]) -> Batch:
    """Make a batch; what a row leaves out is missing, and its status completed."""

    def numbers(name: str, default: int, kind: type[np.generic]) -> Any:
        return np.array([row.get(name, default) for row in rows], kind)

    texts: dict[str, Any] = {
        name: [row.get(name, empty) for row in rows] for name, empty in _BYTES.items()
    }
    counts = {name: numbers(name, MISSING, np.int64) for name in _NUMBERS}
    return Batch(
        **texts,
        **counts,
        status=numbers("status", Status.COMPLETED, np.uint8),
        flaw=numbers("flaw", Flaw.NONE, np.uint8),
        never_collected=numbers("never_collected", 0, np.bool_),
    )

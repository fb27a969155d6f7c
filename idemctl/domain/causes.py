"""Where a spike comes from, as far as counts can tell, and how much to make of it.

Counts tell who and where. They do not tell why, so no cause here names a reason, and none is
ever certain.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from idemctl.domain.traffic import Spike

_CLEAR_SURPRISE = 16.0
"""Twice the powers of ten that make a spike."""
_CLEAR_SHARE = 0.8


class Cause(StrEnum):
    """Whose requests carry a spike."""

    ONE_CLIENT = "one-client"
    ONE_ENDPOINT = "one-endpoint"
    EVERYWHERE = "everywhere"


class Confidence(StrEnum):
    """How much to make of it."""

    LOW = "low"
    MEDIUM = "medium"


def cause_of(spike: Spike) -> Cause:
    """Tell whose requests carry a spike."""
    if spike.series.client is not None:
        return Cause.ONE_CLIENT
    return Cause.EVERYWHERE if spike.series.endpoint is None else Cause.ONE_ENDPOINT


def confidence_of(spike: Spike) -> Confidence:
    """Tell how much to make of a cause: little, if the spike is faint or others share it."""
    clear = spike.score >= _CLEAR_SURPRISE and spike.share >= _CLEAR_SHARE
    return Confidence.MEDIUM if clear else Confidence.LOW

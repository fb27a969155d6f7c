"""What was read from some logs: the counts, and what could not be read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from idemctl.domain.traffic.counts import Traffic


class Fault(StrEnum):
    """Why a line could not be read."""

    NOT_JSON = "not-json"
    """No JSON object, or none of the fields is in it."""
    NO_INSTANT = "no-instant"
    """Its time is no ISO 8601 with an offset, and no number of seconds or milliseconds."""
    UNKNOWN_OUTCOME = "unknown-outcome"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A part of a line that could not be read, as it stands in the log."""

    fault: Fault
    seen: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is in some logs."""

    traffic: Traffic
    line_count: int
    """Lines that are not blank."""
    unkeyed_count: int
    """Lines without a key: of other requests, and no trial of anything."""
    unreadable: Mapping[Fault, int]
    samples: tuple[Sample, ...]

    @property
    def unreadable_count(self) -> int:
        """Lines that nothing could be learnt from."""
        return sum(self.unreadable.values())

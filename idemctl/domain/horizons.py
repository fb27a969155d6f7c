"""Retry horizons: for how long a provider may deliver the same thing again.

A key that is forgotten sooner makes the second delivery look new, and its work is done
twice. So a ttl must outlast the provider's window, with a margin for what comes after it:
the clocks of two sides, and an outage of one's own in which the last attempt waited.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date

LEAST_MARGIN = timedelta(hours=1)
"""The margin after a short window: an outage of that length is an ordinary one."""
MARGIN_PARTS = 10
"""The margin after a long window is one part of so many: windows are published in round
figures, and a provider that has been retrying for a week retries hours apart."""
_HOUR = timedelta(hours=1)
_SECOND = timedelta(seconds=1)


class Certainty(StrEnum):
    """How well a window is known."""

    HIGH = "high"
    """The provider's own page was read."""
    MEDIUM = "medium"
    """Several others quote that page in the same words."""
    LOW = "low"
    """There are hints, no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """What one product of a provider promises of its retries; another product differs."""

    name: str
    """The word for it in a policy file, as in `whatsapp-cloud-api`."""
    product: str
    windows: tuple[timedelta, ...]
    """What the sources say, by the longest way back that they name; none where nobody says."""
    source: str
    checked_on: date
    certainty: Certainty
    key_field: str | None = None
    """What to take as key of what it delivers; None where it sends nothing stable."""
    schedule: str | None = None
    """When it tries again, in words; None where nobody says."""
    note: str | None = None
    """What a reader must know to judge whether the window is theirs."""

    @property
    def window(self) -> timedelta | None:
        """The longest that a source names; None is unknown, never zero."""
        return max(self.windows, default=None)


class Way(StrEnum):
    """By what the same request may come back; the value is its field in a policy file."""

    PROVIDER = "provider"
    """Delivers again until it is heard."""
    QUEUE = "queue"
    """Holds it while nobody takes it."""
    DEAD_LETTER_QUEUE = "dead_letter_queue"
    """Holds what failed, until a person sends it back."""
    CLIENT_RETRY = "client_retry"
    """Tries again by itself."""
    RESTORE_WINDOW = "restore_window"
    """A backup is played back, and with it what was sent since."""

    @property
    def label(self) -> str:
        """As people write it: `dead-letter queue`."""
        return {"dead_letter_queue": "dead-letter queue"}.get(self, self.replace("_", " "))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One stretch of a way back."""

    way: Way
    length: timedelta | None
    """For how long it may hold a request; None is unknown, never zero."""
    provider: Provider | None = None

    @property
    def label(self) -> str:
        """What it is, to a person."""
        return self.way.label if self.provider is None else self.provider.product


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPath:
    """One way back to an endpoint: its hops follow each other, so their lengths add up."""

    hops: tuple[Hop, ...]
    position: int | None = None
    """Which of `replay` in the policy file; None for what `provider` of the endpoint says."""

    @property
    def at_least(self) -> timedelta:
        """The sum of the hops that are known."""
        return sum((hop.length for hop in self.hops if hop.length), timedelta())

    @property
    def unknown(self) -> tuple[Hop, ...]:
        """The hops that make the whole longer than anybody can say."""
        return tuple(hop for hop in self.hops if hop.length is None)

    @property
    def label(self) -> str:
        """The path in words, hop after hop."""
        return ", then ".join(hop.label for hop in self.hops)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """The ttl that a window asks for."""

    window: timedelta
    margin: timedelta

    @property
    def ttl(self) -> timedelta:
        """The shortest that suffices: window and margin, up to the next whole hour."""
        return _up_to_whole(self.window + self.margin, _HOUR)


def requirement(window: timedelta) -> Requirement:
    """Add the margin to a window: the larger of an hour and a tenth of it, in whole seconds.

    >>> str(requirement(timedelta(days=7)).ttl)
    '7 days, 17:00:00'
    """
    tenth = _up_to_whole(window / MARGIN_PARTS, _SECOND)
    return Requirement(window=window, margin=max(LEAST_MARGIN, tenth))


def _up_to_whole(length: timedelta, unit: timedelta) -> timedelta:
    return -(-length // unit) * unit

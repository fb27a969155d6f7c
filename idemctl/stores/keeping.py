"""Where idemctl keeps its own: what it asks of a place for witness and freeze.

A store has up to three: its Postgres, its Redis, and the state folder of this host. Each may
raise what any store raises, and `ConfigError` where the table for it is not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from idemctl.domain.freezes import Freeze
    from idemctl.domain.witness import Witness
    from idemctl.stores.answers import Right


class Keeps(Protocol):
    """One place of one store."""

    @property
    def place(self) -> str:
        """What every output calls it."""
        ...

    def witness(self) -> Witness | None:
        """Read its copy of the witness."""
        ...

    def write_witness(self, witness: Witness, *, instead_of: Witness | None) -> bool:
        """Write a copy if the one that was read is still there; tell whether it was."""
        ...

    def freeze(self, now: datetime | None = None) -> Freeze | None:
        """Read its copy of a freeze that is in force.

        Args:
            now: the time by the store's clock; who has a clock goes by its own.
        """
        ...

    def write_freeze(self, freeze: Freeze) -> None:
        """Write a copy, whatever was there."""
        ...

    def thaw(self) -> bool:
        """Remove its copy of a freeze; tell whether there was one."""
        ...

    def close(self) -> None:
        """Give connections back; harmless when repeated."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """What a Postgres says of itself."""

    now: datetime
    started_at: datetime
    system_identifier: str | None = None
    """Here and below `None` where it does not tell this user."""
    timeline: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """By what the records of a table are put in order."""

    epoch: int | None = None
    """The epoch of the next record; `None` where the store has none."""
    sequence: str | None = None
    """Where fences come from; `None` where no sequence gives them out."""
    fence: int | None = None
    """The last that it gave out; 0 where it gave out none yet."""


class KeepsOnServer(Keeps, Protocol):
    """A place on a server, which takes rights of its own beside those that records take."""

    def rights(self) -> Sequence[Right]:
        """List them, and which of them this user has; see `Describes.rights`."""
        ...


class KeepsInPostgres(KeepsOnServer, Protocol):
    """A place in Postgres, which also knows its own past and the order of its records."""

    def cluster(self) -> Cluster:
        """Ask the server what it is, and since when."""
        ...

    def generation(self) -> Generation:
        """Look at epoch and fence."""
        ...

    def renew(self, *, epoch: int | None, fence: int | None) -> None:
        """Raise the epoch to this one, and let fences go on after that one; never back.

        Args:
            epoch: `None` leaves it.
            fence: `None` leaves it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What a Redis server says of itself; `None` where it does not tell this user."""

    now: datetime
    run_id: str | None = None
    started_at: datetime | None = None
    flush_calls: int | None = None


class KeepsInRedis(KeepsOnServer, Protocol):
    """A place in Redis, which also knows its server's past."""

    def process(self) -> Process:
        """Ask the server what it is, and since when."""
        ...


class OpensInPostgres(Protocol):
    """Opens the place in Postgres."""

    def open(self, *, writable: bool) -> KeepsInPostgres:
        """Make it; it connects when it is first asked something."""
        ...


class OpensInRedis(Protocol):
    """Opens the place in Redis."""

    def open(self, *, writable: bool) -> KeepsInRedis:
        """Make it; it connects when it is first asked something."""
        ...

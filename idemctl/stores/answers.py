"""What stores are asked with and answer with: the values that travel through their ports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import timedelta

    import numpy as np
    from numpy.typing import NDArray

    from idemctl.domain.batch import Batch
    from idemctl.domain.partitions import Partition
    from idemctl.domain.purposes import Purpose
    from idemctl.domain.references import Reference
    from idemctl.errors import IdemctlError

    Choose = Callable[[Sequence[bytes]], Sequence[bytes]]
    """Picks some of many names."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` disjoint parts of a store, which together are the whole."""

    index: int = 0
    count: int = 1

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


WHOLE = Shard()


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """A privilege that some command needs."""

    name: str
    granted: bool
    needed_for: tuple[Purpose, ...]
    rule: str
    """What a role that has it is given: `GRANT DELETE ON public.t`, `+getrange ~idem:*`."""
    is_spared: bool = False
    """Whether nothing is refused for lack of it: who lacks it waits, or leaves out a check."""
    grant: str
    """The statement that an administrator types to give this user what is missing; empty where
    no administrator can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a store says of itself."""

    product: str
    """`PostgreSQL`, `Redis`, `Valkey` or `memory`."""
    version: str
    supported: bool
    """Whether the version is at or above the floor."""
    place: str
    """The table or the prefix, as idemctl names it in every output."""
    user: str
    is_replica: bool
    row_estimate: int | None
    """About how many records; `None` where the store keeps no such number."""
    server: str = ""
    """Where it runs, and the database there: what tells it from another one, and no secret."""
    hides_rows: str | None = None
    """Why some records may be invisible to this user, when they may."""
    references: tuple[Reference, ...] = ()
    """Foreign keys by which other rows hang on those that gc deletes."""
    partitions: tuple[Partition, ...] = ()
    """Physical tables that hold a range of the instant by which records expire."""


Wanted = tuple["Sequence[bytes]", "Sequence[bytes]"]
"""The keys of records, and their scopes, in the same order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a store remembers of some keys; of those that it does not know there is no row."""

    batch: Batch
    at: NDArray[np.intp]
    """For each record, the place of its key among those that were asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What came of writing twins: those that were written are, whatever happened after."""

    flags: NDArray[np.bool_]
    """Which of them."""
    failure: IdemctlError | None = None
    """What kept the others from being written."""
    unknown_count: int = 0
    """Those of the others that may have been written before nothing was heard any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """What came of filling some keys."""

    filled_count: int
    held_count: int
    """Rows that were held: what of them was not filled was there already, or is owed no more."""
    held_for: timedelta
    failure: IdemctlError | None = None
    unknown_count: int = 0
    """Those that may have been filled before nothing was heard any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Rows that nobody can change now, and what their twins in Redis would hold."""

    batch: Batch
    """As much of them as says whether Redis owes them, and until when."""
    values: Sequence[bytes]
    part: str = ""
    """The leaf table that they lie in."""
    units: int = 1
    """Pages looked at for them."""
    done: float = 0.0
    """The share of the walk that lies behind with them, 0 to 1."""

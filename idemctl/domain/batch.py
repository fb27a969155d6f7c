"""A batch: up to n records as columns. This is what streams through idemctl.

Masks over columns cost a tenth of what objects cost, so a scan of millions builds no
object a record. `record(i)` makes one for what is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from idemctl.domain.instants import MISSING, from_micros
from idemctl.domain.records import Flaw, Record, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Columns of equal length; row `i` of each is one record.

    Instants are microseconds (`domain.instants`); numbers that a layout does not store
    are `MISSING`; bytes that it does not store are `b""`.
    """

    keys: Sequence[bytes]
    scopes: Sequence[bytes]
    endpoints: Sequence[bytes]
    fingerprints: Sequence[bytes]
    status: NDArray[np.uint8]
    counted_from: NDArray[np.int64]
    """The instant from which a retention counts: mostly the creation."""
    completed_at: NDArray[np.int64]
    expires_at: NDArray[np.int64]
    key_expires_at: NDArray[np.int64]
    lease_until: NDArray[np.int64]
    due_at: NDArray[np.int64]
    """By when work in progress has to be done, where no lease says who is at it."""
    fence: NDArray[np.int64]
    epoch: NDArray[np.int64]
    response_status: NDArray[np.int64]
    """The HTTP status of the stored response."""
    flaw: NDArray[np.uint8]
    """Why a record is malformed; see `records.Flaw`."""
    never_collected: NDArray[np.bool_]
    """Whether the layout says that a record stays, whatever its expiry."""
    size: NDArray[np.int64]
    """Bytes of the value as stored; of the row, for Postgres."""

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def written_at(self) -> NDArray[np.int64]:
        """When each record was last written: as its work ended, else as it began."""
        import numpy as np

        return np.where(self.completed_at != MISSING, self.completed_at, self.counted_from)

    def take(self, rows: NDArray[np.intp]) -> Batch:
        """Give some of the records, in this order."""
        chosen = rows.tolist()
        columns: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        taken: dict[str, Any] = {
            name: [column[row] for row in chosen]
            if isinstance(column, list | tuple)
            else column[rows]
            for name, column in columns.items()
        }
        return Batch(**taken)

    def record(self, row: int) -> Record:
        """Make the object for one row."""

        def number(column: NDArray[np.int64]) -> int | None:
            value = int(column[row])
            return None if value == MISSING else value

        return Record(
            key=self.keys[row],
            scope=self.scopes[row],
            status=Status(int(self.status[row])),
            endpoint=self.endpoints[row] or None,
            fingerprint=self.fingerprints[row] or None,
            response_status=number(self.response_status),
            completed_at=from_micros(int(self.completed_at[row])),
            created_at=from_micros(int(self.counted_from[row])),
            expires_at=from_micros(int(self.expires_at[row])),
            key_expires_at=from_micros(int(self.key_expires_at[row])),
            lease_until=from_micros(int(self.lease_until[row])),
            fence=number(self.fence),
            epoch=number(self.epoch),
            flaw=Flaw(int(self.flaw[row])),
        )

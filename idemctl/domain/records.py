"""A record: a store's memory of one key.

Made only for what is shown, merged or written; what streams is a `Batch`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


class Pattern(IntEnum):
    """The six ways in which applications remember keys."""

    POSTGRES_UNIQUE = 0
    REDIS_SETNX = 1
    URL_PATH = 2
    BODY_HASH = 3
    WORKFLOW = 4
    OUTBOX = 5

    @property
    def label(self) -> str:
        """The id used in YAML, JSON and documentation: `postgres-unique`."""
        return self.name.lower().replace("_", "-")


class Status(IntEnum):
    """What a record says of its request; the numbers are those of a batch's column."""

    MALFORMED = 0
    """Fits no status of its layout: shown, and left alone."""
    IN_PROGRESS = 1
    COMPLETED = 2
    FAILED = 3
    UNKNOWN = 4
    """Only presence is known: completed when compared, in progress for every deletion."""

    @property
    def label(self) -> str:
        """The word used in YAML, JSON and documentation."""
        return self.name.lower()


class Flaw(IntEnum):
    """Why a record is malformed; the numbers are those of a batch's column."""

    NONE = 0
    NO_STATUS = 1
    """It fits no status of its layout, or several."""
    UNREADABLE = 2
    """Its value is not what the layout's codec writes."""
    OTHER_TYPE = 3
    """The key holds another type than the layout writes: a list, a hash where a string is due."""
    TOO_LONG = 4
    """Its value is longer than any record may be, and was not read."""
    FOREIGN_NAME = 5
    """The name of the key is none that the layout writes."""
    MISNAMED = 6
    """Its value is the record of another key than its name says."""

    @property
    def label(self) -> str:
        """The word used in JSON and documentation: `other-type`."""
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One key as one store remembers it; `None` is what the layout cannot see."""

    key: bytes
    scope: bytes
    status: Status
    endpoint: bytes | None = None
    fingerprint: bytes | None = None
    response_status: int | None = None
    created_at: datetime | None = None
    completed_at: datetime | None = None
    expires_at: datetime | None = None
    """The stored promise; `None` also when the store says never."""
    key_expires_at: datetime | None = None
    """When the store itself removes the key: Redis's expiry."""
    lease_until: datetime | None = None
    fence: int | None = None
    epoch: int | None = None
    flaw: Flaw = Flaw.NONE

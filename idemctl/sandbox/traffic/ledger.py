"""What the traffic tells when it stops: its own deeds, what was read, and what was wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

IN_PROGRESS = "in_progress"


class Key(NamedTuple):
    """A key as the application knows it, with its scope; the scope may be empty."""

    scope: str
    key: str

    @property
    def name(self) -> str:
        """The key's name in Redis."""
        return f"idem:{self.scope}:{self.key}" if self.scope else f"idem:{self.key}"


class Version(NamedTuple):
    """What orders the states of one key, in both stores."""

    epoch: int
    fence: int
    rank: int
    """0 while in progress, 1 afterwards."""

    @classmethod
    def of(cls, *, epoch: int, fence: int, status: str) -> Version:
        """Give the version of a record."""
        return cls(epoch, fence, 0 if status == IN_PROGRESS else 1)

    @property
    def before(self) -> Version:
        """The greatest version that is older."""
        return self._replace(rank=self.rank - 1)


class KeyState(NamedTuple):
    """Where the application last left a key."""

    version: Version
    in_postgres: bool
    """False once the key was released: its row is deleted."""
    in_redis: bool
    """Whether Redis was told of it, too; False after a crash between the two stores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRead:
    """An answer of Redis that the application must never be given."""

    name: str
    reason: str
    """`retired`, `expired` or `unreadable`."""
    by_tool: bool
    version: Version | None
    """None where the value holds none."""
    late_for: timedelta
    """How long before the read its version was retired, or its promise over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The traffic so far. A bad read belongs to who wrote the value that was read."""

    operations: Mapping[str, int]
    """By kind; a crash is `crash after` what was last committed or written."""
    read_count: int
    """Keys looked up in Redis, found or not."""
    tool_read_count: int
    """Of these, those that found a value which the application did not write."""
    bad_reads_by_app_count: int
    bad_reads_by_tool_count: int
    two_owners_count: int
    """Claims that were granted while another's lease was live."""
    examples: tuple[BadRead, ...]
    """The first bad reads, whoever caused them."""
    keys: Mapping[Key, KeyState]
    """Every key that was ever claimed."""

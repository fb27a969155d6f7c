"""The upkeep of a table: what deletions leave behind, and what keeps it from being cleared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    """One physical table, and when it is cleared of dead rows."""

    name: str
    live_count: int
    dead_count: int
    due_count: int
    """So many dead rows bring autovacuum, by the table's own settings."""
    is_automatic: bool = True
    """Whether autovacuum comes at all."""
    is_running: bool = False
    """Whether a vacuum is at work on it."""
    vacuumed_for: timedelta | None = None
    """How long ago the last vacuum ended; None where there was none."""
    table_bytes: int = 0
    index_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Somebody who may still look at dead rows, so that they have to stay."""

    name: str
    """Who it is, for the person who has to end it."""
    held_for: timedelta | None
    """Since when; None where the server does not tell."""
    transaction_count: int
    """How many transactions began since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """That of a table, on the server that vacuums it."""

    tables: tuple[Cleared, ...] = ()
    holders: tuple[Holder, ...] = ()
    hidden_session_count: int = 0
    """Sessions in this database of which this user sees nothing."""
    is_automatic: bool = True
    """Whether the server runs autovacuum."""

"""Locks that are held at a store."""

from __future__ import annotations

from typing import Protocol


class Lock(Protocol):
    """A lock that this process holds at a store."""

    def is_held(self) -> bool:
        """Ask the store; false once it was lost, and then for good."""
        ...

    def release(self) -> None:
        """Give it back; a lost lock is no error."""
        ...


class Locks(Protocol):
    """Lets one run at a time work on a store, across hosts."""

    def lock(self, purpose: str) -> Lock:
        """Take the lock without waiting.

        Raises:
            Locked: Somebody else holds it; the message says who.
            Refused: Such a lock would not be dependable here.
        """
        ...

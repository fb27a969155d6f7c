"""What a store is asked of its server: its past, the place in which records lie, its load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from idemctl.domain.circumstances import Circumstances
    from idemctl.domain.incident import Account
    from idemctl.domain.throttle import Load


class Accounts(Protocol):
    """Knows of its own past: a Redis server."""

    def account(self) -> Account:
        """Ask the server what it counted since it started.

        Raises:
            Unsupported: this kind of store keeps no such count.
        """
        ...


class TellsCircumstances(Protocol):
    """Knows the place in which its records lie: a server."""

    def circumstances(self) -> Circumstances:
        """Ask the server; what it does not tell this user says why."""
        ...


class TellsLoad(Protocol):
    """Knows how much its server has to do, and who follows it."""

    def load(self, query: str | None = None) -> Load:
        """Ask the server; what it does not tell this user says why.

        Args:
            query: the operator's own, which answers with one boolean: whether to wait.

        Raises:
            Unsupported: nobody follows this kind of store, and it never waits.
        """
        ...

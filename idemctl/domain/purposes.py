"""Purposes: what a user of a store needs rights for."""

from __future__ import annotations

from enum import StrEnum


class Purpose(StrEnum):
    """What somebody wants to do with a store."""

    READING = "reading"
    """`audit`, `diagnose`, `doctor`, `layout check`, `store show`, and dry runs of the rest."""
    GC = "gc --apply"
    RECONCILE = "reconcile --apply"
    STORE = "store --apply"
    """`store freeze`, `thaw`, `beat` and `accept`: who stops and restarts the others."""
    SIGHT = "all that audit can see"
    """Nothing fails without it: some checks cannot judge."""

    @property
    def role(self) -> str:
        """The name of the role that serves it and nothing else; for sight there is none.

        >>> Purpose.GC.role
        'idemctl_gc'
        """
        return f"idemctl_{self.split()[0]}"


EVERY_VERB = (Purpose.READING, Purpose.GC, Purpose.RECONCILE, Purpose.STORE)
"""Those for which there is a role."""

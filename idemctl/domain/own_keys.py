"""What idemctl's own keys are called in Redis: no record, whatever the prefix of a store is."""

from __future__ import annotations

OWN = b"idemctl:{"
"""What all of them begin with; in a cluster those of one store lie in one slot."""


def own_key(store: str, what: str) -> bytes:
    """Name one.

    >>> own_key("payments", "witness")
    b'idemctl:{payments}:witness'
    """
    return OWN + f"{store}}}:{what}".encode()

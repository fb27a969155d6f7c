"""A roll call: whether two walks met the same names, without keeping any of them.

The names that one walk found equal and those that another listed are summed up as digests,
bucket by bucket, the one against the other. A name that only one of them met, or met twice, leaves
its bucket uneven; only what is in such buckets has to be looked at.

Digests are keyed anew for every roll call, so nobody can choose keys that cancel each other
out. That an uneven bucket looks even by chance happens once in 2^64 buckets.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Marks = NDArray[np.uint64]

BUCKETS = 2**20
"""Eight megabytes of sums, however many names there are."""
KEY_BYTES = 16


def marks(names: Sequence[bytes], key: bytes) -> Marks:
    """Give two numbers a name: in which bucket it is, and what it adds there."""
    digests = [blake2b(name, digest_size=16, key=key).digest() for name in names]
    return np.frombuffer(b"".join(digests), "<u8").reshape(len(names), 2)


class Roll:
    """Names called, and names answered, against each other."""

    def __init__(self) -> None:
        self._sums = np.zeros(BUCKETS, np.uint64)

    def judged(self, some: Marks) -> None:
        """Add names that were judged."""
        np.add.at(self._sums, some[:, 0] % BUCKETS, some[:, 1])

    def listed(self, some: Marks) -> None:
        """Take away names that are there."""
        np.subtract.at(self._sums, some[:, 0] % BUCKETS, some[:, 1])

    def uneven(self, key: bytes) -> Uneven | None:
        """Give the buckets in which the one is not the other; `None` where there is none."""
        differs = self._sums != 0
        return Uneven(key=key, bits=np.packbits(differs).tobytes()) if differs.any() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Uneven:
    """Buckets in which some name was not judged, or is not there; small enough to be sent."""

    key: bytes
    bits: bytes

    def names(self, names: Sequence[bytes]) -> list[bytes]:
        """Pick the names that lie in them."""
        buckets = (marks(names, self.key)[:, 0] % BUCKETS).astype(np.intp)
        bits = np.frombuffer(self.bits, np.uint8)
        chosen = bits[buckets >> 3] >> (7 - (buckets & 7)).astype(np.uint8) & 1
        return [names[at] for at in chosen.nonzero()[0].tolist()]

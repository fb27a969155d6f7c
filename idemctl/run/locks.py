"""Locks that are still held though the work is done: each seen twice, some time apart.

Who retries takes the lock for a moment, finds the record and gives the lock back; so a lock
beside a record is a suspect, and only one that is the same two seconds later was forgotten.
"""

from __future__ import annotations

import time
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from idemctl.domain.records import Status
from idemctl.errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence

    from idemctl.domain.batch import Batch
    from idemctl.run.run import Run
    from idemctl.state.repeats import Repeats
    from idemctl.stores.ports import Names

_SETTLE = timedelta(seconds=2)
_MOST = 10_000
"""Suspects that are looked at again; of more the first stand for all."""
_SAME = 1_000_000
"""Microseconds by which one expiry may differ that was counted from a TTL."""
_LOCK, _RECORD, _NEITHER = b"lock", b"record", b""
_Who = tuple[bytes, bytes]


class Locks:
    """Takes what a scan shows, and tells whose lock was forgotten."""

    def __init__(self, repeats: Repeats) -> None:
        self._repeats = repeats

    @property
    def why_incomplete(self) -> str | None:
        """What kept a part of the keys from being looked at."""
        return self._repeats.why_incomplete

    def see(self, batch: Batch) -> None:
        """Remember which keys have a lock, and which a record."""
        kinds = np.where(batch.status == Status.IN_PROGRESS, 1, 2)
        kinds[batch.status == Status.MALFORMED] = 0
        groups = [(_NEITHER, _LOCK, _RECORD)[kind] for kind in kinds.tolist()]
        pairs = zip(batch.scopes, batch.keys, strict=True)
        self._repeats.add([b"\0".join(pair) for pair in pairs], groups)

    def forgotten(self, store: Names, run: Run) -> list[_Who]:
        """Look at the suspects twice more; give the keys whose lock stays, with their scopes.

        Raises:
            Unsupported: nobody can tell by their names which they are.
        """
        suspects = set()
        for whole in islice(self._repeats.found(), _MOST):
            scope, _, key = whole.partition(b"\0")
            suspects.add((key, scope))
        before = _held(store, suspects, run)
        if not before:
            return []
        run.rest(_SETTLE)
        after = _held(store, set(before), run)
        return sorted(who for who, end in after.items() if abs(end - before[who]) < _SAME)


def _held(store: Names, suspects: set[_Who], run: Run) -> dict[_Who, int]:
    """Give the suspects that have a lock and a record now, with the end of the lock."""
    if not suspects:
        return {}
    known = {key for key, _ in suspects}
    lengths = set(map(len, known))

    def choose(names: Sequence[bytes]) -> Sequence[bytes]:
        # As layouts write them, of a lock and of a record alike.
        return [name for name in names if any(name[-one:] in known for one in lengths)]

    seen_count = 0
    locks: dict[_Who, int] = {}
    records: set[_Who] = set()
    started = time.perf_counter()
    for batch in store.scan_named(choose):
        rows = zip(batch.keys, batch.scopes, batch.status, batch.key_expires_at, strict=True)
        for key, scope, status, end in rows:
            if (key, scope) in suspects:
                seen_count += 1
                if status == Status.IN_PROGRESS:
                    locks[key, scope] = int(end)
                elif status != Status.MALFORMED:
                    records.add((key, scope))
        took = timedelta(seconds=time.perf_counter() - started)
        run.checkpoint(took, max(len(batch), 1))
        started = time.perf_counter()
    if not seen_count:
        raise Unsupported("the names of locks and records do not end in their keys")
    return {who: end for who, end in locks.items() if who in records}

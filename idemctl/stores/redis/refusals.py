"""What no keyspace ever does, and what does it instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never

from idemctl.errors import Unsupported
from idemctl.stores.answers import WHOLE
from idemctl.stores.archiving import Unarchived

if TYPE_CHECKING:
    from datetime import datetime

    from idemctl.domain.inspections import Inspection
    from idemctl.domain.retention import Retention
    from idemctl.layouts.transcript import Transcript
    from idemctl.stores.answers import Shard, Wanted


class NeverInRedis(Unarchived):
    """The ports of a table, refused."""

    _place: str

    def hold(
        self, transcript: Transcript, *, written_after: datetime, shard: Shard = WHOLE
    ) -> Never:
        """Refuse: see `Holds.hold`.

        Raises:
            Unsupported: always.
        """
        del transcript, written_after, shard
        raise self._never_held()

    def hold_keys(self, transcript: Transcript, wanted: Wanted) -> Never:
        """Refuse: see `Holds.hold_keys`.

        Raises:
            Unsupported: always.
        """
        del transcript, wanted
        raise self._never_held()

    def inspect(self, what: Inspection, shard: Shard = WHOLE) -> Never:
        """Refuse: see `Inspects.inspect`.

        Raises:
            Unsupported: always.
        """
        del what, shard
        raise Unsupported(
            f"{self._place}: no rows hang on a key in Redis", hint="Postgres has such rows"
        )

    def collect(
        self, retention: Retention, shard: Shard = WHOLE, limit: int | None = None
    ) -> Never:
        """Refuse: see `Collects.collect`.

        Raises:
            Unsupported: always.
        """
        del retention, shard, limit
        raise self._never_collected()

    def count_expired(self, retention: Retention, at_most: int) -> Never:
        """Refuse: see `Collects.count_expired`.

        Raises:
            Unsupported: always.
        """
        del retention, at_most
        raise self._never_collected()

    def oldest_expired(self, retention: Retention) -> Never:
        """Refuse: see `Collects.oldest_expired`.

        Raises:
            Unsupported: always.
        """
        del retention
        raise self._never_collected()

    def lock(self, purpose: str) -> Never:
        """Refuse: see `Locks.lock`.

        Raises:
            Unsupported: always.
        """
        raise Unsupported(
            f"{self._place}: idemctl takes no lock for {purpose} in Redis, where it could be "
            "evicted or lost in a failover",
            hint="a pair is locked on its Postgres side",
        )

    def load(self, query: str | None = None) -> Never:
        """Refuse: see `TellsLoad.load`.

        Raises:
            Unsupported: always.
        """
        del query
        raise self._never_collected()

    def _never_held(self) -> Unsupported:
        return Unsupported(
            f"{self._place}: Redis cannot hold a key still while another store is written",
            hint="a pair is held on its Postgres side",
        )

    def _never_collected(self) -> Unsupported:
        return Unsupported(
            f"{self._place}: Redis expires its own keys; there is nothing to collect",
            hint="collect from the Postgres side of the store",
        )

"""A prefix of Redis keys as a store: lanes, opened when first needed, and the ports."""

from __future__ import annotations

import time
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Never

from idemctl.domain.collection import Chunk
from idemctl.domain.keys import escape
from idemctl.domain.retention import tally
from idemctl.errors import Unsupported
from idemctl.stores.ports import WHOLE
from idemctl.stores.redis.bulk import Lane
from idemctl.stores.redis.describe import describe, read_clock, refuse_part_of_cluster
from idemctl.stores.redis.scan import Scanner

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from datetime import datetime

    from idemctl.domain.batch import Batch
    from idemctl.domain.records import Pattern
    from idemctl.domain.retention import Retention
    from idemctl.domain.secrets import Secret
    from idemctl.layouts.model import RedisLayout
    from idemctl.stores.ports import Description, Shard


class RedisKeyspace:
    """The keys under one prefix, read through one layout. See `stores.ports.Store`.

    A scan has a connection of its own, because replies are on their way while its caller
    works on a batch; it ends where the scan ends.
    """

    def __init__(
        self,
        *,
        url: Secret,
        prefix: str,
        layout: RedisLayout,
        writable: bool,
        application: str,
    ) -> None:
        self._url = url
        self._prefix = prefix.encode("utf-8", errors="surrogateescape")
        self._layout = layout
        self._writable = writable
        self._application = application
        self._place = f"redis {escape(self._prefix)}*"
        self._kept: Lane | None = None
        self._scanning: set[Lane] = set()

    @property
    def pattern(self) -> Pattern:
        """See `Store.pattern`."""
        return self._layout.pattern

    @property
    def has_stored_expiry(self) -> bool:
        """See `Store.has_stored_expiry`; the key's own expiry stands in where none is."""
        return True

    def clock(self) -> datetime:
        """See `Describes.clock`."""
        return read_clock(self._lane())

    def describe(self) -> Description:
        """See `Describes.describe`."""
        return describe(self._lane(), place=self._place, prefix=self._prefix)

    def scan(self, shard: Shard = WHOLE) -> Iterator[Batch]:
        """See `Scans.scan`, and `stores.redis.scan` for what is bounded and what is not read.

        Batches hold about a thousand records; some hold none, for the caller's pace.
        """
        with self._scanner() as scanner:
            for step in scanner.steps(shard):
                yield step.batch

    def survey(self, retention: Retention, shard: Shard = WHOLE) -> Generator[Chunk]:
        """See `Collects.survey`; nothing is ever a candidate, for Redis expires its own keys."""
        with self._scanner() as scanner:
            started = time.perf_counter()
            for step in scanner.steps(shard):
                tallies = tuple(tally(step.batch, retention))
                took = timedelta(seconds=time.perf_counter() - started)
                yield Chunk(part=self._place, took=took, done=step.done, tallies=tallies)
                started = time.perf_counter()

    def collect(self, retention: Retention, shard: Shard = WHOLE) -> Never:
        """Refuse: see `Collects.collect`.

        Raises:
            Unsupported: always.
        """
        del retention, shard
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

    def close(self) -> None:
        """See `Closes.close`; a scan that was not read to its end is lost."""
        for lane in [self._kept, *self._scanning]:
            if lane is not None:
                lane.close()
        self._kept = None

    def _never_collected(self) -> Unsupported:
        return Unsupported(
            f"{self._place}: Redis expires its own keys; there is nothing to collect",
            hint="collect from the Postgres side of the store",
        )

    def _lane(self) -> Lane:
        """Give the lane for single questions; where the server closed it meanwhile, a new one."""
        if self._kept is None or not self._kept.is_idle():
            self._kept = self._open()
        return self._kept

    def _open(self) -> Lane:
        return Lane.open(
            self._url,
            place=self._place,
            application=self._application,
            writable=self._writable,
        )

    @contextmanager
    def _scanner(self) -> Iterator[Scanner]:
        lane = self._open()
        self._scanning.add(lane)
        try:
            refuse_part_of_cluster(lane)
            yield Scanner(lane, self._layout, self._prefix)
        finally:
            self._scanning.discard(lane)
            lane.close()

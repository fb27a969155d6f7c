"""Redis keys as a store: lanes, opened when first needed, and the ports."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from idemctl.domain.collection import Chunk
from idemctl.domain.keys import escape
from idemctl.domain.retention import tally
from idemctl.errors import Unreachable, Unsupported
from idemctl.layouts.containers import Container
from idemctl.layouts.sharing import ALONE
from idemctl.stores.answers import WHOLE
from idemctl.stores.redis.account import read_account
from idemctl.stores.redis.circumstances import read_circumstances
from idemctl.stores.redis.connect import database_of
from idemctl.stores.redis.describe import describe, read_clock, read_server
from idemctl.stores.redis.fill import AT_ONCE, PATIENCE, fill, lost
from idemctl.stores.redis.look_up import LookUp, Names
from idemctl.stores.redis.opening import open_lane
from idemctl.stores.redis.refusals import NeverInRedis
from idemctl.stores.redis.rights import needs_of, try_rights
from idemctl.stores.redis.scan import Scanner, names
from idemctl.stores.redis.sharing import Others, well_formed

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from idemctl.domain.batch import Batch
    from idemctl.domain.circumstances import RedisCircumstances
    from idemctl.domain.incident import Account
    from idemctl.domain.records import Pattern
    from idemctl.domain.retention import Retention
    from idemctl.domain.secrets import Secret
    from idemctl.layouts.model import RedisLayout
    from idemctl.layouts.sharing import Turn
    from idemctl.stores.answers import Choose, Description, Found, Right, Shard, Wanted, Written
    from idemctl.stores.redis.bulk import Lane

_MICROSECOND = timedelta(microseconds=1)


class RedisKeyspace(NeverInRedis):
    """The keys under one prefix, or what one key holds, read through one layout.

    See `stores.ports.Store`.

    A scan has a connection of its own, because replies are on their way while its caller
    works on a batch; it ends where the scan ends.
    """

    done = 0.0

    def __init__(
        self,
        *,
        url: Secret,
        prefix: str,
        layout: RedisLayout,
        turn: Turn = ALONE,
        writable: bool,
        application: str,
    ) -> None:
        self._url = url
        self._prefix = prefix.encode("utf-8", errors="surrogateescape")
        self._layout = layout
        self._turn = turn
        self._writable = writable
        self._application = application
        self._is_contained = layout.container is not Container.KEY
        self._place = f"redis {escape(self._prefix)}{'' if self._is_contained else '*'}"
        self._kept: Lane | None = None
        self._filling: Lane | None = None
        self._is_cluster = False
        self._lanes: set[Lane] = set()

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
        return describe(self._lane(), self._url, place=self._place)

    def rights(self) -> Sequence[Right]:
        """See `Describes.rights`."""
        lane = self._lane()
        return try_rights(lane, needs_of(lane, self._layout, self._prefix), database_of(self._url))

    def scan(self, shard: Shard = WHOLE) -> Iterator[Batch]:
        """See `Scans.scan`, and `stores.redis.scan` for what is bounded and what is not read.

        Batches hold about a thousand records; some hold none, for the caller's pace.
        """
        with self._scanner() as scanner:
            for step in scanner.steps(shard):
                self.done = step.done
                yield step.batch

    def sample(self) -> Iterator[Batch]:
        """See `Samples.sample`; SCAN goes by hashes, so its beginning is as good as any part."""
        return self.scan()

    def headers(self) -> Iterator[Batch]:
        """See `ShowsHeaders.headers`."""
        with self._lent() as lane:
            steps = Scanner(lane, self._layout.with_headers(), self._prefix).steps(WHOLE)
            yield from (step.batch for step in steps)

    def look_up(self, wanted: Iterable[Wanted]) -> Iterator[Found]:
        """See `LooksUp.look_up`."""
        names = self._names
        with self._lent() as lane:
            look_up = LookUp(lane, self._layout, self._prefix, names)
            yield from look_up.answers(wanted)

    def names_of(self, wanted: Wanted) -> Sequence[bytes | None]:
        """See `Names.names_of`."""
        return self._names.of(wanted)

    def names(self, shard: Shard = WHOLE) -> Iterator[Sequence[bytes]]:
        """See `Names.names`."""
        self._refuse_shared()
        with self._lent() as lane:
            yield from names(lane, self._layout, self._prefix, shard)

    def scan_named(self, choose: Choose, shard: Shard = WHOLE) -> Iterator[Batch]:
        """See `Names.scan_named`."""
        self._refuse_shared()
        with self._scanner(choose) as scanner:
            for step in scanner.steps(shard):
                yield step.batch

    def fill(
        self, wanted: Wanted, values: Sequence[bytes], until: NDArray[np.int64], *, now: int
    ) -> Written:
        """See `Fills.fill`.

        Raises:
            Unsupported: a twin would be more than a key and its value.
        """
        if self._is_contained or self._layout.siblings:
            raise Unsupported(
                f"{self._place}: idemctl writes only twins that are keys of their own, with "
                "nothing beside them",
                hint="idemctl reconcile without --apply reports the differences all the same",
            )
        names = self._names.of(wanted)
        lane = self._filling
        if lane is None or not (names or lane.is_idle()):
            lane = self._filling = self._open(patience=PATIENCE)
            self._is_cluster = read_server(lane).is_cluster
        started = time.monotonic()
        try:
            return fill(
                lane,
                names,
                values,
                until,
                deadline_ms=(now + PATIENCE // _MICROSECOND) // 1000,
                # In a cluster the keys of a script lie in one slot.
                at_once=1 if self._is_cluster else AT_ONCE,
            )
        except Unreachable as error:
            # What was sent may still be done, until its deadline.
            time.sleep(max(0.0, PATIENCE.total_seconds() - (time.monotonic() - started)))
            return lost(names, error)

    def survey(self, retention: Retention, shard: Shard = WHOLE) -> Generator[Chunk]:
        """See `Collects.survey`; nothing is ever a candidate, for Redis expires its own keys."""
        with self._scanner() as scanner:
            started = time.perf_counter()
            for step in scanner.steps(shard):
                tallies = tuple(tally(step.batch, retention))
                took = timedelta(seconds=time.perf_counter() - started)
                yield Chunk(part=self._place, took=took, done=step.done, tallies=tallies)
                started = time.perf_counter()

    def account(self) -> Account:
        """See `Accounts.account`."""
        return read_account(self._lane())

    def circumstances(self) -> RedisCircumstances:
        """See `TellsCircumstances.circumstances`."""
        return read_circumstances(self._lane())

    def close(self) -> None:
        """See `Closes.close`; a scan that was not read to its end is lost."""
        for lane in [self._kept, self._filling, *self._lanes]:
            if lane is not None:
                lane.close()
        self._kept = self._filling = None

    def _refuse_shared(self) -> None:
        if self._turn != ALONE:
            raise Unsupported(
                f"{self._place}: a name does not tell which of several layouts its record is of",
                hint="idemctl audit reads all of them; a store of one layout can be compared",
            )

    @cached_property
    def _names(self) -> Names:
        self._refuse_shared()
        return Names(self._layout, self._prefix, self._place)

    def _lane(self) -> Lane:
        """Give the lane for single questions; where the server closed it meanwhile, a new one."""
        if self._kept is None or not self._kept.is_idle():
            self._kept = self._open()
        return self._kept

    def _open(self, patience: timedelta | None = None) -> Lane:
        return open_lane(
            self._url,
            place=self._place,
            application=self._application,
            writable=self._writable,
            patience=patience,
        )

    @contextmanager
    def _scanner(self, choose: Choose | None = None) -> Iterator[Scanner]:
        with ExitStack() as lent:
            lane = lent.enter_context(self._lent())
            if self._turn.before:
                # Its questions must not come between the replies that are on their way.
                aside = lent.enter_context(self._lent())
                choose = Others(aside, self._turn.before, self._prefix).leave
            keep = None if self._turn.is_last else well_formed
            yield Scanner(lane, self._layout, self._prefix, choose, keep)

    @contextmanager
    def _lent(self) -> Iterator[Lane]:
        """Open a lane on which replies may be on their way while its user does other work."""
        lane = self._open()
        self._lanes.add(lane)
        try:
            yield lane
        finally:
            self._lanes.discard(lane)
            lane.close()

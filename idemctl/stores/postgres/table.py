"""A Postgres table as a store: connections, opened when first needed, and the ports."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Never

from idemctl.errors import Unsupported
from idemctl.layouts.tables import within
from idemctl.stores.answers import WHOLE
from idemctl.stores.postgres.archiver import begin
from idemctl.stores.postgres.circumstances import read_circumstances
from idemctl.stores.postgres.collect import Collector
from idemctl.stores.postgres.connect import connect
from idemctl.stores.postgres.describe import describe, read_clock
from idemctl.stores.postgres.hold import Holder
from idemctl.stores.postgres.inspections import Inspector
from idemctl.stores.postgres.leaves import (
    find_child,
    find_leaves,
    find_table,
    refuse_doubtful_instants,
)
from idemctl.stores.postgres.load import read_load
from idemctl.stores.postgres.lock import take_lock
from idemctl.stores.postgres.look_up import LookUp
from idemctl.stores.postgres.nameless import Nameless
from idemctl.stores.postgres.references import find_pins
from idemctl.stores.postgres.restore import Restorer
from idemctl.stores.postgres.rights import list_rights
from idemctl.stores.postgres.sample import sample
from idemctl.stores.postgres.scan import Scanner

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from idemctl.domain.archived import Origin
    from idemctl.domain.batch import Batch
    from idemctl.domain.circumstances import PostgresCircumstances
    from idemctl.domain.collection import Chunk
    from idemctl.domain.inspections import Inspection
    from idemctl.domain.records import Pattern
    from idemctl.domain.retention import Retention
    from idemctl.domain.secrets import Secret
    from idemctl.domain.throttle import Load
    from idemctl.layouts.model import PostgresLayout
    from idemctl.layouts.transcript import Transcript
    from idemctl.stores.answers import Description, Found, Held, Right, Shard, Wanted
    from idemctl.stores.archiving import Archive
    from idemctl.stores.locking import Lock
    from idemctl.stores.postgres.connect import Connection
    from idemctl.stores.postgres.leaves import Leaf, Table


class PostgresTable(Nameless):
    """One table read through one layout. See `stores.ports.Store`."""

    done = 0.0

    def __init__(
        self,
        *,
        dsn: Secret,
        direct_dsn: Secret | None = None,
        table: str,
        layout: PostgresLayout,
        writable: bool,
        application: str,
    ) -> None:
        self._dsn = dsn
        self._direct_dsn = direct_dsn or dsn
        self._table = table
        self._layout = layout
        self._writable = writable
        self._application = application
        self._place = f"postgres {table}"

    @property
    def pattern(self) -> Pattern:
        """See `Store.pattern`."""
        return self._layout.pattern

    @property
    def has_stored_expiry(self) -> bool:
        """See `Store.has_stored_expiry`."""
        return self._layout.expires is not None

    def clock(self) -> datetime:
        """See `Describes.clock`."""
        return read_clock(self._connection, self._place)

    def describe(self) -> Description:
        """See `Describes.describe`."""
        return describe(
            self._connection,
            place=self._place,
            name=self._table,
            table=self._found,
            leaves=self._leaves,
            layout=self._placed_layout,
        )

    def rights(self) -> Sequence[Right]:
        """See `Describes.rights`."""
        layout = self._placed_layout
        child = find_child(self._connection, layout, self._place)
        rights = list_rights(
            self._connection, oid=self._oid, child_oid=child, layout=layout, place=self._place
        )
        return list(rights)

    def scan(self, shard: Shard = WHOLE) -> Iterator[Batch]:
        """See `Scans.scan`."""
        leaves = self._leaves
        return Scanner(self._connection, self._layout, self._place).scan(leaves, shard)

    def sample(self) -> Iterator[Batch]:
        """See `Samples.sample`."""
        return sample(self._connection, self._layout, self._leaves, self._place)

    def headers(self) -> Iterator[Batch]:
        """See `ShowsHeaders.headers`."""
        layout = self._layout.with_headers()
        return sample(self._connection, layout, self._leaves, self._place)

    def look_up(self, wanted: Iterable[Wanted]) -> Iterator[Found]:
        """See `LooksUp.look_up`."""
        look_up = LookUp(self._connection, self._found, self._layout, self._place)
        yield from look_up.answers(wanted)

    def hold(
        self, transcript: Transcript, *, written_after: datetime, shard: Shard = WHOLE
    ) -> Generator[Held | None]:
        """See `Holds.hold`."""
        yield from self._holder(transcript).walk(self._leaves, written_after, shard)

    def hold_keys(self, transcript: Transcript, wanted: Wanted) -> AbstractContextManager[Held]:
        """See `Holds.hold_keys`."""
        return self._holder(transcript).keys(wanted)

    def fill(
        self, wanted: Wanted, values: Sequence[bytes], until: NDArray[np.int64], *, now: int
    ) -> Never:
        """Refuse: see `Fills.fill`.

        Raises:
            Unsupported: always.
        """
        del wanted, values, until, now
        raise Unsupported(
            f"{self._place}: what only Redis knows is never written into Postgres by a fill",
            hint="idemctl reconcile reports it as an orphan",
        )

    def inspect(self, what: Inspection, shard: Shard = WHOLE) -> Iterator[Batch]:
        """See `Inspects.inspect`."""
        layout = self._placed_layout
        inspector = Inspector(self._connection, self._found, layout, self._place, what)
        yield from inspector.found(self._leaves, shard)

    def survey(self, retention: Retention, shard: Shard = WHOLE) -> Generator[Chunk]:
        """See `Collects.survey`."""
        return self._collector().survey(self._leaves, retention, shard)

    def collect(
        self, retention: Retention, shard: Shard = WHOLE, limit: int | None = None
    ) -> Generator[Chunk]:
        """See `Collects.collect`."""
        return self._collector().collect(self._leaves, retention, shard, limit)

    def count_expired(self, retention: Retention, at_most: int) -> Generator[Chunk]:
        """See `Collects.count_expired`."""
        return self._collector().count_expired(self._leaves, retention, at_most)

    def collect_into(
        self, archive: Archive, retention: Retention, shard: Shard = WHOLE, limit: int | None = None
    ) -> Generator[Chunk]:
        """See `Archives.collect_into`."""
        begin(archive, self._connection, self._found, self._placed_layout, self._place)
        return self._collector(archive).collect(self._leaves, retention, shard, limit)

    def restorer(self, origin: Origin) -> Restorer:
        """See `Archives.restorer`."""
        return Restorer(self._connection, self._found, origin, self._place)

    def oldest_expired(self, retention: Retention) -> datetime | None:
        """See `Collects.oldest_expired`."""
        return self._collector().oldest_expired(self._leaves, retention)

    def circumstances(self) -> PostgresCircumstances:
        """See `TellsCircumstances.circumstances`."""
        return read_circumstances(self._connection, self._found, self._placed_layout, self._place)

    def load(self, query: str | None = None) -> Load:
        """See `TellsLoad.load`."""
        return read_load(self._connection, self._oid, self._place, query)

    def account(self) -> Never:
        """Refuse: see `Accounts.account`.

        Raises:
            Unsupported: always.
        """
        raise Unsupported(
            f"{self._place}: Postgres keeps no count of what was lost",
            hint="the account of a pair is that of its Redis side",
        )

    def lock(self, purpose: str) -> Lock:
        """See `Locks.lock`."""
        return take_lock(
            lambda: connect(
                self._direct_dsn,
                place=self._place,
                application=self._application,
                writable=False,
            ),
            place=self._place,
            purpose=purpose,
            oid=self._oid,
        )

    def close(self) -> None:
        """See `Closes.close`."""
        if "_connection" in self.__dict__:
            self._connection.close()

    @cached_property
    def _connection(self) -> Connection:
        return connect(
            self._dsn, place=self._place, application=self._application, writable=self._writable
        )

    @cached_property
    def _oid(self) -> int:
        return self._found.oid

    @cached_property
    def _found(self) -> Table:
        found = find_table(self._connection, self._table, self._place)
        refuse_doubtful_instants(self._connection, found.oid, self._layout, self._place)
        return found

    @cached_property
    def _placed_layout(self) -> PostgresLayout:
        """The layout, with its child table beside the table that was named."""
        child = self._layout.child
        if child is None:
            return self._layout
        placed = child.model_copy(update={"table": within(self._found.schema, child.table)})
        return self._layout.model_copy(update={"child": placed})

    def _holder(self, transcript: Transcript) -> Holder:
        return Holder(
            self._connection, self._layout, transcript, table=self._found, place=self._place
        )

    @property
    def _leaves(self) -> list[Leaf]:
        column = self._layout.expiry_column or ""
        return find_leaves(self._connection, self._oid, column, self._place)

    def _collector(self, archive: Archive | None = None) -> Collector:
        layout = self._placed_layout
        pins = find_pins(self._connection, self._oid, layout, self._place)
        return Collector(self._connection, layout, self._place, pins=pins, archive=archive)

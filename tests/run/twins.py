"""A pair in memory: rows and twins by key, what is asked of them, and what happens meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from idemctl.domain.differences import Terms
from idemctl.domain.records import Status
from idemctl.run.pace import PaceName
from idemctl.run.run import Run
from idemctl.stores.answers import WHOLE, Found
from idemctl.stores.clock import Clock
from idemctl.stores.pair import OpenPair
from tests.domain.batches import NOW, at, batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import timedelta

    from idemctl.domain.batch import Batch
    from idemctl.run.target import Pair
    from idemctl.stores.answers import Choose, Shard, Wanted

Row = dict[str, Any]
CLAIM = Status.IN_PROGRESS


def record(key: bytes, **more: Any) -> Row:
    return {
        "keys": key,
        "fence": 5,
        "epoch": 1,
        "fingerprints": b"f",
        "counted_from": at(-100),
        "completed_at": at(-90),
        "expires_at": at(1000),
    } | more


def twin(key: bytes, **more: Any) -> Row:
    return record(key, key_expires_at=at(1000)) | more


class Side:
    """One store of the pair: the ports that a comparison uses, over a mapping."""

    def __init__(self, *rows: Row) -> None:
        self.rows: dict[tuple[bytes, bytes], Row] = {}
        self.put(*rows)
        self.scan_count = 0
        self.batch_size = 3
        self.fails_after: Exception | None = None
        self.passed_by: set[bytes] = set()
        """Keys whose rows move while a scan runs, from where it comes to where it was."""
        self.before_listing: Callable[[], object] = lambda: None

    def put(self, *rows: Row) -> None:
        self.rows |= {(row["keys"], row.get("scopes", b"")): row for row in rows}

    def drop(self, key: bytes) -> None:
        del self.rows[key, b""]

    def scan(self, shard: Shard = WHOLE) -> Iterator[Batch]:
        """See `Scans.scan`."""
        assert shard == WHOLE
        self.scan_count += 1
        self.before_listing()
        rows = [row for row in self.rows.values() if row["keys"] not in self.passed_by]
        for start in range(0, len(rows), self.batch_size):
            yield batch(*rows[start : start + self.batch_size])
        if self.fails_after is not None:
            raise self.fails_after

    def look_up(self, wanted: Iterable[Wanted]) -> Iterator[Found]:
        """See `LooksUp.look_up`."""
        for keys, scopes in wanted:
            names = list(zip(keys, scopes, strict=True))
            places = [at for at, name in enumerate(names) if name in self.rows]
            rows = [self.rows[names[at]] for at in places]
            yield Found(batch=batch(*rows), at=np.array(places, np.intp))

    def names_of(self, wanted: Wanted) -> list[bytes | None]:
        """See `Names.names_of`."""
        return [scope + b"/" + key for key, scope in zip(*wanted, strict=True)]

    def names(self, shard: Shard = WHOLE) -> Iterator[Sequence[bytes]]:
        """See `Names.names`."""
        assert shard == WHOLE
        self.before_listing()
        names = [scope + b"/" + key for key, scope in self.rows]
        for start in range(0, len(names), self.batch_size):
            yield names[start : start + self.batch_size]
        if self.fails_after is not None:
            raise self.fails_after

    def scan_named(self, choose: Choose, shard: Shard = WHOLE) -> Iterator[Batch]:
        """See `Names.scan_named`."""
        for some in self.scan(shard):
            names = [scope + b"/" + key for key, scope in zip(some.keys, some.scopes, strict=True)]
            chosen = set(choose(names))
            yield some.take(np.flatnonzero([name in chosen for name in names]))


@dataclass
class Twins:
    """Both sides, opened."""

    postgres: Side
    redis: Side
    terms: Terms = field(default_factory=Terms)

    @property
    def opened(self) -> OpenPair:
        return OpenPair(
            postgres=cast("Any", self.postgres),
            redis=cast("Any", self.redis),
            terms=self.terms,
            clock=Clock(read_at=NOW),
        )


@dataclass(kw_only=True)
class Meanwhile(Run):
    """A run during whose rest something happens."""

    verb: str = "reconcile"
    pace_name: PaceName = PaceName.FULL
    happens: Callable[[], object] = lambda: None
    rest_count: int = 0

    def rest(self, length: timedelta) -> None:
        self.rest_count += 1
        self.happens()
        super().rest(length)


@dataclass
class Named:
    """As much of a pair as a comparison with one worker asks for."""

    store: str = "payments"

    @property
    def pair(self) -> Pair:
        return cast("Pair", self)

r"""Streams a keyspace: SCAN for the names, values and expiries in bulk, into columns.

While the values of some keys are read, the next are on their way, and so is the next page.

SCAN never leaves out a key that stands still, and SSCAN and HSCAN nothing of a container that
does, but they may return it twice when the server's table shrinks meanwhile. The walk visits
the buckets that fall into one bucket of a smaller table one after the other, so a repeat comes
soon after the first: the last 16,384 keys or more are remembered, exactly, and dropped when
they come again. That is some megabytes, however many keys there are. What would slip through
is a repeat across more keys than that, which takes a table that shrinks by a factor of tens of
thousands during the scan.
"""

from __future__ import annotations

import zlib
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.layouts.patterns import matching
from idemctl.layouts.reading import KeyspaceReader
from idemctl.stores.redis.fetch import CHUNK, CHUNKS, Rows
from idemctl.stores.redis.kinds import fetcher_of, pages_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from idemctl.domain.batch import Batch
    from idemctl.layouts.model import RedisLayout
    from idemctl.stores.answers import Choose, Shard
    from idemctl.stores.redis.bulk import Lane

_ENOUGH = 1000
"""So many records make a batch; fewer do"""
_MOST_PAGES = 8
"""after so many pages, even none: the caller wants to rest, or to stop."""
_MOST_BYTES = 16 * 2**20
"""So much is held at once of what needed a second look, the next few values aside."""
_REMEMBERED = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A part of a scan: its records, which may be none, and how far it came."""

    batch: Batch
    done: float
    """The share of all keys that lies behind, 0 to 1, by the server's count at the start."""


class Scanner:
    """Reads the keys under a prefix through a layout, over a lane of its own."""

    def __init__(
        self,
        lane: Lane,
        layout: RedisLayout,
        prefix: bytes,
        choose: Choose | None = None,
        keep: Callable[[Batch], Batch] | None = None,
    ) -> None:
        """Read all keys, or those that are chosen; and keep all records, or some of a batch."""
        self._lane = lane
        self._choose = choose
        self._keep = keep
        before = layout.container.before(prefix)
        self._reader = KeyspaceReader(layout, before)
        self._pages = pages_of(lane, layout, prefix)
        self._records = records_among(layout, before)
        self._fetcher = fetcher_of(lane, layout, prefix)

    def steps(self, shard: Shard) -> Iterator[Step]:
        """Yield the records of one shard, some thousand of them or some megabytes at a time."""
        rows, pages, held = Rows(), 0, 0
        again: list[bytes] = []
        for chunk in self._chunks(shard):
            again += self._fetcher.receive(chunk.keys, rows) if chunk.keys else []
            rows.decode(self._reader)
            is_due = (
                len(rows.keys) + len(again) >= _ENOUGH
                or chunk.pages >= pages + _MOST_PAGES
                or chunk.done == 1
            )
            if not is_due and len(again) < CHUNK * CHUNKS:
                continue
            for read in self._fetcher.second_looks(again):
                held += read.byte_count
                if held > _MOST_BYTES and rows.keys:
                    yield self._step(rows, chunk.done)
                    rows, held = Rows(), read.byte_count
                rows.join(read)
                rows.decode(self._reader)
            again = []
            if is_due:
                yield self._step(rows, chunk.done)
                rows, pages, held = Rows(), chunk.pages, 0

    def _step(self, rows: Rows, done: float) -> Step:
        batch = rows.batch(self._reader)
        return Step(batch=batch if self._keep is None else self._keep(batch), done=done)

    def _chunks(self, shard: Shard) -> Iterator[_Chunk]:
        """Walk the pages and ask for values ahead, so that something is always on its way.

        When this yields keys, the lane's oldest replies are theirs, and must be received.
        """
        lane, listing = self._lane, self._pages
        recent = _Recent()
        total = listing.count()
        cursor: bytes | None = b"0"
        pending: list[bytes] = []
        flying: deque[list[bytes] | None] = deque()  # None is a page; the rest are chunks.
        pages = 0
        while cursor is not None or pending or flying:
            bursts = []
            if cursor is not None and None not in flying and len(pending) <= CHUNK * CHUNKS:
                # Its reply comes after those of all chunks before it, which must not be the last.
                bursts.append(listing.burst(cursor))
                flying.append(None)
            while pending and len(flying) - flying.count(None) < CHUNKS:
                chunk, pending = pending[:CHUNK], pending[CHUNK:]
                bursts += self._fetcher.bursts(chunk)
                flying.append(chunk)
            if bursts:
                lane.send(*bursts)
            keys = flying.popleft()
            if keys is None:
                cursor, found = listing.read(lane.receive()[0])
                cursor = None if cursor == b"0" else cursor
                pages += 1
                fresh = self._records(recent.fresh(_of_shard(found, shard)))
                pending += fresh if self._choose is None else self._choose(fresh)
            is_last = cursor is None and not flying and not pending
            done = 1.0 if is_last else min(0.99, pages * listing.size / total) if total else 0.0
            yield _Chunk(keys=keys or [], pages=pages, done=done)


def records_among(layout: RedisLayout, prefix: bytes) -> Callable[[list[bytes]], list[bytes]]:
    """Make what leaves out the names of keys that are no records."""
    if layout.beside is None:
        return lambda names: names
    match = matching(layout.beside, len(prefix))
    return lambda names: [name for name in names if match(name) is None]


def names(lane: Lane, layout: RedisLayout, prefix: bytes, shard: Shard) -> Iterator[list[bytes]]:
    """List the records of one shard by name, a page of the server at a time."""
    recent, records = _Recent(), records_among(layout, layout.container.before(prefix))
    listing = pages_of(lane, layout, prefix)
    cursor = b"0"
    while True:
        cursor, found = listing.read(lane.ask(listing.burst(cursor))[0])
        yield records(recent.fresh(_of_shard(found, shard)))
        if cursor == b"0":
            return


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chunk:
    """Keys whose values arrive next; none when only a page was read."""

    keys: list[bytes]
    pages: int
    done: float
    """1 for the last chunk, and only for that."""


class _Recent:
    """The last keys that were seen, exactly; at least `_REMEMBERED`, at most twice that."""

    def __init__(self) -> None:
        self._newer: set[bytes] = set()
        self._older: set[bytes] = set()

    def fresh(self, keys: Sequence[bytes]) -> list[bytes]:
        """Drop the keys that were seen lately, and remember the others."""
        newer, older = self._newer, self._older
        fresh, distinct = list(keys), set(keys)
        if len(distinct) < len(fresh) or not (
            distinct.isdisjoint(newer) and distinct.isdisjoint(older)
        ):
            fresh = [key for key in dict.fromkeys(keys) if key not in newer and key not in older]
        newer.update(fresh)
        if len(newer) >= _REMEMBERED:
            self._newer, self._older = set(), newer
        return fresh


def _of_shard(keys: list[bytes], shard: Shard) -> list[bytes]:
    """Keep the keys that fall to a shard, the same in every process."""
    if shard.count == 1:
        return keys
    return [key for key in keys if zlib.crc32(key) % shard.count == shard.index]

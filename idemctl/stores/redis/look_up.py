"""Finds the records of given keys, by the names under which a layout writes them."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

import numpy as np

from idemctl.errors import Unsupported
from idemctl.layouts.naming import Naming
from idemctl.layouts.reading import KeyspaceReader
from idemctl.stores.answers import Found
from idemctl.stores.redis.fetch import CHUNK, CHUNKS, Rows
from idemctl.stores.redis.kinds import fetcher_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from idemctl.layouts.model import RedisLayout
    from idemctl.stores.answers import Wanted
    from idemctl.stores.redis.bulk import Lane


class Names:
    """The names of keys under one prefix."""

    def __init__(self, layout: RedisLayout, prefix: bytes, place: str) -> None:
        """Read the layout's template.

        Raises:
            Unsupported: it has none.
        """
        if layout.name is None:
            raise Unsupported(
                f"{place}: the layout does not say under which name a key lies",
                hint='give it a template, such as name: "[{scope}:]{key}"',
            )
        self._naming = Naming(layout.name, prefix=layout.container.before(prefix))

    def of(self, wanted: Wanted) -> list[bytes | None]:
        """Give the name of each as `names` lists it; `None` where no record has that key."""
        return self._naming.names(*wanted)


class LookUp:
    """Looks keys up over a lane of its own."""

    def __init__(self, lane: Lane, layout: RedisLayout, prefix: bytes, names: Names) -> None:
        self._lane = lane
        self._names = names
        self._fetcher = fetcher_of(lane, layout, prefix)
        self._reader = KeyspaceReader(layout, layout.container.before(prefix))
        self._flying: deque[tuple[_Request, Sequence[bytes]]] = deque()

    def answers(self, wanted: Iterable[Wanted]) -> Iterator[Found]:
        """Answer one request after another, with the next on its way. See `LooksUp.look_up`."""
        sent: deque[_Request] = deque()
        for one in wanted:
            request = _Request(one, self._names.of(one))
            self._send(request)
            sent.append(request)
            if len(sent) > 1:
                yield self._answer(sent.popleft())
        while sent:
            yield self._answer(sent.popleft())

    def _send(self, request: _Request) -> None:
        """Ask for everything; what is on its way at once is bounded, however much that is."""
        names = request.names
        for start in range(0, len(names), CHUNK):
            while len(self._flying) >= CHUNKS:
                self._receive()
            some = names[start : start + CHUNK]
            self._lane.send(*self._fetcher.bursts(some))
            self._flying.append((request, some))

    def _receive(self) -> None:
        request, some = self._flying.popleft()
        request.again += self._fetcher.receive(some, request.rows)
        request.rows.decode(self._reader)

    def _answer(self, request: _Request) -> Found:
        while self._flying and self._flying[0][0] is request:
            self._receive()
        for more in self._fetcher.second_looks(request.again):
            request.rows.join(more)
        at = request.places()
        asked = tuple([values[place] for place in at] for values in request.wanted)
        batch = request.rows.batch(self._reader, asked=(asked[0], asked[1]))
        return Found(batch=batch, at=np.array(at, np.intp))


class _Request:
    """Keys that are looked up together, and what was read of them so far."""

    def __init__(self, wanted: Wanted, names: Sequence[bytes | None]) -> None:
        self.wanted = wanted
        self.names = [name for name in names if name is not None]
        self.rows = Rows()
        self.again: list[bytes] = []
        self._all_names = names

    def places(self) -> list[int]:
        """Find out which name each record was found under; two keys may have the same."""
        if self.rows.keys == self._all_names:
            return list(range(len(self._all_names)))
        places: defaultdict[bytes | None, deque[int]] = defaultdict(deque)
        for place, name in enumerate(self._all_names):
            places[name].append(place)
        return [places[name].popleft() for name in self.rows.keys]

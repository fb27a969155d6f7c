"""The hot path: what Redis returned, turned into columns through its layout."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from idemctl.domain.instants import MISSING
from idemctl.domain.keys import is_text
from idemctl.domain.records import Flaw, Status
from idemctl.layouts.codecs import Word, decoding, unwrapping
from idemctl.layouts.columns import as_bytes, texts
from idemctl.layouts.joins import joined
from idemctl.layouts.naming import Naming
from idemctl.layouts.patterns import matching
from idemctl.layouts.rows import RowReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from idemctl.domain.batch import Batch
    from idemctl.layouts.codecs import Value
    from idemctl.layouts.columns import Columns
    from idemctl.layouts.conditions import Row
    from idemctl.layouts.joins import Where
    from idemctl.layouts.model import RedisLayout
    from idemctl.layouts.paths import Path

Identity = tuple["Sequence[bytes]", "Sequence[bytes]"]
"""Keys and their scopes."""

_NO_ROW: Row = {}
_ENOUGH = 4 * 2**20
"""After so many bytes that came out of compressed values, these are taken apart first."""


class Decoded:
    """What some values hold, member by member, and what is wrong with some of them."""

    def __init__(self, columns: Columns, odd: dict[int, Flaw]) -> None:
        self.columns = columns
        self.odd = odd

    def __len__(self) -> int:
        return len(self.columns)

    def join(self, others: Decoded) -> None:
        """Add more."""
        self.odd |= {len(self) + at: flaw for at, flaw in others.odd.items()}
        self.columns.join(others.columns)


class KeyspaceReader:
    """Reads Redis keys and values through a layout."""

    def __init__(self, layout: RedisLayout, prefix: bytes) -> None:
        self._layout = layout
        self._rows = RowReader(layout, layout.unit, layout.key_field, layout.scope)
        self._unwrap = unwrapping(layout.codec)
        self._is_json = (
            layout.codec[-1] is Word.JSON and self._rows.takes_json and not layout.siblings
        )
        self._decode = decoding(layout.codec[-1:])
        self._skip = len(prefix)
        self._pattern = re.compile(layout.key.encode("utf-8"), re.DOTALL)
        self._match = matching(layout.key, self._skip)
        self._lock = layout.lock and matching(layout.lock, self._skip)
        self._naming = None if layout.name is None else Naming(layout.name, prefix=prefix)

    def read(
        self,
        raw_keys: Sequence[bytes],
        values: Sequence[Value | Flaw],
        expiries: NDArray[np.int64],
        *,
        sizes: NDArray[np.int64],
    ) -> Batch:
        """Make a batch of values; see `batch`."""
        return self.batch(raw_keys, self.decoded(values), expiries, sizes=sizes)

    def batch(
        self,
        raw_keys: Sequence[bytes],
        decoded: Decoded,
        expiries: NDArray[np.int64],
        *,
        sizes: NDArray[np.int64],
        asked: Identity | None = None,
    ) -> Batch:
        """Make a batch.

        A record that stores no expiry of its own was promised the key's.

        Args:
            raw_keys: whole keys, prefix included.
            decoded: what their values hold.
            expiries: when Redis removes each key, in microseconds.
            sizes: how many bytes each key holds, also of values that were not read whole.
            asked: whose records these should be, keys and scopes, where that is known; a
                record of another key that has the same name is that other one's.
        """
        layout = self._layout
        columns, odd = decoded.columns, dict(decoded.odd)
        endpoints: Sequence[bytes] = [b""] * len(columns)
        locks: list[int] = []
        if asked is not None:
            keys, scopes = self._identity(columns, raw_keys, asked, odd)
        elif (own := self._own_identity(columns, raw_keys)) is not None:
            keys, scopes = own
        else:
            names = self._names(raw_keys, odd, locks)
            parts = zip(self._part(names, "key"), raw_keys, strict=True)
            named = [key or raw[self._skip :] for key, raw in parts], self._part(names, "scope")
            keys, scopes = self._identity(columns, raw_keys, named, odd)
            endpoints = self._part(names, "endpoint")
        batch = self._rows.batch(
            columns,
            keys=keys,
            scopes=scopes,
            endpoints=_endpoints(columns, layout.endpoint, endpoints),
            key_expires_at=expiries,
            sizes=sizes,
        )
        stored = batch.expires_at
        np.copyto(stored, expiries, where=stored == MISSING)
        for at, flaw in odd.items():
            batch.status[at] = Status.MALFORMED
            batch.flaw[at] = flaw
        if locks:
            batch.status[locks] = Status.IN_PROGRESS
            batch.flaw[locks] = Flaw.NONE
            batch.lease_until[locks] = expiries[locks]
        return batch

    def decoded(
        self, values: Sequence[Value | Flaw], siblings: Sequence[Row | Flaw] | None = None
    ) -> Decoded:
        """Take values apart: what is stored, with its siblings, or why it was not read.

        A few hundred at a time cost least: all that was made for them fits into a cache.
        """
        if self._unwrap is None:
            return self._taken_apart(values, siblings)
        whole: Decoded | None = None
        done = 0
        for some in _unwrapped(values, self._unwrap):
            end = done + len(some)
            part = self._taken_apart(some, siblings and siblings[done:end])
            done = end
            if whole is None:
                whole = part
            else:
                whole.join(part)
        assert whole is not None, "nothing is one part too"
        return whole

    def _taken_apart(
        self, values: Sequence[Value | Flaw], siblings: Sequence[Row | Flaw] | None
    ) -> Decoded:
        if self._is_json:
            columns = self._rows.json_columns(values)
            if columns is not None:
                return Decoded(columns, {})
            half = len(values) // 2
            if half:
                # None is read otherwise for what lies beside it.
                first = self._taken_apart(values[:half], None)
                first.join(self._taken_apart(values[half:], None))
                return first
        rows = list(map(self._decode, values))
        if siblings is not None:
            rows = list(map(_with_siblings, rows, siblings))
        odd = {at: row for at, row in enumerate(rows) if isinstance(row, Flaw)}
        columns = self._rows.columns([_NO_ROW if isinstance(row, Flaw) else row for row in rows])
        return Decoded(columns, odd)

    def _names(
        self, raw_keys: Sequence[bytes], odd: dict[int, Flaw], locks: list[int]
    ) -> list[re.Match[bytes] | None]:
        """Take the names apart; one that the layout does not write is odd."""
        names = list(map(self._match, raw_keys))
        if self._lock:
            for at, raw in enumerate(raw_keys):
                if lock := self._lock(raw):
                    names[at] = lock
                    locks.append(at)
        if None in names:
            for at, name in enumerate(names):
                if name is None:
                    odd.setdefault(at, Flaw.FOREIGN_NAME)
        return names

    def _part(self, names: Sequence[re.Match[bytes] | None], part: str) -> list[bytes]:
        """Give a part of each name, empty where it has none."""
        if part not in self._pattern.groupindex:
            return [b""] * len(names)
        return [(name and part in name.re.groupindex and name[part]) or b"" for name in names]

    def _own_identity(self, columns: Columns, raw_keys: Sequence[bytes]) -> Identity | None:
        """Take keys and scopes from the values, where every name is the one that they write.

        So it is nearly always, and no name has to be taken apart then.
        """
        key, scope = self._layout.key_field, self._layout.scope
        named_endpoint = "endpoint" in self._pattern.groupindex
        if self._naming is None or key is None or scope is None or named_endpoint:
            return None
        said = columns.values
        if set(map(type, said[key])) | set(map(type, said[scope])) != {str}:
            return None
        keys, scopes = texts(said[key]), texts(said[scope])
        is_theirs = all(keys) and self._naming.names(keys, scopes) == raw_keys
        return (keys, scopes) if is_theirs else None

    def _identity(
        self,
        columns: Columns,
        raw_keys: Sequence[bytes],
        otherwise: Identity,
        odd: dict[int, Flaw],
    ) -> Identity:
        """Take key and scope from the value, where the name agrees, and else as they are known.

        `a:b` is key `b` of scope `a`, or key `a:b` without one: the value tells. But a value
        that was written under another name than its own says nothing about this one.
        """
        layout = self._layout
        keys = _said(columns, layout.key_field, otherwise[0])
        scopes = _said(columns, layout.scope, otherwise[1])
        if self._naming is None or layout.key_field is None or (keys, scopes) == otherwise:
            return keys, scopes
        own = self._naming.names(keys, scopes)
        if own == raw_keys:
            return keys, scopes
        keys, scopes = list(keys), list(scopes)
        for at, (name, raw) in enumerate(zip(own, raw_keys, strict=True)):
            if name != raw:
                keys[at], scopes[at] = otherwise[0][at], otherwise[1][at]
                # A value that is JSON cannot repeat a name that is no text.
                if columns.values[layout.key_field][at] is not None and is_text(raw):
                    odd.setdefault(at, Flaw.MISNAMED)
        return keys, scopes


def _endpoints(
    columns: Columns, where: Where | None, otherwise: Sequence[bytes]
) -> Sequence[bytes]:
    """Take the endpoint from the value where it has one, and else from the name."""
    said = joined(columns, where)
    if said is None or said is otherwise or all(said):
        return otherwise if said is None else said
    return [one or other for one, other in zip(said, otherwise, strict=True)]


def _with_siblings(row: Row | Flaw, siblings: Row | Flaw) -> Row | Flaw:
    if isinstance(row, Flaw) or isinstance(siblings, Flaw):
        return row if isinstance(row, Flaw) else siblings
    return {**row, **siblings}


def _unwrapped(
    values: Sequence[Value | Flaw], unwrap: Callable[[Value | Flaw], Any]
) -> Iterator[list[Any]]:
    """Unwrap values; together, as long as not much has come out of them."""
    some: list[Any] = []
    room = _ENOUGH
    for value in values:
        whole = unwrap(value)
        some.append(whole)
        room -= len(whole) if type(whole) is bytes else 0
        if room < 0:
            yield some
            some, room = [], _ENOUGH
    yield some


def _said(columns: Columns, field: Path | None, otherwise: Sequence[bytes]) -> Sequence[bytes]:
    """Take a part from the value where the layout names a member and the value has it."""
    if field is None:
        return otherwise
    values = columns.values[field]
    if None not in values:
        return texts(values)
    said = zip(values, otherwise, strict=True)
    return [other if value is None else as_bytes(value) for value, other in said]

"""Keys that several groups have, found exactly and in bounded memory.

What is added goes in buckets, by the hash of its key, to a file that only this process sees;
then one bucket after the other is looked at. A store that is small enough never touches the
disk.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from idemctl.errors import IdemctlError
from idemctl.state.texts import cut, lengths

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Self

    from numpy.typing import NDArray

    from idemctl.state.folder import StateFolder

    Int64 = NDArray[np.int64]

_AT_ONCE = 32_768
"""Keys that are kept in memory before they go to the file."""
_BUCKETS = 256
_MOST_BYTES = 4 * 2**30
"""Of the file; a bucket of it is what has to fit into memory."""


class Repeats:
    """Takes keys with the group of each, and finds those that have several groups.

    The hash of a key only sorts; what counts is the key. Of a group the hash counts, 64 bits
    of a kind that no stranger can foresee.
    """

    def __init__(
        self, folder: StateFolder, *, most_bytes: int = _MOST_BYTES, at_once: int = _AT_ONCE
    ) -> None:
        self._folder = folder
        self._room = most_bytes
        self._at_once = at_once
        self._file: BinaryIO | None = None
        self._blocks: list[list[_Block]] = [[] for _ in range(_BUCKETS)]
        self._keys: list[bytes] = []
        self._groups: list[bytes] = []
        self.why_incomplete: str | None = None
        """What kept a part of the keys from being looked at."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):  # What a full disk did not take is not missed any more.
            if self._file is not None:
                self._file.close()

    def add(self, keys: Sequence[bytes], groups: Sequence[bytes]) -> None:
        """Take keys; one whose group is empty says nothing."""
        if self.why_incomplete is not None:
            return
        if b"" in groups:
            pairs = [pair for pair in zip(keys, groups, strict=True) if pair[1]]
            keys, groups = [key for key, _ in pairs], [group for _, group in pairs]
        self._keys += keys
        self._groups += groups
        if len(self._keys) >= self._at_once:
            self._put_away()

    def found(self) -> Iterator[bytes]:
        """Give each key that has several groups, once; one bucket is in memory at a time."""
        if self._file is None:
            yield from _Rows.of(self._keys, self._groups).repeated()
            return
        self._put_away()
        for blocks in self._blocks:
            yield from _Rows.joined([self._read(block) for block in blocks]).repeated()

    def _put_away(self) -> None:
        """Write what is in memory to its buckets; where that fails, nothing is kept at all."""
        rows = _Rows.of(self._keys, self._groups)
        self._keys, self._groups = [], []
        if rows.byte_count > self._room:
            self.why_incomplete = "there are more keys than the state folder may hold"
            return
        self._room -= rows.byte_count
        try:
            file = self._file = self._file or self._folder.scratch()
            bucket_of = rows.hashes & (_BUCKETS - 1)
            rows = rows.take(np.argsort(bucket_of, kind="stable"))
            ends = np.cumsum(np.bincount(bucket_of, minlength=_BUCKETS)).tolist()
            for bucket, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
                if start < end:
                    block = _Block(offset=file.tell(), count=end - start)
                    file.writelines(rows.parts(start, end))
                    self._blocks[bucket].append(block)
            file.flush()
        except IdemctlError as error:
            self.why_incomplete = error.message
        except OSError as error:
            self.why_incomplete = self._folder.unusable(error).message

    def _read(self, block: _Block) -> _Rows:
        file, count = self._file, block.count
        assert file is not None, "a block lies in the file"
        place = file.tell()
        file.seek(block.offset)
        hashes, groups, sizes = (
            np.frombuffer(file.read(8 * count), np.int64) for _ in range(len(_COLUMNS))
        )
        keys = cut(file.read(int(sizes.sum())), sizes)
        file.seek(place)
        return _Rows(keys=keys, hashes=hashes, groups=groups)


_COLUMNS = ("hashes", "groups", "lengths")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """Where some rows of one bucket lie in the file."""

    offset: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Keys with the hash of each and of its group; columns of equal length."""

    keys: list[bytes]
    hashes: Int64
    groups: Int64

    @classmethod
    def of(cls, keys: list[bytes], groups: list[bytes]) -> _Rows:
        return cls(keys=keys, hashes=_hashed(keys), groups=_hashed(groups))

    @classmethod
    def joined(cls, parts: list[_Rows]) -> _Rows:
        none = [np.zeros(0, np.int64)]
        return cls(
            keys=[key for part in parts for key in part.keys],
            hashes=np.concatenate([part.hashes for part in parts] or none),
            groups=np.concatenate([part.groups for part in parts] or none),
        )

    @property
    def byte_count(self) -> int:
        return sum(map(len, self.keys)) + 8 * len(_COLUMNS) * len(self.keys)

    def take(self, rows: NDArray[np.intp]) -> _Rows:
        keys = [self.keys[row] for row in rows.tolist()]
        return _Rows(keys=keys, hashes=self.hashes[rows], groups=self.groups[rows])

    def parts(self, start: int, end: int) -> Iterator[bytes]:
        """Give a stretch as it is written."""
        keys = self.keys[start:end]
        yield self.hashes[start:end].tobytes()
        yield self.groups[start:end].tobytes()
        yield lengths(keys).tobytes()
        yield b"".join(keys)

    def repeated(self) -> Iterator[bytes]:
        """Give each key with several groups, in the order in which they came."""
        order = np.lexsort((self.groups, self.hashes))
        hashes, groups = self.hashes[order], self.groups[order]
        differ = (hashes[1:] == hashes[:-1]) & (groups[1:] != groups[:-1])
        if not differ.any():
            return
        # Few rows are left; of those the key itself decides.
        suspects = np.flatnonzero(np.isin(self.hashes, hashes[1:][differ])).tolist()
        groups_of: dict[bytes, set[int]] = {}
        for row in suspects:
            groups_of.setdefault(self.keys[row], set()).add(int(self.groups[row]))
        yield from (key for key, several in groups_of.items() if len(several) > 1)


def _hashed(values: list[bytes]) -> Int64:
    return np.fromiter(map(hash, values), np.int64, len(values))

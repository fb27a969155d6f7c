"""Suspects on disk: what a sweep saw once, kept until it is looked at again."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from idemctl.domain.sweeps import Suspects
from idemctl.state.texts import cut, lengths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

    from numpy.typing import NDArray

    from idemctl.state.folder import StateFolder

    Int64 = NDArray[np.int64]

_MOST = 2_000_000
"""Suspects that are kept: a few hundred megabytes at most."""
_HEAD = struct.Struct("<qqq")


class SuspectsFile:
    """Takes suspects in portions, and gives each back once.

    A sweep may meet a record twice, and two sweeps may meet the same. What comes after the last
    that there is room for is counted and not kept.
    """

    def __init__(self, folder: StateFolder, *, most: int = _MOST) -> None:
        self._folder = folder
        self._file: BinaryIO = folder.scratch()
        self._room = most
        self._lost_count = 0
        self._hashes: list[Int64] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):  # What a full disk did not take is not missed any more.
            self._file.close()

    def add(self, some: Suspects) -> None:
        """Keep a portion, or as much of it as there is room for.

        Raises:
            ConfigError: the folder cannot be written.
        """
        if len(some) > self._room:
            self._lost_count += len(some) - self._room
            some = some.take(np.arange(self._room))
        self._room -= len(some)
        if not len(some):
            return
        self._hashes.append(_hashed(some))
        keys, scopes = b"".join(some.keys), b"".join(some.scopes)
        parts = (
            _HEAD.pack(len(some), len(keys), len(scopes)),
            some.difference.tobytes(),
            some.versions.tobytes(),
            lengths(some.keys).tobytes(),
            lengths(some.scopes).tobytes(),
            keys,
            scopes,
        )
        try:
            self._file.writelines(parts)
            self._file.flush()
        except OSError as error:
            raise self._folder.unusable(error) from None

    @property
    def count(self) -> int:
        """How many there are; among those that were not kept, the same one may be twice."""
        return int(np.count_nonzero(self._firsts())) + self._lost_count

    def portions(self) -> Iterator[Suspects]:
        """Give back what was kept, from the start."""
        firsts = self._firsts()
        at = 0
        self._file.seek(0)
        while head := self._file.read(_HEAD.size):
            count, key_bytes, scope_bytes = _HEAD.unpack(head)
            difference = np.frombuffer(self._file.read(count), np.uint8)
            versions = np.frombuffer(self._file.read(8 * count), np.uint64)
            of_keys = np.frombuffer(self._file.read(8 * count), np.int64)
            of_scopes = np.frombuffer(self._file.read(8 * count), np.int64)
            whole = Suspects(
                keys=cut(self._file.read(key_bytes), of_keys),
                scopes=cut(self._file.read(scope_bytes), of_scopes),
                difference=difference,
                versions=versions,
            )
            fresh = np.flatnonzero(firsts[at : at + count])
            at += count
            if len(fresh):
                yield whole if len(fresh) == count else whole.take(fresh)

    def _firsts(self) -> NDArray[np.bool_]:
        """Say of each that was kept whether it is the first of its kind.

        By hashes of 64 bits that no stranger can foresee: in one of ten million runs with as
        many suspects as there is room for, one is taken for another.
        """
        hashes = np.concatenate(self._hashes or [np.zeros(0, np.int64)])
        firsts = np.zeros(len(hashes), np.bool_)
        firsts[np.unique(hashes, return_index=True)[1]] = True
        return firsts


def _hashed(some: Suspects) -> Int64:
    columns = some.keys, some.scopes, some.difference.tolist(), some.versions.tolist()
    return np.fromiter(map(hash, zip(*columns, strict=True)), np.int64, len(some))

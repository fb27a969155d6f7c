"""Suspects on disk: what a sweep saw once, kept until it is looked at again."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from idemctl.domain.sweeps import Suspects

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Self

    from idemctl.state.folder import StateFolder

_MOST = 2_000_000
"""Suspects that are kept: a few hundred megabytes at most."""
_HEAD = struct.Struct("<qqq")


class SuspectsFile:
    """Takes suspects in portions, and gives them back in the same ones.

    What comes after the last that it has room for is counted and not kept.
    """

    def __init__(self, folder: StateFolder, *, most: int = _MOST) -> None:
        self._folder = folder
        self._file: BinaryIO = folder.scratch()
        self._room = most
        self.dropped_count = 0

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
            self.dropped_count += len(some) - self._room
            some = some.take(np.arange(self._room))
        self._room -= len(some)
        if not len(some):
            return
        keys, scopes = b"".join(some.keys), b"".join(some.scopes)
        parts = (
            _HEAD.pack(len(some), len(keys), len(scopes)),
            some.difference.tobytes(),
            some.versions.tobytes(),
            _lengths(some.keys).tobytes(),
            _lengths(some.scopes).tobytes(),
            keys,
            scopes,
        )
        try:
            self._file.writelines(parts)
            self._file.flush()
        except OSError as error:
            raise self._folder.unusable(error) from None

    def portions(self) -> Iterator[Suspects]:
        """Give back what was kept, from the start."""
        self._file.seek(0)
        while head := self._file.read(_HEAD.size):
            count, key_bytes, scope_bytes = _HEAD.unpack(head)
            difference = np.frombuffer(self._file.read(count), np.uint8)
            versions = np.frombuffer(self._file.read(8 * count), np.uint64)
            key_lengths = np.frombuffer(self._file.read(8 * count), np.int64)
            scope_lengths = np.frombuffer(self._file.read(8 * count), np.int64)
            yield Suspects(
                keys=_cut(self._file.read(key_bytes), key_lengths),
                scopes=_cut(self._file.read(scope_bytes), scope_lengths),
                difference=difference,
                versions=versions,
            )


def _lengths(texts: Sequence[bytes]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.fromiter(map(len, texts), np.int64, len(texts))


def _cut(joined: bytes, lengths: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[bytes]:
    ends = np.cumsum(lengths).tolist()
    return [joined[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]

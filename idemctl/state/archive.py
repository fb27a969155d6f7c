"""Archives: the rows that a run deleted, in private files, each batch before its commit.

A file is a line that says what it is, then frames. A frame is its kind, the length of its
payload, a digest over its number, kind and payload, and the payload: msgpack, compressed. A
frame that a crash cut off belongs to a batch that was never committed, for a batch commits
only when its frame is on disk.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import struct
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from idemctl.domain.archived import (
    Origin,  # noqa: TC001 (msgspec reads it)
    Shape,
    Sums,
    Taken,
)
from idemctl.errors import ConfigError, ExitStatus, IdemctlError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAGIC = b"idemctl archive 1\n"
_HEAD = struct.Struct(">cI16s")
_LEVEL = 1
"""Rows stay locked meanwhile, and disks are cheap."""
_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600


class ArchiveFailed(IdemctlError):
    """A batch could not be archived, and so was not deleted."""

    status = ExitStatus.PARTIAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """Whose rows a file holds."""

    run_id: str
    store: str
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Void:
    """A batch was rolled back."""

    frame: int
    """Its number among all frames of the file."""


_KINDS: dict[bytes, type] = {b"H": Heading, b"S": Shape, b"B": Taken, b"V": Void, b"E": Sums}
_KIND_OF = {type_: kind for kind, type_ in _KINDS.items()}


@dataclass(frozen=True, slots=True)
class ArchiveFolder:
    """Where the archives of one run go; can be carried to another process."""

    folder: Path
    run_id: str

    def make(self) -> None:
        """See to it that files can be written there.

        Raises:
            ConfigError: they cannot.
        """
        try:
            self.folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
        except OSError as error:
            raise self._unusable(error) from None
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise self._unusable(PermissionError(0, "this user may not write there"))

    def open(self, store: str) -> ArchiveFile:
        """Make the next file of this run, for one walk over one store."""
        return ArchiveFile(self, store)

    def files(self) -> list[Path]:
        """List the files of this run, in the order in which they were begun."""
        found = self.folder.glob(f"{self.run_id}.*.archive")
        return sorted(found, key=lambda one: (len(one.name), one.name))

    def create(self) -> tuple[int, Path]:
        """Begin a file that nobody else writes.

        Raises:
            ConfigError: the folder cannot be written.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        try:
            for number in itertools.count(1):
                file = self.folder / f"{self.run_id}.{number}.archive"
                with suppress(FileExistsError):
                    return os.open(file, flags, _PRIVATE_FILE), file
        except OSError as error:
            raise self._unusable(error) from None
        raise AssertionError

    def _unusable(self, error: OSError) -> ConfigError:
        return ConfigError(
            f"archive folder {self.folder}: {error.strerror or error}",
            hint="give --archive a folder of this user; nothing more was collected",
        )


class ArchiveFile:
    """Writes one file. See `stores.archiving.Archive`."""

    def __init__(self, folder: ArchiveFolder, store: str) -> None:
        self._folder = folder
        self._store = store
        self._descriptor = -1
        self._file = folder.folder
        self._size = 0
        self._frames = 0
        self._sums = Sums()
        self._last = Sums()
        self._is_broken = False

    def begin(self, origin: Origin) -> None:
        """See `Archive.begin`."""
        self._descriptor, self._file = self._folder.create()
        heading = Heading(run_id=self._folder.run_id, store=self._store, origin=origin)
        self._write(_MAGIC + self._frame(heading))
        self._sync_name()

    def describe(self, shape: Shape) -> None:
        """See `Archive.describe`."""
        self._write(self._frame(shape))

    def keep(self, taken: Taken) -> None:
        """See `Archive.keep`."""
        self._write(self._frame(taken))
        self._last, self._sums = self._sums, self._sums.plus(taken)

    def void(self) -> None:
        """See `Archive.void`."""
        self._write(self._frame(Void(frame=self._frames - 1)))
        self._sums = self._last

    def close(self) -> None:
        """Write how much it was, as the last frame, and close; harmless when repeated."""
        if self._descriptor < 0:
            return
        # Without its end an archive is as good: it says no more than that the run was cut off.
        if not self._is_broken:
            with suppress(ArchiveFailed):
                self._write(self._frame(self._sums))
        os.close(self._descriptor)
        self._descriptor = -1

    def _frame(self, what: Any) -> bytes:
        payload = zlib.compress(msgspec.msgpack.encode(what), _LEVEL)
        kind = _KIND_OF[type(what)]
        digest = _digest(self._frames, kind, payload)
        return _HEAD.pack(kind, len(payload), digest) + payload

    def _write(self, content: bytes) -> None:
        """Bring a frame to the disk, whole or not at all.

        Raises:
            ArchiveFailed: not at all.
        """
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        except OSError as error:
            self._is_broken = True
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise ArchiveFailed(
                f"archive {self._file}: {error.strerror or error}",
                hint="the batch at hand was not deleted; give --archive a folder with room, "
                "and run again",
            ) from None
        self._size += len(content)
        self._frames += 1

    def _sync_name(self) -> None:
        """See to it that after a crash the file is found under its name."""
        descriptor = os.open(self._file.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@dataclass(slots=True)
class ArchiveReader:
    """Reads one file, a frame at a time; what it met is known at the end."""

    file: Path
    has_end: bool = field(default=False, init=False)
    """Whether the run itself closed it."""
    is_torn: bool = field(default=False, init=False)
    """Whether a crash cut off the last frame, of a batch that was never committed."""
    damaged: int = field(default=0, init=False)
    """Frames that are no longer what was written."""
    number: int = field(default=0, init=False)
    """That of the frame at hand, among all of the file."""

    def frames(self) -> Iterator[Heading | Shape | Taken | Void | Sums]:
        """Read all frames that are whole; of a batch at a time.

        Raises:
            ConfigError: the file cannot be read, or is no archive.
        """
        self.has_end, self.is_torn, self.damaged = False, False, 0
        try:
            with self.file.open("rb") as stream:
                if stream.read(len(_MAGIC)) != _MAGIC:
                    raise ConfigError(
                        f"{self.file} is no archive of this version of idemctl",
                        hint="name the folder that gc --archive wrote to",
                    )
                yield from self._frames(stream)
        except OSError as error:
            raise ConfigError(
                f"archive {self.file}: {error.strerror or error}",
                hint="read it as the user who ran gc",
            ) from None

    def _frames(self, stream: BinaryIO) -> Iterator[Heading | Shape | Taken | Void | Sums]:
        for number in itertools.count():
            head = stream.read(_HEAD.size)
            if not head:
                return
            payload = b""
            if len(head) == _HEAD.size:
                kind, length, digest = _HEAD.unpack(head)
                payload = _read(stream, length)
            if len(head) < _HEAD.size or len(payload) < length:
                self.is_torn = True
                return
            if kind not in _KINDS or _digest(number, kind, payload) != digest:
                self.damaged += 1
                continue
            frame: Any = msgspec.msgpack.decode(zlib.decompress(payload), type=_KINDS[kind])
            self.has_end, self.number = isinstance(frame, Sums), number
            yield frame


def _read(stream: BinaryIO, length: int) -> bytes:
    """Read so many bytes, or what there is; a length that is damaged must cost no memory."""
    size = os.fstat(stream.fileno()).st_size
    return stream.read(min(length, max(size - stream.tell(), 0)))


def _digest(number: int, kind: bytes, payload: bytes) -> bytes:
    made = hashlib.blake2b(number.to_bytes(8, "big") + kind, digest_size=16)
    made.update(payload)
    return made.digest()

"""The state folder: private files, written whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from pathlib import Path
from typing import BinaryIO

from idemctl.errors import ConfigError

_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600


class StateFolder:
    """Opens files below one folder, 0600 in a folder of 0700."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def is_usable(self) -> bool:
        """Tell whether it could be written, or made; writes nothing."""
        there = next(one for one in (self.root, *self.root.parents) if one.exists())
        return there.is_dir() and os.access(there, os.W_OK | os.X_OK)

    def append(self, name: str, line: bytes) -> None:
        """Add one line, in a single write, and hand it to the operating system.

        Raises:
            ConfigError: the folder cannot be written.
        """
        file = self.root / name
        try:
            self._make_folder(file.parent)
            _append(file, line + b"\n")
        except OSError as error:
            raise self.unusable(error) from None

    def lines(self, name: str) -> list[bytes]:
        """Read all whole lines; none where nothing was written yet."""
        try:
            content = (self.root / name).read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self.unusable(error) from None
        # A last line without its end was cut off by a crash: it says nothing for sure.
        return content.split(b"\n")[:-1]

    def tail(self, name: str, size: int) -> list[bytes]:
        """Read the whole lines of a file's last `size` bytes; none where there is none.

        Raises:
            ConfigError: it is there, and cannot be read.
        """
        try:
            with (self.root / name).open("rb") as stream:
                length = stream.seek(0, os.SEEK_END)
                stream.seek(max(length - size, 0))
                lines = stream.read(size).split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self.unusable(error) from None
        return lines[1:] if length > size else lines

    def content(self, name: str) -> bytes | None:
        """Read a whole file; `None` where there is none.

        Raises:
            ConfigError: it is there, and cannot be read.
        """
        try:
            return (self.root / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self.unusable(error) from None

    def replace(self, name: str, content: bytes) -> None:
        """Write a file whole, over the one that is there.

        Raises:
            ConfigError: the folder cannot be written.
        """
        file = self.root / name
        try:
            self._make_folder(file.parent)
            descriptor, made = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            Path(made).replace(file)
        except OSError as error:
            raise self.unusable(error) from None

    def remove(self, name: str) -> bool:
        """Remove a file; tell whether there was one.

        Raises:
            ConfigError: the folder cannot be written.
        """
        try:
            (self.root / name).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self.unusable(error) from None
        return True

    def scratch(self) -> BinaryIO:
        """Open a file that only this process sees, and that is gone when it is closed.

        Raises:
            ConfigError: the folder cannot be written.
        """
        try:
            self._make_folder()
            return tempfile.TemporaryFile(dir=self.root)
        except OSError as error:
            raise self.unusable(error) from None

    def _make_folder(self, *more: Path) -> None:
        self.root.parent.mkdir(parents=True, exist_ok=True)
        # One by one: the mode is given to the last folder only.
        for folder in (self.root, *more):
            folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)

    def unusable(self, error: OSError) -> ConfigError:
        """Say what is wrong with the folder, for what the operating system said."""
        return ConfigError(
            f"state folder {self.root}: {error.strerror or error}",
            hint="set state.folder in idemctl.yaml, or IDEMCTL_STATE, to a folder of this user",
        )


def _append(file: Path, line: bytes) -> None:
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, _PRIVATE_FILE)
    try:
        # Another run's line may be on its way into the file.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            # A crash cut the last line off; what follows must not become a part of it.
            line = b"\n" + line
        if os.write(descriptor, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(descriptor)

"""Where a sandbox's folder is, and where things are in it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from idemctl.errors import Refused, UsageError

_NAME = re.compile(r"[a-z0-9-]{1,32}")
_PATH = re.compile(r"[\w./+@:=~ -]+")
_HOMES = Path("/var/tmp")  # noqa: S108 - Survives a reboot; below it we check who owns what.
_LONGEST_SOCKET_BYTES = 100


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are in a sandbox's folder."""

    root: Path

    @property
    def marker(self) -> Path:
        """The file that makes the folder ours."""
        return self.root / "sandbox.json"

    @property
    def config(self) -> Path:
        """The configuration for idemctl."""
        return self.root / "idemctl.yaml"

    @property
    def state(self) -> Path:
        """What idemctl remembers about runs against this sandbox."""
        return self.root / "state"

    @property
    def sockets(self) -> Path:
        """The folder of both servers' unix sockets."""
        return self.root / "run"

    @property
    def archive(self) -> Path:
        """The archived WAL segments."""
        return self.root / "wal-archive"

    @property
    def postgres(self) -> Path:
        """The data folder of Postgres."""
        return self.root / "postgres"

    @property
    def redis(self) -> Path:
        """The data folder of Valkey."""
        return self.root / "valkey"

    @property
    def copies(self) -> Path:
        """Copies of binaries that the servers' user cannot reach elsewhere."""
        return self.root / "binaries"

    def log(self, name: str) -> Path:
        """Return the log file of a server."""
        return self.root / f"{name}.log"

    def password_file(self, name: str) -> Path:
        """Return the file, mode 0600, that holds a password and nothing else."""
        return self.root / f"{name}.password"

    def password(self, name: str) -> str:
        """Read a password."""
        return self.password_file(name).read_text().strip()


def home() -> Path:
    """Return the folder of the current user's named sandboxes."""
    return _HOMES / f"idemctl-{os.geteuid()}"


def default_folder(name: str) -> Path:
    """Return the folder of the sandbox `name` of the current user.

    Raises:
        UsageError: the name is not 1 to 32 lower-case letters, digits and hyphens.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a sandbox",
            hint="use 1 to 32 lower-case letters, digits and hyphens",
        )
    return home() / name


def check_path(root: Path) -> None:
    """Refuse a folder whose path the servers' files or sockets cannot carry."""
    if not _PATH.fullmatch(str(root)):
        raise Refused(
            f"{str(root)!r} holds a character that a server's configuration cannot carry",
            hint="use a path of letters, digits, spaces and ./+@:=~-_",
        )
    length = len(os.fsencode(Places(root).sockets / ".s.PGSQL.65535"))
    if length > _LONGEST_SOCKET_BYTES:
        raise Refused(
            f"the sockets in {root} would have paths of {length} bytes; "
            f"{_LONGEST_SOCKET_BYTES} is the most",
            hint="use a shorter path, such as the default below /var/tmp",
        )

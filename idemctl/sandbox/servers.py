"""A sandbox: one Postgres and one Valkey in a folder of their own."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from idemctl.errors import Refused
from idemctl.sandbox import binaries, folder, postgres, processes, starting, valkey
from idemctl.sandbox.account import server_account
from idemctl.sandbox.places import Places, check_path, default_folder

__all__ = ["DownReport", "Sandbox", "SandboxStatus", "ServerStatus", "default_folder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """One server of a sandbox; what it never had yet is None."""

    running: bool
    pid: int | None
    version: str | None
    """Such as `PostgreSQL 18.6`, as of its last start."""
    port: int | None
    """On 127.0.0.1; kept between starts unless somebody took it."""
    socket: Path | None
    data: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxStatus:
    """Both servers of a sandbox."""

    folder: Path
    postgres: ServerStatus
    redis: ServerStatus

    @property
    def running(self) -> bool:
        """Whether both servers run."""
        return self.postgres.running and self.redis.running


@dataclass(frozen=True, slots=True, kw_only=True)
class DownReport:
    """What `down` found and removed."""

    folder: Path
    stopped_count: int
    """Processes that had to end, the killed ones included."""
    killed_count: int
    removed: bool
    """False where there was no folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A folder with a Postgres and a Valkey that outlive the process that started them."""

    folder: Path

    def up(
        self,
        *,
        postgres_bin: Path | None = None,
        redis_bin: Path | None = None,
        durable: bool = True,
    ) -> SandboxStatus:
        """Start what does not run; a running sandbox is left as it is.

        The first `up` decides the binaries and `durable`; later ones keep them. Without
        `durable` (for tests) there is no fsync, no WAL archive, and Valkey keeps nothing
        over a restart.

        Raises:
            ConfigError: the binaries are not there, or the extra is not installed.
            Refused: the folder cannot be ours, or its data belongs to another version.
            Unreachable: a server did not start; the message ends with its last log lines.
            Locked: another `up` or `down` is at work on the folder for too long.
        """
        account = server_account()
        places = self._places
        check_path(places.root)
        if not os.path.lexists(places.marker):
            # What is missing shows before a folder is made for nothing.
            binaries.find_postgres(postgres_bin)
            binaries.find_redis(redis_bin)
        with folder.locked(places, account=account):
            if not os.path.lexists(places.marker):
                folder.refuse_foreign(places)
                # Somebody may have deleted an earlier folder under its running servers.
                _stop(places, uid=account.uid, redis_bin=None)
            marker = folder.adopt(places, folder.Marker(durable=durable), account)
            starting.start_servers(
                places,
                account,
                marker,
                postgres_bin=postgres_bin and postgres_bin.absolute(),
                redis_bin=redis_bin and redis_bin.absolute(),
            )
            return self.status()

    def down(self) -> DownReport:
        """Stop both servers and remove the folder, whatever state they are in.

        Raises:
            Refused: the folder is not a sandbox of ours; nothing was changed.
            Denied: it is another user's.
            Locked: another `up` or `down` is at work on the folder for too long.
        """
        places = self._places
        with folder.locked(places) as is_there:
            marker = folder.removable(places) if is_there else None
            stopped, killed = _stop(
                places,
                uid=places.root.stat().st_uid if is_there else server_account().uid,
                redis_bin=marker.redis_bin if marker else None,
            )
            if marker is not None:
                starting.release_memory(places, server_account(), marker)
            if is_there:
                folder.remove(places)
        return DownReport(
            folder=places.root, stopped_count=stopped, killed_count=killed, removed=is_there
        )

    def status(self) -> SandboxStatus:
        """Look at both servers; a folder that is not there has none running.

        Raises:
            Refused: the folder is not a sandbox of ours.
            Denied: it is another user's.
        """
        places = self._places
        marker = folder.read_marker(places) or folder.Marker(durable=True)
        pg_port, redis_port = marker.postgres_port, marker.redis_port
        pg_process = postgres.find(places)
        redis_process = valkey.find(places, marker.redis_bin)
        return SandboxStatus(
            folder=places.root,
            postgres=ServerStatus(
                running=pg_process is not None,
                pid=pg_process.pid if pg_process else None,
                version=marker.postgres_version,
                port=pg_port,
                socket=postgres.socket(places, pg_port) if pg_port else None,
                data=places.postgres,
            ),
            redis=ServerStatus(
                running=redis_process is not None,
                pid=redis_process.pid if redis_process else None,
                version=marker.redis_version,
                port=redis_port,
                socket=valkey.socket(places) if redis_port else None,
                data=places.redis,
            ),
        )

    def dsn(self, database: str = postgres.DATABASE) -> str:
        """Return the URL of Postgres, with its password, for the role `idemctl`.

        Raises:
            Refused: there is no sandbox here, or it never came up.
        """
        return _dsn(self._ports()[0], self._places.password(postgres.ROLE), database)

    def redis_url(self, db: int = 0) -> str:
        """Return the URL of Valkey, with its password.

        Raises:
            Refused: there is no sandbox here, or it never came up.
        """
        return _redis_url(self._ports()[1], self._places.password(valkey.PASSWORD), db)

    def env(self) -> dict[str, str]:
        """Return the environment that leads idemctl here; it holds passwords.

        Raises:
            Refused: there is no sandbox here, or it never came up.
        """
        return {
            "DATABASE_URL": self.dsn(),
            "REDIS_URL": self.redis_url(),
            "IDEMCTL_CONFIG": str(self._places.config),
            "IDEMCTL_STATE": str(self._places.state),
        }

    def export_lines(self) -> list[str]:
        """Return lines for sh's `eval` that set the same; passwords are read when it runs.

        Raises:
            Refused: there is no sandbox here, or it never came up.
        """
        places = self._places
        pg_port, redis_port = self._ports()
        values = {
            "DATABASE_URL": _dsn(
                pg_port, _read_by_shell(places.password_file(postgres.ROLE)), postgres.DATABASE
            ),
            "REDIS_URL": _redis_url(
                redis_port, _read_by_shell(places.password_file(valkey.PASSWORD)), 0
            ),
            "IDEMCTL_CONFIG": str(places.config),
            "IDEMCTL_STATE": str(places.state),
        }
        return [f'export {name}="{value}"' for name, value in values.items()]

    def keep(self, name: str, text: str) -> Path:
        """Put a file into the folder, for the eyes of its owner, and give its path.

        Raises:
            Refused: there is no sandbox here, or it never came up.
        """
        self._ports()
        path = self._places.root / name
        folder.write_file(path, text, server_account())
        return path

    @property
    def _places(self) -> Places:
        # Without following links: a link in the folder's own place is refused.
        return Places(Path(os.path.abspath(self.folder)))  # noqa: PTH100 - `resolve` follows links.

    def _ports(self) -> tuple[int, int]:
        marker = folder.read_marker(self._places)
        if marker is None or marker.postgres_port is None or marker.redis_port is None:
            raise Refused(
                f"no sandbox has come up in {self._places.root}", hint="idemctl sandbox up"
            )
        return marker.postgres_port, marker.redis_port


_WORKPLACES = {"postgres", "postgres.new", "valkey", "valkey.conf"}
"""Where the servers of a sandbox work, below its folder."""


def _stop(places: Places, *, uid: int, redis_bin: str | None) -> tuple[int, int]:
    names = postgres.NAMES | valkey.names(redis_bin)
    return processes.stop_inside(places.root, uid=uid, names=names, parts=_WORKPLACES)


def _dsn(port: int, password: str, database: str) -> str:
    return f"postgresql://{postgres.ROLE}:{password}@127.0.0.1:{port}/{database}"


def _redis_url(port: int, password: str, db: int) -> str:
    return f"redis://:{password}@127.0.0.1:{port}/{db}"


def _read_by_shell(file: Path) -> str:
    return f"$(cat {shlex.quote(str(file))})"

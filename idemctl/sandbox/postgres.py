"""The sandbox's Postgres: its data folder, its settings, its role and database."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from typing import TYPE_CHECKING, LiteralString

import psycopg
from psycopg import sql

from idemctl.errors import Unreachable
from idemctl.sandbox import processes
from idemctl.sandbox.folder import make_folder, make_password, write_file

if TYPE_CHECKING:
    from pathlib import Path

    from psutil import Process

    from idemctl.sandbox.account import Account
    from idemctl.sandbox.places import Places

NAMES = frozenset({"postgres", "initdb"})
SUPERUSER = "postgres"
ROLE = "idemctl"
DATABASE = "idemctl"
_INCLUDE = "\ninclude 'sandbox.conf'\n"
_REPAIR_SECONDS = 60


def find(places: Places) -> Process | None:
    """Return the running server of this folder."""
    return processes.find(
        places.postgres / "postmaster.pid", names={"postgres"}, argument=places.postgres
    )


def socket(places: Places, port: int) -> Path:
    """Return the unix socket that goes with a port."""
    return places.sockets / f".s.PGSQL.{port}"


def make(places: Places, account: Account, binaries: Path, *, durable: bool) -> None:
    """Make the data folder unless it is there; it appears whole or not at all.

    Raises:
        Unreachable: initdb failed; the message says what it wrote last.
    """
    make_password(places, SUPERUSER, account)
    make_password(places, ROLE, account)
    make_folder(places.archive, account)
    if places.postgres.is_dir():
        return
    unfinished = places.root / "postgres.new"
    # An interrupted initdb goes on by itself, through helpers that start in our folder.
    processes.stop_inside(places.root, uid=account.uid, names=NAMES)
    shutil.rmtree(unfinished, ignore_errors=True)
    made = account.run(
        [
            binaries / "initdb",
            *("-D", unfinished),
            f"--username={SUPERUSER}",
            f"--pwfile={places.password_file(SUPERUSER)}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            *([] if durable else ["--no-sync"]),
        ],
        folder=places.root,
        capture_output=True,
    )
    if made.returncode != 0:
        said = " | ".join(made.stderr.strip().splitlines()[-3:])
        raise Unreachable(f"initdb failed: {said}", hint=f"it ran from {binaries}")
    settings = unfinished / "postgresql.conf"
    write_file(settings, settings.read_text() + _INCLUDE, account)
    unfinished.rename(places.postgres)


def start(places: Places, account: Account, binaries: Path, *, port: int, durable: bool) -> None:
    """Start the server on `port`; return when it answers and has the role and database.

    Raises:
        PortTaken: somebody else listens there.
        Unreachable: it does not start or does not answer in time.
    """
    _clear(places, account)
    write_file(
        places.postgres / "sandbox.conf", _settings(places, port=port, durable=durable), account
    )
    processes.start(
        [binaries / "postgres", "-D", places.postgres],
        account=account,
        folder=places.root,
        log=places.log("postgres"),
        is_ready=lambda: _answers(places, port),
    )


def provision(places: Places, port: int) -> None:
    """Make the role and the database unless they are there."""
    with _connect(places, port) as connection:
        if not _has(connection, "SELECT 1 FROM pg_roles WHERE rolname = %s", ROLE):
            # Only its digest travels: the server could log a statement that fails.
            digest = connection.pgconn.encrypt_password(
                places.password(ROLE).encode(), ROLE.encode(), b"scram-sha-256"
            ).decode()
            role = sql.Identifier(ROLE)
            with connection.transaction():
                connection.execute(
                    sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(role, sql.Literal(digest))
                )
                connection.execute(
                    sql.SQL("GRANT pg_monitor, pg_read_all_stats TO {}").format(role)
                )
                # It has the name of the schema that idemctl keeps its own in, and that would
                # come before public.
                connection.execute(sql.SQL("ALTER ROLE {} SET search_path TO public").format(role))
        if not _has(connection, "SELECT 1 FROM pg_database WHERE datname = %s", DATABASE):
            connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {}").format(
                    sql.Identifier(DATABASE), sql.Identifier(ROLE)
                )
            )


def release_memory(places: Places, account: Account, binaries: Path) -> None:
    """Free the shared memory of a server that was killed, which only Postgres can find.

    Without effect after an orderly stop. Best effort: the data folder may be broken.
    """
    if not (places.postgres / "postmaster.pid").exists():
        return
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        _clear(places, account)
        account.run(
            [binaries / "postgres", "--single", "-D", places.postgres, "template1"],
            folder=places.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_REPAIR_SECONDS,
        )


def _clear(places: Places, account: Account) -> None:
    """Remove what a killed server left that would stop the next one."""
    processes.stop_inside(places.postgres, uid=account.uid, names=NAMES)
    pid_file = places.postgres / "postmaster.pid"
    with contextlib.suppress(OSError, ValueError, IndexError):
        # Postgres judges a pid file by the number alone, and a stranger may have it by now.
        # With the number free it judges well by itself.
        if processes.exists(int(pid_file.read_text().split()[0])):
            pid_file.unlink()
    for left in places.sockets.glob(".s.PGSQL.*"):
        left.unlink(missing_ok=True)


def _settings(places: Places, *, port: int, durable: bool) -> str:
    archived = f'"{places.archive}/%f"'
    lines = [
        "listen_addresses = '127.0.0.1'",
        f"port = {port}",
        f"unix_socket_directories = '\"{places.sockets}\"'",
        "shared_buffers = '128MB'",
        "timezone = 'UTC'",
        "log_timezone = 'UTC'",
        f"archive_command = 'test ! -f {archived} && cp \"%p\" {archived}'",
        f"archive_mode = {'on' if durable else 'off'}",
    ]
    if not durable:
        lines.append("fsync = off")
    return "\n".join(lines) + "\n"


def _connect(places: Places, port: int) -> psycopg.Connection:
    return psycopg.connect(
        host=str(places.sockets),
        port=port,
        user=SUPERUSER,
        dbname="postgres",
        password=places.password(SUPERUSER),
        connect_timeout=5,
        autocommit=True,
        # Libpq's variables fill what is not named; these would lead elsewhere or fail.
        hostaddr="",
        options="",
        sslmode="disable",
        channel_binding="disable",
    )


def _has(connection: psycopg.Connection, question: LiteralString, name: str) -> bool:
    return connection.execute(question, [name]).fetchone() is not None


def _answers(places: Places, port: int) -> bool:
    try:
        with _connect(places, port) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True

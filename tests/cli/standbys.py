"""A primary whose WAL is archived, and a standby that follows it."""

from __future__ import annotations

import shutil
import socket
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from idemctl.sandbox import processes
from idemctl.sandbox.account import server_account
from idemctl.sandbox.binaries import find_postgres, reachable_postgres
from idemctl.sandbox.places import Places
from idemctl.sandbox.seed import seed
from idemctl.sandbox.servers import Sandbox
from tests.cli.places import await_that

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "eu"


@dataclass(frozen=True, kw_only=True)
class Followed:
    """Both servers, and a superuser at each."""

    dsn: str
    """Of the primary, for the role that audits."""
    standby_dsn: str
    redis_url: str
    primary: psycopg.Connection[Any]
    standby: psycopg.Connection[Any]

    def await_standby(self) -> None:
        """Wait until the standby shows what is committed now, and the primary knows of it."""
        lsn = one(self.primary, "SELECT pg_current_wal_lsn()::text")
        await_that(
            lambda: one(
                self.primary,
                f"SELECT count(*) FROM pg_stat_replication WHERE replay_lsn >= '{lsn}'::pg_lsn",
            ),
            "the standby catches up",
            within=30,
        )


def one(connection: psycopg.Connection[Any], question: str) -> Any:
    row = connection.execute(question.encode()).fetchone()
    assert row is not None
    return row[0]


def followed_servers() -> Iterator[Followed]:
    """Start both in a folder of their own, with a few healthy records."""
    home = Path(tempfile.mkdtemp(prefix="idemctl-test-", dir="/var/tmp"))
    home.chmod(0o755)
    sandbox = Sandbox(folder=home / "servers")
    try:
        sandbox.up()
        seed(dsn=sandbox.dsn(), redis_url=sandbox.redis_url(), records=300, seed=1, faults=False)
        yield from follow(sandbox)
    finally:
        sandbox.down()
        shutil.rmtree(home)


def follow(sandbox: Sandbox) -> Iterator[Followed]:
    """Start a standby inside the folder of a sandbox, which ends with it."""
    places, account = Places(sandbox.folder), server_account()
    binaries = reachable_postgres(find_postgres(None), account, places.copies)
    port = sandbox.status().postgres.port
    assert port is not None
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        other: int = probe.getsockname()[1]
    password = places.password("postgres")
    superuser = f"dbname=idemctl host=127.0.0.1 user=postgres password={password}"
    data = places.root / "standby"
    _run(account, places.root, binaries / "pg_basebackup", data, f"{superuser} port={port}")

    def answers() -> bool:
        try:
            psycopg.connect(f"{superuser} port={other}").close()
        except psycopg.OperationalError:
            return False
        return True

    processes.start(
        [binaries / "postgres", "-D", data, "-c", f"port={other}", "-c", f"cluster_name={NAME}"],
        account=account,
        folder=places.root,
        log=places.log("standby"),
        is_ready=answers,
    )
    with (
        closing(psycopg.connect(f"{superuser} port={port}", autocommit=True)) as here,
        closing(psycopg.connect(f"{superuser} port={other}", autocommit=True)) as there,
    ):
        yield Followed(
            dsn=sandbox.dsn(),
            redis_url=sandbox.redis_url(),
            standby_dsn=sandbox.dsn().replace(f":{port}/", f":{other}/"),
            primary=here,
            standby=there,
        )


def _run(account: Any, folder: Path, binary: Path, data: Path, dsn: str) -> None:
    done = account.run(
        [binary, "-D", data, "--write-recovery-conf", "--checkpoint=fast", "-d", dsn],
        folder=folder,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr

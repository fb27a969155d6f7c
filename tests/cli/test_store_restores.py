"""Stores that really went back in time, were flushed, promoted or only restarted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import redis

from idemctl.sandbox.configuration import CONFIGURATION
from idemctl.sandbox.seed import seed
from idemctl.sandbox.servers import Sandbox
from tests.cli.places import await_that
from tests.cli.standbys import follow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.places import Place

ONE = ("--store", "payments", "--pace", "full")
BEAT = ("store", "beat", "--apply")


class Servers:
    """A sandbox whose servers are stopped, set back and started again."""

    def __init__(self, sandbox: Sandbox, place: Place) -> None:
        self.sandbox = sandbox
        self.place = place
        status = sandbox.status()
        self.data, self.dump = status.postgres.data, status.redis.data / "dump.rdb"
        self.kept = sandbox.folder / "kept"

    def stop_redis(self) -> None:
        self._stop("redis", signal.SIGKILL)

    def stop_postgres(self) -> None:
        self._stop("postgres", signal.SIGINT)

    def start(self) -> None:
        self.sandbox.up()
        self.lead()

    def lead(self) -> None:
        self.place.lead(DATABASE_URL=self.sandbox.dsn(), REDIS_URL=self.sandbox.redis_url())

    def keep_postgres(self) -> None:
        """Copy the data folder of a server that is stopped, as a snapshot of a disk does."""
        self.stop_postgres()
        subprocess.run(["/bin/cp", "-a", self.data, self.kept], check=True)
        self.start()

    def set_postgres_back(self) -> None:
        self.stop_postgres()
        shutil.rmtree(self.data)
        self.kept.rename(self.data)
        self.start()

    def keep_redis(self) -> None:
        with self.client() as client:
            client.save()

    def set_redis_back(self) -> None:
        self.stop_redis()
        assert self.dump.exists()
        self.start()

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.sandbox.redis_url())

    def write(self, count: int) -> None:
        """Write payments as the application does: Postgres first, then Redis."""
        with (
            closing(psycopg.connect(self.sandbox.dsn(), autocommit=True)) as connection,
            self.client() as client,
        ):
            rows = connection.execute(
                "INSERT INTO processed_events (idempotency_key, endpoint, status, completed_at,"
                " created_at, expires_at) SELECT gen_random_uuid()::text, 'POST /v1/charges',"
                " 'completed', clock_timestamp() - interval '5 s',"
                " clock_timestamp() - interval '5 s', now() + interval '7 days'"
                " FROM generate_series(1, %s) RETURNING idempotency_key, fence, epoch",
                (count,),
            ).fetchall()
            for key, fence, epoch in rows:
                value = f'{{"key":"{key}","status":"completed","fence":{fence},"epoch":{epoch}}}'
                client.set(f"idem:{key}", value, ex=86_000)

    def ask(self, question: str) -> Any:
        with closing(psycopg.connect(self.sandbox.dsn(), autocommit=True)) as connection:
            row = connection.execute(question.encode()).fetchone()
        assert row is not None
        return row[0]

    def beat(self, count: int = 1) -> None:
        for _ in range(count):
            done = self.place.main(*BEAT, *ONE)
            assert done.status == 0, done.err + done.out

    def verdict(self) -> dict[str, Any]:
        done = self.place.main("store", "show", *ONE, "-o", "json")
        assert done.status == 0, done.err
        [item] = [one for one in done.document["items"] if one["code"] == "witness"]
        return dict(item["witness"])

    def _stop(self, name: str, how: signal.Signals) -> None:
        pid = getattr(self.sandbox.status(), name).pid
        os.kill(pid, how)
        await_that(
            lambda: not getattr(self.sandbox.status(), name).running, f"{name} is down", within=20
        )


@pytest.fixture(scope="module")
def own() -> Iterator[Sandbox]:
    home = Path(tempfile.mkdtemp(prefix="idemctl-test-", dir="/var/tmp"))
    home.chmod(0o755)
    sandbox = Sandbox(folder=home / "own")
    sandbox.up(durable=False)
    yield sandbox
    sandbox.down()
    shutil.rmtree(home)


@pytest.fixture
def servers(own: Sandbox, place: Place) -> Servers:
    made = Servers(own, place)
    shutil.rmtree(made.kept, ignore_errors=True)
    made.dump.unlink(missing_ok=True)
    with closing(psycopg.connect(own.dsn(), autocommit=True)) as connection:
        connection.execute("DROP SCHEMA IF EXISTS idemctl CASCADE")
    with made.client() as client:
        client.flushall()
    seed(dsn=own.dsn(), redis_url=own.redis_url(), records=1_500, seed=5, faults=False)
    with made.client() as client:
        client.config_resetstat()
    place.configure(CONFIGURATION)
    made.lead()
    return made


def test_a_flush_shows_and_is_over_when_redis_is_filled_again(servers: Servers) -> None:
    servers.beat(2)
    with servers.client() as client:
        client.flushall()
    verdict = servers.verdict()
    assert (verdict["verdict"], verdict["copies"]) == ("redis-flushed", "redis-missing")
    assert verdict["sample_says"]
    assert verdict["server_says"]
    assert verdict["missing_in_redis"] == {"asked": 200, "missing": 200}
    done = servers.place.main(*BEAT, *ONE)
    assert done.status == 3
    assert "next: idemctl reconcile --apply --store payments" in done.out
    assert servers.place.main("gc", "--apply", *ONE).status == 0
    assert servers.verdict()["verdict"] == "redis-flushed"
    done = servers.place.main("reconcile", "--apply", "--yes", *ONE)
    assert "witness" not in done.out
    assert done.status == 0, done.out + done.err
    assert servers.verdict()["verdict"] == "normal"


def test_an_old_file_of_redis_shows(servers: Servers) -> None:
    servers.beat()
    servers.keep_redis()
    servers.write(60)
    servers.beat(3)
    servers.set_redis_back()
    verdict = servers.verdict()
    assert (verdict["verdict"], verdict["copies"]) == ("redis-restored", "redis-behind")
    assert verdict["missing_in_redis"]["missing"] == 60
    assert servers.place.main(*BEAT, *ONE).status == 3
    assert servers.place.main("reconcile", "--apply", "--yes", *ONE).status == 0
    assert servers.verdict()["verdict"] == "normal"


def test_a_restart_that_lost_nothing_is_only_a_restart(servers: Servers) -> None:
    servers.beat(2)
    servers.keep_redis()
    servers.set_redis_back()
    assert servers.verdict()["verdict"] == "redis-restarted"
    servers.beat()
    assert servers.verdict()["verdict"] == "normal"


def test_postgres_that_went_back_in_time_is_frozen_until_somebody_accepts(
    servers: Servers,
) -> None:
    servers.beat()
    servers.keep_postgres()
    servers.write(60)
    highest = servers.ask("SELECT max(fence) FROM processed_events")
    servers.beat(2)
    servers.set_postgres_back()
    assert servers.ask("SELECT last_value FROM processed_events_fence") < highest
    verdict = servers.verdict()
    assert (verdict["verdict"], verdict["copies"]) == ("postgres-restored", "postgres-behind")
    assert verdict["missing_in_postgres"]["missing"] > 2
    rows = servers.ask("SELECT count(*) FROM processed_events")

    done = servers.place.main("gc", "--apply", *ONE)
    assert done.status == 5
    assert "Postgres went back in time (postgres-restored, by two signs)" in done.err
    assert "idemctl store accept --store payments" in done.err
    for words in (("gc", "--apply"), ("reconcile", "--apply", "--yes"), BEAT):
        done = servers.place.main(*words, *ONE)
        assert done.status == 5
        assert "Postgres went back in time: what it forgot may have been done" in done.err
    assert servers.ask("SELECT count(*) FROM processed_events") == rows
    assert servers.ask("SELECT count(*) FROM idemctl.idemctl_freeze") == 1

    done = servers.place.main("store", "accept", "--apply", "--confirm", "payments", *ONE)
    assert done.status == 0, done.err
    assert servers.verdict()["verdict"] == "normal"
    servers.write(1)
    assert servers.ask("SELECT max(fence) FROM processed_events") > highest
    assert servers.ask("SELECT max(epoch) FROM processed_events") == 2
    assert servers.place.main("gc", "--apply", *ONE).status == 0


def test_rows_that_were_put_back_show_though_the_server_never_stopped(servers: Servers) -> None:
    servers.beat()
    with closing(psycopg.connect(servers.sandbox.dsn(), autocommit=True)) as connection:
        connection.execute("CREATE TABLE kept_events AS TABLE processed_events")
        connection.execute("CREATE TABLE kept_witness AS TABLE idemctl.idemctl_witness")
        servers.write(200)
        servers.beat()
        # The application that wrote them may have settled two seconds ago.
        connection.execute(
            "BEGIN; TRUNCATE processed_events, idemctl.idemctl_witness;"
            "INSERT INTO processed_events TABLE kept_events;"
            "INSERT INTO idemctl.idemctl_witness TABLE kept_witness; COMMIT;"
            "DROP TABLE kept_events, kept_witness"
        )
    verdict = servers.verdict()
    assert (verdict["verdict"], verdict["server_says"]) == ("postgres-restored", False)
    assert verdict["sample_says"]


def test_a_row_that_was_set_back_by_hand_is_one_sign_and_no_restore(servers: Servers) -> None:
    """The control: every record is in both, and no server started since."""
    servers.beat(3)
    with closing(psycopg.connect(servers.sandbox.dsn(), autocommit=True)) as connection:
        connection.execute("UPDATE idemctl.idemctl_witness SET hb = 1")
    verdict = servers.verdict()
    assert (verdict["verdict"], verdict["copies"]) == ("unknown", "postgres-behind")
    assert servers.place.main("gc", "--apply", *ONE).status == 0
    assert servers.place.main(*BEAT, *ONE).status == 10
    assert servers.ask("SELECT count(*) FROM idemctl.idemctl_freeze") == 0


def test_both_that_went_back_show_by_the_third_copy_alone(servers: Servers) -> None:
    servers.beat()
    servers.keep_redis()
    servers.keep_postgres()
    servers.write(20)
    servers.beat(2)
    servers.set_redis_back()
    servers.set_postgres_back()
    verdict = servers.verdict()
    assert (verdict["verdict"], verdict["copies"]) == ("both-restored", "both-behind")
    assert servers.place.main("gc", "--apply", *ONE).status == 5
    # A host that saw nothing of it cannot know.
    shutil.rmtree(servers.place.state)
    assert servers.verdict()["verdict"] in {"normal", "redis-restarted"}


def test_a_promotion_that_lost_nothing_is_only_a_promotion(servers: Servers) -> None:
    servers.beat()
    for followed in follow(servers.sandbox):
        servers.beat()
        followed.await_standby()
        followed.standby.execute("SELECT pg_promote()")
        followed.standby.execute("CHECKPOINT")
        servers.place.lead(DATABASE_URL=followed.standby_dsn)
        assert servers.verdict()["verdict"] == "promoted"
        servers.beat()
        assert servers.verdict()["verdict"] == "normal"
        pid = int((servers.sandbox.folder / "standby" / "postmaster.pid").read_text().split()[0])
        break
    os.kill(pid, signal.SIGQUIT)

"""audit of a primary and of its standby, each on a server of its own."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql

from idemctl.checks import standbys
from idemctl.errors import ExitStatus
from idemctl.sandbox.seed import seed
from idemctl.sandbox.servers import Sandbox
from tests.cli.circumstances_upkeep import WAL
from tests.cli.places import PAYMENTS, await_that
from tests.cli.standbys import NAME, follow, one

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.places import Done, Place
    from tests.cli.standbys import Followed

OF_ITS_PRIMARY = {"dead-rows", "autovacuum-behind", "autovacuum-off", "vacuum-held-back"}


@pytest.fixture(scope="module")
def servers() -> Iterator[Followed]:
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


@pytest.fixture
def followed(servers: Followed, place: Place) -> Followed:
    """Both of them, level, and a place that knows the payments."""
    place.configure(PAYMENTS)
    servers.await_standby()
    return servers


def audit(place: Place, dsn: str) -> Done:
    place.lead(DATABASE_URL=dsn)
    done = place.main("audit", "--pace", "full", "-o", "json")
    assert done.document["errors"] == []
    return done


def found(place: Place, dsn: str) -> dict[str, str]:
    return {item["code"]: item["evidence"] for item in audit(place, dsn).document["items"]}


def blind(done: Done) -> dict[str, str]:
    (of_payments,) = done.summary["places"]
    return {item["code"]: item["why"] for item in of_payments["cannot_judge"]}


def write(followed: Followed) -> None:
    followed.primary.execute(
        "INSERT INTO processed_events (idempotency_key, endpoint, status, fingerprint,"
        " response_status, completed_at, expires_at)"
        " VALUES (%s, 'POST /v1/charges', 'completed', 'f', 200, now(), now() + interval '7 days')",
        (str(uuid.uuid4()),),
    )


def test_a_primary_with_a_standby_that_follows_is_well(followed: Followed, place: Place) -> None:
    assert one(followed.primary, "SELECT count(*) FROM pg_stat_replication") == 1
    assert found(place, followed.dsn) == {}


def test_a_standby_is_audited_as_one_and_what_writes_refuses(
    followed: Followed, place: Place
) -> None:
    done = audit(place, followed.standby_dsn)
    (item,) = done.document["items"]
    assert (done.status, item["code"], item["severity"]) == (0, "read-from-standby", "info")
    assert item["evidence"] == "this server is a standby, and shows all that it received"
    why = blind(done)
    assert {code: why[code] for code in OF_ITS_PRIMARY} == dict.fromkeys(
        OF_ITS_PRIMARY, "this server is a standby, and its primary vacuums"
    )
    assert "standby-behind" not in why
    refused = place.main("gc", "--apply", "--store", "payments")
    assert refused.status == ExitStatus.REFUSED, refused.err
    assert refused.err.startswith(
        "idemctl gc: postgres public.processed_events: this server is a replica"
    )


def test_an_idle_primary_leaves_no_standby_behind(
    followed: Followed, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standbys, "BEHIND_FOR", timedelta(0))
    assert list(found(place, followed.standby_dsn)) == ["read-from-standby"]


def test_a_standby_that_stands_still_is_seen_from_both_ends(
    followed: Followed, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(followed)
    followed.await_standby()
    followed.standby.execute("SELECT pg_wal_replay_pause()")
    try:
        write(followed)
        followed.primary.execute(WAL.encode())
        await_that(lambda: "standby-behind" in found(place, followed.dsn), "the lag is told")
        said = found(place, followed.dsn)["standby-behind"]
        assert said.startswith(f"{NAME} (async) is 6")
        assert "MiB" in said
        near = found(place, followed.standby_dsn)
        assert list(near) == ["read-from-standby"]  # A second is no lag.
        monkeypatch.setattr(standbys, "BEHIND_FOR", timedelta(0))
        late = found(place, followed.standby_dsn)
        assert late["standby-behind"].endswith("old, and replay is paused")
        assert late["read-from-standby"].endswith("shows less than it received")
    finally:
        followed.standby.execute("SELECT pg_wal_replay_resume()")
    monkeypatch.undo()
    followed.await_standby()


@pytest.fixture
def stranger(followed: Followed) -> Iterator[str]:
    """Somebody who may read the tables and nothing else."""
    role = sql.Identifier("stranger")
    followed.primary.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'w'").format(role))
    followed.primary.execute(
        sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {}").format(role)
    )
    yield psycopg.conninfo.make_conninfo(followed.dsn, user="stranger", password="w")
    followed.primary.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(role))


def test_of_what_a_stranger_may_not_see_nothing_is_said(
    followed: Followed, place: Place, stranger: str
) -> None:
    done = audit(place, stranger)
    assert done.document["items"] == []
    assert blind(done) == {
        "vacuum-held-back": "1 sessions show nothing to this user; GRANT pg_read_all_stats to it",
        "standby-behind": "1 standbys show nothing to this user; GRANT pg_read_all_stats to it",
    }
    followed.primary.execute("GRANT pg_read_all_stats TO stranger")
    assert blind(audit(place, stranger)) == {}


def test_row_level_security_is_named_and_nothing_is_judged(
    followed: Followed, place: Place, stranger: str
) -> None:
    followed.primary.execute("ALTER TABLE processed_events ENABLE ROW LEVEL SECURITY")
    try:
        place.lead(DATABASE_URL=stranger)
        done = place.main("audit", "--pace", "full", "-o", "json")
    finally:
        followed.primary.execute("ALTER TABLE processed_events DISABLE ROW LEVEL SECURITY")
    why = (
        "postgres public.processed_events: cannot judge: row-level security on "
        "public.processed_events is active for stranger"
    )
    (error,) = done.document["errors"]
    assert (done.status, error["message"], done.document["items"]) == (10, why, [])
    assert {blind(done)[code] for code in ("identity-not-unique", "identity-repeated")} == {why}


def test_an_archive_that_refuses_is_told_until_it_takes_again(
    followed: Followed, place: Place
) -> None:
    def archive_by(command: str) -> None:
        followed.primary.execute(
            sql.SQL("ALTER SYSTEM SET archive_command = {}").format(sql.Literal(command))
        )
        followed.primary.execute("SELECT pg_reload_conf()")
        write(followed)
        followed.primary.execute("SELECT pg_switch_wal()")

    archive_by("false")
    failing = "SELECT last_failed_time > coalesce(last_archived_time, '-infinity')"
    await_that(
        lambda: one(followed.primary, f"{failing} FROM pg_stat_archiver"),
        "archiving fails",
        within=30,
    )
    said = found(place, followed.dsn)
    assert list(said) == ["archiver-failing"]
    assert said["archiver-failing"].startswith("archiving 0000000100000000")
    archive_by("true")
    await_that(
        lambda: not one(followed.primary, f"{failing} FROM pg_stat_archiver"),
        "archiving goes on",
        within=90,
    )
    assert found(place, followed.dsn) == {}

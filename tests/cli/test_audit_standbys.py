"""audit of a primary and of its standby, each on a server of its own."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql

from idemctl.checks import standbys
from idemctl.errors import ExitStatus
from idemctl.run import fitness
from tests.cli.circumstances_upkeep import WAL
from tests.cli.places import PAYMENTS, await_that
from tests.cli.standbys import NAME, followed_servers, one

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.places import Done, Place
    from tests.cli.standbys import Followed

NOWHERE = "postgresql://idemctl@127.0.0.1:1/idemctl"
REPLICATED = """\
version: 1
stores:
  payments:
    postgres: {dsn_env: DATABASE_URL, layout: reference, table: public.processed_events}
    redis: {url_env: REDIS_URL, layout: reference, prefix: "idem:", ttl: 24h}
    ttl: 7d
    replicas: {postgres: [{dsn_env: PG_EU, region: eu}]}
"""
OF_ITS_PRIMARY = {"dead-rows", "autovacuum-behind", "autovacuum-off", "vacuum-held-back"}


@pytest.fixture(scope="module")
def servers() -> Iterator[Followed]:
    yield from followed_servers()


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


def test_a_standby_that_is_named_and_not_there_is_missed(followed: Followed, place: Place) -> None:
    place.lead(PG_EU=followed.standby_dsn, REDIS_URL=followed.redis_url)
    place.configure(REPLICATED)
    assert "standby-missing" not in found(place, followed.dsn)
    place.configure(REPLICATED.replace("region: eu}", "region: eu}, {dsn_env: PG_US}"))
    assert found(place, followed.dsn)["standby-missing"] == "1 of 2 standbys are connected"


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
        assert "shows less than it received; its last transaction is " in late["read-from-standby"]
    finally:
        followed.standby.execute("SELECT pg_wal_replay_resume()")
    monkeypatch.undo()
    followed.await_standby()


@pytest.fixture
def replicated(followed: Followed, place: Place) -> Place:
    """A place whose pair names the standby as its replica, and whose primary is out of reach."""
    place.configure(REPLICATED)
    place.lead(DATABASE_URL=NOWHERE, PG_EU=followed.standby_dsn, REDIS_URL=followed.redis_url)
    return place


def from_replica(place: Place, verb: str) -> Done:
    return place.main(verb, "--read-replica", "--pace", "full", "-o", "json")


def verdicts(done: Done) -> list[Any]:
    return [item["code"] for item in done.document["items"]]


def test_audit_reads_the_replica_and_judges_nothing_that_needs_the_primary(
    replicated: Place,
) -> None:
    done = from_replica(replicated, "audit")
    assert done.document["errors"] == []
    rows, keys = done.summary["places"]
    assert (rows["side"], rows["seen"] > 0, keys["seen"] > 0) == ("postgres", True, True)
    items = [(item["code"], item["side"]) for item in done.document["items"]]
    assert ("read-from-standby", "postgres") in items
    why = {item["code"]: item["why"] for item in rows["cannot_judge"]}
    assert set(why) >= OF_ITS_PRIMARY
    of_twins = {"missing", "orphan", "stale", "divergent"}
    behind = "this server is a replica, and may be behind"
    assert all(
        behind in one["why"]
        for side in (rows, keys)
        for one in side["cannot_judge"]
        if one["code"] in of_twins
    )
    assert of_twins <= {one["code"] for side in (rows, keys) for one in side["cannot_judge"]}
    assert "warning: Rows of payments are read from a replica (PG_EU, eu).\n" in done.err
    # Without the option the replica is none of its business.
    assert replicated.main("audit").status == ExitStatus.UNREACHABLE


def test_a_replica_that_follows_nobody_is_not_read(followed: Followed, replicated: Place) -> None:
    replicated.lead(PG_EU=followed.dsn)
    for verb in ("audit", "diagnose"):
        done = from_replica(replicated, verb)
        assert done.status == ExitStatus.UNREACHABLE
        [error] = done.document["errors"]
        assert error["message"] == (
            "postgres public.processed_events: cannot judge: this server is no standby, and is "
            "configured as a replica"
        )


def test_diagnose_reads_a_replica_that_is_level_and_none_that_is_behind(
    followed: Followed, replicated: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = from_replica(replicated, "diagnose")
    replicated.lead(DATABASE_URL=followed.dsn)
    of_primary = replicated.main("diagnose", "--pace", "full", "-o", "json")
    replicated.lead(DATABASE_URL=NOWHERE)
    assert of_primary.document["errors"] == done.document["errors"] == []
    assert verdicts(done) == verdicts(of_primary) != []
    assert "warning: Rows of payments are read from a replica (PG_EU, eu).\n" in done.err
    followed.standby.execute("SELECT pg_wal_replay_pause()")
    try:
        write(followed)
        followed.primary.execute(WAL.encode())
        # It is a second behind, which is no more than a minute.
        assert verdicts(from_replica(replicated, "diagnose")) == verdicts(done)
        monkeypatch.setattr(fitness, "_MOST_LAG", timedelta(0))
        late = from_replica(replicated, "diagnose")
    finally:
        followed.standby.execute("SELECT pg_wal_replay_resume()")
    assert late.status == ExitStatus.UNREACHABLE
    [error] = late.document["errors"]
    assert "shows less than its primary of a minute ago" in error["message"]


def test_whoever_names_no_replica_is_told_how(followed: Followed, place: Place) -> None:
    place.lead(DATABASE_URL=followed.dsn)
    done = from_replica(place, "audit")
    assert done.status == ExitStatus.CONFIG
    assert done.err == (
        "idemctl audit: idemctl.yaml:3:3: store 'payments' names no replica of its Postgres\n"
        "  add replicas: {postgres: [{dsn_env: NAME}]} to the store\n"
    )


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


def test_doctor_does_not_judge_what_a_standby_shows(place: Place, followed: Followed) -> None:
    place.lead(DATABASE_URL=followed.standby_dsn)
    done = place.main("doctor", "-o", "json")
    assert done.status == 0
    items = done.document["items"]
    [role] = [item for item in items if item["code"] == "role"]
    assert (role["status"], role["fix"]) == ("cannot judge", "let DATABASE_URL lead to the primary")
    assert role["says"].startswith("a replica, which may be behind")
    # The rights are those of the primary, and the records are there.
    assert {item["status"] for item in items if item is not role} == {"ok"}
    # The control: on the primary there is nothing that is not judged.
    place.lead(DATABASE_URL=followed.dsn)
    assert place.main("doctor", "-o", "json").summary["cannot_judge"] == 0
    # What doctor foretells: gc refuses there.
    place.lead(DATABASE_URL=followed.standby_dsn)
    assert place.main("gc", "--apply", "-o", "json").status == 5

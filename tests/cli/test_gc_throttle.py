"""gc beside a server that has other work, and standbys that are behind, gone or invisible."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql

from tests.cli.circumstances_upkeep import WAL
from tests.cli.places import await_that
from tests.cli.standbys import NAME, followed_servers, one

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.places import Done, Place
    from tests.cli.standbys import Followed

CONFIGURATION = """\
version: 1
stores:
  payments:
    postgres: {dsn_env: DATABASE_URL, layout: reference, table: public.processed_events}
    ttl: 7d
    replicas: {postgres: [{dsn_env: PG_EU}]}
    throttle: {longest_wait: 1s}
"""
GC = ("gc", "--apply", "--store", "payments", "--pace", "full", "--limit", "2")
LEFT = "SELECT count(*) FROM processed_events WHERE expires_at < now()"


@pytest.fixture(scope="module")
def servers() -> Iterator[Followed]:
    yield from followed_servers()


@pytest.fixture
def followed(servers: Followed, place: Place) -> Followed:
    """Both of them, level, with some records that have expired."""
    configure(place)
    place.lead(DATABASE_URL=servers.dsn)
    servers.primary.execute(
        "DELETE FROM processed_events WHERE idempotency_key LIKE 'old-%';"
        "INSERT INTO processed_events (idempotency_key, status, completed_at, expires_at)"
        " SELECT 'old-' || n, 'completed', now() - interval '8 days', now() - interval '1 hour'"
        " FROM generate_series(1, 20) n"
    )
    servers.await_standby()
    return servers


def configure(place: Place, throttle: str = "longest_wait: 1s", **changes: str) -> None:
    text = CONFIGURATION.replace("longest_wait: 1s", throttle)
    for said, instead in changes.items():
        text = text.replace(said, instead)
    place.configure(text)


def collect(place: Place) -> Done:
    done = place.main(*GC, "-o", "json")
    assert done.document["errors"] == []
    return done


def waits(place: Place, followed: Followed, strain: str, says: str) -> None:
    """See that gc takes nothing, says why on both streams, ends in time and wakes nobody."""
    before = one(followed.primary, LEFT)
    done = collect(place)
    [store] = done.summary["stores"]
    told: list[dict[str, Any]] = [each for each in store["waited_for"] if each["strain"] == strain]
    assert [says in each["says"] for each in told] == [True]
    assert (store["why_stopped"], store["deleted"]) == ("throttled", 0)
    assert 1.0 <= store["waited_s"] < 10
    assert done.err.count("idemctl gc: waiting: ") == len(store["waited_for"])
    assert done.status == 0
    assert one(followed.primary, LEFT) == before


def goes_on(place: Place) -> None:
    [store] = collect(place).summary["stores"]
    assert (store["deleted"], store["waited_for"]) == (2, [])


def test_a_standby_that_is_paused_is_waited_for(followed: Followed, place: Place) -> None:
    configure(place, "longest_wait: 1s, lag_bytes: 1048576")
    goes_on(place)
    followed.standby.execute("SELECT pg_wal_replay_pause()")
    try:
        followed.primary.execute(WAL.encode())
        waits(place, followed, "standbys", f"standby {NAME} is ")
        line = place.main(*GC)
        assert "gc: waiting: standby" in line.err
        assert "stopped early (throttled); run again to go on" in line.out
    finally:
        followed.standby.execute("SELECT pg_wal_replay_resume()")
    followed.await_standby()
    goes_on(place)


def test_a_standby_that_comes_back_lets_a_run_go_on(followed: Followed, place: Place) -> None:
    configure(place, "longest_wait: 30s, lag_bytes: 1048576")
    followed.standby.execute("SELECT pg_wal_replay_pause()")
    followed.primary.execute(WAL.encode())
    process = place.start(*GC, "-o", "json")
    await_that(lambda: any(event["event"] == "wait" for event in place.journal()), "the run waits")
    followed.standby.execute("SELECT pg_wal_replay_resume()")
    done = place.end(process)
    [store] = done.summary["stores"]
    assert (store["deleted"], store["why_stopped"]) == (2, "limit")
    assert store["waited_s"] > 0


def test_a_standby_that_is_not_there_is_waited_for(followed: Followed, place: Place) -> None:
    configure(place, **{"[{dsn_env: PG_EU}]": "[{dsn_env: PG_EU}, {dsn_env: PG_US}]"})
    waits(place, followed, "standbys", "1 of 2 standbys are connected")


@pytest.fixture
def collector(followed: Followed) -> Iterator[str]:
    """Somebody who may collect, and sees nothing of what others do."""
    role = sql.Identifier("collector")
    rights = "SELECT, UPDATE, DELETE"
    followed.primary.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'w'").format(role))
    followed.primary.execute(
        sql.SQL("GRANT {} ON ALL TABLES IN SCHEMA public TO {}").format(sql.SQL(rights), role)
    )
    yield psycopg.conninfo.make_conninfo(followed.dsn, user="collector", password="w")
    followed.primary.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(role))


def test_who_sees_no_standby_and_no_session_waits_until_the_right_is_granted(
    followed: Followed, place: Place, collector: str
) -> None:
    place.lead(DATABASE_URL=collector)
    says = "1 standbys show nothing to this user; GRANT pg_read_all_stats to it"
    waits(place, followed, "standbys", says)
    followed.primary.execute("GRANT pg_read_all_stats TO collector")
    goes_on(place)
    followed.primary.execute("REVOKE pg_read_all_stats FROM collector")
    # Or until the operator says that it is none of gc's business.
    configure(place, "longest_wait: 1s, wait_for: [wal]")
    goes_on(place)


def test_an_old_snapshot_is_waited_for_and_named(followed: Followed, place: Place) -> None:
    configure(place, "longest_wait: 1s, snapshot_age: 1s")
    with closing(psycopg.connect(followed.dsn, application_name="reporter")) as session:
        session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        session.execute("SELECT count(*) FROM processed_events")
        age = (
            "SELECT clock_timestamp() - xact_start > interval '1.6 s' FROM pg_stat_activity"
            " WHERE application_name = 'reporter'"
        )
        await_that(lambda: one(followed.primary, age), "the snapshot is old enough")
        waits(place, followed, "snapshots", "(reporter), idle in transaction keeps dead rows")
    goes_on(place)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELECT count(*) > 0 FROM processed_events", "throttle.query says so"),
        ("SELECT NULL::boolean", "throttle.query does not answer: it has to give one row with one"),
        ("SELECT true WHERE false", "it has to give one row with one boolean"),
        ("SELECT 1", "it has to give one row with one boolean"),
        ("SELECT FROM nowhere", 'relation "nowhere" does not exist'),
        ("DELETE FROM processed_events RETURNING true", "read-only transaction"),
        ("SELECT pg_sleep(5) IS NULL", "throttle.query does not answer: "),
    ],
)
def test_the_operators_query_is_heeded_and_in_doubt_too(
    followed: Followed, place: Place, query: str, says: str
) -> None:
    configure(place, f"longest_wait: 1s, query: {query!r}")
    waits(place, followed, "query", says)


def test_a_query_that_sees_no_reason_to_wait_lets_gc_go_on(
    followed: Followed, place: Place
) -> None:
    del followed
    configure(place, "query: SELECT count(*) < 0 FROM processed_events")
    goes_on(place)


def test_a_stop_file_ends_gc_before_its_first_batch(followed: Followed, place: Place) -> None:
    stop = place.folder / "stop"
    configure(place, f"stop_file: {stop}")
    goes_on(place)
    stop.touch()
    before = one(followed.primary, LEFT)
    done = collect(place)
    [store] = done.summary["stores"]
    assert (done.status, store["why_stopped"], store["deleted"]) == (0, "stop-file", 0)
    assert one(followed.primary, LEFT) == before

"""What is wrong with a place is a line of doctor's, the right one, and nothing else is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import redis

from idemctl.sandbox.configuration import CONFIGURATION
from idemctl.sandbox.seed import seed
from tests.cli.places import PAYMENTS
from tests.stores.redis.servers import as_user, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg

    from tests.cli.places import Done, Place

_PAIR = """\
version: 1
stores:
  payments:
    postgres: {dsn_env: DATABASE_URL, layout: reference, table: public.processed_events}
    redis: {url_env: REDIS_URL, layout: reference, prefix: "idem:", ttl: 24h}
    write_order: postgres-first
    ttl: 7d
"""


@pytest.fixture
def pair(place: Place, dsn: str, redis_url: str) -> Place:
    """A place that leads to a healthy pair."""
    seed(dsn=dsn, redis_url=redis_url, records=300, seed=5, faults=False)
    place.configure(_PAIR)
    place.lead(DATABASE_URL=dsn, REDIS_URL=redis_url)
    return place


@pytest.fixture
def bob(pair: Place, redis_url: str) -> Iterator[redis.Redis]:
    """A user who may do all, until a test says otherwise; give an administrator's client."""
    with redis.Redis.from_url(redis_url) as client:
        say(client, "ACL", "SETUSER", "bob", "on", ">x", "~*", "+@all")
        pair.lead(REDIS_URL=as_user(redis_url, "bob"))
        yield client
        client.acl_deluser("bob")


def doctor(place: Place, *words: str) -> Done:
    return place.main("doctor", "-o", "json", *words)


def odd(done: Done) -> list[tuple[str, str, str]]:
    """List what is not well, but for what was not looked at."""
    return [
        (item["code"], item["status"], item["says"])
        for item in done.document["items"]
        if item["status"] not in {"ok", "not looked at"}
    ]


def test_a_variable_that_is_not_set_is_a_line_and_the_other_side_is_looked_at(
    pair: Place,
) -> None:
    pair.lead(REDIS_URL="")
    done = doctor(pair)
    assert done.status == 78
    assert odd(done) == [
        (
            "configuration",
            "config",
            (
                "idemctl.yaml:5:13: store 'payments' needs the environment variable REDIS_URL, "
                "which is not set"
            ),
        )
    ]
    codes = [item["code"] for item in done.document["items"] if item["server"] == "DATABASE_URL"]
    assert codes[-1] == "records"
    # Roles are not made up for what cannot be asked.
    assert pair.main("doctor", "--grants", "-o", "json").status == 78


def test_a_layout_that_is_not_there_is_a_line(pair: Place) -> None:
    pair.configure(_PAIR.replace("REDIS_URL, layout: reference", "REDIS_URL, layout: refrence"))
    done = doctor(pair)
    assert done.status == 78
    [(code, status, says)] = odd(done)
    assert (code, status) == ("configuration", "config")
    assert says.endswith("there is no layout refrence; did you mean reference?")


def test_a_table_that_is_not_there_is_a_line(pair: Place) -> None:
    pair.configure(_PAIR.replace("public.processed_events", "public.processed_event"))
    done = doctor(pair)
    assert done.status == 78
    [(code, status, says)] = odd(done)
    assert (code, status) == ("place", "config")
    assert "there is no table public.processed_event in this database" in says
    # Where there is one side, there are no clocks to compare.
    assert "clock" not in {item["code"] for item in done.document["items"]}


def test_a_prefix_that_nothing_has_is_not_judged(pair: Place) -> None:
    pair.configure(_PAIR.replace('"idem:"', '"idempotency:"'))
    done = doctor(pair)
    assert (done.status, done.summary["cannot_judge"]) == (0, 1)
    [(code, status, says)] = odd(done)
    assert (code, status) == ("records", "cannot judge")
    assert says.startswith("none was found")


def test_records_of_another_layout_are_found_out(pair: Place, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        for name in client.keys("idem:*"):
            client.set(name, b"\xff\x00not json", ex=1000)
    done = doctor(pair)
    assert done.status == 3
    [(code, status, _)] = odd(done)
    assert (code, status) == ("records", "findings")


def test_a_layout_that_nobody_tried_is_not_judged_and_the_command_is_named(pair: Place) -> None:
    pair.configure(
        "version: 1\nstores:\n  theirs:\n    redis: {layout: express-idempotency, prefix: x}\n"
    )
    done = doctor(pair)
    [line] = [item for item in done.document["items"] if item["code"] == "layout"]
    assert line["status"] == "cannot judge"
    assert "was read from the source of its library" in line["says"]
    assert line["fix"] == "idemctl layout check express-idempotency --live --store theirs"


@pytest.mark.parametrize(
    ("rules", "missing"),
    [
        (("-info",), ["INFO"]),
        (("-scan",), ["SCAN"]),
        (("-getrange",), ["GETRANGE"]),
        (("-set",), ["SET"]),
        (("-eval",), ["EVAL"]),
        (("-time", "-dbsize"), ["TIME", "DBSIZE"]),
    ],
)
def test_each_right_that_is_missing_in_redis_is_a_line_with_its_rule(
    pair: Place, bob: redis.Redis, rules: tuple[str, ...], missing: list[str]
) -> None:
    assert doctor(pair).status == 0
    say(bob, "ACL", "SETUSER", "bob", *rules)
    done = doctor(pair)
    assert done.status == 12
    lines = [item for item in done.document["items"] if item["status"] == "denied"]
    assert [line["says"].split(" for ")[0] for line in lines] == missing
    for line in lines:
        assert line["code"] == "rights"
        say(bob, *line["fix"].split())
    # The control: the rules help.
    assert doctor(pair).status == 0


def test_without_config_nothing_is_wrong_and_the_reason_is_told(
    pair: Place, bob: redis.Redis
) -> None:
    say(bob, "ACL", "SETUSER", "bob", "-config")
    done = doctor(pair)
    assert done.status == 0
    assert odd(done) == [
        ("rights", "cannot judge", "CONFIG GET for all that audit can see: missing")
    ]
    [fix] = [item["fix"] for item in done.document["items"] if item["fix"]]
    say(bob, *fix.split())
    assert odd(doctor(pair)) == []


def test_without_a_look_at_sessions_only_gc_lacks_something(
    pair: Place, dsn: str, admin: psycopg.Connection[Any]
) -> None:
    """The sandbox's own role sees them all: here it does not."""
    assert odd(doctor(pair)) == []
    admin.execute("REVOKE pg_read_all_stats, pg_monitor FROM idemctl")
    held = admin.execute(
        "SELECT r.rolname FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid"
        " JOIN pg_roles u ON u.oid = m.member WHERE u.rolname = 'idemctl'"
    ).fetchall()
    try:
        done = doctor(pair)
        assert done.status == 12, held
        says = "pg_read_all_stats for all that audit can see, gc --apply: missing"
        assert odd(done) == [("rights", "denied", says)]
        # Who only reads lacks nothing but the sight of it.
        done = doctor(pair, "--role", "reading")
        assert done.status == 0
        says = "pg_read_all_stats for all that audit can see: missing"
        assert odd(done) == [("rights", "cannot judge", says)]
    finally:
        admin.execute("GRANT pg_read_all_stats TO idemctl")
    assert odd(doctor(pair)) == []


def test_a_wrong_password_is_the_only_thing_that_is_wrong(pair: Place, dsn: str) -> None:
    place = urlsplit(dsn)
    pair.lead(
        DATABASE_URL=place._replace(netloc=f"idemctl:hunter2@127.0.0.1:{place.port}").geturl()
    )
    done = doctor(pair)
    assert (done.status, "hunter2" in done.out + done.err) == (12, False)
    [(code, status, _)] = odd(done)
    assert (code, status) == ("login", "denied")
    left = [item["code"] for item in done.document["items"] if item["status"] == "not looked at"]
    assert left == ["version", "role", "pooler", "place"]


def test_it_writes_nothing_anywhere(
    place: Place, dsn: str, redis_url: str, connection: psycopg.Connection[Any]
) -> None:
    seed(dsn=dsn, redis_url=redis_url, records=300, seed=5, faults=False)
    place.configure(CONFIGURATION)
    place.lead(DATABASE_URL=dsn, REDIS_URL=redis_url)
    tables = (
        "SELECT relname, pg_relation_size(relid), n_tup_ins, n_tup_upd, n_tup_del"
        " FROM pg_stat_user_tables ORDER BY 1"
    )

    with redis.Redis.from_url(redis_url) as client:

        def state() -> tuple[Any, ...]:
            connection.execute("SELECT pg_stat_force_next_flush()")
            values = {name: client.dump(name) for name in sorted(client.keys())}
            return connection.execute(tables.encode()).fetchall(), values

        before = state()
        changes = client.info("persistence")["rdb_changes_since_last_save"]
        for words in ((), ("--grants",), ("--role", "reading")):
            assert place.main("doctor", *words).status == 0
        assert state() == before
        assert client.info("persistence")["rdb_changes_since_last_save"] == changes
        # The control: this is how a change is seen.
        client.set("x", "1")
        assert client.info("persistence")["rdb_changes_since_last_save"] == changes + 1
    assert not place.state.exists()


def test_nagios_and_quiet_say_what_there_is_to_say(pair: Place) -> None:
    done = pair.main("doctor", "-o", "nagios")
    assert done.status == 0
    assert done.out.startswith("IDEMCTL OK - nothing must be put right in ")
    assert pair.main("doctor", "-q").out == ""
    pair.configure(PAYMENTS)
    pair.lead(DATABASE_URL="postgresql://u@127.0.0.1:1/x")
    done = pair.main("doctor", "-o", "nagios")
    assert done.status == 3
    assert "not_looked_at=6" in done.out

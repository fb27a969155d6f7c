"""schema at the command line: what it prints builds what it says."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import redis

from idemctl.sandbox.binaries import find_postgres
from idemctl.sandbox.seed import seed

if TYPE_CHECKING:
    import psycopg

    from tests.cli.places import Place


def piped(place: Place, dsn: str, *what: str) -> subprocess.CompletedProcess[str]:
    """Send what `idemctl schema` prints through psql, as a person does."""
    text = "".join(place.call("schema", one).out for one in what)
    psql = find_postgres(None) / "psql"
    return subprocess.run(
        [psql, "--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--quiet", dsn],
        input=text,
        env=place.environ,
        check=False,
        capture_output=True,
        text=True,
    )


def test_own_then_postgres_build_an_empty_database_and_may_be_run_again(
    place: Place, dsn: str, connection: psycopg.Connection[tuple[Any, ...]]
) -> None:
    for _ in range(2):
        for what in ("own", "postgres"):
            done = piped(place, dsn, what)
            assert (done.returncode, done.stdout) == (0, ""), done.stderr
        connection.execute(
            "INSERT INTO processed_events (idempotency_key, status, expires_at)"
            " VALUES ('evt', 'completed', now()) ON CONFLICT DO NOTHING"
        )

    rows = connection.execute("SELECT idempotency_key, epoch FROM processed_events").fetchall()
    tables = connection.execute(
        "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    ).fetchone()
    assert (rows, tables) == ([("evt", 1)], (6,))


def test_postgres_alone_fails_for_want_of_idemctls_own(place: Place, dsn: str) -> None:
    done = piped(place, dsn, "postgres")
    assert done.returncode != 0
    assert "idemctl_epoch" in done.stderr


@pytest.mark.parametrize("what", ["own", "postgres", "redis", "layout", "policy"])
def test_the_envelope_carries_the_same_text(place: Place, what: str) -> None:
    bare = place.main("schema", what)
    document = place.main("schema", what, "-o", "json").document
    assert (bare.status, bare.err, document["exit"]) == (0, "", 0)
    assert document["schema"] == f"idemctl/schema-{what}/v1"
    assert document["items"] == [{"code": "schema", "what": what, "text": bare.out}]
    assert not place.state.exists()


def test_the_settings_are_a_configuration_that_the_server_takes(
    place: Place, redis_url: str
) -> None:
    text = place.main("schema", "redis").out
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    settings = dict(line.split() for line in lines)
    assert settings == {
        "maxmemory-policy": "noeviction",
        "maxmemory": "1gb",
        "appendonly": "yes",
        "appendfsync": "everysec",
    }
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        known = client.config_get(*settings)
        assert set(known) == set(settings)
        assert known["maxmemory-policy"] == "noeviction"


def test_the_members_are_those_that_the_application_writes(
    place: Place, dsn: str, redis_url: str
) -> None:
    text = place.main("schema", "redis").out
    _, members = text.split("# member ")
    rows = [line.split(maxsplit=2) for line in members.partition("\n\n")[0].splitlines()[1:]]
    told = {row[1]: row[2] for row in rows}

    seed(dsn=dsn, redis_url=redis_url, records=200, seed=3, faults=False)
    with redis.Redis.from_url(redis_url) as client:
        twins = [json.loads(client.get(name) or b"") for name in client.scan_iter("idem:*")]

    assert twins
    kinds = {str: "text", int: "number", dict: "object", type(None): "null"}
    for twin in twins:
        assert list(twin) == list(told)
        for name, value in twin.items():
            assert kinds[type(value)] in told[name].split("  ")[0].split(" or ")

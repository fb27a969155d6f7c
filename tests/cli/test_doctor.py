"""doctor and store show on a real sandbox, with and without what they need."""

from __future__ import annotations

import shlex
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from psycopg import sql

from idemctl.sandbox.configuration import CONFIGURATION
from idemctl.sandbox.seed import seed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.sandbox.servers import Sandbox
    from tests.cli.conftest import Databases
    from tests.cli.places import Database, Place

SIDES = [
    ("payments", "postgres public.processed_events"),
    ("payments", "redis idem:*"),
    ("webhooks", "postgres public.seen_events"),
    ("webhooks", "redis seen:*"),
    ("messages", "redis path:*"),
    ("deliveries", "redis body:*"),
    ("workflows", "postgres public.workflow_runs"),
    ("outbox", "postgres public.outbox_events"),
]


COLUMNS = {
    "processed_events": "expires_at",
    "seen_events": "created_at",
    "workflow_runs": "finished_at",
    "outbox_events": "dispatched_at",
}
"""What each layout's rows expire by."""


@pytest.fixture
def whole(place: Place, dsn: str, redis_url: str) -> Place:
    """A place that leads to a sandbox with all six patterns."""
    seed(dsn=dsn, redis_url=redis_url, records=500, seed=5, faults=False)
    place.configure(CONFIGURATION)
    place.lead(DATABASE_URL=dsn, REDIS_URL=redis_url)
    return place


def test_a_healthy_sandbox_is_well_in_every_line(whole: Place) -> None:
    done = whole.main("doctor", "-o", "json")
    assert (done.status, done.err) == (0, "")
    items = done.document["items"]
    assert {item["status"] for item in items} == {"ok"}
    assert done.summary == {
        "looked_at": len(items), "wrong": 0, "cannot_judge": 0, "not_looked_at": 0,
    }  # fmt: skip
    places = [(one["store"], one["says"].split(",")[0]) for one in items if one["code"] == "place"]
    assert sorted(places) == sorted(SIDES)
    assert items[0]["says"] == f"{whole.folder}/idemctl.yaml (current folder)"
    assert items[1]["says"] == f"{whole.state} (environment IDEMCTL_STATE)"


def test_the_lines_come_in_the_order_in_which_one_thing_needs_the_other(whole: Place) -> None:
    items = whole.main("doctor", "-o", "json", "--store", "payments").document["items"]
    assert [item["code"] for item in items if not item["server"]] == [
        "configuration", "state", "settings", "settings", "settings",
        "terminal", "locale", "cron", "clock",
    ]  # fmt: skip
    rights = ["rights"] * 4
    side = ["place", *rights, "layout", "records"]
    way = ["name", "tcp", "tls", "login", "version"]
    by_server = {
        server: [item["code"] for item in items if item["server"] == server]
        for server in ("DATABASE_URL", "REDIS_URL")
    }
    assert by_server == {
        # Witness and freeze take rights of their own, on both servers.
        "DATABASE_URL": [*way, "role", "pooler", *side, *rights],
        "REDIS_URL": [*way, "answers", "role", "eviction", *side, *rights],
    }
    assert all(item["took_ms"] > 0 for item in items if item["code"] in {"tcp", "login", "place"})


def test_each_value_that_counts_is_told_with_its_origin(whole: Place) -> None:
    items = whole.main("doctor", "-o", "json", "--store", "payments").document["items"]
    assert [item["says"] for item in items if item["code"] == "settings"] == [
        (
            "postgres: dsn_env DATABASE_URL (idemctl.yaml:4:16), layout reference "
            "(idemctl.yaml:4:39), table public.processed_events (idemctl.yaml:4:58)"
        ),
        (
            "redis: url_env REDIS_URL (idemctl.yaml:5:13), layout reference (idemctl.yaml:5:33), "
            "prefix idem: (idemctl.yaml:5:52), ttl 1d (idemctl.yaml:5:69)"
        ),
        (
            "ttl 7d (idemctl.yaml:8:5), write_order postgres-first (idemctl.yaml:6:5), "
            "on_redis_miss postgres (idemctl.yaml:7:5)"
        ),
    ]


def test_what_cron_needs_is_told_and_enough(whole: Place) -> None:
    items = whole.main("doctor", "-o", "json", "--store", "payments").document["items"]
    [cron] = [item["says"] for item in items if item["code"] == "cron"]
    program, _, options = cron.partition("so write ")[2].partition(";")[0].partition(" with ")
    assert options == f"--config {whole.folder}/idemctl.yaml"
    names = cron.partition("; set ")[2].partition(" in the crontab")[0].split(", ")
    assert set(names) == {"DATABASE_URL", "REDIS_URL", "IDEMCTL_STATE"}
    bare = {"HOME": "/", "PATH": "/usr/bin:/bin", "PYTHONPATH": whole.environ["PYTHONPATH"]}
    words = shlex.split(f"{program} doctor --store payments -o json {options}")
    bare |= {name: whole.environ[name] for name in names}
    done = subprocess.run(words, cwd="/", env=bare, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    # The control: without one of them it is not.
    del bare["REDIS_URL"]
    done = subprocess.run(words, cwd="/", env=bare, capture_output=True, text=True, check=False)
    assert done.returncode == 78


def test_clocks_are_compared_where_a_store_has_two_sides(whole: Place) -> None:
    items = whole.main("doctor", "-o", "json").document["items"]
    clocks = {item["store"]: item["says"] for item in items if item["code"] == "clock"}
    assert set(clocks) == {"payments", "webhooks"}
    assert clocks["payments"].startswith("redis idem:* is ")
    assert " ms from postgres public.processed_events, give or take " in clocks["payments"]


def test_store_show_tells_each_side(whole: Place) -> None:
    done = whole.main("store", "show", "-o", "json")
    assert (done.status, done.err) == (0, "")
    items = [item for item in done.document["items"] if item["code"] == "store"]
    assert [(item["store"], item["place"]) for item in items] == SIDES
    assert {item["product"] for item in items} == {"PostgreSQL", "Valkey"}
    assert [item["pattern"] for item in items] == [
        *("postgres-unique", "redis-setnx", "postgres-unique", "redis-setnx"),
        *("url-path", "body-hash", "workflow", "outbox"),
    ]
    assert all(item["last_gc_at"] is None for item in items)
    assert all(item["clock"].endswith("Z") for item in items)


def test_store_show_takes_the_stores_that_were_named(whole: Place) -> None:
    done = whole.main("store", "show", "-o", "json", "--store", "outbox", "--store", "messages")
    sides = [item for item in done.document["items"] if item["code"] == "store"]
    assert [item["store"] for item in sides] == ["outbox", "messages"]
    whole.lead(IDEMCTL_STORE="outbox")
    done = whole.main("store", "show", "-o", "json")
    assert {item["store"] for item in done.document["items"]} == {"outbox"}


def test_store_show_fails_where_a_store_does_not_answer(whole: Place) -> None:
    whole.lead(REDIS_URL="redis://127.0.0.1:1/0")
    done = whole.main("store", "show", "-o", "json")
    assert done.status == 10
    assert done.document["errors"][0]["message"].startswith("redis idem:*: cannot reach Redis: ")


def test_doctor_goes_on_after_a_store_that_does_not_answer(whole: Place) -> None:
    whole.lead(REDIS_URL="redis://127.0.0.1:1/0")
    done = whole.main("doctor", "-o", "json")
    assert done.status == 10
    there = [item for item in done.document["items"] if item["server"] == "REDIS_URL"]
    behind = ("tls", "login", "version", "answers", "role", "eviction")
    redis = [store for store, place in SIDES if place.startswith("redis")]
    assert [(item["store"], item["code"], item["status"]) for item in there] == [
        (None, "name", "ok"),
        (None, "tcp", "unreachable"),
        *((None, code, "not looked at") for code in behind),
        *((store, "place", "not looked at") for store in redis),
    ]
    assert [item["code"] for item in there if item["fix"]] == ["tcp"]
    well = [item["store"] for item in done.document["items"] if item["code"] == "rights"]
    assert set(well) == {"payments", "webhooks", "workflows", "outbox"}


@pytest.fixture
def reader(seeded: Database, place: Place, databases: Databases, sandbox: Sandbox) -> Iterator[str]:
    """A role that may read all and change nothing, in whose name the place connects."""
    name = f"watcher_{seeded.observer.info.dbname}"
    role = sql.Identifier(name)
    databases.admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'w'").format(role))
    seeded.observer.execute(
        sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {}").format(role)
    )
    port = sandbox.status().postgres.port
    place.lead(DATABASE_URL=f"postgresql://{name}:w@127.0.0.1:{port}/{seeded.observer.info.dbname}")
    yield name
    seeded.observer.execute(
        sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {}").format(role)
    )
    databases.admin.execute(sql.SQL("DROP ROLE {}").format(role))


def test_the_grants_that_doctor_names_are_enough(
    seeded: Database, place: Place, reader: str, databases: Databases
) -> None:
    assert place.main("gc", "-o", "json").status == 0
    ill = place.main("doctor", "-o", "json")
    assert ill.status == 12
    grants = [item["fix"] for item in ill.document["items"] if item["status"] == "denied"]
    assert sorted(grants) == sorted(
        [
            *(
                f"GRANT {right} ON public.{table} TO {reader};"
                for table, column in COLUMNS.items()
                for right in (f"UPDATE ({column})", "DELETE")
            ),
            f"GRANT DELETE ON public.workflow_steps TO {reader};",
            *[f"GRANT pg_read_all_stats TO {reader};"] * len(COLUMNS),
        ]
    )
    table = place.main("doctor").out.splitlines()
    fixes = [line for line in table if line.startswith("fix: ")]
    # What several tables lack alike is said once.
    assert fixes == [f"fix: {one}" for one in dict.fromkeys(grants)]
    assert table[-1].startswith(f"{len(grants)} things of ")
    # Who only reads lacks nothing.
    assert place.main("doctor", "--role", "reading").status == 0

    for grant in grants:
        asked = databases.admin if "pg_read_all_stats" in grant else seeded.observer
        asked.execute(grant.encode())
    assert place.main("doctor").status == 0
    some = ("--store", "payments", "--store", "workflows")
    done = place.main("gc", "--apply", "-o", "json", *some)
    assert done.status == 0, done.err
    assert done.summary["deleted"] > 0


def test_hidden_rows_are_no_empty_table(seeded: Database, place: Place, reader: str) -> None:
    rows = seeded.count("seen_events")
    seeded.observer.execute("ALTER TABLE seen_events ENABLE ROW LEVEL SECURITY")
    for words in (("gc",), ("gc", "--apply")):
        done = place.main(*words, "-o", "json", "--store", "webhooks")
        assert done.status == 10
        assert "cannot judge: row-level security" in done.err
    assert seeded.count("seen_events") == rows
    doctor: dict[str, Any] = place.main("doctor", "-o", "json", "--store", "webhooks").document
    [sight] = [item for item in doctor["items"] if item["code"] == "sight"]
    assert sight["fix"] == "use a role that sees every row, or ask for BYPASSRLS"

"""doctor, audit and gc behind Debian's PgBouncer in transaction mode."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.cli.places import PAYMENTS, await_that
from tests.stores.redis.servers import find_ports, own_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.places import Database, Done, Place

pytestmark = pytest.mark.system

_BESIDE = PAYMENTS.replace("layout: reference", "direct_dsn_env: DIRECT_URL, layout: reference")


@pytest.fixture
def pooled(seeded: Database) -> Iterator[str]:
    """A way to the same database through a pooler, where a session is nobody's."""
    place = urlsplit(seeded.dsn)
    (port,) = find_ports(1)
    with own_folder() as folder:
        folder.chmod(0o755)
        (folder / "users").write_text(f'"{place.username}" "{place.password}"\n')
        (folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={place.port}\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = scram-sha-256\nauth_file = {folder}/users\npool_mode = transaction\n"
        )
        with subprocess.Popen(
            ["/usr/sbin/pgbouncer", "-q", "-u", "nobody", folder / "pgbouncer.ini"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            way = place._replace(
                netloc=f"{place.username}:{place.password}@127.0.0.1:{port}"
            ).geturl()
            try:
                await_that(lambda: answers(way), "the pooler answers")
                yield way
            finally:
                process.terminate()


def answers(dsn: str) -> bool:
    try:
        psycopg.connect(dsn).close()
    except psycopg.OperationalError:
        return False
    return True


def pooler(done: Done, server: str) -> tuple[str, str, str | None]:
    [line] = [
        item
        for item in done.document["items"]
        if (item["code"], item["server"]) == ("pooler", server)
    ]
    return line["status"], line["says"], line["fix"]


def wrong(done: Done) -> list[str]:
    harmless = {"ok", "cannot judge"}
    return [one["code"] for one in done.document["items"] if one["status"] not in harmless]


def test_a_pooler_is_found_and_the_way_past_it_is_asked_for(
    place: Place, seeded: Database, pooled: str
) -> None:
    place.configure(PAYMENTS)
    place.lead(DATABASE_URL=seeded.dsn)
    straight = place.main("audit", "-o", "json")
    place.lead(DATABASE_URL=pooled)
    done = place.main("doctor", "-o", "json")
    assert done.status == 3
    status, says, fix = pooler(done, "DATABASE_URL")
    assert status == "findings"
    assert says.startswith("a pooler such as PgBouncer is in between: gc and reconcile take locks")
    assert fix is not None
    assert fix.startswith("set direct_dsn_env of the store")
    # All else is as it is.
    assert wrong(done) == ["pooler"]
    assert pooler(place.main("doctor", "--role", "reading", "-o", "json"), "DATABASE_URL") == (
        "ok", "a pooler such as PgBouncer is in between", None,
    )  # fmt: skip
    # What doctor foretells: gc refuses, and looks work as without it.
    assert place.main("gc", "--apply", "-o", "json").status == 5
    around = place.main("audit", "-o", "json")
    assert around.status == straight.status
    assert around.summary["records"] == straight.summary["records"]
    found = [
        [(item["code"], item["count"]) for item in one.document["items"]]
        for one in (straight, around)
    ]
    assert found[0] == found[1]


def test_the_way_past_a_pooler_is_gone_too(place: Place, seeded: Database, pooled: str) -> None:
    place.configure(_BESIDE)
    place.lead(DATABASE_URL=pooled, DIRECT_URL=seeded.dsn)
    done = place.main("doctor", "-o", "json")
    assert (done.status, wrong(done)) == (0, [])
    says = "a pooler such as PgBouncer is in between; locks are taken past it, by DIRECT_URL"
    assert pooler(done, "DATABASE_URL") == ("ok", says, None)
    assert pooler(done, "DIRECT_URL") == ("ok", "none in between", None)
    # What doctor foretells: gc works.
    collected = place.main("gc", "--apply", "-o", "json")
    assert collected.status == 0, collected.err
    assert collected.summary["deleted"] > 0


def test_a_way_past_that_leads_through_another_pooler_is_none(place: Place, pooled: str) -> None:
    place.configure(_BESIDE)
    place.lead(DATABASE_URL=pooled, DIRECT_URL=f"{pooled}?connect_timeout=4")
    done = place.main("doctor", "-o", "json")
    assert (done.status, wrong(done)) == (3, ["pooler"])
    assert pooler(done, "DIRECT_URL")[0] == "findings"
    assert place.main("gc", "--apply", "-o", "json").status == 5

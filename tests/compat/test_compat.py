"""Libraries of real life write their records, and idemctl reads what they did."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
import redis

from idemctl.bootstrap.layouts import preset
from idemctl.domain.records import Flaw
from idemctl.domain.secrets import Secret
from idemctl.layouts.besides import read_by
from idemctl.layouts.codecs import is_presence
from idemctl.stores.postgres.table import PostgresTable
from idemctl.stores.redis.keyspace import RedisKeyspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idemctl.layouts.model import RedisLayout
    from idemctl.stores.ports import Store

pytestmark = pytest.mark.compat
DRIVERS = Path(__file__).with_name("drivers")
LIBRARIES = sorted(file.stem.removeprefix("with_") for file in DRIVERS.glob("with_*.py"))


@pytest.fixture
def servers(dsn: str, redis_url: str) -> dict[str, str]:
    """An empty database, and an empty keyspace."""
    return {"DATABASE_URL": dsn, "REDIS_URL": redis_url}


def lived(library: str, servers: dict[str, str]) -> list[dict[str, str]]:
    """Let a library live through its states; give what its stores have to remember."""
    python = os.environ.get("COMPAT_PYTHON", "")
    assert python, "make test-compat makes the environment of the libraries, and names it"
    done = subprocess.run(
        [python, str(DRIVERS / f"with_{library}.py")],
        env={**os.environ, **servers},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: list[dict[str, str]] = json.loads(done.stdout)
    return told


def stores(library: str, servers: dict[str, str]) -> Iterator[tuple[str, Store]]:
    layout = preset(library.replace("_", "-"))
    if layout.redis is not None:
        yield (
            "redis",
            RedisKeyspace(
                url=Secret(servers["REDIS_URL"]),
                prefix=layout.redis.prefix,
                layout=layout.redis,
                writable=False,
                application="idemctl test",
            ),
        )
    if layout.postgres is not None:
        yield (
            "postgres",
            PostgresTable(
                dsn=Secret(servers["DATABASE_URL"]),
                table=layout.postgres.table,
                layout=layout.postgres,
                writable=False,
                application="idemctl test",
            ),
        )


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_a_library_did_is_read_to_the_byte(library: str, servers: dict[str, str]) -> None:
    told = lived(library, servers)
    for side, store in stores(library, servers):
        with closing(store):
            records = [batch.record(at) for batch in store.scan() for at in range(len(batch))]
        assert [record.key for record in records if record.flaw is not Flaw.NONE] == []
        found = {record.key.hex(): record.status.label for record in records}
        assert found == {one["key"]: one["status"] for one in told if one["side"] == side}
        assert len(records) == len(found), Counter(record.key for record in records)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_layout_names_every_column_and_member_that_its_library_writes(
    library: str, servers: dict[str, str]
) -> None:
    lived(library, servers)
    layout = preset(library.replace("_", "-"))
    if layout.postgres is not None:
        with psycopg.connect(servers["DATABASE_URL"]) as connection:
            table = connection.execute(f"SELECT * FROM {layout.postgres.table} LIMIT 0".encode())
            columns = {column.name for column in table.description or ()}
        assert columns == read_by(layout.postgres) | set(layout.postgres.besides)
    # Where only presence counts there are no members.
    if layout.redis is not None and not is_presence(layout.redis.codec):
        members = set(members_in(servers["REDIS_URL"], layout.redis))
        assert members
        assert members - read_by(layout.redis) - set(layout.redis.besides) == set()


def members_in(url: str, layout: RedisLayout) -> Iterator[str]:
    """Give the members of every value that is a record by its name."""
    name_of_record = re.compile(re.escape(layout.prefix) + layout.key)
    name_of_others = re.compile(re.escape(layout.prefix) + (layout.beside or "(?!)"))
    client = redis.Redis.from_url(url, decode_responses=True)
    for name in client.scan_iter(f"{layout.prefix}*"):
        if not name_of_record.fullmatch(name) or name_of_others.fullmatch(name):
            continue
        if client.type(name) == "hash":
            yield from map(str, client.hkeys(name))
        else:
            yield from json.loads(str(client.get(name)))

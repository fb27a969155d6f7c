"""Real servers: the sandbox's Valkey 9, Redis 6.2, and odd ones with options of their own."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from idemctl.documents import parse_document, read_model, shipped
from idemctl.domain.secrets import Secret
from idemctl.layouts.model import Layout
from idemctl.sandbox.binaries import find_redis
from idemctl.stores.redis.bulk import Lane
from idemctl.stores.redis.keyspace import RedisKeyspace
from tests.stores.redis.layouts import side_of
from tests.stores.redis.servers import find_ports, own_folder, redis_6, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from idemctl.layouts.model import RedisLayout
    from idemctl.sandbox.servers import Sandbox


@pytest.fixture(scope="session")
def urls(sandbox: Sandbox) -> Iterator[dict[str, str]]:
    """URLs of the servers that most tests share, by name: both want a password."""
    (port,) = find_ports(1)
    options = ["--port", str(port), "--bind", "127.0.0.1", "--requirepass", "six"]
    with own_folder() as place, serving(redis_6(), place / "6", *options):
        yield {"valkey-9": sandbox.redis_url(), "redis-6": f"redis://:six@127.0.0.1:{port}/0"}


@pytest.fixture(params=["valkey-9", "redis-6"])
def url(request: pytest.FixtureRequest, urls: dict[str, str]) -> str:
    """Run the test on both."""
    return urls[request.param]


@pytest.fixture
def connect() -> Iterator[Callable[[str], redis.Redis]]:
    """Open plain clients: what the tests see and do, they see and do without our code."""
    with contextlib.ExitStack() as clients:

        def open_client(url: str) -> redis.Redis:
            client: redis.Redis = redis.Redis.from_url(
                url, protocol=2, retry=Retry(NoBackoff(), 0), driver_info=None
            )
            clients.callback(client.close)
            return client

        yield open_client


@pytest.fixture
def client(url: str, connect: Callable[[str], redis.Redis]) -> Iterator[redis.Redis]:
    """A client of a server that holds nothing, and knows no user but the default."""
    one = connect(url)
    _clear(one)
    yield one
    _clear(one)


def _clear(client: redis.Redis) -> None:
    client.flushall()
    for name in client.acl_users():
        if str(name) != "default":
            client.acl_deluser(str(name))


@pytest.fixture
def flags(client: redis.Redis) -> dict[str, set[str]]:
    """What the server itself says of each of its commands."""
    return {name: set(told["flags"]) for name, told in client.command().items()}


@pytest.fixture(scope="session")
def layouts() -> dict[str, RedisLayout]:
    """The shipped layouts that describe Redis."""
    files = shipped("layouts/presets")
    every = [
        read_model(parse_document(file.read_bytes(), file=file.name), Layout) for file in files
    ]
    return {layout.layout: layout.redis for layout in every if layout.redis is not None}


@pytest.fixture
def keyspace(
    request: pytest.FixtureRequest, layouts: dict[str, RedisLayout]
) -> Iterator[Callable[..., RedisKeyspace]]:
    """Open keyspaces as idemctl does: `keyspace(layout=..., prefix=..., url=...)`."""
    with contextlib.ExitStack() as opened:

        def open_keyspace(
            layout: str = "reference",
            *,
            prefix: str | None = None,
            url: str | None = None,
            writable: bool = False,
            application: str = "idemctl test",
        ) -> RedisKeyspace:
            side = layouts[layout]
            one = RedisKeyspace(
                url=Secret(url or request.getfixturevalue("url")),
                prefix=side.prefix if prefix is None else prefix,
                layout=side,
                writable=writable,
                application=application,
            )
            opened.callback(one.close)
            return one

        yield open_keyspace


@pytest.fixture
def through(request: pytest.FixtureRequest) -> Iterator[Callable[..., RedisKeyspace]]:
    """Open a keyspace through the Redis side of a layout that a test writes."""
    with contextlib.ExitStack() as opened:

        def open_keyspace(text: str, *, url: str | None = None, **more: Any) -> RedisKeyspace:
            side = side_of(text)
            one = RedisKeyspace(
                url=Secret(url or request.getfixturevalue("url")),
                prefix=more.get("prefix", side.prefix),
                layout=side,
                writable=bool(more.get("writable")),
                application="idemctl test",
            )
            opened.callback(one.close)
            return one

        yield open_keyspace


@pytest.fixture
def lane(request: pytest.FixtureRequest) -> Iterator[Callable[..., Lane]]:
    """Open lanes: `lane(writable=True)`."""
    with contextlib.ExitStack() as opened:

        def open_lane(*, url: str | None = None, writable: bool = False) -> Lane:
            one = Lane.open(
                Secret(url or request.getfixturevalue("url")),
                place="redis idem:*",
                application="idemctl test",
                writable=writable,
            )
            opened.callback(one.close)
            return one

        yield open_lane


@pytest.fixture
def start() -> Iterator[Callable[..., str]]:
    """Start Valkeys with options of their own, and nothing kept: `start("--maxclients", "1")`."""
    number = itertools.count()
    with own_folder() as place, contextlib.ExitStack() as running:

        def start_one(*options: str, folder: Path | None = None) -> str:
            home = folder or place / str(next(number))
            address = running.enter_context(serving(find_redis(None), home, *options))
            return f"unix://{address}"

        yield start_one


@pytest.fixture
def record() -> Callable[..., bytes]:
    """Write a record as the reference pair does."""

    def write(**fields: object) -> bytes:
        return msgspec.json.encode(
            {
                "scope": "",
                "endpoint": "POST /v1/payments",
                "fingerprint": "f" * 64,
                "status": "completed",
                "fence": 7,
                "created_at": 1_700_000_000_000,
                "expires_at": 4_000_000_000_000,
            }
            | fields
        )

    return write

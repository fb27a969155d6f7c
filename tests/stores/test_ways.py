"""The ways to servers, stretch by stretch, where something is wrong on each of them."""

from __future__ import annotations

import contextlib
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import redis

from idemctl.domain.secrets import Secret
from idemctl.errors import ExitStatus, IdemctlError, Unreachable
from idemctl.sandbox.binaries import find_redis
from idemctl.stores.postgres.way import PostgresWay
from idemctl.stores.reaching import not_after
from idemctl.stores.redis.way import RedisWay
from idemctl.stores.ways import Seen
from tests.stores.certificates import certify, tls_before
from tests.stores.redis.servers import find_ports, own_folder, redis_6, say, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from idemctl.stores.ways import Way
    from tests.stores.certificates import Certificate

CANARY = "hunter2canary"


def gone(way: Way) -> dict[str, tuple[str, str]]:
    """Go until something fails; tell of each stretch what came of it."""
    said: dict[str, Seen] = {}
    with closing(way):
        for about, look in way.stretches():
            try:
                said[about] = look()
            except IdemctlError as error:
                said[about] = Seen(says=error.message, status=error.status, fix=error.hint)
                break
    for seen in said.values():
        assert CANARY not in f"{seen.says}{seen.fix}"
        # What is wrong comes with its fix, and what is well needs none.
        assert (seen.fix is None) is (seen.status is ExitStatus.OK) or not seen.is_judged
    return {
        about: (seen.status.label if seen.is_judged else "cannot judge", seen.says)
        for about, seen in said.items()
    }


def to_redis(url: str) -> dict[str, tuple[str, str]]:
    return gone(RedisWay(url=Secret(url), named="REDIS_URL", application="idemctl test"))


def to_postgres(dsn: str, **more: Any) -> dict[str, tuple[str, str]]:
    options = {"for_locks": True, "past": None} | more
    return gone(PostgresWay(dsn=Secret(dsn), named="A_URL", application="idemctl test", **options))


# From the first stretch to the last


def test_the_whole_way_to_postgres(dsn: str) -> None:
    place = urlsplit(dsn)
    told = to_postgres(dsn)
    assert told["version"][1].startswith("PostgreSQL 18.")
    del told["version"]
    assert told == {
        "name": ("ok", "127.0.0.1 needs no name server"),
        "tcp": ("ok", f"127.0.0.1:{place.port} answers"),
        "tls": ("ok", "off: the server speaks none (sslmode prefer)"),
        "login": ("ok", f"as idemctl, to database {place.path[1:]}"),
        "role": ("ok", "primary"),
        "pooler": ("ok", "none in between"),
    }


def test_the_whole_way_to_redis(redis_url: str) -> None:
    told = to_redis(redis_url)
    assert told["version"][1].startswith("Valkey 9.")
    del told["version"]
    assert told == {
        "name": ("ok", "127.0.0.1 needs no name server"),
        "tcp": ("ok", f"127.0.0.1:{urlsplit(redis_url).port} answers"),
        "tls": ("ok", "off: the URL does not begin with rediss"),
        "login": ("ok", "as default"),
        "answers": ("ok", "keys in this database: 0"),
        "role": ("ok", "primary"),
        "eviction": ("ok", "maxmemory-policy is noeviction"),
    }


def test_the_oldest_redis_that_works_is_not_too_old() -> None:
    with own_folder() as place, serving(redis_6(), place / "6") as address:
        told = to_redis(f"unix://{address}")
    assert told["name"] == ("ok", f"{address} is a socket of this machine")
    assert told["version"][0] == "ok"
    assert told["version"][1].startswith("Redis 6.2.")
    assert told["eviction"][0] == "ok"


# Names and connections

Going = pytest.mark.parametrize(("go", "kind"), [(to_redis, "redis"), (to_postgres, "postgresql")])


@Going
def test_a_name_that_nobody_knows_is_where_the_way_ends(
    go: Callable[[str], dict[str, tuple[str, str]]], kind: str
) -> None:
    told = go(f"{kind}://u:{CANARY}@nowhere.invalid:5432/0")
    assert list(told) == ["name"]
    status, says = told["name"]
    assert status == "unreachable"
    assert says.endswith("the host name nowhere.invalid is unknown")


def test_a_host_that_may_be_a_part_of_a_password_is_not_shown() -> None:
    told = to_postgres(f"postgresql://u:x@{CANARY}%40.invalid@127.0.0.1:5432/x")
    assert list(told) == ["name"]
    assert "the host name *** is unknown" in told["name"][1]


@Going
def test_a_name_leads_to_addresses(
    go: Callable[[str], dict[str, tuple[str, str]]], kind: str
) -> None:
    (port,) = find_ports(1)
    told = go(f"{kind}://u:{CANARY}@localhost:{port}/0")
    assert "127.0.0.1" in told["name"][1]
    assert told["name"][1].startswith("localhost is ")
    assert list(told) == ["name", "tcp"]
    assert told["tcp"][0] == "unreachable"
    assert told["tcp"][1].endswith(f"localhost:{port}: connection refused")


def test_one_of_several_hosts_is_enough(dsn: str) -> None:
    place = urlsplit(dsn)
    (closed,) = find_ports(1)
    netloc = f"{place.username}:{place.password}@127.0.0.1:{closed},127.0.0.1:{place.port}"
    told = to_postgres(place._replace(netloc=netloc).geturl())
    assert told["tcp"] == (
        "ok",
        f"127.0.0.1:{closed}: connection refused; 127.0.0.1:{place.port} answers",
    )
    assert told["login"][0] == "ok"


def test_a_socket_that_is_not_there_is_said(tmp_path: Path) -> None:
    told = to_redis(f"unix://{tmp_path}/none")
    assert told["tcp"] == (
        "unreachable",
        f"REDIS_URL: {tmp_path}/none: no server listens on that socket",
    )
    told = to_postgres(f"host={tmp_path} dbname=x")
    assert told["tcp"][1].endswith("/.s.PGSQL.5432: no server listens on that socket")


def test_what_libpq_alone_knows_is_left_to_libpq(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = urlsplit(dsn)
    file = tmp_path / "services"
    file.write_text(
        f"[mine]\nhost=127.0.0.1\nport={place.port}\nuser={place.username}\n"
        f"password={place.password}\ndbname={place.path[1:]}\n"
    )
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    told = to_postgres("service=mine")
    assert told["name"] == told["tcp"]
    assert told["name"] == ("cannot judge", "left to libpq: a service file, or its own socket")
    assert told["login"][0] == "ok"
    # Named in the environment, it is read by libpq before, and known.
    monkeypatch.setenv("PGSERVICE", "mine")
    assert to_postgres("")["tcp"] == ("ok", f"127.0.0.1:{place.port} answers")


@Going
def test_a_string_that_cannot_be_read_is_said_without_a_part_of_it(
    go: Callable[[str], dict[str, tuple[str, str]]], kind: str
) -> None:
    told = go(f"{kind}://u:{CANARY}%zz@127.0.0.1:x/y")
    assert [(about, status) for about, (status, _) in told.items()] == [("name", "config")]


@Going
def test_a_wrong_password_is_the_login_s_fault(
    go: Callable[[str], dict[str, tuple[str, str]]], kind: str, dsn: str, redis_url: str
) -> None:
    place = urlsplit(dsn if kind == "postgresql" else redis_url)
    user = place.username or "default"
    wrong = place._replace(netloc=f"{user}:{CANARY}@127.0.0.1:{place.port}").geturl()
    told = go(wrong)
    assert list(told) == ["name", "tcp", "tls", "login"]
    assert told["login"][0] == "denied"


@Going
def test_a_server_that_says_nothing_is_given_up(
    go: Callable[[str], dict[str, tuple[str, str]]], kind: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        told = go(
            f"redis://127.0.0.1:{port}/0?socket_timeout=0.2"
            if kind == "redis"
            else f"postgresql://u@127.0.0.1:{port}/x?sslmode=disable&connect_timeout=2"
        )
    assert list(told.values())[-1][0] == "unreachable"
    assert list(told)[-1] == "login"


# TLS


@pytest.mark.parametrize(
    ("hangs_up", "why"), [(False, "no answer in time"), (True, "connection reset by peer")]
)
def test_a_server_that_does_not_answer_is_no_fault_of_a_certificate(
    hangs_up: bool, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("idemctl.stores.reaching._PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as others:
        port = server.getsockname()[1]

        def hang_up() -> None:
            # The one that only looks whether anybody listens, and the one that asks for TLS.
            for _ in range(2):
                caller, _ = server.accept()
                caller.recv(8)
                caller.close()

        if hangs_up:
            others.submit(hang_up)
        way = PostgresWay(
            dsn=Secret(f"postgresql://u@127.0.0.1:{port}/x"),
            named="A_URL",
            application="idemctl test",
            for_locks=True,
        )
        with closing(way):
            stretches = dict(way.stretches())
            stretches["tcp"]()
            with pytest.raises(Unreachable) as caught:
                stretches["tls"]()
    assert caught.value.message == f"A_URL: 127.0.0.1:{port} was asked for TLS: {why}"
    assert "certificate" not in f"{caught.value.hint}"
    assert "sslrootcert" not in f"{caught.value.hint}"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certify(tmp_path_factory.mktemp("good"))


@pytest.fixture
def secure(redis_url: str, dsn: str, good: Certificate) -> Iterator[Callable[..., tuple[str, str]]]:
    """Put TLS before both servers; give their addresses, with what the servers want to know."""
    with contextlib.ExitStack() as running:

        def put(certificate: Certificate = good, host: str = "localhost") -> tuple[str, str]:
            there, other = urlsplit(redis_url), urlsplit(dsn)
            assert there.port
            assert other.port
            front = running.enter_context(tls_before(there.port, certificate))
            door = running.enter_context(tls_before(other.port, certificate, after_request=True))
            return (
                f"rediss://{there.username or ''}:{there.password}@{host}:{front}/0",
                f"postgresql://{other.username}:{other.password}@{host}:{door}{other.path}",
            )

        yield put


def test_a_certificate_that_is_trusted_is_said_to_be_and_for_how_long(
    secure: Callable[..., tuple[str, str]], good: Certificate
) -> None:
    url, dsn = secure()
    told = to_redis(f"{url}?ssl_ca_certs={good.file}")
    assert told["tls"] == (
        "ok", "TLSv1.3, certificate verified (with its host's name), good for 89 days",
    )  # fmt: skip
    assert told["eviction"][0] == "ok"
    for mode in ("verify-full", "verify-ca", "require"):
        # With a root at hand libpq verifies more than it is asked for.
        told = to_postgres(f"{dsn}?sslmode={mode}&sslrootcert={good.file}")
        assert told["tls"] == (
            "ok", f"TLSv1.3, certificate verified (sslmode {mode}), good for 89 days",
        )  # fmt: skip
        assert told["login"][0] == "ok"


def test_a_certificate_that_nobody_looks_at_is_said_to_be_such(
    secure: Callable[..., tuple[str, str]],
) -> None:
    url, dsn = secure()
    told = to_redis(f"{url}?ssl_cert_reqs=none")
    assert told["tls"] == (
        "ok",
        "TLSv1.3, not verified (ssl_cert_reqs in the URL), good for 89 days",
    )
    for mode in ("prefer", "require"):
        told = to_postgres(f"{dsn}?sslmode={mode}")
        assert told["tls"] == ("ok", f"TLSv1.3, not verified (sslmode {mode}), good for 89 days")
        assert told["login"][0] == "ok"


def test_a_certificate_that_is_not_trusted_is_the_fault_of_tls(
    secure: Callable[..., tuple[str, str]], tmp_path: Path
) -> None:
    url, dsn = secure()
    other = certify(tmp_path, "elsewhere.example")
    for told in (
        to_redis(url),
        to_redis(f"{url}?ssl_ca_certs={other.file}"),
        to_postgres(f"{dsn}?sslmode=verify-full&sslrootcert={other.file}"),
        to_postgres(f"{dsn}?sslmode=verify-ca&sslrootcert={other.file}"),
    ):
        assert list(told) == ["name", "tcp", "tls"]
        status, says = told["tls"]
        assert status == "unreachable"
        assert "certificate is not trusted: self-signed certificate" in says


def test_a_certificate_for_another_name_is_trusted_where_names_do_not_count(
    secure: Callable[..., tuple[str, str]], tmp_path: Path
) -> None:
    other = certify(tmp_path, "elsewhere.example")
    url, dsn = secure(other)
    for told in (
        to_redis(f"{url}?ssl_ca_certs={other.file}"),
        to_postgres(f"{dsn}?sslmode=verify-full&sslrootcert={other.file}"),
    ):
        assert told["tls"][0] == "unreachable"
        assert "Hostname mismatch" in told["tls"][1]
    told = to_redis(f"{url}?ssl_ca_certs={other.file}&ssl_check_hostname=false")
    assert told["tls"][1].startswith("TLSv1.3, certificate verified (without its host's name), ")
    told = to_postgres(f"{dsn}?sslmode=verify-ca&sslrootcert={other.file}")
    assert told["tls"][0] == told["login"][0] == "ok"


@pytest.mark.parametrize(
    ("days", "mark", "says"),
    [
        (13.5, "findings", "good for 13 days"),
        (14.5, "ok", "good for 14 days"),
        (-2.5, "findings", "which ended 3 days ago"),
    ],
)
def test_a_certificate_that_ends_soon_or_did_is_to_be_renewed(
    secure: Callable[..., tuple[str, str]], tmp_path: Path, days: float, mark: str, says: str
) -> None:
    url, dsn = secure(certify(tmp_path, days=days))
    for told in (to_redis(f"{url}?ssl_cert_reqs=none"), to_postgres(f"{dsn}?sslmode=require")):
        assert told["tls"][0] == mark
        assert told["tls"][1].endswith(says)
        # It is no reason not to go on.
        assert told["login"][0] == "ok"


def test_a_certificate_that_ended_is_not_trusted(
    secure: Callable[..., tuple[str, str]], tmp_path: Path
) -> None:
    late = certify(tmp_path, days=-1)
    url, dsn = secure(late)
    for told in (
        to_redis(f"{url}?ssl_ca_certs={late.file}"),
        to_postgres(f"{dsn}?sslmode=verify-full&sslrootcert={late.file}"),
    ):
        assert told["tls"][0] == "unreachable"
        assert told["tls"][1].endswith("certificate is not trusted: certificate has expired")


def test_a_server_without_tls_is_refused_where_it_must_be_spoken(dsn: str, redis_url: str) -> None:
    told = to_postgres(f"{dsn}?sslmode=require")
    assert told["tls"] == (
        "unreachable", "A_URL: the server speaks no TLS, and sslmode is require",
    )  # fmt: skip
    assert to_postgres(f"{dsn}?sslmode=disable")["tls"] == ("ok", "off: sslmode is disable")
    secure = redis_url.replace("redis://", "rediss://")
    told = to_redis(f"{secure}?socket_connect_timeout=0.3")
    assert told["tls"][0] == "unreachable"


@pytest.mark.parametrize("days", [90, 20_000, -30_000 / 365])
def test_a_certificate_s_end_is_read_as_openssl_reads_it(tmp_path: Path, days: float) -> None:
    made = certify(tmp_path, days=days)
    der = ssl.PEM_cert_to_DER_cert(made.file.read_text())
    assert not_after(der) == made.ends
    known = ssl._ssl._test_decode_cert(str(made.file))  # type: ignore[attr-defined] # Python's own tests use it.
    assert ssl.cert_time_to_seconds(str(known["notAfter"])) == made.ends.timestamp()


@pytest.mark.parametrize("damaged", [b"", b"\x30", b"\x30\x03\x30\x01\x02", b"\xff" * 64])
def test_what_is_no_certificate_has_no_end(damaged: bytes) -> None:
    assert not_after(damaged) is None


# What servers say of themselves


@pytest.fixture
def odd() -> Iterator[Callable[..., str]]:
    """Start Valkeys with options of their own."""
    with own_folder() as place, contextlib.ExitStack() as running:

        def start(*options: str) -> str:
            address = running.enter_context(serving(find_redis(None), place / "odd", *options))
            return f"unix://{address}"

        yield start


def test_a_replica_is_not_judged_and_one_that_lost_its_primary_cannot_answer(
    odd: Callable[..., str],
) -> None:
    url = odd("--replicaof", "127.0.0.1 1")
    told = to_redis(url)
    assert told["role"][0] == "cannot judge"
    assert told["role"][1].startswith("a replica, which may be behind")
    assert told["eviction"][0] == "ok"
    with redis.Redis.from_url(url) as client:
        say(client, "CONFIG", "SET", "replica-serve-stale-data", "no")
    told = to_redis(url)
    assert list(told)[-1] == "answers"
    assert told["answers"][0] == "unreachable"
    assert "cannot judge: a replica that lost its primary" in told["answers"][1]


def test_eviction_is_a_fault_and_cannot_be_judged_without_info(odd: Callable[..., str]) -> None:
    url = odd("--maxmemory-policy", "volatile-lru")
    with redis.Redis.from_url(url) as client:
        say(client, "ACL", "SETUSER", "bob", "on", ">x", "~*", "+@all", "-info", "-config")
    mark, says = to_redis(url)["eviction"]
    assert mark == "findings"
    assert says.startswith("maxmemory-policy is volatile-lru: when memory is full, ")
    told = to_redis(f"{url}?username=bob&password=x")
    assert told["eviction"][0] == "cannot judge"
    assert told["eviction"][1].startswith("this user may not run INFO; ACL SETUSER bob +info")


def test_a_server_that_loads_its_data_says_so(odd: Callable[..., str]) -> None:
    with redis.Redis.from_url(odd()) as full:
        full.mset({f"idem:{number}": "1" for number in range(2000)})
        full.save()
        full.shutdown(nosave=True)
    slowly = ["--key-load-delay", "5000", "--loading-process-events-interval-bytes", "1024"]
    told = to_redis(odd(*slowly))
    assert list(told)[-1] == "answers"
    assert told["answers"] == (
        "unreachable", "REDIS_URL: cannot judge: the server is loading its data",
    )  # fmt: skip
    # What needs no data is known all the same.
    assert told["version"][0] == told["login"][0] == "ok"

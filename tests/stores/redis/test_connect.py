from __future__ import annotations

import socket
import threading
import time
import traceback
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import redis

from idemctl.domain.instants import from_micros
from idemctl.errors import ConfigError, Denied, IdemctlError, Unreachable, Unsupported
from tests.stores.redis.servers import as_user, say, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from idemctl.stores.redis.keyspace import RedisKeyspace

CANARY = "hunter2canary"


def failure(keyspace: RedisKeyspace) -> IdemctlError:
    """Meet an error by scanning, and look whether it is one line and keeps its secrets."""
    with pytest.raises(IdemctlError) as caught:
        list(keyspace.scan())
    error = caught.value
    shown = "".join(traceback.format_exception(error))
    for text in (error.message, error.hint or "", shown, repr(error), repr(keyspace)):
        assert CANARY not in text
        assert CANARY[:7] not in text
    assert "\n" not in error.message
    assert error.hint
    assert error.message.startswith("redis idem:*: ")
    assert error.__suppress_context__ or error.__context__ is None
    return error


@pytest.fixture
def silent() -> Iterator[int]:
    """A port where somebody listens and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


# Secrets and URLs


@pytest.mark.parametrize(
    "url",
    [
        f"redis://:{CANARY}@127.0.0.1:1/0",
        f"redis://bob:{CANARY}@127.0.0.1:1/0",
        f"redis://{CANARY}@127.0.0.1:1/0",
        f"redis://{CANARY}.invalid:1/0",
        f"redis://:{CANARY}/x@127.0.0.1:1/0",
        f"redis://:{CANARY}#x@127.0.0.1:1/0",
        f"redis://:1#{CANARY}@127.0.0.1:1/0",
        f"redis://:1?{CANARY}@127.0.0.1:1/0",
        f"redis://:1?{CANARY}=x@127.0.0.1:1/0",
        f"redis://:1/{CANARY}@127.0.0.1:1/0",
        f"redis://127.0.0.1:{CANARY}/0",
        f"redis://127.0.0.1:1/{CANARY}",
        f"redis://127.0.0.1:1/0?{CANARY}=1",
        f"redis://127.0.0.1:1/0?db={CANARY}",
        f"redis://127.0.0.1:1/0?credential_provider={CANARY}",
        f"redis://[{CANARY}:1/0",
        f"rediss://:{CANARY}@127.0.0.1:1/0?ssl_cert_reqs={CANARY}",
        f"unix:///nowhere/{CANARY}.sock?password={CANARY}",
        f"http://{CANARY}@127.0.0.1",
        CANARY,
        "",
    ],
)
def test_a_password_appears_in_no_error_wherever_it_was_put(
    keyspace: Callable[..., RedisKeyspace], url: str
) -> None:
    assert isinstance(failure(keyspace(url=url)), ConfigError | Unreachable)


@pytest.mark.parametrize(
    "tail",
    ["/zero", "/0/1", "/0#x", "/0?dbb=3", "/0?db=x", "/0?socket_timeout=soon"],
)
def test_a_url_that_would_quietly_lead_elsewhere_is_refused(
    keyspace: Callable[..., RedisKeyspace], url: str, tail: str
) -> None:
    error = failure(keyspace(url=f"{url.rpartition('/')[0]}{tail}"))
    assert isinstance(error, ConfigError)
    assert error.hint is not None
    assert "redis://user:password@host:6379/0" in error.hint


def test_a_database_that_is_not_there_is_a_matter_of_configuration(
    keyspace: Callable[..., RedisKeyspace], url: str
) -> None:
    error = failure(keyspace(url=url.removesuffix("/0") + "/4711"))
    assert isinstance(error, ConfigError)
    assert "does not exist" in error.message


def test_the_database_in_the_url_is_the_one_that_is_read(
    keyspace: Callable[..., RedisKeyspace],
    client: redis.Redis,
    connect: Callable[[str], redis.Redis],
    url: str,
) -> None:
    third = url.removesuffix("/0") + "/3"
    connect(third).set("seen:third", "1")
    client.set("seen:zeroth", "1")
    assert [batch.keys for batch in keyspace("bare", url=third).scan()] == [[b"third"]]
    assert [batch.keys for batch in keyspace("bare", url=f"{url[:-2]}?db=3").scan()] == [[b"third"]]


def test_keys_are_bytes_even_when_the_url_asks_for_text(
    keyspace: Callable[..., RedisKeyspace], client: redis.Redis, url: str
) -> None:
    client.set(b"seen:\xff", "1")
    asking = keyspace("bare", url=f"{url}?decode_responses=True&encoding=ascii&protocol=3")
    assert [batch.keys for batch in asking.scan()] == [[b"\xff"]]


def test_a_unix_socket_with_a_password_works(
    keyspace: Callable[..., RedisKeyspace],
    start: Callable[..., str],
    connect: Callable[[str], redis.Redis],
) -> None:
    url = f"{start('--requirepass', 'p@ss')}?password=p%40ss&db=2"
    connect(url).set("seen:a", "1")
    assert [batch.keys for batch in keyspace("bare", url=url).scan()] == [[b"a"]]


# Who may not


def test_wrong_and_missing_and_needless_passwords_are_denied(
    keyspace: Callable[..., RedisKeyspace], url: str, start: Callable[..., str]
) -> None:
    wrong = failure(keyspace(url=as_user(url, "default", CANARY)))
    assert isinstance(wrong, Denied)
    assert "refused these credentials" in wrong.message
    nobody = failure(keyspace(url=as_user(url, CANARY, "x")))
    assert isinstance(nobody, Denied)
    parts = urlsplit(url)
    without = failure(keyspace(url=f"redis://{parts.hostname}:{parts.port}/0"))
    assert isinstance(without, Denied)
    assert "asks for a password" in without.message
    needless = failure(keyspace(url=f"{start()}?password={CANARY}"))
    assert isinstance(needless, Denied)
    assert "none configured" in needless.message


@pytest.mark.parametrize(
    ("rules", "hint"),
    [
        ("~* -@all", "ACL SETUSER bob +scan"),
        ("~* +@all -scan", "ACL SETUSER bob +scan"),
        ("~* +@all -getrange", "ACL SETUSER bob +getrange"),
        ("~* +@all -pexpiretime", "ACL SETUSER bob +pexpiretime"),
        ("~other:* +@all", "ACL SETUSER bob ~idem:*"),
        ("~idem: ~idem:b +@all", "ACL SETUSER bob ~idem:*"),
    ],
)
def test_a_user_without_a_right_is_denied_and_the_missing_rule_is_named(
    keyspace: Callable[..., RedisKeyspace],
    client: redis.Redis,
    url: str,
    rules: str,
    hint: str,
) -> None:
    if "pexpiretime" in rules and client.info("server")["redis_version"].startswith("6."):
        rules, hint = rules.replace("pexpiretime", "pttl"), hint.replace("pexpiretime", "pttl")
    client.set("idem:a", "1")
    say(client, "ACL", "SETUSER", "bob", "on", ">x", *rules.split())
    error = failure(keyspace(url=as_user(url, "bob")))
    assert isinstance(error, Denied)
    if rules == "~* -@all":
        # Whatever comes first is named.
        assert error.hint is not None
        assert error.hint.startswith("ACL SETUSER bob +")
    else:
        assert error.hint == hint


def test_a_user_with_no_more_rights_than_named_can_scan(
    keyspace: Callable[..., RedisKeyspace], client: redis.Redis, url: str
) -> None:
    client.set("idem:a", "1", px=10**9)
    rules = ["~idem:*", "+scan", "+getrange"]
    is_old = client.info("server")["redis_version"].startswith("6.")
    rules += ["+pttl", "+time"] if is_old else ["+pexpiretime"]
    say(client, "ACL", "SETUSER", "bob", "on", ">x", *rules)
    (batch,) = keyspace(url=as_user(url, "bob")).scan()
    assert batch.keys == [b"a"]
    assert from_micros(int(batch.key_expires_at[0])) is not None


# Who cannot


def test_a_stopped_server_is_unreachable(
    keyspace: Callable[..., RedisKeyspace], start: Callable[..., str], silent: int
) -> None:
    assert "connection refused" in failure(keyspace(url="redis://127.0.0.1:1/0")).message
    missing = failure(keyspace(url="unix:///nowhere.sock"))
    assert isinstance(missing, Unreachable)
    assert "no server listens on that socket" in missing.message
    unknown = failure(keyspace(url="redis://nowhere.invalid:1/0"))
    assert isinstance(unknown, Unreachable)
    assert "the host name is unknown" in unknown.message
    mute = failure(keyspace(url=f"redis://127.0.0.1:{silent}/0?socket_timeout=0.1"))
    assert isinstance(mute, Unreachable)
    assert "no answer in time" in mute.message


def test_tls_where_none_is_spoken_is_unreachable_and_says_so(
    keyspace: Callable[..., RedisKeyspace], url: str
) -> None:
    secure = url.replace("redis://", "rediss://")
    # A server without TLS waits for the end of a line that never comes.
    error = failure(keyspace(url=f"{secure}?socket_timeout=0.2"))
    assert isinstance(error, Unreachable)
    assert "no answer in time; does it speak TLS?" in error.message
    assert isinstance(failure(keyspace(url=f"{secure}?ssl_ca_certs=/nowhere.pem")), ConfigError)


@pytest.mark.parametrize("answer", [b"\x15\x03\x03\x00\x02\x02\x46", b"HTTP/1.1 400 Bad\r\n\r\n"])
@pytest.mark.parametrize("user", ["", f":{CANARY}@"])
def test_what_is_no_redis_is_unreachable_and_says_so(
    keyspace: Callable[..., RedisKeyspace], answer: bytes, user: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1)
                connection.sendall(answer)
                connection.recv(1000)

        thread = threading.Thread(target=serve)
        thread.start()
        error = failure(keyspace(url=f"redis://{user}127.0.0.1:{server.getsockname()[1]}/0"))
        thread.join()
    assert isinstance(error, Unreachable)
    assert "not what Redis speaks" in error.message


def test_a_full_server_is_unreachable(
    keyspace: Callable[..., RedisKeyspace],
    start: Callable[..., str],
    connect: Callable[[str], redis.Redis],
) -> None:
    url = start("--maxclients", "1")
    connect(url).ping()
    # Whether its last words arrive is a race that the server lets nobody win for sure.
    assert isinstance(failure(keyspace(url=url)), Unreachable)


def test_a_server_that_loads_its_data_is_unreachable_and_not_empty(
    keyspace: Callable[..., RedisKeyspace],
    start: Callable[..., str],
    connect: Callable[[str], redis.Redis],
    tmp_path: Path,
) -> None:
    full = connect(start(folder=tmp_path))
    full.mset({f"idem:{number}": "1" for number in range(2000)})
    full.save()
    full.shutdown(nosave=True)
    slowly = ["--key-load-delay", "5000", "--loading-process-events-interval-bytes", "1024"]
    url = start(*slowly, folder=tmp_path)
    error = failure(keyspace(url=url))
    assert isinstance(error, Unreachable)
    assert "cannot judge: the server is loading its data" in error.message


def test_a_replica_that_lost_its_primary_is_unreachable_and_not_empty(
    keyspace: Callable[..., RedisKeyspace], start: Callable[..., str]
) -> None:
    error = failure(
        keyspace(url=start("--replicaof", "127.0.0.1 1", "--replica-serve-stale-data", "no"))
    )
    assert isinstance(error, Unreachable)
    assert "cannot judge: a replica that lost its primary" in error.message


def test_a_cluster_that_is_down_is_unreachable_and_not_empty(
    keyspace: Callable[..., RedisKeyspace], start: Callable[..., str]
) -> None:
    error = failure(keyspace(url=start("--cluster-enabled", "yes", "--port", "0")))
    assert isinstance(error, Unreachable)
    assert "cannot judge: the cluster is down" in error.message


def test_a_server_that_a_script_blocks_is_unreachable(
    keyspace: Callable[..., RedisKeyspace],
    start: Callable[..., str],
    connect: Callable[[str], redis.Redis],
) -> None:
    url = start("--busy-reply-threshold", "20")
    blocking = connect(f"{url}?socket_timeout=0.01")
    with pytest.raises(redis.TimeoutError):
        blocking.eval("while true do end", 0)

    def is_busy() -> bool:
        try:
            connect(f"{url}?socket_timeout=1").ping()
        except redis.ResponseError:
            return True
        return False

    until(is_busy)
    error = failure(keyspace(url=url))
    say(connect(url), "SCRIPT", "KILL")
    assert isinstance(error, Unreachable)
    assert "cannot judge: a script blocks the server" in error.message


def test_a_server_with_a_renamed_command_is_not_supported(
    keyspace: Callable[..., RedisKeyspace], start: Callable[..., str]
) -> None:
    error = failure(keyspace(url=start("--rename-command", "SCAN", "hidden")))
    assert isinstance(error, Unsupported)
    assert "unknown command" in error.message


def test_a_connection_that_is_lost_is_never_made_again_behind_a_scan(
    keyspace: Callable[..., RedisKeyspace], client: redis.Redis
) -> None:
    client.mset({f"idem:{number}": "1" for number in range(10_000)})
    scan = keyspace().scan()
    first = next(scan)
    say(client, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    with pytest.raises(Unreachable, match="the connection was lost"):
        list(scan)
    assert 0 < len(first) < 10_000


def test_administrators_see_who_is_connected_where_the_server_permits_it(
    keyspace: Callable[..., RedisKeyspace], client: redis.Redis, url: str
) -> None:
    named = keyspace(application="idemctl gc 01JQ\n\xe9")
    named.clock()
    assert "idemctl-gc-01JQ??" not in {one["name"] for one in client.client_list()}
    plain = keyspace(application="idemctl gc 01JQ")
    plain.clock()
    assert "idemctl-gc-01JQ" in {one["name"] for one in client.client_list()}
    say(client, "ACL", "SETUSER", "bob", "on", ">x", "~*", "+@all", "-client")
    assert keyspace(url=as_user(url, "bob")).clock().timestamp() == pytest.approx(
        time.time(), abs=5
    )

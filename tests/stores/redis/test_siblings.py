"""Siblings: other keys that belong to a record, read beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from idemctl.domain.records import Flaw, Status
from idemctl.errors import Denied
from tests.stores.redis.layouts import found, scanned
from tests.stores.redis.servers import as_user, keys_to_read, say

if TYPE_CHECKING:
    from collections.abc import Callable

    import redis

    from idemctl.stores.redis.keyspace import RedisKeyspace

STATUS = """\
  response_status: $code
  status:
    in_progress: {field: $code, missing: true}
    completed: {field: $code, missing: false}
"""
KEYS = f"""\
  prefix: "app:"
  key: "(?P<key>.+)"
  name: "{{key}}"
  codec: json
  fence: fence
  beside: ".+:code"
  siblings: {{code: "app:{{key}}:code"}}
{STATUS}"""
MEMBERS = f"""\
  container: set-member
  prefix: "keys"
  key: "(?P<key>.+)"
  name: "{{key}}"
  codec: flag
  siblings: {{body: "body-{{key}}", code: "code-{{key}}"}}
{STATUS}"""


def test_what_a_sibling_holds_is_a_member_of_the_record(
    client: redis.Redis, through: Callable[..., RedisKeyspace]
) -> None:
    client.mset({"app:a": '{"fence": 1}', "app:b": '{"fence": 2}', "app:a:code": "201"})
    store = through(KEYS)
    records = scanned(store)
    # The sibling lies under the prefix, and is passed over.
    assert {key: (one.status, one.response_status, one.fence) for key, one in records.items()} == {
        b"a": (Status.COMPLETED, 201, 1),
        b"b": (Status.IN_PROGRESS, None, 2),
    }
    assert [name for page in store.names() for name in page if b"code" in name] == []
    looked = found(store, [b"b", b"a", b"none"])
    assert looked == [records[b"b"], records[b"a"], None]


def test_without_beside_a_sibling_under_the_prefix_is_read_as_a_record(
    client: redis.Redis, through: Callable[..., RedisKeyspace]
) -> None:
    client.mset({"app:a": "{}", "app:a:code": "201"})
    text = KEYS.replace('  beside: ".+:code"\n', "")
    assert set(scanned(through(text))) == {b"a", b"a:code"}


@pytest.mark.parametrize("codec", ["json", "hash"])
def test_records_that_are_looked_at_twice_have_theirs(
    client: redis.Redis, through: Callable[..., RedisKeyspace], codec: str
) -> None:
    for number in range(300):
        if codec == "hash":
            client.hset(f"app:{number}", mapping={"fence": number, "body": "x" * 20_000})
        else:
            long = "x" * (20_000 if number % 3 else 1)
            client.set(f"app:{number}", f'{{"fence": {number}, "body": "{long}"}}')
        if number % 2:
            client.set(f"app:{number}:code", str(number))
    records = scanned(through(KEYS.replace("codec: json", f"codec: {codec}")))
    told = {int(key): (one.fence, one.response_status) for key, one in records.items()}
    assert told == {number: (number, number if number % 2 else None) for number in range(300)}


def test_members_end_when_the_first_of_their_siblings_does(
    client: redis.Redis, through: Callable[..., RedisKeyspace]
) -> None:
    client.sadd("keys", "none", "both", "one", "stays")
    client.set("code-both", "200", ex=2000)
    client.set("body-both", "x", ex=1000)
    client.set("code-one", "200", ex=3000)
    client.set("body-one", "x")
    client.set("code-stays", "200")
    now = client.time()[0]

    def left() -> dict[bytes, float | None]:
        ends = {key: one.key_expires_at for key, one in scanned(through(MEMBERS)).items()}
        return {
            k: None if end is None else round(end.timestamp() - now, -1) for k, end in ends.items()
        }

    assert left() == {b"none": None, b"both": 1000, b"one": 3000, b"stays": None}
    # What holds them all takes them with it.
    client.expire("keys", 1500)
    assert left() == {b"none": 1500, b"both": 1000, b"one": 1500, b"stays": 1500}


def test_a_key_ends_when_it_does_whatever_lies_beside_it(
    client: redis.Redis, through: Callable[..., RedisKeyspace]
) -> None:
    client.set("app:a", "{}")
    client.set("app:a:code", "200", ex=1000)
    assert scanned(through(KEYS))[b"a"].key_expires_at is None


def test_a_sibling_may_be_empty_long_or_of_another_type(
    client: redis.Redis, through: Callable[..., RedisKeyspace]
) -> None:
    client.sadd("keys", "empty", "long", "list", "newline\n\xff")
    client.set("code-empty", "")
    client.set("code-long", "7" * 8 * 1024 * 1024)
    client.rpush("code-list", "200")
    client.set("code-newline\n\xff", "200")
    before = client.info("stats")["total_net_output_bytes"]
    records = scanned(through(MEMBERS))
    assert client.info("stats")["total_net_output_bytes"] - before < 100_000
    flaws = {key: (one.status, one.flaw, one.response_status) for key, one in records.items()}
    assert flaws == {
        b"empty": (Status.COMPLETED, Flaw.NONE, None),
        b"long": (Status.COMPLETED, Flaw.NONE, None),
        b"list": (Status.MALFORMED, Flaw.OTHER_TYPE, None),
        "newline\n\xff".encode(): (Status.COMPLETED, Flaw.NONE, 200),
    }


def test_a_sibling_is_named_by_key_and_scope(
    client: redis.Redis, through: Callable[..., RedisKeyspace]
) -> None:
    text = MEMBERS.replace("(?P<key>.+)", "(?P<scope>[^:]*):(?P<key>.+)")
    text = text.replace('  name: "{key}"\n', "")
    text = text.replace('"code-{key}"', '"code-[{scope}-]{key}"')
    client.sadd("keys", "acme:1", ":2", "no scope")
    client.mset({"code-acme-1": "201", "code-2": "202", "code-1": "500"})
    records = scanned(through(text))
    assert {key: one.response_status for key, one in records.items()} == {
        b"1": 201, b"2": 202, b"no scope": None,
    }  # fmt: skip
    assert records[b"no scope"].flaw is Flaw.FOREIGN_NAME


def test_many_are_read_in_bursts_and_none_is_mistaken_for_another(
    client: redis.Redis, through: Callable[..., RedisKeyspace]
) -> None:
    client.sadd("keys", *range(5000))
    client.mset({f"code-{number}": str(number) for number in range(0, 5000, 3)})
    store = through(MEMBERS)
    records = scanned(store)
    assert {int(key): one.response_status for key, one in records.items()} == {
        number: None if number % 3 else number for number in range(5000)
    }
    keys = [b"%d" % number for number in range(4990, 5010)]
    assert found(store, keys) == [records.get(key) for key in keys]
    # The same key twice, each with its answer.
    assert found(store, [b"3", b"3"]) == [records[b"3"]] * 2


def test_a_user_who_may_not_read_siblings_is_told_so(
    client: redis.Redis, through: Callable[..., RedisKeyspace], url: str
) -> None:
    client.sadd("keys", "a")
    say(client, "ACL", "SETUSER", "bob", "on", ">x", "+@all", "~keys")
    bob = through(MEMBERS, url=as_user(url, "bob"))
    missing = [right.grant for right in bob.rights() if not right.granted]
    assert missing == [
        f"ACL SETUSER bob +getrange {keys_to_read(client, one)}" for one in ("~body-*", "~code-*")
    ]
    with pytest.raises(Denied, match="bob may not read the siblings of records") as denied:
        scanned(bob)
    assert denied.value.hint is not None
    # The control: the rule helps.
    say(client, *denied.value.hint.split())
    assert set(scanned(bob)) == {b"a"}

"""Records that are members of one set, or fields of one hash."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from idemctl.domain.keys import escape
from idemctl.domain.records import Flaw, Status
from idemctl.domain.secrets import Secret
from idemctl.errors import Refused, Unsupported
from idemctl.stores.answers import WHOLE, Shard
from idemctl.stores.redis import members, scan
from idemctl.stores.redis.bulk import Lane
from idemctl.stores.redis.fetch import Rows
from idemctl.stores.redis.kinds import fetcher_of
from idemctl.stores.redis.scan import Scanner
from tests.stores.redis.layouts import HASH, SET, found, scanned, side_of
from tests.stores.redis.servers import as_user, say

if TYPE_CHECKING:
    from collections.abc import Callable

    import redis

    from idemctl.stores.redis.bursts import Reply
    from idemctl.stores.redis.keyspace import RedisKeyspace

KIB, MIB = 1024, 1024 * 1024
DONE = b'{"state": "done", "fence": 7}'
KINDS = pytest.mark.parametrize("text", [SET, HASH], ids=["set", "hash"])


def add(client: redis.Redis, text: str, *names: str | bytes, value: bytes = DONE) -> None:
    for first in range(0, len(names), 5000):
        some = names[first : first + 5000]
        if text is SET:
            client.sadd("seen", *some)
        else:
            client.hset("seen", mapping=dict.fromkeys(some, value))


def take_out(client: redis.Redis, text: str, names: list[str]) -> None:
    if text is SET:
        client.srem("seen", *names)
    else:
        client.hdel("seen", *names)


@KINDS
@pytest.mark.parametrize(
    "key",
    [
        b"a\nb",
        b"a\x00b",
        b"\xff\xfe",
        b"\r\n$3\r\nSET\r\n",
        b"100%d%b",
        b"*?[a]\\",
        b" ",
        b"x" * 512,
    ],
    ids=escape,
)
def test_names_are_bytes(
    client: redis.Redis, through: Callable[..., RedisKeyspace], text: str, key: bytes
) -> None:
    add(client, text, key, b"plain")
    store = through(text)
    assert set(scanned(store)) == {key, b"plain"}
    assert [one and one.key for one in found(store, [key, b"a", b"plain"])] == [key, None, b"plain"]
    assert [name for page in store.names() for name in page if name != b"plain"] == [key]


@KINDS
def test_all_of_ten_thousand_are_found_once_and_shards_are_their_parts(
    client: redis.Redis, through: Callable[..., RedisKeyspace], text: str
) -> None:
    add(client, text, *(f"k{number}" for number in range(10_000)))
    # A neighbour that has the name as its beginning is none of them.
    client.set("seen:other", "1")
    store = through(text)
    whole = set(scanned(store))
    assert whole == {b"k%d" % number for number in range(10_000)}
    parts = [set(scanned(store, Shard(index, 3))) for index in range(3)]
    assert sum(map(len, parts)) == 10_000
    assert set().union(*parts) == whole
    assert all(3000 < len(part) < 3700 for part in parts)
    wanted = [b"k%d" % number for number in range(0, 20_000, 7)]
    assert [one is not None for one in found(store, wanted)] == [one in whole for one in wanted]


class Listening(Lane):
    """A lane that remembers which names pages held."""

    heard: list[bytes]

    def receive(self) -> list[Reply]:
        replies = super().receive()
        if len(replies) == 1 and isinstance(replies[0], list):
            # A server that sends values along sends them all alike.
            self.heard += [name for name in replies[0][1] if name != DONE]
        return replies


@KINDS
def test_what_a_shrinking_table_makes_the_server_repeat_is_given_once(
    client: redis.Redis, url: str, text: str
) -> None:
    repeated: list[bytes] = []
    for trial in range(200):
        client.flushall()
        stays = [b"stays-%d-%d" % (trial, number) for number in range(2000)]
        goes = [f"goes-{trial}-{number}" for number in range(20_000)]
        add(client, text, *goes, *stays)
        lane = Listening.open(Secret(url), place="", application="", writable=False)
        lane.heard = []
        steps = Scanner(lane, side_of(text), b"seen").steps(WHOLE)
        seen = [key for _ in range(2 + trial % 16) for key in next(steps).batch.keys]
        take_out(client, text, goes)
        crowd = client.pipeline(transaction=False)
        for _ in range(2000):
            crowd.exists("seen")
        crowd.execute()
        seen += [key for step in steps for key in step.batch.keys]
        lane.close()
        counts = Counter(seen)
        assert {key: counts[key] for key in stays} == dict.fromkeys(stays, 1)
        repeated = [key for key, count in Counter(lane.heard).items() if count > 1]
        if repeated:
            break
    # The control: some did come twice, and were given once.
    assert repeated


@KINDS
def test_a_container_that_is_not_there_holds_nothing(
    client: redis.Redis, through: Callable[..., RedisKeyspace], text: str
) -> None:
    client.set("seen:other", "1")
    store = through(text)
    assert scanned(store) == {}
    assert found(store, [b"a"]) == [None]
    assert [name for page in store.names() for name in page] == []


@KINDS
def test_a_container_of_another_type_is_refused_by_name(
    client: redis.Redis, through: Callable[..., RedisKeyspace], text: str
) -> None:
    client.set("seen", "1")
    store = through(text)
    kind = "set" if text is SET else "hash"
    for ask in (
        lambda: list(store.scan()),
        lambda: list(store.names()),
        lambda: found(store, [b"a"]),
    ):
        with pytest.raises(Refused, match=f"redis seen: holds no {kind}, and the layout says"):
            ask()
    # The control.
    client.delete("seen")
    add(client, text, "a")
    assert set(scanned(store)) == {b"a"}


@KINDS
def test_a_record_ends_when_its_container_does(
    client: redis.Redis, through: Callable[..., RedisKeyspace], text: str
) -> None:
    add(client, text, "a")
    store = through(text)
    assert scanned(store)[b"a"].key_expires_at is None
    client.expire("seen", 1000)
    ends = scanned(store)[b"a"].key_expires_at
    assert ends is not None
    assert ends.timestamp() == pytest.approx(client.time()[0] + 1000, abs=5)


@KINDS
def test_what_is_gone_between_page_and_reading_is_dropped(
    client: redis.Redis, lane: Callable[..., Lane], text: str
) -> None:
    add(client, text, "here", "goes")
    opened = lane()
    fetcher = fetcher_of(opened, side_of(text), b"seen")
    keys = [b"gone", b"here", b"goes"]
    rows = Rows()
    opened.send(*fetcher.bursts(keys))
    again = fetcher.receive(keys, rows)
    take_out(client, text, ["goes"])
    for more in fetcher.second_looks(again):
        rows.join(more)
    # A member of a set is there or not; a field's value is read after its length.
    assert rows.keys == ([b"here", b"goes"] if text is SET else [b"here"])


def test_fields_are_read_through_their_codec(
    client: redis.Redis, through: Callable[..., RedisKeyspace]
) -> None:
    add(client, HASH, "done")
    add(client, HASH, "busy", value=b'{"state": "busy", "fence": 8}')
    add(client, HASH, "odd", value=b"{}")
    add(client, HASH, "broken", value=b"{")
    add(client, HASH, "empty", value=b"")
    add(
        client,
        HASH,
        "long",
        value=b'{"state": "done", "fence": 9, "body": "%b"}' % (b"x" * 200_000),
    )
    records = scanned(through(HASH))
    assert {key: (one.status, one.flaw, one.fence) for key, one in records.items()} == {
        b"done": (Status.COMPLETED, Flaw.NONE, 7),
        b"busy": (Status.IN_PROGRESS, Flaw.NONE, 8),
        b"odd": (Status.MALFORMED, Flaw.NO_STATUS, None),
        b"broken": (Status.MALFORMED, Flaw.UNREADABLE, None),
        b"empty": (Status.MALFORMED, Flaw.UNREADABLE, None),
        b"long": (Status.COMPLETED, Flaw.NONE, 9),
    }
    assert found(through(HASH), [b"long", b"empty"]) == [records[b"long"], records[b"empty"]]


def test_a_text_is_one_member_called_value(
    client: redis.Redis, through: Callable[..., RedisKeyspace]
) -> None:
    text = HASH[: HASH.index("  codec")] + (
        "  codec: text\n  counted_from: value\n  status: unknown\n"
    )
    client.hset("seen", mapping={"a": "1796040000000", "b": "soon", "c": ""})
    records = scanned(through(text))
    told = {key: one.created_at and one.created_at.timestamp() for key, one in records.items()}
    assert told == {b"a": 1796040000, b"b": None, b"c": None}
    assert {one.status for one in records.values()} == {Status.UNKNOWN}


def test_a_flag_in_a_hash_is_not_read_however_long(
    client: redis.Redis, through: Callable[..., RedisKeyspace]
) -> None:
    text = HASH[: HASH.index("  codec")] + "  codec: flag\n  status: unknown\n"
    client.hset("seen", mapping={"a": "x" * 8 * MIB, "b": ""})
    batches = list(through(text).scan())
    sizes = {k: int(s) for one in batches for k, s in zip(one.keys, one.size, strict=True)}
    assert sizes == {b"a": 8 * MIB, b"b": 0}


def test_what_is_asked_for_at_once_is_bounded(
    client: redis.Redis, through: Callable[..., RedisKeyspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "_MOST_BYTES", 300_000)
    monkeypatch.setattr(scan, "_MOST_BYTES", 300_000)
    body = b'{"state": "done", "fence": 9, "body": "%b"}' % (b"x" * 100_000)
    add(client, HASH, *(f"k{number}" for number in range(40)), value=body)
    batches = list(through(HASH).scan())
    assert sum(map(len, batches)) == 40
    assert max(int(batch.size.sum()) for batch in batches) <= 300_000


@KINDS
def test_a_scan_only_reads_and_asks_for_nothing_whole(
    client: redis.Redis,
    through: Callable[..., RedisKeyspace],
    flags: dict[str, set[str]],
    text: str,
) -> None:
    add(client, text, *(f"k{number}" for number in range(2000)))
    client.config_resetstat()
    store = through(text)
    assert len(scanned(store)) == 2000
    found(store, [b"k1"])
    used = {name.removeprefix("cmdstat_") for name in client.info("commandstats")}
    assert ("sscan" if text is SET else "hscan") in used
    assert not used & {"keys", "smembers", "hgetall", "hkeys", "hvals"}
    assert not [name for name in used if "write" in flags[name.partition("|")[0]]]


@KINDS
def test_nothing_is_written_collected_or_held_there(
    client: redis.Redis, through: Callable[..., RedisKeyspace], text: str
) -> None:
    add(client, text, "a")
    store = through(text, writable=True)
    wanted = ([b"k"], [b""])
    nothing: Any = None
    asked: list[Callable[[], object]] = [
        lambda: store.fill(wanted, [b"1"], np.full(1, 10**18), now=0),
        lambda: store.collect(nothing),
        lambda: store.hold(nothing, written_after=nothing),
        lambda: store.hold_keys(nothing, wanted),
    ]
    for ask in asked:
        with pytest.raises(Unsupported, match="redis seen: "):
            ask()
    assert client.keys() == [b"seen"]


@KINDS
def test_a_user_with_what_doctor_asks_for_may_read(
    client: redis.Redis, through: Callable[..., RedisKeyspace], url: str, text: str
) -> None:
    add(client, text, "a")
    say(client, "ACL", "SETUSER", "bob", "on", ">x", "-@all")
    bob = through(text, url=as_user(url, "bob"))
    rights = bob.rights()
    assert not any(right.granted for right in rights)
    for right in rights:
        say(client, *right.grant.split())
    assert all(right.granted for right in bob.rights())
    assert set(scanned(bob)) == {b"a"}

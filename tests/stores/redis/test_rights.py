"""Whether a user may write is found out without writing, on old servers and new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from idemctl.domain.purposes import Purpose
from idemctl.errors import Refused
from idemctl.stores.redis.bursts import KEY, Burst
from idemctl.stores.redis.reads import EVAL_PROBE, SET_PROBE
from tests.stores.redis.servers import as_user, say

if TYPE_CHECKING:
    from collections.abc import Callable

    import redis

    from idemctl.stores.answers import Right
    from idemctl.stores.redis.bulk import Lane
    from idemctl.stores.redis.keyspace import RedisKeyspace

READS_ALL = ("on", ">x", "~*", "+@read", "+scan", "+info", "+time", "+dbsize", "+memory")


def given(client: redis.Redis, *rules: str) -> None:
    say(client, "ACL", "SETUSER", "bob", "reset", *READS_ALL, *rules)


def written_by(space: RedisKeyspace) -> dict[str, Right]:
    return {one.name: one for one in space.rights() if one.needed_for == (Purpose.RECONCILE,)}


def state(client: redis.Redis) -> tuple[Any, ...]:
    keys = sorted(client.keys())
    return client.dbsize(), [(key, client.get(key), client.pttl(key) > 0) for key in keys]


def writes(client: redis.Redis, flags: dict[str, set[str]]) -> dict[str, dict[str, int]]:
    """Give what the server counted of each command that writes."""
    stats: dict[str, dict[str, int]] = client.info("commandstats")
    by_name = {name.removeprefix("cmdstat_"): counts for name, counts in stats.items()}
    return {
        name: counts
        for name, counts in by_name.items()
        if "write" in flags.get(name.partition("|")[0], set())
    }


# A user who may ask the server, and one who may not: who reads 6.2 may ask, and is not answered.
ASKS = pytest.mark.parametrize("asks", [True, False])


@ASKS
def test_finding_out_changes_nothing(
    client: redis.Redis,
    keyspace: Callable[..., RedisKeyspace],
    flags: dict[str, set[str]],
    url: str,
    asks: bool,
) -> None:
    # The very name that is tried holds something.
    for name in ("idem:", "idem:a"):
        client.set(name, "mine", ex=1000)
    given(client, "+set", "+eval", *(["+acl"] if asks else []))
    before = state(client)
    client.config_resetstat()
    rights = written_by(keyspace(url=as_user(url, "bob")))
    assert {name: one.granted for name, one in rights.items()} == {"EVAL": True, "SET": True}
    counted = writes(client, flags)
    assert state(client) == before
    is_asked = asks and "valkey_version" in client.info("server")
    assert set(counted) - {"eval"} == (set() if is_asked else {"set"})
    if not is_asked:
        # It was sent, and carried out never.
        assert counted["set"]["calls"] == counted["set"]["failed_calls"] == 1
    # The control: this is how a write is counted.
    client.set("idem:a", "other")
    told = writes(client, flags)["set"]
    assert told["calls"] - told["failed_calls"] == 1
    assert state(client) != before


@ASKS
@pytest.mark.parametrize(
    ("rules", "missing"),
    [
        (("+set",), {"EVAL": "+eval"}),
        # Its keys are all keys, and one more pattern would be refused.
        (("+eval",), {"SET": "+set"}),
        (("+eval", "+set", "resetkeys", "~other:*"), {"SET": "+set ~idem:*"}),
        ((), {"EVAL": "+eval", "SET": "+set"}),
    ],
)
def test_what_is_missing_to_write_is_told(
    client: redis.Redis,
    keyspace: Callable[..., RedisKeyspace],
    url: str,
    *,
    asks: bool,
    rules: tuple[str, ...],
    missing: dict[str, str],
) -> None:
    given(client, *rules, *(["+acl"] if asks else []))
    rights = written_by(keyspace(url=as_user(url, "bob")))
    lacking = [one for one in rights.values() if not one.granted]
    assert {one.name: one.grant for one in lacking} == {
        name: f"ACL SETUSER bob {rule}" for name, rule in missing.items()
    }
    # The control: the rules help.
    for one in lacking:
        say(client, *one.grant.split())
    assert all(one.granted for one in written_by(keyspace(url=as_user(url, "bob"))).values())


def test_no_other_form_of_the_probes_is_let_through(
    client: redis.Redis, lane: Callable[..., Lane]
) -> None:
    reader = lane()
    for probe in (SET_PROBE, EVAL_PROBE):
        # The control: as they are, they pass.
        reader.ask(Burst(commands=(probe,), keys=[b"k"]))
    others: list[tuple[bytes | None, ...]] = [
        (b"SET", KEY, b"", b"NX"),
        (b"SET", KEY, b"", b"XX"),
        (b"SET", KEY, b"v", b"NX", b"XX"),
        (b"SET", KEY, b"", b"NX", b"XX", b"GET"),
        (b"SET", b"k", b"", b"NX", b"XX"),
        (b"EVAL", b"return redis.call('SET', 'k', 'v')", b"0"),
        (b"EVAL", b"return 0", b"1", KEY),
    ]
    for command in others:
        with pytest.raises(Refused, match="is no command that reads"):
            reader.ask(Burst(commands=(command,), keys=[b"k"]))
    assert client.dbsize() == 0


@pytest.mark.parametrize("prefix", ["plain:", 'it"s:', "a b:", "a[1]*?:", "back\\slash:", "zoë:"])
def test_the_rules_fit_prefixes_of_any_kind(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], url: str, prefix: str
) -> None:
    client.set(f"{prefix}a", "{}")
    say(client, "ACL", "SETUSER", "bob", "on", ">x")
    space = keyspace(url=as_user(url, "bob"), prefix=prefix)
    for right in space.rights():
        rules = right.grant.removeprefix("ACL SETUSER bob ")
        client.execute_command("ACL", "SETUSER", "bob", *as_redis_cli_reads(rules))  # type: ignore[no-untyped-call]
    space = keyspace(url=as_user(url, "bob"), prefix=prefix)
    assert [right.name for right in space.rights() if not right.granted] == []
    assert sum(len(batch) for batch in space.scan()) == 1
    # The control: what has another prefix stays out of reach.
    other = keyspace(url=as_user(url, "bob"), prefix="others:")
    assert not all(right.granted for right in other.rights())


def as_redis_cli_reads(line: str) -> list[bytes]:
    """Take a line apart, as hiredis's `sdssplitargs` does for redis-cli."""
    words: list[bytes] = []
    for word in line.split(' "'):
        inner = word.removesuffix('"')
        if inner == word:
            words += [one.encode() for one in word.split()]
            continue
        words.append(inner.encode("ascii").decode("unicode_escape").encode("latin-1"))
    return words


def test_the_number_of_a_database_takes_a_right_of_its_own(
    client: redis.Redis, keyspace: Callable[..., RedisKeyspace], url: str
) -> None:
    assert "SELECT" not in {right.name for right in keyspace(url=url).rights()}
    elsewhere = keyspace(url=f"{url.rpartition('/')[0]}/3").rights()
    assert (elsewhere[0].name, elsewhere[0].granted, elsewhere[0].rule) == (
        "SELECT", True, "+select",
    )  # fmt: skip

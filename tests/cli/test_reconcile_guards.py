"""reconcile: what it asks before it writes, and what it does not take for a difference."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from idemctl.stores.redis import keyspace
from idemctl.stores.redis.account import read_account
from tests.cli.pairs import PAYMENTS
from tests.cli.people import Person

if TYPE_CHECKING:
    from idemctl.domain.incident import Account
    from idemctl.stores.redis.bulk import Lane
    from tests.cli.pairs import Pairs

PROTECTED = ("stores:\n  payments:\n", "stores:\n  payments:\n    protected: true\n")
BOTH_PROTECTED = (PROTECTED, ("\n  webhooks:\n", "\n  webhooks:\n    protected: true\n"))
MISSPELT = ('prefix: "idem:"', 'prefix: "idme:"')
APPLY = ("reconcile", "--apply", "--yes", *PAYMENTS, "-o", "json")
LOOK = ("reconcile", *PAYMENTS, "-o", "json")


def insert(pairs: Pairs, key: str, scope: str = "") -> None:
    pairs.connection.execute(
        "INSERT INTO processed_events (idempotency_key, scope, status, fence, epoch, completed_at,"
        " expires_at) VALUES (%s, %s, 'completed', 1, 1, clock_timestamp(),"
        " now() + interval '7 days')",
        (key, scope),
    )


def put(pairs: Pairs, name: str, **members: Any) -> None:
    record = {"status": "completed", "fence": 1, "epoch": 1} | members
    pairs.client.set(f"idem:{name}", json.dumps(record), ex=86_000)


@pytest.fixture
def long_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server have been up for long, as the servers of tests never are."""

    def account(lane: Lane) -> Account:
        return replace(read_account(lane), uptime=timedelta(days=30))

    monkeypatch.setattr(keyspace, "read_account", account)


@pytest.mark.usefixtures("long_up")
@pytest.mark.parametrize("words", [APPLY, LOOK], ids=["apply", "look"])
def test_a_wrong_prefix_is_no_loss_and_nothing_is_written_under_it(
    pairs: Pairs, words: tuple[str, ...]
) -> None:
    before = pairs.dumps("*")
    pairs.configure(MISSPELT)
    done = pairs.place.main(*words)
    assert done.status == 10
    [error] = done.document["errors"]
    assert error["message"].startswith("redis idme:*: cannot judge: no record has this prefix")
    assert done.document["items"] == []
    assert pairs.dumps("*") == before


@pytest.mark.usefixtures("long_up")
def test_who_may_not_ask_for_the_server_s_past_is_told_the_same(pairs: Pairs) -> None:
    pairs.configure(MISSPELT)
    pairs.client.acl_setuser(
        "bob", enabled=True, passwords="+x", keys="*", commands=["+@all", "-info"]
    )
    before = pairs.dumps("*")
    try:
        where = urlsplit(pairs.redis_url)
        pairs.place.lead(REDIS_URL=f"redis://bob:x@{where.hostname}:{where.port}{where.path}")
        done = pairs.place.main(*APPLY)
    finally:
        pairs.client.acl_deluser("bob")
    assert done.status == 10
    assert "cannot judge: no record has this prefix" in done.err
    assert pairs.dumps("*") == before


@pytest.mark.usefixtures("long_up")
@pytest.mark.parametrize("prefix", ["idme:", "i"], ids=["nothing there", "nothing readable"])
def test_diagnose_cannot_judge_either_what_has_a_wrong_prefix(pairs: Pairs, prefix: str) -> None:
    pairs.configure((MISSPELT[0], f'prefix: "{prefix}"'))
    for words in (("diagnose", *PAYMENTS), LOOK):
        done = pairs.place.main(*words)
        assert done.status == 10
        assert "cannot judge: no record has this prefix" in done.err


def test_after_a_flush_it_is_told_when_others_have_keys_there(pairs: Pairs) -> None:
    pairs.client.flushall()
    pairs.client.set("another:key", "1")
    done = pairs.place.main("reconcile", "--apply", "--yes", *PAYMENTS)
    assert "payments: nothing had its prefix, and the server held 1 key of others" in done.out


@pytest.mark.usefixtures("long_up")
def test_a_loss_that_no_server_counts_is_filled_once_the_application_has_written(
    pairs: Pairs,
) -> None:
    lost = pairs.names()
    pairs.client.delete(*lost)
    assert pairs.place.main(*APPLY).status == 10
    pairs.write("new")
    done = pairs.place.main(*APPLY)
    assert (done.status, done.summary["applied"]) == (0, len(lost))


@pytest.mark.usefixtures("long_up")
def test_after_a_flush_a_keyspace_is_filled_whoever_else_has_written_since(pairs: Pairs) -> None:
    lost = len(pairs.names())
    pairs.client.flushall()
    pairs.client.set("another:key", "1")
    done = pairs.place.main(*APPLY)
    assert (done.status, done.summary["applied"]) == (0, lost)


def test_a_protected_store_wants_its_name_beside_yes(pairs: Pairs) -> None:
    pairs.configure(PROTECTED)
    pairs.client.flushall()
    done = pairs.place.main("reconcile", "--apply", "--yes", *PAYMENTS)
    assert done.status == 2
    assert "payments is protected: --yes alone is not enough" in done.err
    assert "add --confirm payments" in done.err
    assert not pairs.names()
    # Looking needs no consent.
    assert pairs.place.main(*LOOK).status == 3
    assert pairs.place.main(*APPLY, "--confirm", "payments").status == 0
    assert pairs.names()


def test_a_name_that_is_another_store_s_confirms_nothing(pairs: Pairs) -> None:
    pairs.client.flushall()
    done = pairs.place.main(*APPLY, "--confirm", "webhooks")
    assert done.status == 2
    assert "--confirm webhooks names another store than payments" in done.err
    assert not pairs.names()


def test_two_protected_stores_are_written_to_one_at_a_time(pairs: Pairs) -> None:
    pairs.configure(*BOTH_PROTECTED)
    both = ("--store", "payments", "--store", "webhooks", "--confirm", "payments")
    done = pairs.place.main("reconcile", "--apply", "--yes", *both)
    assert done.status == 2
    assert "payments, webhooks are protected, and written to one at a time" in done.err


@pytest.mark.parametrize(
    ("typed", "status", "is_filled"),
    [("payments\n", 0, True), ("y\n", 6, False), ("webhooks\n", 6, False), ("\x04", 6, False)],
    ids=["its name", "a yes", "another name", "end of input"],
)
def test_on_a_terminal_the_name_of_a_protected_store_is_typed(
    pairs: Pairs, typed: str, status: int, is_filled: bool
) -> None:
    pairs.configure(PROTECTED)
    pairs.client.flushall()
    person = Person(pairs.place, "reconcile", "--apply", *PAYMENTS)
    person.awaits("payments is protected; type its name: ")
    person.types(typed)
    assert person.ends() == status
    person.close()
    assert bool(pairs.names()) is is_filled


def test_a_name_that_two_rows_share_is_one_record_s_and_no_other_s(pairs: Pairs) -> None:
    insert(pairs, "a:b")
    insert(pairs, "b", "a")
    put(pairs, "a:b", key="b", scope="a")
    done = pairs.place.main(*LOOK)
    [item] = done.document["items"]
    assert (item["code"], item["key"], item["scope"]) == ("divergent", "a:b", "")
    assert (done.status, done.summary["moving"]) == (3, 0)


def test_the_record_of_another_key_is_malformed_under_this_one_s_name(pairs: Pairs) -> None:
    insert(pairs, "mine")
    put(pairs, "mine", key="theirs", scope="")
    done = pairs.place.main(*LOOK)
    assert [(item["code"], item["key"]) for item in done.document["items"]] == [
        ("malformed", "mine")
    ]
    assert (done.status, done.summary["moving"], done.summary["unreadable"]) == (3, 0, 0)


def test_what_cannot_be_read_and_has_no_row_is_told_and_is_no_difference(pairs: Pairs) -> None:
    pairs.client.set("idem:nobody", "{", ex=86_000)
    pairs.client.rpush("idem:list", "x")
    put(pairs, "astray", key="another", scope="")
    done = pairs.place.main(*LOOK)
    assert (done.status, done.document["items"], done.summary["unreadable"]) == (0, [], 3)
    told = pairs.place.main("reconcile", *PAYMENTS)
    assert "3 records in Redis cannot be read, and may be anybody's: see audit" in told.out


def test_a_lease_that_was_renewed_in_postgres_only_is_stale(pairs: Pairs) -> None:
    pairs.connection.execute(
        "INSERT INTO processed_events (idempotency_key, status, fence, epoch, lease_until,"
        " expires_at) VALUES ('busy', 'in_progress', 1, 1, now() + interval '10 minutes',"
        " now() + interval '7 days')"
    )
    now = int(pairs.now().timestamp() * 1000)
    for lease, codes in ((now + 60_000, ["stale"]), (now + 600_000, [])):
        put(pairs, "busy", key="busy", scope="", status="in_progress", lease_until=lease)
        done = pairs.place.main(*LOOK)
        assert [item["code"] for item in done.document["items"]] == codes

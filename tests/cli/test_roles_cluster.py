"""The roles that doctor --grants prints for a cluster: enough on all of its primaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.stores.redis.servers import as_user, say
from tests.stores.redis.test_cluster import running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.places import Done, Place
    from tests.stores.redis.test_cluster import Cluster

CONFIGURATION = """\
version: 1
stores:
  sessions:
    redis: {url_env: REDIS_URL, layout: bare, prefix: "idem:", ttl: 24h}
"""
ROLES = ("idemctl_reading", "idemctl_store")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running() as one:
        yield one


@pytest.fixture
def acl(cluster: Cluster, place: Place) -> dict[str, list[str]]:
    """Make the roles as they are printed; give the words of each."""
    for number in range(300):
        cluster.set(f"idem:{number}", "1")
    place.configure(CONFIGURATION)
    place.lead(REDIS_URL=cluster.urls[0])
    printed = place.main("doctor", "--grants")
    assert (printed.status, printed.err) == (0, "")
    lines = [line.split() for line in printed.out.splitlines() if line.startswith("ACL ")]
    words = {line[2]: line for line in lines}
    assert tuple(words) == ROLES
    give(cluster, *words.values(), *(["ACL", "SETUSER", role, ">x"] for role in ROLES))
    return words


def give(cluster: Cluster, *rules: list[str]) -> None:
    for client in cluster.clients:
        for rule in rules:
            say(client, *rule)


def run(place: Place, *words: str) -> Done:
    return place.main(*words, "-o", "json", "--pace", "full")


def judged(done: Done) -> tuple[int, object, set[str]]:
    codes = {item["code"] for item in done.document["items"]}
    return done.status, done.summary["records"], codes


@pytest.mark.parametrize("first", [0, 1, 2])
def test_who_reads_audits_all_of_a_cluster_whoever_is_asked(
    cluster: Cluster, place: Place, acl: dict[str, list[str]], first: int
) -> None:
    assert all(client.dbsize() > 50 for client in cluster.clients)
    whole = run(place, "audit")
    place.lead(REDIS_URL=as_user(cluster.urls[first], "idemctl_reading"))
    audited = run(place, "audit")
    assert audited.document["errors"] == []
    assert audited.status in {0, 3}, audited.err
    _, records, codes = judged(audited)
    assert records == judged(whole)[1]
    # Who may not ask for CONFIG is not told that snapshots are off, too.
    assert codes - judged(whole)[2] <= {"append-only-off"}
    assert run(place, "doctor", "--role", "reading").status == 0
    assert run(place, "store", "show").status == 0


@pytest.mark.parametrize("role", ROLES)
def test_without_any_one_word_in_a_cluster_doctor_complains(
    cluster: Cluster, place: Place, acl: dict[str, list[str]], role: str
) -> None:
    name = role.removeprefix("idemctl_")
    place.lead(REDIS_URL=as_user(cluster.urls[0], role))
    assert run(place, "doctor", "--role", name).status == 0
    words = acl[role]
    needed = [word for word in words if word[0] in "+~%"]
    asked = {word for word in needed if word.startswith("+cluster|")}
    all_asked = {"+cluster|info", "+cluster|nodes", "+cluster|slots"}
    assert asked == (all_asked if name == "reading" else {"+cluster|slots"})
    for word in needed:
        give(cluster, [one for one in words if one != word])
        assert run(place, "doctor", "--role", name).status == 12, word
        give(cluster, words)
    assert run(place, "doctor", "--role", name).status == 0


def test_who_rules_freezes_and_thaws_a_store_in_a_cluster(
    cluster: Cluster, place: Place, acl: dict[str, list[str]]
) -> None:
    place.lead(REDIS_URL=as_user(cluster.urls[0], "idemctl_store"))
    freeze = ("store", "freeze", "--for", "1h", "--reason", "a test", "--apply")
    assert run(place, *freeze).status == 0
    assert cluster.holder("idemctl:{sessions}:freeze").exists("idemctl:{sessions}:freeze")
    assert run(place, "store", "thaw", "--apply").status == 0
    assert not cluster.holder("idemctl:{sessions}:freeze").exists("idemctl:{sessions}:freeze")

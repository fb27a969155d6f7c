"""Redis servers: their room, what outlives them, and who copies them."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest

from idemctl.checks.check import REDIS as ONLY_REDIS
from idemctl.checks.check import Source
from idemctl.checks.examination import Examination
from idemctl.checks.registry import CHECKS
from idemctl.domain.circumstances import Primary, RedisCircumstances, Replica, Unseen
from tests.checks.places import POSTGRES, REDIS, codes, found, told

GB = 1_000_000_000
FOLLOWER = Replica(
    place="10.0.0.2:6379", is_online=True, behind=1_000, silent_for=timedelta(seconds=1)
)
LINKED = Primary(place="10.0.0.1:6379", is_linked=True, unlinked_for=None)
CUT_OFF = replace(LINKED, is_linked=False)
HEALTHY = RedisCircumstances(
    eviction_policy="noeviction",
    evicted_count=0,
    memory_used=GB // 2,
    memory_limit=GB,
    machine_memory=4 * GB,
    refusals={},
    appends=True,
    sync="everysec",
    snapshot_rule="3600 1",
    unsaved_count=12,
    snapshot_failed=False,
    append_failed=False,
    rewrite_failed=False,
    primary=None,
    replicas=(FOLLOWER,),
    replicas_needed=1,
    replicas_close=1,
    uncovered_slots=0,
)
UNSEEN = Unseen("this user may not run INFO")
OF_SERVERS = {
    check.code
    for check in CHECKS
    if check.source is Source.CIRCUMSTANCES and check.engines == ONLY_REDIS
}


def of(**changes: Any) -> dict[str, str]:
    return told(REDIS, replace(HEALTHY, **changes))


def late(**changes: Any) -> dict[str, str]:
    return of(replicas=(FOLLOWER, replace(FOLLOWER, **changes)))


def test_a_healthy_server_has_nothing() -> None:
    assert of() == {}
    assert len(OF_SERVERS) >= 17


def test_what_cannot_be_seen_is_judged_by_nobody() -> None:
    names = {one.name for one in fields(HEALTHY)} - {"server", "others"}
    blind = RedisCircumstances(**dict.fromkeys(names, UNSEEN))  # type: ignore[arg-type]
    assert told(replace(REDIS, replica_count=1), blind) == dict.fromkeys(
        OF_SERVERS, "cannot judge: this user may not run INFO"
    )


@pytest.mark.parametrize("policy", ["volatile-ttl", "allkeys-lru", "volatile-lru"])
def test_any_policy_but_one_evicts(policy: str) -> None:
    assert of(eviction_policy=policy) == {"eviction-enabled": f"maxmemory-policy is {policy}"}


def test_evicted_keys_are_told_whatever_the_policy_is_now() -> None:
    said = "evicted since the server began to count"
    assert of(evicted_count=1) == {"keys-evicted": f"1 key was {said}"}
    assert of(evicted_count=1_200) == {"keys-evicted": f"1,200 keys were {said}"}
    assert set(of(evicted_count=2, eviction_policy="allkeys-lru")) == {
        "eviction-enabled", "keys-evicted",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("thousandths", "expected"),
    [
        (749, []),
        (750, ["memory-running-low"]),
        (899, ["memory-running-low"]),
        (900, ["memory-nearly-full"]),
        (989, ["memory-nearly-full"]),
        (990, ["memory-full"]),
        (1_300, ["memory-full"]),
    ],
)
def test_the_more_is_in_use_the_graver(thousandths: int, expected: list[str]) -> None:
    used = thousandths * GB // 1_000
    assert list(of(memory_used=used)) == expected
    # One that evicts makes room, and says so elsewhere.
    assert set(of(memory_used=used, eviction_policy="allkeys-lru")) == {"eviction-enabled"}
    assert set(of(memory_used=used, memory_limit=0)) == {"memory-unlimited"}


def test_memory_is_told_in_numbers() -> None:
    assert of(memory_used=995_000_000)["memory-full"] == (
        "99 % of maxmemory is in use: 995,000,000 of 1,000,000,000 bytes"
    )
    assert of(memory_limit=0)["memory-unlimited"] == (
        "maxmemory is 0; 500,000,000 bytes are in use, and the machine has 4,000,000,000"
    )
    assert of(memory_limit=0, machine_memory=UNSEEN)["memory-unlimited"] == "maxmemory is 0"


def test_refused_writes_are_told_by_their_reasons() -> None:
    assert of(refusals={"OOM": 1_200, "READONLY": 3}) == {
        "writes-refused": "writes refused since the server began to count: "
        "1,200 for lack of memory (OOM), 3 because it is a replica, or was one (READONLY)"
    }
    assert of(refusals={"OOM": 0}) == of(refusals={"WRONGTYPE": 9}) == {}
    examination = Examination(REDIS, CHECKS)
    examination.consider(replace(HEALTHY, refusals={"OOM": 2, "MISCONF": 3, "WRONGTYPE": 9}))
    assert [one.count for one in examination.findings("payments", "here")] == [5]


@pytest.mark.parametrize(
    ("appends", "rule", "expected"),
    [
        (True, "", {}),
        (True, UNSEEN, {}),
        (False, "", {"persistence-off": "appendonly is no, and save is empty"}),
        (
            False,
            "3600 1",
            {"append-only-off": "appendonly is no; changes since the last snapshot: 12"},
        ),
        # That no file is kept is sure; whether snapshots are taken is not.
        (
            False,
            UNSEEN,
            {
                "append-only-off": "appendonly is no; changes since the last snapshot: 12",
                "persistence-off": f"cannot judge: {UNSEEN.why}",
            },
        ),
    ],
)
def test_what_outlives_the_process(appends: bool, rule: Any, expected: dict[str, str]) -> None:
    assert of(appends=appends, snapshot_rule=rule) == expected


def test_a_file_that_nobody_forces_to_the_disk_is_told_where_there_is_one() -> None:
    assert of(sync="no") == {"fsync-off": "appendfsync is no"}
    assert of(sync="always") == {}
    assert "fsync-off" not in of(sync="no", appends=False)


def test_what_failed_to_be_written_is_told() -> None:
    assert of(snapshot_failed=True) == {
        "snapshot-failed": "the last snapshot failed; changes since the one before: 12"
    }
    write, rewrite = "the last write to the append-only file", "its last rewrite"
    assert of(append_failed=True) == {"append-only-failed": f"failed: {write}"}
    assert of(rewrite_failed=True) == {"append-only-failed": f"failed: {rewrite}"}
    both = of(append_failed=True, rewrite_failed=True)
    assert both == {"append-only-failed": f"failed: {write} and {rewrite}"}
    assert "append-only-failed" not in of(append_failed=True, appends=False)


def test_a_replica_says_so_and_whether_it_is_cut_off() -> None:
    is_replica = {"server-is-replica": "it is a replica of 10.0.0.1:6379"}
    down = "the link to 10.0.0.1:6379 is down"
    assert of(primary=LINKED) == is_replica
    assert of(primary=CUT_OFF) == is_replica | {"replication-link-down": down}
    for_long = replace(CUT_OFF, unlinked_for=timedelta(seconds=90))
    assert of(primary=for_long)["replication-link-down"] == f"{down} for 1m30s"


def test_a_replica_that_follows_late_is_named() -> None:
    place = FOLLOWER.place
    assert late(is_online=False, behind=None) == {
        "replica-behind": f"{place} is still sent everything"
    }
    assert late(silent_for=timedelta(seconds=10)) == {
        "replica-behind": f"{place} has acknowledged nothing for 10s"
    }
    assert late(behind=16 * 2**20) == {"replica-behind": f"{place} is 16,777,216 bytes behind"}
    assert late(silent_for=timedelta(seconds=9)) == late(behind=16 * 2**20 - 1) == {}
    # One that was just taken in has acknowledged nothing yet.
    assert late(behind=None) == late(silent_for=None) == of(replicas=()) == {}


def test_too_few_replicas_are_told_where_some_are_needed() -> None:
    assert of(replicas_needed=2) == {
        "replicas-too-few": "min-replicas-to-write is 2, and 1 are close"
    }
    assert of(replicas_needed=0, replicas_close=UNSEEN) == {}
    # With none close any number is too many; with some the number has to be known.
    assert of(replicas_needed=UNSEEN, replicas_close=0) == {
        "replicas-too-few": "min-replicas-to-write is set, and none is close"
    }
    unknown = {"replicas-too-few": f"cannot judge: {UNSEEN.why}"}
    assert of(replicas_needed=UNSEEN) == of(replicas_close=UNSEEN) == unknown
    assert "replicas-too-few" not in of(replicas_needed=2, primary=LINKED)


def test_slots_that_nobody_serves_are_counted() -> None:
    assert of(uncovered_slots=1_024) == {"slots-uncovered": "nobody serves 1,024 of 16,384 slots"}


@pytest.mark.parametrize(("size", "is_big"), [(100_000, False), (100_001, True)])
def test_a_record_of_more_than_100_kb_is_named_in_both_stores(size: int, is_big: bool) -> None:
    for facts in (POSTGRES, REDIS):
        row = {"fingerprints": b"f", "size": size}
        assert ("big-value" in codes(facts, row)) is is_big


def test_the_span_of_what_is_big_is_told() -> None:
    rows = [{"fingerprints": b"f", "size": size} for size in (5, 120_000, 3_000_000)]
    (finding,) = [one for one in found(POSTGRES, *rows) if one.code == "big-value"]
    assert (finding.count, finding.evidence) == (2, "records of 120,000 to 3,000,000 bytes")


def test_of_several_servers_the_one_is_named_that_has_it() -> None:
    one, other = (replace(HEALTHY, server=name) for name in ("10.0.0.1:7000", "10.0.0.2:7000"))
    evicting = replace(other, eviction_policy="allkeys-lru", evicted_count=3)
    assert of(server=one.server, others=(evicting,)) == {
        "eviction-enabled": "10.0.0.2:7000: maxmemory-policy is allkeys-lru",
        "keys-evicted": "10.0.0.2:7000: 3 keys were evicted since the server began to count",
    }
    assert of(others=(other,)) == {}


def test_what_all_servers_say_alike_is_said_once() -> None:
    assert of(uncovered_slots=12, others=(replace(HEALTHY, uncovered_slots=12),)) == {
        "slots-uncovered": "nobody serves 12 of 16,384 slots"
    }


def test_a_server_that_says_nothing_is_not_healthy_beside_one_that_is() -> None:
    silent = replace(HEALTHY, eviction_policy=UNSEEN)
    assert of(others=(silent,))["eviction-enabled"] == ("cannot judge: this user may not run INFO")

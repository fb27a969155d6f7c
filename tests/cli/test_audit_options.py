"""audit: chosen checks, and findings that somebody answers for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.pairs import Pairs
    from tests.cli.places import Done

WORDS = ("audit", "--store", "payments", "--pace", "full", "-o", "json")
BASELINE = """\
version: 1
accepted:
  - code: fingerprint-missing
    store: payments
    owner: ann
    reason: written before fingerprints were
    until: 2099-12-31
"""


pytestmark = pytest.mark.usefixtures("durable")


@pytest.fixture
def faulty(pairs: Pairs) -> Pairs:
    """Three payments without a fingerprint, in a store that keeps one."""
    pairs.connection.execute(
        "UPDATE processed_events SET fingerprint = NULL WHERE ctid IN (SELECT ctid FROM"
        " processed_events WHERE status = 'completed' AND completed_at < now() - interval '2 days'"
        " LIMIT 3)"
    )
    return pairs


def audit(pairs: Pairs, *words: str) -> Done:
    return pairs.place.main(*WORDS, *words)


def codes(done: Done) -> list[str]:
    return [item["code"] for item in done.document["items"]]


def test_one_check_is_made_alone_and_another_is_left_out(faulty: Pairs) -> None:
    assert codes(audit(faulty)) == ["fingerprint-missing"]
    only = audit(faulty, "--check", "fingerprint-missing")
    assert (only.status, codes(only)) == (3, ["fingerprint-missing"])
    assert {code for one in only.summary["places"] for code in one["checked"]} == {
        "fingerprint-missing"
    }
    skipped = audit(faulty, "--skip", "fingerprint-missing")
    assert (skipped.status, codes(skipped)) == (0, [])
    others = audit(faulty, "--check", "expiry-missing", "--check", "expiry-infinite")
    assert others.status == 0


def test_what_looks_at_no_record_reads_none(faulty: Pairs) -> None:
    done = audit(faulty, "--check", "eviction-enabled", "--check", "table-unlogged")
    assert done.status == 0
    assert [one["seen"] for one in done.summary["places"]] == [None, None]
    assert faulty.names()
    assert "cmdstat_getrange" not in faulty.client.info("commandstats")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--check", "fingerprint-mising"), "did you mean fingerprint-missing?"),
        (("--skip", "nothing"), "--skip: there is no check 'nothing'"),
        (("--check", "orphan", "--skip", "orphan"), "no check is left to be made"),
    ],
)
def test_a_check_that_there_is_not_is_refused(
    faulty: Pairs, words: tuple[str, ...], says: str
) -> None:
    done = audit(faulty, *words)
    assert done.status == 2
    assert says in done.err


def test_an_accepted_finding_ends_no_run_with_3_until_there_is_more_of_it(faulty: Pairs) -> None:
    file = faulty.place.folder / "accepted.yaml"
    file.write_text(BASELINE)
    done = audit(faulty, "--baseline", str(file))
    assert (done.status, codes(done)) == (0, ["fingerprint-missing"])
    assert done.document["items"][0]["accepted"]["owner"] == "ann"
    file.write_text(BASELINE + "    at_most: 2\n")
    more = audit(faulty, "--baseline", str(file))
    assert more.status == 3
    assert more.summary["baseline"][0]["useless"] == "speaks of at most 2, and there are 3"
    file.write_text(BASELINE.replace("2099", "2020"))
    over = audit(faulty, "--baseline", str(file))
    assert over.status == 3
    assert over.summary["baseline"][0]["useless"] == "ended with 2020-12-31"


@pytest.mark.parametrize(
    ("said", "instead", "at", "says"),
    [
        ("fingerprint-missing", "fingerprint-mising", "3:11", "did you mean fingerprint-missing"),
        ("    owner: ann\n", "", "3:5", "the field 'owner' is missing"),
        ("2099-12-31", "tomorrow", "7:12", "is a day, such as"),
    ],
)
def test_a_baseline_that_is_wrong_is_told_by_its_place(
    faulty: Pairs, said: str, instead: str, at: str, says: str
) -> None:
    file = faulty.place.folder / "accepted.yaml"
    file.write_text(BASELINE.replace(said, instead))
    done = audit(faulty, "--baseline", str(file))
    assert done.status == 78
    assert f"accepted.yaml:{at}: " in done.err
    assert says in done.err


def test_a_sample_gives_shares(faulty: Pairs) -> None:
    faulty.connection.execute(
        "UPDATE processed_events SET fingerprint = NULL WHERE status = 'completed'"
    )
    [(share,)] = faulty.connection.execute(
        "SELECT (count(*) FILTER (WHERE status = 'completed'))::float / count(*)"
        " FROM processed_events"
    ).fetchall()
    done = audit(faulty, "--sample", "500")
    postgres, redis = done.summary["places"]
    assert (postgres["sampled"], redis["sampled"]) == (True, True)
    assert 500 <= postgres["seen"] < 1_500
    [item] = [one for one in done.document["items"] if one["side"] == "postgres"]
    assert item["share"]["low"] <= share <= item["share"]["high"]
    repeats = {one["code"]: one["why"] for one in postgres["cannot_judge"]}
    assert repeats["key-on-two-endpoints"] == "only some records were looked at"


@pytest.mark.parametrize("nth", [2, 10])
def test_a_sample_of_a_pair_is_compared_with_what_the_other_side_has(
    pairs: Pairs, nth: int
) -> None:
    assert codes(audit(pairs, "--sample", "500")) == []
    done = audit(pairs, "--sample", "500", "--check", "missing")
    assert [one["sampled"] for one in done.summary["places"]] == [True, True]
    assert [one["cannot_judge"] for one in done.summary["places"]] == [[], []]
    names = sorted(pairs.names())
    pairs.client.delete(*names[::nth])
    [whole] = audit(pairs, "--check", "missing").document["items"]
    [(rows,)] = pairs.connection.execute("SELECT count(*) FROM processed_events").fetchall()
    [item] = audit(pairs, "--sample", "500", "--check", "missing").document["items"]
    assert whole["share"] is None
    assert 0 < item["count"] < whole["count"]
    assert item["share"]["low"] <= whole["count"] / rows <= item["share"]["high"]


def test_keys_that_only_redis_has_are_a_share_of_its_keys(pairs: Pairs) -> None:
    pairs.connection.execute("DELETE FROM processed_events WHERE hashtext(idempotency_key) % 3 = 0")
    [whole] = audit(pairs, "--check", "orphan").document["items"]
    [item] = audit(pairs, "--sample", "800", "--check", "orphan").document["items"]
    assert item["count"] < whole["count"]
    share = whole["count"] / len(pairs.names())
    assert item["share"]["low"] <= share <= item["share"]["high"]


def test_a_sample_that_holds_all_is_the_whole(faulty: Pairs) -> None:
    done = audit(faulty, "--sample", "1000000")
    assert [one["sampled"] for one in done.summary["places"]] == [False, False]
    assert [(one["code"], one["count"], one["share"]) for one in done.document["items"]] == [
        ("fingerprint-missing", 3, None)
    ]

"""What a layout file states beside where things are: what stays, and what is known."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
import redis

from tests.cli.places import PAYMENTS

if TYPE_CHECKING:
    from tests.cli.places import Database, Done, Place

OURS = PAYMENTS.replace("layout: reference", "layout: ours.yaml")
FULL = ("--pace", "full", "-o", "json")


def through(place: Place, *statements: str) -> None:
    """Let payments be read through the reference layout, with statements on its Postgres side."""
    text = place.main("layout", "show", "reference").out
    side = "postgres:\n"
    assert text.count(side) == 1
    lines = "".join(f"  {statement}\n" for statement in statements)
    (place.folder / "ours.yaml").write_text(text.replace(side, side + lines))
    place.configure(OURS)


def counts(done: Done) -> Counter[str]:
    sums: Counter[str] = Counter()
    for item in done.document["items"]:
        sums[item["code"]] += item["count"]
    return sums


def test_what_stays_is_told_before_and_is_there_after(seeded: Database, place: Place) -> None:
    through(place)
    plain = place.main("gc", *FULL)
    through(place, "never_collected: {field: endpoint, is: POST /v1/charges}")
    stays = "endpoint = 'POST /v1/charges' AND status IN ('completed', 'failed')"
    before = seeded.count(f"processed_events WHERE {stays}")
    look = place.main("gc", *FULL)
    assert 0 < look.summary["candidates"] < plain.summary["candidates"]
    assert look.summary["kept_by_layout"] == counts(look)["kept-by-layout"] == before
    done = place.main("gc", "--apply", *FULL, "--store", "payments")
    assert done.status == 0
    assert done.summary["deleted"] == look.summary["candidates"]
    assert seeded.count(f"processed_events WHERE {stays}") == before
    assert "kept by the layout" in place.main("gc", "--pace", "full").out
    # The control: without the statement the same rows go.
    through(place)
    place.main("gc", "--apply", *FULL, "--store", "payments")
    assert seeded.count(f"processed_events WHERE {stays}") < before


def test_audit_takes_nothing_that_stays_for_a_backlog(seeded: Database, place: Place) -> None:
    through(place)
    assert counts(place.main("audit", *FULL))["expired-backlog"] > 0
    through(place, "never_collected: always")
    found = counts(place.main("audit", *FULL))
    assert not {"expired-backlog", "expiry-missing", "expiry-infinite"} & set(found)
    assert found["stuck-in-progress"] > 0


def test_a_table_of_the_business_is_refused_in_a_sentence(seeded: Database, place: Place) -> None:
    through(place, "never_collected: always")
    before = seeded.count("processed_events")
    for words in (("gc",), ("gc", "--apply", "--store", "payments")):
        done = place.main(*words)
        assert done.status == 5
        assert (
            "payments: nothing of this table is ever collected: its layout says "
            "never_collected: always" in done.err
        )
    assert seeded.count("processed_events") == before


KNOWN = "known of reference: it answers late"


def test_what_is_known_of_a_library_stands_beside_the_finding(
    seeded: Database, place: Place
) -> None:
    through(place, "breaks: {stuck-in-progress: it answers late.}")
    done = place.main("audit", *FULL)
    known = [item["code"] for item in done.document["items"] if KNOWN in item["why"]]
    assert known == ["stuck-in-progress"]
    stores = {item["store"] for item in done.document["items"] if KNOWN in item["why"]}
    assert stores == {"payments"}
    assert f"This is {KNOWN}." in place.main("audit", "--pace", "full").out


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("fingerprnt-missing", "is unknown; did you mean 'fingerprint-missing'?"),
        ("zzz", "is unknown; known: "),
        ("record-without-ttl", "is never made of postgres-unique in postgres"),
        ("outbox-overdue", "is never made of postgres-unique in postgres"),
    ],
)
def test_a_check_that_there_is_not_is_told_by_its_place(place: Place, code: str, says: str) -> None:
    through(place, "breaks:", "  stuck-in-progress: it is slow", f"  {code}: it is odd")
    text = (place.folder / "ours.yaml").read_text().splitlines()
    line = text.index(f"    {code}: it is odd") + 1
    done = place.main("layout", "check", "ours.yaml")
    assert done.status == 3
    place_of_it = f"ours.yaml:{line}:5: error: postgres.breaks: the check {code!r} {says}"
    assert place_of_it in done.out
    assert done.out.count(": error: ") == 1


def test_the_list_counts_what_is_known(place: Place) -> None:
    items = place.main("layout", "list", "-o", "json").document["items"]
    counted = {item["layout"]: item["known_faults"] for item in items}
    assert (counted["powertools-python"], counted["reference"]) == (2, 0)


POWERTOOLS = """\
version: 1
stores:
  pay:
    redis: {url_env: REDIS_URL, layout: powertools-python, prefix: "pay.", ttl: 1h}
"""


@pytest.mark.usefixtures("durable")
def test_what_is_known_of_a_library_in_redis_is_told_as_well(place: Place, redis_url: str) -> None:
    place.configure(POWERTOOLS)
    place.lead(REDIS_URL=redis_url)
    until = int(time.time()) + 3_000
    claim = {"status": "INPROGRESS", "expiration": until, "validation": "3244"}
    done = {"status": "COMPLETED", "expiration": until, "data": "{}"}
    with redis.Redis.from_url(redis_url) as client:
        for number, record in enumerate((claim, done)):
            client.set(f"pay.handler#{number:032x}", json.dumps(record), exat=until)
    found = place.main("audit", *FULL).document["items"]
    said = {
        item["code"]: item["why"].partition("known of powertools-python: ")[2] for item in found
    }
    assert said == {
        "fingerprint-missing": "the validation hash is dropped on completion, and identical "
        "retries are rejected.",
        "lease-never-filled": "without the context of Lambda the lease is left out, and a crash "
        "blocks the key for its ttl.",
    }

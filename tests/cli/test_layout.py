"""layout at the command line: the list, a check, and what is never written through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from idemctl.bootstrap.layouts import preset_files

if TYPE_CHECKING:
    from tests.cli.pairs import Pairs
    from tests.cli.places import Place

MINE = """\
layout: mine
title: my table, and its copy as compressed JSON
proven: source
postgres:
  pattern: postgres-unique
  table: shop.keys
  key: id
  fingerprint: digest
  expires: {field: until_ms, unit: milliseconds}
  lease: {field: taken_at, zone: UTC, plus: 30s}
  counted_from: {field: [answer, at], unit: seconds}
  response_status: [answer, code]
  status:
    in_progress: {field: [answer, code], missing: true}
    completed: {field: [answer, code], missing: false}
redis:
  pattern: redis-setnx
  prefix: "shop:"
  key: "(?P<key>.+)"
  name: "{key}"
  lock: "lock:(?P<key>.+)"
  codec: [gzip, json]
  status:
    completed: always
"""


def test_every_preset_is_listed_the_tried_ones_first(place: Place) -> None:
    done = place.main("layout", "list", "-o", "json")
    assert done.status == 0
    names = [item["layout"] for item in done.document["items"]]
    assert sorted(names) == sorted(preset_files())
    proven = [item["proven"] for item in done.document["items"]]
    assert proven == sorted(proven)
    assert done.summary["layouts"] == done.summary["live"] + done.summary["source"] == len(names)
    assert "source only" in place.main("layout", "list").out


def test_a_layout_of_one_s_own_takes_thirty_lines_and_is_told_what_it_shows(place: Place) -> None:
    assert len(MINE.splitlines()) <= 30
    file = place.folder / "mine.yaml"
    file.write_text(MINE)
    done = place.main("layout", "check", str(file), "-o", "json")
    assert (done.status, done.document["items"]) == (0, [])
    [layout] = done.summary["layouts"]
    postgres, redis = layout["sides"]
    assert {"lease", "fingerprint", "expiry", "response", "status"} <= set(postgres["sees"])
    assert postgres["modes"]["crash-mid-write"] == "seen"
    assert redis["modes"]["expired-before-retry"] == "seen"
    told = place.main("layout", "check", str(file)).out
    assert "mine.yaml: what its postgres side shows" in told
    assert "no fence column" in told


def test_a_preset_is_shown_as_a_file_that_is_valid(place: Place) -> None:
    shown = place.main("layout", "show", "brandur")
    assert shown.status == 0
    file = place.folder / "ours.yaml"
    file.write_text(shown.out)
    assert place.main("layout", "check", str(file)).status == 0
    unknown = place.main("layout", "show", "brander")
    assert (unknown.status, unknown.out) == (2, "")
    assert "did you mean brandur?" in unknown.err


@pytest.mark.parametrize(
    ("said", "instead", "at", "says"),
    [
        ("[gzip, json]", "[gzip, jsn]", "jsn", "did you mean json"),
        ("codec: [gzip, json]", "codec: gzip", "gzip", "must end with json, msgpack, text or hash"),
        ("unit: milliseconds", "unit: millisecond", "millisecond}", "did you mean milliseconds"),
        ("zone: UTC", "zone: Mars", "Mars", "is no time zone"),
        ("plus: 30s", "plus: 30", "30", "duration"),
        ("field: [answer, at]", "field: []", "[]", "must not be empty"),
        ("field: [answer, at]", "field: true", "true", "must be text, not true"),
        (
            "pattern: redis-setnx",
            "pattern: redis-setnx\n  lease: {field: at, zone: UTC}",
            "pattern: redis-setnx",
            "needs no zone",
        ),
        (", unit: seconds", "", "pattern: postgres-unique", "say which unit it counts"),
        ('key: "(?P<key>.+)"', 'key: "(.+)"', '"(.+)"', "must name the part that is the key"),
        ('lock: "lock:(?P<key>.+)"', 'lock: "("', '"("', "is no regular expression"),
        ("  table: shop.keys\n", "", "postgres:", "the field 'table' is missing"),
        ("fingerprint: digest", "fingerprnt: digest", "fingerprnt", "did you mean 'fingerprint'?"),
        ("status:\n    completed: always", "status: odd", "odd", "must be unknown, not odd"),
    ],
)
def test_what_is_wrong_in_a_layout_is_told_by_its_place(
    place: Place, said: str, instead: str, at: str, says: str
) -> None:
    assert said in MINE
    text = MINE.replace(said, instead)
    before = text[: text.index(at, text.index(instead) if instead else 0)]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    file = place.folder / "mine.yaml"
    file.write_text(text)
    done = place.main("layout", "check", str(file))
    assert done.status == 3
    assert f"mine.yaml:{line}:{column}: error: " in done.out
    assert says in done.out


def test_a_file_that_is_not_there_is_no_valid_one(place: Place) -> None:
    done = place.main("layout", "check", "nowhere.yaml")
    assert done.status == 78
    assert "nowhere.yaml" in done.err


BRANDUR = """\
version: 1
stores:
  keys:
    postgres: {dsn_env: DATABASE_URL, layout: brandur}
    ttl: 72h
"""


def test_nothing_is_changed_through_a_layout_that_nobody_has_tried(place: Place, dsn: str) -> None:
    place.configure(BRANDUR)
    place.lead(DATABASE_URL=dsn)
    done = place.main("gc", "--apply", "--store", "keys")
    assert done.status == 5
    assert "keys: layout brandur was read from the source of its library" in done.err


LIVE = ("layout", "check", "theirs.yaml", "--live", "--store", "payments", "-o", "json")


def tried(pairs: Pairs, *changes: tuple[str, str]) -> Any:
    """Read the seeded payments through the reference layout, changed."""
    text = pairs.place.main("layout", "show", "reference").out
    for said, instead in changes:
        assert said in text
        text = text.replace(said, instead)
    (pairs.place.folder / "theirs.yaml").write_text(text)
    return pairs.place.main(*LIVE)


def test_a_layout_is_tried_on_the_records_of_a_store(pairs: Pairs) -> None:
    done = tried(pairs)
    assert (done.status, done.document["items"]) == (0, [])
    postgres, redis = done.summary["tried"]
    [(rows,)] = pairs.connection.execute("SELECT count(*) FROM processed_events").fetchall()
    for one, count in ((postgres, rows), (redis, len(pairs.names()))):
        assert one["records"] == sum(one["by_status"].values()) == count
        assert (one["by_status"]["malformed"], one["by_flaw"], one["absurd"]) == (0, {}, {})
        assert one["by_status"]["completed"] > one["by_status"]["in_progress"] > 0
        assert one["filled"]["fingerprints"] == count


@pytest.mark.parametrize(
    ("change", "side", "expected"),
    [
        (("unit: milliseconds", "unit: seconds"), 1, "absurd"),
        (("is: completed}", "is: done}"), 0, "by_flaw"),
        (("codec: json", "codec: msgpack"), 1, "by_flaw"),
        (('prefix: "idem:"', 'prefix: "elsewhere:"'), 1, "records"),
    ],
)
def test_what_is_read_wrong_is_told_and_ends_with_3(
    pairs: Pairs, change: tuple[str, str], side: int, expected: str
) -> None:
    if expected == "records":
        pairs.client.delete(*pairs.names())
    done = tried(pairs, change)
    assert done.status == 3
    told = done.summary["tried"][side][expected]
    assert told == 0 if expected == "records" else told
    assert "not read right" in pairs.place.main(*LIVE[:-2]).out


def test_a_status_that_no_record_has_is_named(pairs: Pairs) -> None:
    pairs.connection.execute("DELETE FROM processed_events WHERE status = 'failed'")
    done = tried(pairs)
    assert done.summary["tried"][0]["never"] == ["failed"]
    assert "its condition never held in the sample" in pairs.place.main(*LIVE[:-2]).out


def test_a_sample_is_about_as_large_as_was_asked(pairs: Pairs) -> None:
    tried(pairs)
    done = pairs.place.main(*LIVE, "--sample", "100")
    assert all(100 <= one["records"] < 2_000 for one in done.summary["tried"])
    pairs.place.lead(REDIS_URL="redis://127.0.0.1:1/0")
    assert pairs.place.main(*LIVE).status == 10

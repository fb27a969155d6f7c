"""hits from the words to the report, on logs that the sandbox draws."""

from __future__ import annotations

import gzip
import signal
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from idemctl.sandbox.seed import hit_log
from tests.cli.places import await_that

if TYPE_CHECKING:
    from pathlib import Path

    from idemctl.sandbox.seed import DrawnLog
    from tests.cli.places import Place

NOW = datetime(2026, 11, 29, 12, 3, tzinfo=UTC)
BUCKET = timedelta(minutes=5)
CONFIGURED = """\
version: 1
stores:
  payments:
    postgres: {}
    logs: {files: [hits.jsonl]}
  mapped:
    postgres: {}
    logs: {files: ["logs/*.gz"], fields: {at: ts, key: idem_key}}
  silent:
    postgres: {}
"""
MAPPED = (('"at"', '"ts"'), ('"key"', '"idem_key"'))


def drawn(*, seed: int, faults: bool) -> DrawnLog:
    return hit_log(records=1000, seed=seed, now=NOW, faults=faults)


def write(folder: Path, log: DrawnLog, *, name: str = "hits.jsonl") -> Path:
    file = folder / name
    file.write_text(log.text, "utf-8")
    return file


@pytest.mark.parametrize("seed", range(6))
def test_the_planted_storm_is_named_with_its_place_and_time(place: Place, seed: int) -> None:
    log = drawn(seed=seed, faults=True)
    write(place.folder, log)
    spike = log.spike
    assert spike is not None

    done = place.main("hits", "hits.jsonl", "-o", "json")

    assert (done.status, done.err) == (3, "")
    [item] = done.document["items"]
    named = {name: item[name] for name in ("code", "series", "endpoint", "client", "cause")}
    assert named == {
        "code": f"{spike.outcome}-spike",
        "series": spike.series,
        "endpoint": spike.endpoint,
        "client": spike.client,
        "cause": "one-client",
    }
    for name in ("started_at", "ended_at"):
        assert abs(datetime.fromisoformat(item[name]) - getattr(spike, name)) <= 2 * BUCKET
    assert item["observed"] > 2 * item["baseline"]
    assert done.summary["spikes"] == 1


@pytest.mark.parametrize("seed", range(6))
def test_a_healthy_log_names_nothing(place: Place, seed: int) -> None:
    log = drawn(seed=seed, faults=False)
    write(place.folder, log)

    done = place.main("hits", "hits.jsonl", "-o", "json")

    assert (done.status, done.err) == (0, "")
    assert done.document["items"] == []
    assert done.summary["keyed_requests"] == done.summary["lines"] == log.line_count


def test_store_chooses_whose_logs_and_under_which_names(place: Place) -> None:
    place.configure(CONFIGURED)
    write(place.folder, drawn(seed=1, faults=True))
    text = drawn(seed=2, faults=False).text
    for ours, theirs in MAPPED:
        text = text.replace(ours, theirs)
    (place.folder / "logs").mkdir()
    (place.folder / "logs" / "a.jsonl.gz").write_bytes(gzip.compress(text.encode()))

    both = place.main("hits", "-o", "json")
    one = place.main("hits", "--store", "mapped", "-o", "json")
    as_mapped = place.main("hits", "--store", "mapped", "logs/a.jsonl.gz", "-o", "json")
    bare = place.main("hits", "logs/a.jsonl.gz", "-o", "json")

    assert both.status == 3
    assert [side["store"] for side in both.summary["stores"]] == ["payments", "mapped"]
    assert both.document["items"][0]["next"] == "idemctl audit --store payments"
    assert (one.status, one.document["store"]) == (0, "mapped")
    assert as_mapped.summary["keyed_requests"] == one.summary["keyed_requests"] > 0
    # Under the usual names nothing is a keyed request: that is not "no spike".
    assert (bare.status, bare.summary["keyed_requests"]) == (0, 0)
    assert bare.summary["unkeyed"] == bare.summary["lines"]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ((), 78, "idemctl.yaml:5:12: {folder}/hits.jsonl: there is no such file"),
        (("--store", "mapped"), 78, "idemctl.yaml:8:12: no file matches {folder}/logs/*.gz"),
        (("--store", "silent"), 78, "no logs are configured for silent"),
        (("none.jsonl",), 78, "command line: none.jsonl: there is no such file"),
        (("-",), 78, "command line: -: there is no such file"),
        (("x", "--store", "mapped", "--store", "silent"), 2, "FILE is read with the names of one"),
    ],
)
def test_logs_that_are_not_there_are_named(
    place: Place, words: tuple[str, ...], status: int, said: str
) -> None:
    place.configure(CONFIGURED)
    done = place.main("hits", *words)
    assert done.status == status
    assert done.out == ""
    assert done.err.startswith(f"idemctl hits: {said.format(folder=place.folder)}")
    assert len(done.err.splitlines()) >= 2


def test_one_log_that_is_missing_keeps_no_other_from_being_judged(place: Place) -> None:
    place.configure(CONFIGURED)
    write(place.folder, drawn(seed=1, faults=True))
    done = place.main("hits", "-o", "json")
    assert done.status == 78
    assert len(done.document["items"]) == 1
    assert [error["status"] for error in done.document["errors"]] == ["config"]


def test_lines_that_cannot_be_read_are_counted_and_shown_dead(place: Place) -> None:
    file = write(place.folder, drawn(seed=1, faults=True))
    with file.open("ab") as stream:
        stream.write(b'{"at": "\x1b[2Jtorn\n')
    done = place.main("hits", "hits.jsonl")
    assert done.status == 3
    assert "files: 1 line not read: no JSON object with any of the fields" in done.out
    assert r"  such as {\"at\": \"\x1b[2Jtorn".replace('\\"', '"') in done.out
    assert "\x1b" not in done.out


def test_a_log_of_nothing_but_nonsense_cannot_be_judged(place: Place) -> None:
    (place.folder / "hits.jsonl").write_text("nonsense\n" * 3)
    done = place.main("hits", "hits.jsonl", "-o", "nagios")
    assert done.status == 3
    assert done.out.startswith("IDEMCTL UNKNOWN - cannot judge: no line of the logs could be read")
    assert place.main("hits", "hits.jsonl").status == 10


def test_a_signal_ends_a_long_reading_and_leaves_no_file(place: Place) -> None:
    temporary = place.folder / "tmp"
    temporary.mkdir()
    place.lead(TMPDIR=str(temporary))
    text = drawn(seed=1, faults=False).text
    with gzip.open(place.folder / "hits.jsonl.gz", "wt", compresslevel=1) as stream:
        for _ in range(100):
            stream.write(text)

    process = place.start("hits", "hits.jsonl.gz", "-o", "json")
    await_that(lambda: any(temporary.glob("idemctl-hits-*")), "the reading begins")
    process.send_signal(signal.SIGTERM)
    done = place.end(process, within=10)

    assert (done.status, done.document["exit"]) == (143, 143)
    assert done.err == "idemctl hits: stopped early (terminated)\n"
    assert list(temporary.iterdir()) == []

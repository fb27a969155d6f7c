"""What hits has to say, for people and for machines."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from idemctl.domain.traffic import Series
from idemctl.errors import ExitStatus, Unreachable
from idemctl.operations.hits import hits
from idemctl.render.envelope import envelope
from idemctl.render.formats import Format, show
from idemctl.render.hits import label, report
from tests.domain.traffic_worlds import NOW, a_world
from tests.operations.hit_logs import Log, a_reading, stormy
from tests.operations.tables import a_run

if TYPE_CHECKING:
    from idemctl.domain.outcomes import Report

STORMY = a_reading(stormy().traffic(), unreadable=2, unkeyed=7)


def made(*logs: Log) -> Report:
    return report(hits(logs, a_run()), a_run(), NOW)


def printed(given: Report, form: Format = Format.TABLE) -> str:
    stream = io.StringIO()
    show(given, form, stream, color=False)
    return stream.getvalue()


def test_a_spike_is_this_table() -> None:
    expected = Path(__file__).with_name("expected").joinpath("hits.txt").read_text("utf-8")
    assert printed(made(Log(reading=STORMY))) == expected


def test_an_item_holds_what_a_program_needs() -> None:
    document = envelope(made(Log(reading=STORMY)))

    [item] = document["items"]
    assert {name: item[name] for name in item if name not in {"evidence", "score"}} == {
        "code": "replay-spike",
        "store": "payments",
        "series": "endpoint POST /charges, client app",
        "endpoint": "POST /charges",
        "client": "app",
        "started_at": "2026-11-29T03:40:00.000Z",
        "ended_at": "2026-11-29T04:20:00.000Z",
        "requests": 303,
        "hits": 301,
        "baseline": item["baseline"],
        "observed": round(301 / 303, 6),
        "cause": "one-client",
        "confidence": "medium",
        "next": "idemctl audit --store payments",
    }
    assert 0.05 < item["baseline"] < 0.4
    assert item["score"] > 16
    assert item["evidence"][0].startswith("301 of 303 requests ended as replay, where about ")


def test_the_summary_counts_everything() -> None:
    summary = envelope(made(Log(reading=STORMY)))["summary"]

    requests = STORMY.traffic.request_count
    assert {name: summary[name] for name in ("lines", "unreadable", "unkeyed")} == {
        "lines": requests + 9,
        "unreadable": 2,
        "unkeyed": 7,
    }
    assert summary["keyed_requests"] == requests
    assert summary["hits"] == {hit: STORMY.traffic.hit_count(hit) for hit in STORMY.traffic.hits}
    assert summary["hit_rate"] == round(sum(summary["hits"].values()) / requests, 6)
    assert summary["spikes"] == 1
    assert (summary["from"], summary["to"]) == (
        "2026-11-01T12:00:00.000Z",
        "2026-11-29T12:00:00.000Z",
    )
    [store] = summary["stores"]
    assert store["unreadable_by_fault"] == {"no-instant": 2}
    assert store["sample"] == [{"fault": "no-instant", "seen": "\\x1b[2J"}]


def test_a_healthy_log_says_so_in_a_line() -> None:
    calm = made(Log(reading=a_reading(a_world(a_bucket=4).traffic())))

    assert calm.items == []
    assert calm.status is ExitStatus.OK
    assert calm.headline.startswith("no spike: ")
    assert printed(calm).endswith(f"{calm.headline}\n")


def test_a_short_log_says_that_it_cannot_be_judged() -> None:
    short = made(Log(reading=a_reading(a_world(days=3).traffic()), store=None))

    assert "files: cannot judge: the log covers 3 d, and a baseline takes two weeks" in (
        short.sheets[0].lines
    )
    assert short.headline == "cannot judge: a baseline takes two weeks"
    assert short.summary["cannot_judge"] > 0


def test_a_log_that_could_not_be_read_is_among_the_errors() -> None:
    torn = Unreachable("torn", hint="mend it")
    both = made(Log(reading=STORMY, error=torn), Log(reading=STORMY))
    assert envelope(both)["errors"] == [
        {"status": "unreachable", "message": "torn", "hint": "mend it"}
    ]


def test_a_strangers_name_is_dead_in_every_form() -> None:
    names = ("web", "=1+1\x1b]0;x\x07<b>", "billing", "partner")
    strange = replace(STORMY, traffic=replace(STORMY.traffic, clients=names))
    for form in Format:
        shown = printed(made(Log(reading=strange)), form)
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "1+1" in shown
    assert label(Series(client="\ud800")) == "client \\xed\\xa0\\x80"

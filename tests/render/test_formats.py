"""Every form of a report, whole."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.domain.outcomes import Sheet
from idemctl.errors import ExitStatus
from idemctl.render.formats import Format, show
from tests.render.reports import a_report

if TYPE_CHECKING:
    from idemctl.domain.outcomes import Report


def shown(report: Report, form: str, *, color: bool = False) -> str:
    stream = io.StringIO()
    show(report, Format(form), stream, color=color)
    return stream.getvalue()


HEAD = {
    "schema": "idemctl/look/v1",
    "store": "payments",
    "run_id": "20261129T120000-abcdef",
    "started_at": "2026-11-29T12:00:00.123Z",
    "finished_at": "2026-11-29T12:00:02.123Z",
    "exit": 0,
    "status": "ok",
}

TABLE = """\
look
what     records
-------  ---------
live     1,200
expired  34
34 records expired
"""

MARKDOWN = """\
## look

| what    | records   |
|---------|-----------|
| live    | 1,200     |
| expired | 34        |

34 records expired

"""

CSV = """\
code,count,why,next,sample
live,1200,promised,,
expired,34,"its ""promise"", ended",,"[""a""]"
"""

NDJSON = [
    {name: HEAD[name] for name in ("schema", "store", "run_id", "started_at")},
    *a_report().items,
    HEAD | {"summary": a_report().summary, "errors": []},
]


@pytest.mark.parametrize(
    ("form", "expected"), [("table", TABLE), ("markdown", MARKDOWN), ("csv", CSV)]
)
def test_a_text_form_is_this_text(form: str, expected: str) -> None:
    assert shown(a_report(), form) == expected


def test_json_is_one_document_with_these_keys_in_this_order() -> None:
    document = json.loads(shown(a_report(), "json"))
    assert list(document) == [*HEAD, "summary", "items", "errors"]
    assert document == HEAD | {
        "summary": a_report().summary,
        "items": list(a_report().items),
        "errors": [],
    }


def test_json_ends_with_a_line_break() -> None:
    assert shown(a_report(), "json").endswith("\n}\n")


def test_ndjson_is_header_items_and_the_whole_without_items() -> None:
    assert [json.loads(line) for line in shown(a_report(), "ndjson").splitlines()] == NDJSON


def test_nagios_is_a_line_with_the_numbers_behind_it() -> None:
    assert (
        shown(a_report(), "nagios") == "IDEMCTL OK - 34 records expired | records=1234 share=0.5\n"
    )
    assert shown(a_report(summary={}), "nagios") == "IDEMCTL OK - 34 records expired\n"


@pytest.mark.parametrize("status", ExitStatus)
def test_every_form_gives_the_status_and_nagios_its_own(status: ExitStatus) -> None:
    report = a_report(status=status)
    for form in Format:
        code = show(report, form, io.StringIO(), color=False)
        if form is not Format.NAGIOS:
            assert code == status
    words = {0: "OK", 1: "WARNING", 2: "CRITICAL", 3: "UNKNOWN"}
    expected = {
        ExitStatus.OK: 0,
        ExitStatus.FINDINGS: 1,
        ExitStatus.PARTIAL: 2,
        ExitStatus.REFUSED: 2,
        ExitStatus.NOT_RECOVERED: 2,
    }.get(status, 3)
    assert show(report, Format.NAGIOS, io.StringIO(), color=False) == expected
    assert shown(report, "nagios").startswith(f"IDEMCTL {words[expected]} - ")
    assert json.loads(shown(report, "json"))["exit"] == status


def test_what_is_empty_is_an_empty_list_and_no_line() -> None:
    empty = a_report(items=(), sheets=(), summary={}, store=None)
    document = json.loads(shown(empty, "json"))
    assert (document["items"], document["errors"], document["summary"]) == ([], [], {})
    assert document["store"] is None
    assert shown(empty, "csv") == ""
    assert shown(empty, "table") == ""
    assert shown(empty, "markdown") == ""
    assert len(shown(empty, "ndjson").splitlines()) == 2


def test_sheets_follow_one_another_with_a_space_between() -> None:
    sheets = [Sheet(title="a", lines=["1"]), Sheet(title="b", lines=["2"])]
    assert shown(a_report(sheets=sheets), "table") == "a\n1\n\nb\n2\n"


def test_only_a_table_has_color_and_only_where_it_is_wanted() -> None:
    assert shown(a_report(), "table", color=True).startswith("\x1b[1mlook\x1b[0m\n")
    for form in Format:
        assert "\x1b" not in shown(a_report(), form)
        if form is not Format.TABLE:
            assert shown(a_report(), form, color=True) == shown(a_report(), form)


def test_a_long_line_is_not_broken_where_a_program_reads() -> None:
    long = "x" * 500
    report = a_report(sheets=[Sheet(headings=("key",), rows=[(long,)], lines=[long])])
    assert shown(report, "table").count(long) == 2


def test_json_carries_a_thousand_items_a_code_and_says_so() -> None:
    items = [{"code": "a", "n": n} for n in range(1001)] + [{"code": "b", "n": 0}]
    report = a_report(items=items)
    document = json.loads(shown(report, "json"))
    assert document["summary"]["truncated"] is True
    assert document["items"] == [*items[:1000], items[-1]]
    assert "truncated" not in report.summary
    *_, whole = lines = shown(report, "ndjson").splitlines()
    assert len(lines) == 1004
    assert "truncated" not in json.loads(whole)["summary"]
    exact = json.loads(shown(a_report(items=items[:1000]), "json"))
    assert "truncated" not in exact["summary"]


# What a stranger may write into a key.
HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x9b31m",
    "a\r\nb\nc",
    "\u202egnp.exe",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-1+1",
    "@SUM(1)",
    "\t=1+1",
    " =1+1",
    "\uff1d1+1",
    "<script>alert(1)</script>",
    "&lt;b&gt;",
    "[bold]x[/bold]",
    "![x](http://a.example/x.png)",
    "https://a.example www.a.example me@a.example",
    "| a | b |",
    "`code` *x* _y_ ~~z~~ \\*",
    "# heading",
    "1. list",
    ":smile:",
    "\x00",
    "\ud800",
)


def hostile_report() -> Report:
    return a_report(
        items=[{"code": "x", "key": key} for key in HOSTILE],
        sheets=[Sheet(title=key, headings=("key",), rows=[(key,)], lines=[key]) for key in HOSTILE],
        headline=" ".join(HOSTILE),
    )


@pytest.mark.parametrize("form", Format)
@pytest.mark.parametrize("color", [False, True])
def test_nothing_that_acts_on_a_terminal_gets_through(form: Format, color: bool) -> None:
    text = shown(hostile_report(), form, color=color and form is not Format.TABLE)
    assert all(line.isprintable() for line in text.split("\n"))
    text.encode("utf-8")


def test_nothing_is_lost_of_a_key_in_json() -> None:
    for form in ("json", "ndjson"):
        text = shown(hostile_report(), form)
        assert text.isascii()
    document: dict[str, Any] = json.loads(shown(hostile_report(), "json"))
    assert [item["key"] for item in document["items"]] == list(HOSTILE)


def test_no_cell_of_csv_is_a_formula() -> None:
    rows = list(csv.reader(io.StringIO(shown(hostile_report(), "csv"))))
    assert len(rows) == len(HOSTILE) + 1
    for _, cell in rows[1:]:
        assert not cell.lstrip().startswith(("=", "+", "-", "@", "\uff1d"))
    assert ["x", "'=cmd|' /C calc'!A0"] in rows
    assert ["x", "\\x09=1+1"] in rows


def test_a_negative_number_of_csv_stays_a_number() -> None:
    assert shown(a_report(items=[{"n": -1.5, "s": "-1.5"}]), "csv") == "n,s\n-1.5,'-1.5\n"


def test_nothing_is_markup_or_html_or_a_link_in_markdown() -> None:
    text = shown(hostile_report(), "markdown")
    for live in ("<", ">", "://", "www.", "me@", "\n# heading", "\n1. list", "&lt;"):
        assert live not in text
    for sign in "*_`[]~":
        assert f"\\{sign}" in text
        assert sign not in text.replace(f"\\{sign}", "")
    assert "&#60;script&#62;alert(1)&#60;/script&#62;" in text
    # The table of each key has its two borders a row, and no more.
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.replace("\\|", "").count("|") == 2


def test_nagios_stays_one_line_with_one_bar() -> None:
    text = shown(hostile_report(), "nagios")
    assert text.count("\n") == 1
    assert text.count("|") == 1

"""Reports on stdout, talk on stderr, whatever stands at the other end."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from idemctl.cli.options import ColorWhen, wants_color
from tests.cli.places import PAYMENTS

if TYPE_CHECKING:
    from tests.cli.places import Database, Place

ESC = "\x1b"
CODES = ("help", "exit-codes")


@pytest.mark.parametrize(
    ("when", "environ", "on_terminal", "expected"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "0"}, True, False),
        ("auto", {"CLICOLOR_FORCE": "1"}, False, True),
        ("auto", {"CLICOLOR": "0"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_color_follows_the_flag_then_the_variables_then_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
    when: str,
    environ: dict[str, str],
    on_terminal: bool,
    expected: bool,
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: on_terminal, raising=False)
    assert wants_color(ColorWhen(when), environ) is expected


def on_terminal(place: Place, *words: str, errors: bool = False) -> tuple[int, str]:
    """Run a command with a terminal as stdout, or as stderr; give what it showed there."""
    ours, theirs = pty.openpty()
    stream, other = ("stderr", "stdout") if errors else ("stdout", "stderr")
    process = place.start(*words, **{stream: theirs, other: subprocess.DEVNULL})
    os.close(theirs)
    shown = b""
    # A terminal whose last writer has gone answers with an error.
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:
        pass
    os.close(ours)
    return process.wait(10), shown.decode("utf-8", errors="replace")


def test_a_terminal_gets_a_table_with_a_bold_title(looking: Place) -> None:
    looking.lead(TERM="xterm-256color", COLUMNS="200")
    status, shown = on_terminal(looking, "gc", "--pace", "full")
    assert status == 0
    assert f"{ESC}[1mgc would collect (nothing was changed){ESC}[0m" in shown
    assert "─" in shown


def test_a_terminal_that_wants_no_color_gets_no_sequence(looking: Place) -> None:
    looking.lead(TERM="xterm", NO_COLOR="1")
    status, shown = on_terminal(looking, "gc", "--pace", "full")
    assert status == 0
    assert ESC not in shown


def test_a_dumb_terminal_gets_no_sequence_not_even_for_progress(looking: Place) -> None:
    looking.lead(TERM="dumb")
    for words, errors in ((CODES, False), (("gc",), True)):
        status, shown = on_terminal(looking, *words, errors=errors)
        assert status == 0
        assert ESC not in shown


def test_progress_is_shown_on_a_terminal_and_cleared(looking: Place) -> None:
    looking.lead(TERM="xterm")
    status, shown = on_terminal(looking, "gc", errors=True)
    assert status == 0
    assert "payments public.processed_events" in shown
    assert shown.endswith(f"\r{ESC}[K")


def test_a_terminal_without_unicode_gets_plain_lines(place: Place) -> None:
    place.lead(PYTHONIOENCODING="ascii", TERM="xterm", COLUMNS="200")
    status, shown = on_terminal(place, *CODES)
    assert status == 0
    assert shown.isascii()


def test_json_stays_json_when_color_is_forced(place: Place) -> None:
    place.lead(FORCE_COLOR="1", CLICOLOR_FORCE="1", TERM="xterm")
    done = place.call(*CODES, "-o", "json", "--color", "always")
    assert done.document["exit"] == 0
    assert ESC not in done.out + done.err


@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"LC_ALL": "de_XX", "PYTHONUTF8": "0"},
    ],
)
def test_a_poor_locale_makes_nothing_crash(place: Place, environ: dict[str, str]) -> None:
    file = place.folder / "zoë.yaml"
    file.write_text(PAYMENTS, "utf-8")
    place.lead(DATABASE_URL="postgresql://idemctl@127.0.0.1:1/x", **environ)
    as_json = place.start("doctor", "--config", str(file), "-o", "json")
    wrong = place.start("doctor", "--store", "zoë", "--config", str(file))
    done = place.end(as_json)
    assert done.status == 10, done.err
    if "PYTHONIOENCODING" in environ:
        assert done.document["items"][0]["says"] == f"{file} (--config)"
    assert "Traceback" not in done.err
    done = place.end(wrong)
    assert done.status == 2
    assert done.err.count("\n") == 2


def test_a_reader_that_leaves_gets_no_traceback(place: Place) -> None:
    for words in (CODES, ("--help",), ("gc", "--aply", "-o", "json")):
        process = place.start(*words)
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        done = place.end(process)
        assert done.status == 141
        assert "Traceback" not in done.err
        assert "Exception" not in done.err


@pytest.mark.parametrize("buffered", ["", "1"])
def test_a_full_disk_is_told_and_the_status_is_not_ok(place: Place, buffered: str) -> None:
    place.lead(PYTHONUNBUFFERED=buffered)
    for words in ((*CODES, "-o", "json"), ("--help",), ("gc", "--aply", "-o", "json")):
        with open("/dev/full", "w") as full:  # noqa: PTH123 (a device, opened as a shell does)
            done = place.end(place.start(*words, stdout=full))
        assert done.status == 4
        told, hint = done.err.splitlines()[-2:]
        assert told.endswith(": the report could not be written: No space left on device")
        assert hint == "  what the command did is done; running it again is safe"
        assert "Traceback" not in done.err
        assert "Exception" not in done.err


@pytest.mark.parametrize(
    ("closed", "words", "status"),
    [
        (">&-", "help exit-codes", 0),
        (">&-", "gc --aply -o json", 2),
        ("2>&-", "gc --aply", 2),
        ("<&- >&- 2>&-", "gc --aply", 2),
        ("2>/dev/full", "gc --aply", 2),
    ],
)
def test_closed_streams_change_no_status(
    place: Place, closed: str, words: str, status: int
) -> None:
    place.lead(PYTHONUNBUFFERED="")
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -m idemctl {words} {closed}', place.python],
        env=place.environ,
        cwd=place.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    assert "Traceback" not in done.stderr


def test_a_store_is_not_written_to_where_stdout_was_closed(looking: Place) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -m idemctl gc --pace full >&-', looking.python],
        env=looking.environ,
        cwd=looking.folder,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_quiet_prints_nothing_when_all_is_well(seeded: Database, place: Place) -> None:
    for words in (
        ("gc", "-q"),
        ("gc", "-q", "--apply", "--store", "payments"),
        ("doctor", "-q"),
        ("store", "show", "--quiet"),
        (*CODES, "-q"),
    ):
        done = place.main(*words)
        assert (done.status, done.out, done.err) == (0, "", ""), words


def test_quiet_still_tells_what_is_wrong(place: Place) -> None:
    place.configure(PAYMENTS)
    place.lead(DATABASE_URL="postgresql://idemctl@127.0.0.1:1/x")
    assert place.main("gc", "-q").err.count("\n") == 2
    assert "127.0.0.1:1: connection refused" in place.main("doctor", "-q").out


def test_quiet_still_gives_the_document_that_was_asked_for(place: Place) -> None:
    assert place.main(*CODES, "-q", "-o", "json").document["status"] == "ok"


def test_what_is_assumed_is_said_on_stderr(looking: Place) -> None:
    (looking.folder / "idemctl.yaml").unlink()
    done = looking.main("diagnose", "-o", "json", "--pace", "full")
    assert done.err == (
        "idemctl diagnose: warning: No configuration names a store; the environment makes one, "
        "'default'.\n"
        "idemctl diagnose: warning: Postgres is taken from DATABASE_URL, layout 'reference'.\n"
    )
    assert looking.main("gc", "-q", "--pace", "full").err == ""


def test_verbose_says_which_configuration_holds(looking: Place) -> None:
    done = looking.main("gc", "-v", "--pace", "full")
    assert done.err == f"idemctl gc: configuration: {looking.folder}/idemctl.yaml\n"


def test_ndjson_streams_header_items_and_the_whole(looking: Place) -> None:
    header, *items, whole = map(json.loads, looking.main("gc", "-o", "ndjson").out.splitlines())
    document = looking.main("gc", "-o", "json").document
    assert list(header) == ["schema", "store", "run_id", "started_at"]
    assert "items" not in whole
    assert [item["code"] for item in items] == [item["code"] for item in document["items"]]
    assert whole["summary"]["candidates"] == document["summary"]["candidates"]


def test_main_leaves_no_thread_behind(place: Place) -> None:
    before = threading.active_count()
    assert place.main(*CODES).status == 0
    assert threading.active_count() == before

"""The help of every command, whole, as a terminal of 80 columns shows it.

The expected texts are in `help/`, a file for each command. After a change that is meant:

    REMAKE_HELP=1 python -m pytest tests/cli/test_help.py

writes them anew; the difference is then a part of the change.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from idemctl.cli.main import application
from idemctl.errors import ExitStatus

if TYPE_CHECKING:
    from tests.cli.places import Place

FOLDER = Path(__file__).with_name("help")
COMMANDS = (
    "",
    *("demo", "doctor", "audit", "diagnose", "hits", "gc", "reconcile"),
    *("policy", "policy check", "policy show"),
    *("layout", "layout detect", "layout list", "layout show", "layout check"),
    *("runbook", "runbook list", "runbook show", "runbook run"),
    *("runs", "runs list", "runs show", "runs check", "runs undo"),
    *("store", "store show", "store beat", "store freeze", "store thaw", "store accept"),
    *("schedule", "schedule cron", "schedule systemd", "schedule kubernetes"),
    *("schema", "schema own", "schema postgres", "schema redis", "schema layout", "schema policy"),
    *("sandbox", "sandbox up", "sandbox down", "sandbox status", "sandbox env", "sandbox seed"),
    "sandbox inject",
    *("help", "help exit-codes"),
)
GROUPS = (
    *("", "help", "layout", "policy", "runbook", "runs", "sandbox", "schedule", "schema", "store"),
)


def file_of(command: str) -> Path:
    return FOLDER / f"{'-'.join(['idemctl', *command.split()])}.txt"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_the_text_on_file(place: Place, command: str) -> None:
    done = place.main(*command.split(), "--help")
    assert (done.status, done.err) == (0, "")
    file = file_of(command)
    if os.environ.get("REMAKE_HELP"):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(done.out, "utf-8")
    assert done.out == file.read_text("utf-8")
    assert max(map(len, done.out.splitlines())) <= 80


@pytest.mark.parametrize("command", [one for one in COMMANDS if one not in GROUPS])
def test_help_begins_with_an_example_and_tells_the_statuses(command: str) -> None:
    paragraphs = file_of(command).read_text("utf-8").split("\n\n")
    usage, _sentence, example, *rest = paragraphs
    assert usage.startswith(f"Usage: idemctl {command} [OPTIONS]")
    if command != "help exit-codes":
        assert f"idemctl {command}" in example
        assert any(one.strip().startswith("Exit status: 0") for one in rest)


def test_no_text_is_left_of_a_command_that_is_gone() -> None:
    assert {file.name for file in FOLDER.iterdir()} == {file_of(one).name for one in COMMANDS}


def test_every_command_is_listed_here() -> None:
    import typer

    found = {""}
    for name, command in typer.main.get_command(application()).commands.items():  # type: ignore[attr-defined]
        found |= {name, *(f"{name} {one}" for one in getattr(command, "commands", {}))}
    assert found == set(COMMANDS)


def test_short_and_long_word_give_the_same_help(place: Place) -> None:
    assert place.main("gc", "-h") == place.main("gc", "--help")


def test_exit_codes_are_the_table_of_the_program(place: Place) -> None:
    items = place.main("help", "exit-codes", "-o", "json").document["items"]
    assert [(one["code"], one["name"], one["meaning"]) for one in items] == [
        (int(status), status.label, status.meaning) for status in ExitStatus
    ]


def test_help_loads_nothing_heavy() -> None:
    heavy = {"psycopg", "redis", "numpy", "duckdb", "jinja2", "rich", "tabulate", "yaml"}
    code = (
        "import sys; from idemctl.cli.main import main; main(['gc', '--help']);"
        f" print(sorted({heavy!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"

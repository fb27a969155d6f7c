"""What findings tell to type next is a command that there is."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
import typer
from typer.exceptions import TyperException

from idemctl.checks.registry import CHECKS
from idemctl.cli.main import application
from idemctl.documents import shipped

COMMANDS = sorted({said for one in CHECKS for said in (one.next, one.next_alone) if said})


def parsed(line: str) -> dict[str, Any]:
    """Read a line as the application does, without doing what it says."""
    program, *words = shlex.split(line)
    assert program == "idemctl"
    command: Any = typer.main.get_command(application())
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    params: dict[str, Any] = command.make_context(command.name, words).params
    return params


@pytest.mark.parametrize("line", COMMANDS)
def test_the_next_command_is_one_that_is_taken(line: str) -> None:
    params = parsed(line.format(store="payments"))
    assert ("{store}" in line) is (params["store"] == ["payments"])
    if line.startswith("idemctl runbook"):
        assert params["book"] in {file.name.removesuffix(".yaml") for file in shipped("runbooks")}


@pytest.mark.parametrize(
    "line", ["idemctl audits", "idemctl gc --colour never", "idemctl store shows", "idemctl gc x"]
)
def test_a_command_that_does_not_exist_would_be_noticed(line: str) -> None:
    with pytest.raises((KeyError, TyperException)):
        parsed(line)

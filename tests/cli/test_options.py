"""The options that every command takes, and their environment variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import typer

from idemctl.cli.main import application
from idemctl.run.run import Run

if TYPE_CHECKING:
    from tests.cli.places import Place

SHARED = {
    "config": None,
    "store": None,
    "output": "IDEMCTL_OUTPUT",
    "quiet": "IDEMCTL_QUIET",
    "verbose": "IDEMCTL_VERBOSE",
    "color": "IDEMCTL_COLOR",
    "max_duration": "IDEMCTL_MAX_DURATION",
    "pace": "IDEMCTL_PACE",
}
WITHOUT_VARIABLE = {
    # Settings read these two themselves, from IDEMCTL_CONFIG and IDEMCTL_STORE.
    *("config", "store"),
    # They consent.
    *("apply", "yes", "confirm"),
    # It overrides a guard.
    "despite",
    # They are one freeze, and no other.
    *("length", "reason"),
    # They choose what runs, and where: never by accident.
    *("folder", "postgres_bin", "redis_bin", "faults"),
    "help",
}


def commands() -> dict[str, Any]:
    whole = typer.main.get_command(application())
    found: dict[str, Any] = {}
    for name, command in whole.commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        found |= {f"{name} {sub}": one for sub, one in inner.items()} if inner else {name: command}
    return found


@pytest.mark.parametrize("name", commands())
def test_every_command_takes_the_options_of_all(name: str) -> None:
    # Arguments are told in the text of the command, and have no variable.
    params = commands()[name].params
    options = {one.name: one for one in params if one.param_type_name == "option"}
    assert set(SHARED) <= set(options)
    for option in options.values():
        by_rule = f"IDEMCTL_{option.name.upper()}"
        expected = None if option.name in WITHOUT_VARIABLE else by_rule
        assert option.envvar == expected, option.name
        assert option.help, option.name


def test_variables_do_what_their_options_do(
    looking: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = looking
    seen: list[Any] = []
    place.lead(IDEMCTL_OUTPUT="json", IDEMCTL_PACE="full", IDEMCTL_MAX_DURATION="2m")
    original = Run.__post_init__

    def watched(run: Run) -> None:
        seen.append((run.pace_name.value, run.max_duration))
        original(run)

    monkeypatch.setattr(Run, "__post_init__", watched)
    done = place.main("gc")
    assert done.document["exit"] == 0
    assert [(pace, str(length)) for pace, length in seen] == [("full", "0:02:00")]
    assert place.main("gc", "-o", "csv").out.startswith("code,store,")


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("IDEMCTL_OUTPUT", "xml", "'xml' is not one of 'table', 'json'"),
        ("IDEMCTL_PACE", "fast", "'fast' is not one of 'gentle', 'full'"),
        ("IDEMCTL_MAX_DURATION", "1", "'1' is not a duration"),
        ("IDEMCTL_WORKERS", "many", "Input should be a valid integer"),
        ("IDEMCTL_QUIET", "maybe", "Input should be a valid boolean"),
    ],
)
def test_a_wrong_variable_is_named(place: Place, variable: str, value: str, says: str) -> None:
    place.lead(**{variable: value})
    done = place.main("gc")
    assert done.status == 2
    assert f"(env var: '{variable}'): {says}" in done.err
    assert done.err.count("\n") == 2


def test_an_empty_variable_is_none(place: Place) -> None:
    place.lead(IDEMCTL_OUTPUT="", IDEMCTL_PACE="", IDEMCTL_MAX_DURATION="", IDEMCTL_QUIET="")
    assert place.main("help", "exit-codes").status == 0

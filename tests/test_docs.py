"""The documentation says what idemctl does: commands, options, statuses, help, samples."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

from idemctl.cli.main import application, main
from idemctl.errors import ExitStatus
from idemctl.sandbox.seed import seed

if TYPE_CHECKING:
    from idemctl.sandbox.servers import Sandbox

PROJECT = Path(__file__).parent.parent
PAGES = [
    file
    for file in [*PROJECT.glob("*.md"), *PROJECT.glob("[!.]*/*.md")]
    if file.name != "CHANGELOG.md"
]
README = (PROJECT / "README.md").read_text("utf-8")
CONTRIBUTING = (PROJECT / "CONTRIBUTING.md").read_text("utf-8")
GC_PAGE = (PROJECT / "docs" / "gc.md").read_text("utf-8")
FENCE = re.compile(r"^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
TYPED = re.compile(r"\bidemctl((?: +[\w./:=-]+)+)")
PATH_ROW = re.compile(r"^\| `(?P<file>[\w/.]+)` \| `(?P<name>\w+)` \|", re.MULTILINE)


def commands() -> dict[str, Any]:
    """Every command that does something, by its full name."""

    def below(command: Any, path: tuple[str, ...]) -> dict[str, Any]:
        if not hasattr(command, "commands"):
            return {" ".join(path): command}
        found: dict[str, Any] = {}
        for name, child in command.commands.items():
            found |= below(child, (*path, name))
        return found

    return below(typer.main.get_command(application()), ())


COMMANDS = commands()


def typed_in(page: Path) -> list[str]:
    """The idemctl commands that a page tells its reader to type."""
    found = []
    for fence in FENCE.finditer(page.read_text("utf-8")):
        lines = fence["text"].splitlines()
        if fence["kind"] == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        elif fence["kind"] not in {"sh", "crontab"}:
            continue
        found += [
            words[1].strip() for line in lines for words in TYPED.finditer(line.partition("#")[0])
        ]
    return found


def parse(words: str) -> None:
    """Let typer read a command without running it."""
    name = max((one for one in COMMANDS if f"{words} ".startswith(f"{one} ")), key=len)
    COMMANDS[name].make_context(name, shlex.split(words.removeprefix(name)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_every_command_that_a_page_shows_can_be_typed(page: Path) -> None:
    for words in typed_in(page):
        parse(words)


def test_the_pages_show_commands_and_wrong_ones_would_be_noticed() -> None:
    assert "gc --apply" in typed_in(PROJECT / "README.md")
    assert "sandbox env" in typed_in(PROJECT / "docs" / "sandbox.md")
    with pytest.raises(typer.exceptions.TyperException):
        parse("gc --aply")
    with pytest.raises(ValueError, match="empty"):
        parse("collect")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_readme_names_every_command(name: str) -> None:
    group, _, verb = name.rpartition(" ")
    row = re.search(rf"^\| `idemctl {group}\b.*`{verb}`.*\|$", README, re.MULTILINE)

    assert row or f"`idemctl {name}`" in README


@pytest.mark.parametrize("status", ExitStatus, ids=lambda status: status.label)
def test_the_documentation_explains_every_exit_status(status: ExitStatus) -> None:
    row = rf"^{int(status)} +{re.escape(status.label)} +{re.escape(status.meaning)}$"

    assert re.search(row, GC_PAGE, re.MULTILINE)


def test_the_documentation_explains_every_option_of_gc() -> None:
    options = {name for one in COMMANDS["gc"].params for name in (*one.opts, *one.secondary_opts)}

    assert {name for name in options if not re.search(rf"(?<![\w-]){name}\b", GC_PAGE)} == set()


def test_the_help_blocks_are_current_and_a_stale_one_would_be_noticed(tmp_path: Path) -> None:
    assert check_blocks(PROJECT).returncode == 0

    for name in ("docs", "idemctl"):
        shutil.copytree(PROJECT / name, tmp_path / name)
    page = tmp_path / "docs" / "gc.md"
    page.write_text(page.read_text("utf-8").replace("collect; without it", "collect; or"), "utf-8")
    stale = check_blocks(tmp_path)

    assert (stale.returncode, stale.stderr) == (
        1, "docs/gc.md: a block is not current; run make docs\n"
    )  # fmt: skip


def check_blocks(project: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, project / "docs" / "blocks.py", "--check"],
        check=False,
        capture_output=True,
        text=True,
    )


def test_the_sample_in_the_readme_is_what_gc_prints(
    sandbox: Sandbox,
    dsn: str,
    redis_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    seed(dsn=dsn, redis_url=redis_url, records=5_000, seed=7, faults=True)
    for name, value in (sandbox.env() | {"DATABASE_URL": dsn}).items():
        monkeypatch.setenv(name, value)
    _, sample = README.split("```console\n$ idemctl ")
    words, _, shown = sample.partition("```")[0].partition("\n")

    assert main(shlex.split(words)) == 0
    assert shapes(shown) == shapes(capsys.readouterr().out)


def shapes(report: str) -> list[str]:
    """Leave out what differs from run to run: numbers, widths, units of time."""
    bare = re.sub(r"\d[\d,]*( (min|d|h|s)\b)?", "N", report)
    return [re.sub(r"-{2,}", "--", re.sub(r" {2,}", "  ", line)) for line in bare.splitlines()]


def test_the_path_of_a_key_leads_through_code_that_is_there() -> None:
    steps = list(PATH_ROW.finditer(CONTRIBUTING))

    assert len(steps) > 20
    for step in steps:
        text = (PROJECT / "idemctl" / step["file"]).read_text("utf-8")
        declared = rf"(def|class) {step['name']}\b|^-- {step['name']} --$"
        assert re.search(declared, text, re.MULTILINE), step[0]


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    wanted = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["hits"],
        *project["project"]["optional-dependencies"]["sandbox"],
        *project["dependency-groups"]["dev"],
    ]
    rows = re.findall(r"^\| (.+?) \| .+ \|$", CONTRIBUTING, re.MULTILINE)
    reasoned = {name for row in rows for name in row.split(", ")}

    assert {re.split(r"[^\w-]", one, maxsplit=1)[0] for one in wanted} - reasoned == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target

"""The house stands as designed: who may import whom, what --help loads, how long a file is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
PACKAGE = PROJECT / "idemctl"
LONGEST_FILE = 300
HEAVY = {"duckdb", "numpy", "msgspec", "psycopg", "pydantic", "redis", "yaml"}


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [command, "--no-cache", "--no-logo"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "200", "NO_COLOR": "1"},
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy to plant faults in."""
    shutil.copytree(PACKAGE, tmp_path / "idemctl", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PROJECT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_import_contracts_hold() -> None:
    run = lint_imports(PROJECT)

    assert run.returncode == 0, run.stdout
    assert " 0 broken" in run.stdout


@pytest.mark.parametrize(
    ("file", "planted", "contract"),
    [
        ("domain/keys.py", "idemctl.cli.gc", "Each room imports only rooms to its right"),
        ("run/pace.py", "idemctl.operations.gc", "Each room imports only rooms to its right"),
        ("stores/ports.py", "idemctl.state.folder", "Each room imports only rooms to its right"),
        ("sandbox/servers.py", "idemctl.operations.gc", "Each room imports only rooms to its"),
        ("operations/gc.py", "idemctl.operations.doctor", "Operations do not import one another"),
        ("operations/gc.py", "idemctl.stores.postgres.scan", "Only bootstrap and sandbox import"),
        ("cli/gc.py", "idemctl.stores.redis.scan", "Only bootstrap and sandbox import adapters"),
        (
            "operations/hits.py",
            "idemctl.stores.logs.files",
            "Only bootstrap and sandbox import adapters",
        ),
        ("operations/hits.py", "duckdb", "Drivers stay behind their adapters"),
        ("operations/gc.py", "typer", "Only cli imports typer"),
        ("operations/gc.py", "psycopg", "Drivers stay behind their adapters"),
        ("cli/gc.py", "redis", "Drivers stay behind their adapters"),
        ("domain/keys.py", "pydantic", "domain decides; it reads and writes nothing"),
        ("domain/keys.py", "yaml", "domain decides; it reads and writes nothing"),
        ("domain/keys.py", "numpy", "In domain only what works on columns imports"),
    ],
)
def test_a_planted_import_breaks_its_contract(
    house: Path, file: str, planted: str, contract: str
) -> None:
    with (house / "idemctl" / file).open("a") as stream:
        stream.write(f"\nimport {planted}\n")

    run = lint_imports(house)

    module = "idemctl." + file.removesuffix(".py").replace("/", ".")
    assert run.returncode == 1
    assert re.search(rf"{re.escape(contract)}.* BROKEN", run.stdout), run.stdout
    assert f"{module} -> {planted}" in run.stdout


def test_a_room_that_no_contract_knows_breaks_the_house(house: Path) -> None:
    (house / "idemctl" / "helpers.py").touch()

    run = lint_imports(house)

    assert run.returncode == 1
    assert "idemctl.helpers" in run.stdout


def test_renderers_load_no_verb() -> None:
    names = [f"idemctl.render.{file.stem}" for file in (PACKAGE / "render").glob("[!_]*.py")]

    loaded = modules_loaded_by("-c", f"import {', '.join(names)}")

    assert set(names) <= loaded
    assert not [name for name in loaded if name.startswith("idemctl.operations")]


def modules_loaded_by(*words: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-X", "importtime", *words],
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
        check=True,
        capture_output=True,
        text=True,
    )
    return {line.rsplit("|", 1)[1].strip() for line in run.stderr.splitlines() if "|" in line}


@pytest.mark.parametrize(
    ("words", "tolerated"),
    [
        (["--help"], set()),
        # typer itself loads pydantic as soon as a command has options of a type of its own.
        (["gc", "--help"], {"pydantic"}),
        (["sandbox", "up", "--help"], {"pydantic"}),
    ],
    ids=str,
)
def test_help_loads_nothing_heavy(words: list[str], tolerated: set[str]) -> None:
    loaded = modules_loaded_by("-m", "idemctl", *words)

    assert "typer" in loaded
    assert {name.partition(".")[0] for name in loaded} & HEAVY <= tolerated


def test_no_file_is_too_long_to_read_in_one_sitting() -> None:
    lengths = {
        str(file.relative_to(PROJECT)): len(file.read_text("utf-8").splitlines())
        for file in PACKAGE.rglob("*.py")
    }

    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_every_dependency_is_locked_with_a_hash() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    lock = (PROJECT / "requirements.lock").read_text("utf-8")
    wanted = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["hits"],
        *project["project"]["optional-dependencies"]["sandbox"],
        *project["dependency-groups"]["dev"],
    ]

    locked = {
        match["name"]
        for match in re.finditer(r"^(?P<name>[\w-]+)==\S+.*\\\n    --hash=", lock, re.MULTILINE)
    }
    names = {re.split(r"[^\w-]", one, maxsplit=1)[0].lower() for one in wanted}
    assert names - locked == set()
    assert "://" not in lock

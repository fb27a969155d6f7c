"""What is installed holds what idemctl reads at run time: books, layouts, schemas, providers."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from idemctl.documents import shipped

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

PROJECT = Path(__file__).parent.parent
_BUILD = "from hatchling.build import build_wheel; import sys; build_wheel(sys.argv[1])"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of all files in a wheel built now."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-c", _BUILD, folder], cwd=PROJECT, check=True)
    [built] = folder.glob("*.whl")
    return set(zipfile.ZipFile(built).namelist())


def names(kind: str) -> set[str]:
    files: list[Traversable] = shipped(kind)
    return {f"idemctl/{kind}/{file.name}" for file in files}


@pytest.mark.parametrize("kind", ["runbooks", "layouts/presets"])
def test_a_wheel_carries_what_a_checkout_reads(wheel: set[str], kind: str) -> None:
    assert names(kind)
    assert names(kind) <= wheel


def test_the_books_lie_where_a_reader_looks_for_them() -> None:
    shown = {f"idemctl/runbooks/{file.name}" for file in (PROJECT / "runbooks").glob("*.yaml")}
    assert shown == names("runbooks")

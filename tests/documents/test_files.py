"""Documents on disk, and the files that come with idemctl."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from idemctl.documents import (
    InvalidDocument,
    read_document,
    shipped,
)
from idemctl.errors import ConfigError


def test_a_file_is_read_under_its_own_name(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a: 1\na: 2\n")
    with pytest.raises(InvalidDocument, match=re.escape(f"{file}:2:1: the key 'a'")):
        read_document(file)
    with pytest.raises(InvalidDocument, match=r"^short:2:1: the key 'a'"):
        read_document(file, shown_as="short")


def test_a_pipe_is_read_too(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["/bin/sh", "-c", f"echo 'a: 1' > {pipe}"]) as writer:
        assert read_document(pipe).data == {"a": 1}
    assert writer.returncode == 0


def test_a_file_without_end_is_refused_at_once() -> None:
    with pytest.raises(InvalidDocument, match="larger than 1 MiB"):
        read_document(Path("/dev/zero"))


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("absent.yaml", "no such file", "check the path; it is taken from the current folder"),
        ("folder", "is a folder, not a file", "name the YAML file inside it"),
        ("folder/x\0y", "cannot be read: embedded null byte", None),
        ("loop", "cannot be read: Too many levels of symbolic links", None),
    ],
)
def test_what_cannot_be_read_is_named_with_a_way_out(
    tmp_path: Path, name: str, message: str, hint: str | None
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    file = tmp_path / name
    with pytest.raises(ConfigError) as refusal:
        read_document(file)
    assert refusal.value.message == f"{file}: {message}"
    assert refusal.value.hint == (hint or "check the path and the disk behind it")


def test_shipped_files_are_listed_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("idemctl.documents.files.files", lambda package: tmp_path / package)
    folder = tmp_path / "idemctl" / "layouts" / "presets"
    folder.mkdir(parents=True)
    for name in ("b.yaml", "a.yaml", "README.md"):
        (folder / name).write_text("x: 1\n")
    assert [file.name for file in shipped("layouts/presets")] == ["a.yaml", "b.yaml"]
    assert shipped("layouts/nothing") == []


def test_importing_documents_loads_no_parser_and_no_models() -> None:
    program = (
        "import sys, idemctl.documents\n"
        "assert not {'yaml', 'pydantic', 'pydantic_core'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

"""The state folder: private, append-only, and whole lines or none."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from idemctl.errors import ConfigError
from idemctl.state.folder import StateFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def wide_open() -> Iterator[None]:
    """A user whose new files are everybody's."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("wide_open")
def test_every_folder_and_file_is_private(tmp_path: Path) -> None:
    state = StateFolder(tmp_path / "state")
    # The deep one first: its parents are made along with it.
    state.append("journals/a.jsonl", b"1")
    state.append("history.jsonl", b"2")
    modes = {one.name: one.stat().st_mode & 0o777 for one in state.root.rglob("*")}
    assert modes == {"journals": 0o700, "a.jsonl": 0o600, "history.jsonl": 0o600}
    assert state.root.stat().st_mode & 0o777 == 0o700


def test_lines_come_back_in_their_order(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    assert state.lines("a") == []
    for line in (b"one", b"two", b""):
        state.append("a", line)
    assert state.lines("a") == [b"one", b"two", b""]


def test_a_line_that_was_cut_off_is_no_line_and_spoils_no_other(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    state.append("a", b"one")
    with (tmp_path / "a").open("ab") as file:
        file.write(b"tw")
    assert state.lines("a") == [b"one"]
    state.append("a", b"three")
    assert state.lines("a") == [b"one", b"tw", b"three"]


def test_lines_of_many_writers_stay_whole(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    begin = threading.Barrier(4)

    def write(letter: bytes) -> None:
        begin.wait(5)
        for _ in range(200):
            state.append("a", letter * 300)

    writers = [threading.Thread(target=write, args=(one,)) for one in (b"a", b"b", b"c", b"d")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(set(state.lines("a"))) == [letter * 300 for letter in (b"a", b"b", b"c", b"d")]
    assert len(state.lines("a")) == 800


def test_a_folder_in_whose_place_a_file_is_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("mine")
    with pytest.raises(ConfigError) as caught:
        StateFolder(tmp_path / "state").append("journals/a", b"1")
    assert caught.value.message == f"state folder {tmp_path}/state: File exists"
    assert caught.value.hint is not None
    assert "IDEMCTL_STATE" in caught.value.hint
    assert (tmp_path / "state").read_text() == "mine"


def test_a_file_that_cannot_be_read_is_an_error_not_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").mkdir()
    with pytest.raises(ConfigError, match="Is a directory"):
        StateFolder(tmp_path).lines("history.jsonl")


ON_A_SHORT_DISK = """
import pathlib, resource, signal, sys
from idemctl.errors import ConfigError
from idemctl.state.folder import StateFolder

# A file has room for 100 bytes here. Output goes through a pipe, which is no file.
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
state = StateFolder(pathlib.Path(sys.argv[1]))
state.append("a", b"x" * 60)
try:
    state.append("a", b"y" * 60)
except ConfigError as error:
    print(error.message)
"""


def test_half_a_line_on_a_full_disk_is_an_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ON_A_SHORT_DISK, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "No space left on device" in done.stdout
    assert StateFolder(tmp_path).lines("a") == [b"x" * 60]


def test_a_folder_is_usable_where_it_can_be_made_and_not_where_a_file_is(tmp_path: Path) -> None:
    assert StateFolder(tmp_path).is_usable()
    assert StateFolder(tmp_path / "not" / "yet").is_usable()
    (tmp_path / "file").write_text("mine")
    assert not StateFolder(tmp_path / "file").is_usable()
    assert not StateFolder(tmp_path / "file" / "below").is_usable()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file"]

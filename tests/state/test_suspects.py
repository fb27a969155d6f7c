"""Suspects on disk: all of them come back, up to a cap, and nobody else sees them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from idemctl.domain.differences import Difference
from idemctl.domain.sweeps import Suspects
from idemctl.errors import ConfigError
from idemctl.state.folder import StateFolder
from idemctl.state.suspects import SuspectsFile

if TYPE_CHECKING:
    from pathlib import Path

Row = tuple[bytes, bytes, int, int]
rows = st.lists(
    st.tuples(
        st.binary(max_size=40),
        st.binary(max_size=12),
        st.sampled_from(Difference).map(int),
        st.integers(0, 2**64 - 1),
    ),
    max_size=20,
)
files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def suspects(some: list[Row]) -> Suspects:
    keys, scopes, differences, versions = zip(*some, strict=True) if some else ((), (), (), ())
    return Suspects(
        keys=keys,
        scopes=scopes,
        difference=np.array(differences, np.uint8),
        versions=np.array(versions, np.uint64),
    )


def told(some: Suspects) -> list[Row]:
    columns = (some.keys, some.scopes, some.difference.tolist(), some.versions.tolist())
    return list(zip(*columns, strict=True))


def once(portions: list[list[Row]]) -> list[list[Row]]:
    """Leave out what came before, and portions of which nothing is left."""
    seen: set[Row] = set()
    kept = []
    for portion in portions:
        kept.append([row for row in dict.fromkeys(portion) if row not in seen])
        seen.update(portion)
    return [portion for portion in kept if portion]


def many(count: int) -> list[Row]:
    return [(b"key-%d" % number, b"", 1, number) for number in range(count)]


@files
@given(st.lists(rows, max_size=6))
def test_what_was_taken_comes_back_exactly_and_as_often_as_it_is_asked_for(
    tmp_path: Path, portions: list[list[Row]]
) -> None:
    with SuspectsFile(StateFolder(tmp_path)) as file:
        for portion in portions:
            file.add(suspects(portion))
        kept = once(portions)
        assert [told(portion) for portion in file.portions()] == kept
        assert [told(portion) for portion in file.portions()] == kept
        assert file.count == sum(map(len, kept))


def test_a_key_of_a_megabyte_and_an_empty_one_come_back(tmp_path: Path) -> None:
    some = [(b"\x00\xff" * 500_000, b"\n", 1, 2**64 - 1), (b"", b"", 2, 0)]
    with SuspectsFile(StateFolder(tmp_path)) as file:
        file.add(suspects(some))
        assert [told(portion) for portion in file.portions()] == [some]


@files
@given(st.lists(rows, max_size=6), st.integers(0, 40))
def test_what_there_is_no_room_for_is_counted_and_not_kept(
    tmp_path: Path, portions: list[list[Row]], most: int
) -> None:
    with SuspectsFile(StateFolder(tmp_path), most=most) as file:
        for portion in portions:
            file.add(suspects(portion))
        given_in = [row for portion in portions for row in portion]
        kept = [row for portion in file.portions() for row in told(portion)]
        assert kept == list(dict.fromkeys(given_in[:most]))
        assert file.count == len(kept) + max(0, len(given_in) - most)


def test_what_was_seen_twice_comes_back_once_and_what_moved_comes_back_each_time(
    tmp_path: Path,
) -> None:
    first, second = [(b"k", b"", 1, 7), (b"k", b"s", 1, 7)], [(b"k", b"", 1, 7), (b"k", b"", 1, 8)]
    with SuspectsFile(StateFolder(tmp_path)) as file:
        for portion in (first, second, first, [(b"k", b"", 2, 7)]):
            file.add(suspects(portion))
        assert [told(portion) for portion in file.portions()] == [
            first,
            [(b"k", b"", 1, 8)],
            [(b"k", b"", 2, 7)],
        ]
        assert file.count == 4


def test_a_file_without_suspects_gives_back_none(tmp_path: Path) -> None:
    with SuspectsFile(StateFolder(tmp_path)) as file:
        file.add(suspects([]))
        assert list(file.portions()) == []


def test_suspects_may_be_taken_from_what_came_back(tmp_path: Path) -> None:
    with SuspectsFile(StateFolder(tmp_path)) as file:
        file.add(suspects(many(5)))
        (portion,) = file.portions()
        assert told(portion.take(np.array([3, 1]))) == [many(5)[3], many(5)[1]]


@pytest.fixture
def wide_open() -> Any:
    """A user whose new files are everybody's."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("wide_open")
def test_nothing_of_it_is_ever_seen_in_the_folder_and_the_folder_is_private(
    tmp_path: Path,
) -> None:
    state = StateFolder(tmp_path / "state")
    with SuspectsFile(state) as file:
        file.add(suspects(many(1000)))
        assert list(state.root.iterdir()) == []
        assert state.root.stat().st_mode & 0o777 == 0o700
        held = os.fstat(file._file.fileno())
        assert held.st_mode & 0o777 == 0o600
        assert held.st_nlink == 0
        # It is in this folder all the same: on the disk that was chosen for it.
        assert held.st_dev == state.root.stat().st_dev
        assert len(next(iter(file.portions()))) == 1000
        assert os.fstat(file._file.fileno()).st_size > 1000 * 17
    assert list(state.root.iterdir()) == []


def test_an_error_in_the_block_closes_the_file_too(tmp_path: Path) -> None:
    file = SuspectsFile(StateFolder(tmp_path))

    def fail() -> None:
        with file:
            file.add(suspects(many(3)))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert file._file.closed
    assert list(tmp_path.iterdir()) == []


def test_a_scratch_is_gone_when_it_is_closed(tmp_path: Path) -> None:
    state = StateFolder(tmp_path / "deep" / "state")
    with state.scratch() as scratch:
        scratch.write(b"something")
        scratch.seek(0)
        assert scratch.read() == b"something"
    assert list(state.root.iterdir()) == []


def test_two_scratches_are_two(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    with state.scratch() as one, state.scratch() as other:
        one.write(b"one")
        one.flush()
        other.seek(0)
        assert other.read() == b""


def test_where_a_file_is_in_the_folder_s_place_there_is_no_scratch(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("mine")
    with pytest.raises(ConfigError) as caught:
        StateFolder(tmp_path / "state").scratch()
    assert caught.value.message.startswith(f"state folder {tmp_path}/state: ")
    assert caught.value.hint is not None
    assert "IDEMCTL_STATE" in caught.value.hint
    assert (tmp_path / "state").read_text() == "mine"


ON_A_SHORT_DISK = """
import pathlib, resource, signal, sys
import numpy as np
from idemctl.domain.sweeps import Suspects
from idemctl.errors import ConfigError
from idemctl.state.folder import StateFolder
from idemctl.state.suspects import SuspectsFile

# A file has room for 4,096 bytes here. Output goes through a pipe, which is no file.
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
some = Suspects(keys=[b"k" * 100] * 10, scopes=[b""] * 10,
                difference=np.ones(10, np.uint8), versions=np.ones(10, np.uint64))
added = 0
try:
    with SuspectsFile(StateFolder(pathlib.Path(sys.argv[1]))) as file:
        while added < 10:
            file.add(some)
            added += 1
except ConfigError as error:
    print(added, error.message)
"""


def test_a_full_disk_is_an_error_that_says_where(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ON_A_SHORT_DISK, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"3 state folder {tmp_path}: File too large\n"
    assert list(tmp_path.iterdir()) == []

"""Keys with several groups: all of them and no other, however many there are."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from idemctl.state import repeats as module
from idemctl.state.folder import StateFolder
from idemctl.state.repeats import Repeats

if TYPE_CHECKING:
    import pytest

Pair = tuple[bytes, bytes]
pairs = st.lists(
    st.tuples(st.binary(max_size=3), st.sampled_from([b"", b"charges", b"refunds", b"emails"])),
    max_size=40,
)
files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def expected(portions: list[list[Pair]]) -> set[bytes]:
    groups: dict[bytes, set[bytes]] = {}
    for key, group in (pair for portion in portions for pair in portion):
        groups.setdefault(key, set()).update({group} - {b""})
    return {key for key, several in groups.items() if len(several) > 1}


def take(repeats: Repeats, portions: list[list[Pair]]) -> list[bytes]:
    for portion in portions:
        repeats.add([key for key, _ in portion], [group for _, group in portion])
    return list(repeats.found())


@files
@given(st.lists(pairs, max_size=6), st.sampled_from([1, 7, 10_000]))
def test_exactly_the_keys_with_several_groups_are_found_each_once(
    tmp_path: Path, portions: list[list[Pair]], at_once: int
) -> None:
    with Repeats(StateFolder(tmp_path), at_once=at_once) as repeats:
        found = take(repeats, portions)
        assert (set(found), len(found)) == (expected(portions), len(set(found)))
        assert repeats.why_incomplete is None


def test_keys_that_share_a_hash_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = module._hashed

    def colliding(values: list[bytes]) -> module.Int64:
        # Of keys nothing is left of the hash; groups keep theirs.
        return whole([b"" if value.startswith(b"key") else value for value in values])

    monkeypatch.setattr(module, "_hashed", colliding)
    rows = [(b"key-1", b"charges"), (b"key-2", b"refunds"), (b"key-3", b"a"), (b"key-3", b"b")]
    for at_once in (1, 100):
        with Repeats(StateFolder(tmp_path), at_once=at_once) as repeats:
            assert take(repeats, [rows]) == [b"key-3"]


def test_a_small_store_never_touches_the_disk(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with Repeats(StateFolder(folder), at_once=100) as repeats:
        assert take(repeats, [[(b"k%d" % n, b"charges") for n in range(99)]]) == []
    assert not folder.exists()


def test_a_large_one_goes_to_a_private_file_that_leaves_no_trace(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with Repeats(StateFolder(folder), at_once=100) as repeats:
        rows = [
            (b"k%d" % (n % 4_000), b"refunds" if n == 4_017 else b"charges") for n in range(9000)
        ]
        assert take(repeats, [rows[at : at + 50] for at in range(0, 9000, 50)]) == [b"k17"]
        assert repeats._file is not None
        mode = os.fstat(repeats._file.fileno())
        assert (stat.S_IMODE(mode.st_mode), mode.st_nlink) == (0o600, 0)
        assert mode.st_size > 9000 * 24
        assert list(folder.iterdir()) == []
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_what_the_folder_may_not_hold_is_said_and_nothing_is_claimed(tmp_path: Path) -> None:
    rows = [(b"k%d" % n, b"charges") for n in range(300)]
    with Repeats(StateFolder(tmp_path), at_once=100, most_bytes=5_000) as repeats:
        take(repeats, [rows[:100], rows[100:200]])
        assert repeats.why_incomplete == "there are more keys than the state folder may hold"
        repeats.add([b"k"], [b"g"])
        assert repeats._keys == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("no folder")
    with Repeats(StateFolder(tmp_path / "state"), at_once=1) as repeats:
        take(repeats, [[(b"k", b"charges"), (b"k", b"refunds")]])
        assert repeats.why_incomplete is not None
        assert f"state folder {tmp_path}/state: " in repeats.why_incomplete


def test_a_disk_that_is_full_is_named(tmp_path: Path) -> None:
    class Full(StateFolder):
        def scratch(self) -> BinaryIO:
            return Path("/dev/full").open("wb")

    with Repeats(Full(tmp_path), at_once=1) as repeats:
        repeats.add([b"k"], [b"charges"])
        assert repeats.why_incomplete == f"state folder {tmp_path}: No space left on device"

"""Archives: what a crash, a full disk or a stranger leaves of one."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from idemctl.domain.archived import Column, Origin, Shape, Sums, Taken
from idemctl.errors import ConfigError
from idemctl.state.archive import ArchiveFolder, ArchiveReader, Heading, Void

if TYPE_CHECKING:
    from pathlib import Path

ORIGIN = Origin(database="d", table=("public", "t"), key="k")
SHAPE = Shape(table=("public", "t"), columns=(Column(name="k", type="text", is_generated=False),))
HOSTILE = (b"", b"\x00", b"\n", b'("a""b",)', bytes(range(256)), b"x" * 100_000)


def batch(*records: bytes) -> Taken:
    return Taken(leaf=("public", "t"), records=records, children=(b"child",))


@pytest.fixture
def folder(tmp_path: Path) -> ArchiveFolder:
    made = ArchiveFolder(tmp_path / "a", "run")
    made.make()
    return made


def places(whole: bytes | bytearray) -> list[int]:
    """Where frames begin; past the reader."""
    at, found = len(b"idemctl archive 1\n"), []
    while at < len(whole):
        found.append(at)
        at += 21 + int.from_bytes(whole[at + 1 : at + 5], "big")
    return found


def write(folder: ArchiveFolder, *batches: Taken) -> Path:
    with closing(folder.open("payments")) as archive:
        archive.begin(ORIGIN)
        archive.describe(SHAPE)
        for one in batches:
            archive.keep(one)
    return folder.files()[-1]


def test_all_bytes_come_back_in_their_order(folder: ArchiveFolder) -> None:
    file = write(folder, batch(*HOSTILE), batch(b"2"))
    reader = ArchiveReader(file)
    assert list(reader.frames()) == [
        Heading(run_id="run", store="payments", origin=ORIGIN),
        SHAPE,
        batch(*HOSTILE),
        batch(b"2"),
        Sums(batches=2, records=len(HOSTILE) + 1, children=2),
    ]
    assert (reader.has_end, reader.is_torn, reader.damaged) == (True, False, 0)


def test_each_walk_has_a_file_of_its_own(folder: ArchiveFolder) -> None:
    write(folder, batch(b"1"))
    write(folder, batch(b"2"))
    assert [one.name for one in folder.files()] == ["run.1.archive", "run.2.archive"]


def test_a_batch_that_was_rolled_back_counts_for_nothing(folder: ArchiveFolder) -> None:
    with closing(folder.open("payments")) as archive:
        archive.begin(ORIGIN)
        archive.keep(batch(b"1"))
        archive.keep(batch(b"2"))
        archive.void()
    *_, taken, void, sums = ArchiveReader(folder.files()[0]).frames()
    assert (taken, void) == (batch(b"2"), Void(frame=2))
    assert sums == Sums(batches=1, records=1, children=1)


def test_wherever_a_crash_cuts_the_tail_the_batches_before_it_are_read(
    folder: ArchiveFolder,
) -> None:
    file = write(folder, batch(b"1"), batch(b"2"))
    whole = file.read_bytes()
    for length in range(places(whole)[2], len(whole)):
        file.write_bytes(whole[:length])
        reader = ArchiveReader(file)
        taken = [one for one in reader.frames() if isinstance(one, Taken)]
        assert taken == [batch(b"1"), batch(b"2")][: len(taken)]
        assert reader.damaged == 0
        assert not reader.has_end
    assert len(taken) == 2


def test_every_flipped_bit_of_a_frame_is_seen(folder: ArchiveFolder) -> None:
    file = write(folder, batch(b"1"), batch(b"2"))
    whole = file.read_bytes()
    seen = [batch(b"1"), batch(b"2")]
    for place in range(len(b"idemctl archive 1\n"), len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 0x10
        file.write_bytes(changed)
        reader = ArchiveReader(file)
        frames = list(reader.frames())
        assert all(one in seen for one in frames if isinstance(one, Taken))
        assert reader.damaged or reader.is_torn


def test_the_batch_after_a_damaged_one_is_still_read(folder: ArchiveFolder) -> None:
    file = write(folder, batch(b"a" * 50), batch(b"2"))
    whole = bytearray(file.read_bytes())
    whole[places(whole)[2] + 30] ^= 1
    file.write_bytes(whole)
    reader = ArchiveReader(file)
    assert [one for one in reader.frames() if isinstance(one, Taken)] == [batch(b"2")]
    assert (reader.damaged, reader.has_end) == (1, True)


def test_frames_that_changed_places_are_seen(folder: ArchiveFolder) -> None:
    one = write(folder, batch(b"1"), batch(b"2")).read_bytes()
    *_, first, second, end = places(one)
    mixed = one[:first] + one[second:end] + one[first:second] + one[end:]
    file = folder.files()[0]
    file.write_bytes(mixed)
    reader = ArchiveReader(file)
    list(reader.frames())
    assert reader.damaged == 2


@pytest.mark.parametrize("content", [b"", b"idemctl archive 9\n", b"{}\n", b"idem"])
def test_what_is_no_archive_is_refused(folder: ArchiveFolder, content: bytes) -> None:
    file = folder.folder / "run.1.archive"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match="is no archive"):
        list(ArchiveReader(file).frames())


def test_a_folder_that_cannot_be_is_said_before_anything_goes(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="archive folder"):
        ArchiveFolder(tmp_path / "file", "run").make()
    with pytest.raises(ConfigError, match="No such file"):
        ArchiveFolder(tmp_path / "no" / "where", "run").make()

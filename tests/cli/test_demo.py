"""The tour: it holds, it leaves nothing, and it can be left at any time."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import psutil

from idemctl.sandbox.servers import default_folder
from tests.cli.places import await_that

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import Popen

    from tests.cli.places import Place

FEW = ("demo", "--records", "1000")


def folder_of(process: Popen[str]) -> Path:
    return default_folder(f"demo-{process.pid}")


def nothing_is_left(folder: Path) -> None:
    assert not folder.exists()
    words = (" ".join(one.info["cmdline"] or ()) for one in psutil.process_iter(["cmdline"]))
    assert not [line for line in words if str(folder) in line]


def test_the_tour_holds_whatever_the_user_has_set(place: Place) -> None:
    # None of this may lead the tour astray.
    place.configure("version: 2\n")
    place.lead(
        IDEMCTL_CONFIG="/nowhere",
        IDEMCTL_STORE="nobody's",
        IDEMCTL_PACE="gentle",
        DATABASE_URL="postgresql://127.0.0.1:1/x",
        PGSSLMODE="require",
        PGOPTIONS="-c default_transaction_read_only=on",
    )
    process = place.start(*FEW)
    done = place.end(process, within=150)
    assert done.status == 0, done.out + done.err
    assert done.err == ""
    *story, last = done.out.splitlines()
    assert last.startswith("10 of 10 expectations held, in ")
    assert [line.partition(": ")[2] for line in story if line.startswith("   ok: ")] == [
        "audit names all 32 faults that were planted, with their counts",
        "hits names the storm that was planted, and no other",
        "gc names exactly the expired records that were planted",
        "gc deletes exactly what it had named",
        "a second run finds nothing",
        "every record that was kept is still there",
        "diagnose says that both pairs were flushed",
        "a second reconcile finds nothing",
        "what Redis owes is there again",
        "nothing is left behind",
    ]
    nothing_is_left(folder_of(process))


def test_ctrl_c_ends_the_tour_and_clears_away(place: Place) -> None:
    process = place.start(*FEW, "-q", "-o", "json", start_new_session=True)
    folder = folder_of(process)
    await_that((folder / "sandbox.json").exists, "the sandbox comes up")
    # As a terminal does it: the whole group hears of it, but for the command that runs.
    [command] = psutil.Process(process.pid).children()
    assert os.getpgid(command.pid) != process.pid
    os.killpg(process.pid, signal.SIGINT)
    done = place.end(process, within=30)
    assert done.status == 130
    assert done.document["exit"] == 130
    assert done.err == "idemctl demo: stopped early (interrupted)\n"
    nothing_is_left(folder)


def test_a_reader_that_leaves_the_tour_leaves_nothing_behind(place: Place) -> None:
    process = place.start(*FEW)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("Applications remember keys")
    process.stdout.close()
    process.stdout = None
    done = place.end(process, within=30)
    assert done.status == 141
    assert "Traceback" not in done.err
    nothing_is_left(folder_of(process))


def test_a_command_that_fails_ends_the_tour_as_an_expectation(place: Place) -> None:
    process = place.start(*FEW)
    folder = folder_of(process)
    await_that((folder / "manifest.json").exists, "the sandbox is seeded")
    for child in psutil.process_iter(["cmdline"]):
        if str(folder / "postgres") in (child.info["cmdline"] or ()):
            child.kill()
    done = place.end(process, within=30)
    assert done.status == 3
    [failed] = [line for line in done.out.splitlines() if line.startswith("NOT OK: ")]
    assert failed == "NOT OK: idemctl audit --pace full ends with 3"
    assert "Traceback" not in done.err
    nothing_is_left(folder)

"""The sandbox's commands, from nothing to nothing, as a person types them."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.places import Place


@pytest.fixture
def home(place: Place) -> Iterator[Path]:
    # Under root the servers run as nobody, who must be able to reach the folder.
    folder = Path(tempfile.mkdtemp(prefix="idemctl-cli-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder / "box"
    place.main("sandbox", "down", "--folder", str(folder / "box"))
    shutil.rmtree(folder)


def runs(pid: int) -> bool:
    # The servers are children of the test, which leaves them as zombies.
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_a_sandbox_comes_up_is_seeded_and_leaves_nothing(place: Place, home: Path) -> None:
    here = ("--folder", str(home))
    before = place.main("sandbox", "status", *here, "-o", "json")
    assert before.status == 10
    assert before.summary == {"folder": str(home), "running": False}

    up = place.main("sandbox", "up", *here)
    assert up.status == 0
    assert up.out.splitlines()[-1] == (
        f'lead idemctl here: eval "$(idemctl sandbox env --folder {home})"'
    )
    status = place.main("sandbox", "status", *here, "-o", "json").document
    pids = [item["pid"] for item in status["items"]]
    assert [item["server"] for item in status["items"]] == ["postgres", "redis"]
    assert all(runs(pid) for pid in pids)

    seeded = place.main(
        "sandbox", "seed", *here, "--records", "500", "--seed", "4", "--faults", "-o", "json"
    )
    manifest = json.loads((home / "manifest.json").read_text("utf-8"))
    assert seeded.summary["records"] == manifest["records"]
    assert seeded.summary["faults"] == len(manifest["faults"]) > 0
    assert (home / "manifest.json").stat().st_mode & 0o777 == 0o600
    log = home / "hits.jsonl"
    assert log.stat().st_mode & 0o777 == 0o600
    assert seeded.summary["log_lines"] == len(log.read_text("utf-8").splitlines())
    assert manifest["spike"]["client"] in log.read_text("utf-8")

    env = place.main("sandbox", "env", *here)
    for name in ("idemctl", "redis"):
        assert (home / f"{name}.password").read_text("utf-8").strip() not in env.out
    script = f"{env.out}\nexec {place.python} -m idemctl gc -o json --pace full"
    environ = {
        name: value for name, value in place.environ.items() if not name.startswith("IDEMCTL_")
    }
    looked = subprocess.run(
        ["/bin/sh", "-c", script], env=environ, capture_output=True, text=True, check=True
    )
    candidates = {
        one["store"]: one["candidates"]
        for one in json.loads(looked.stdout)["summary"]["stores"]
        if one["place"].startswith("postgres ")
    }
    assert candidates == {
        name: sides["postgres"]["expired_count"]
        for name, sides in manifest["stores"].items()
        if "postgres" in sides
    }

    down = place.main("sandbox", "down", *here, "-o", "json")
    assert down.summary["removed"] is True
    assert not home.exists()
    assert not any(runs(pid) for pid in pids)
    again = place.main("sandbox", "down", *here)
    assert (again.status, again.out) == (0, f"there was no sandbox in {home}\n")


def test_commands_that_need_a_sandbox_say_how_to_get_one(place: Place, home: Path) -> None:
    for command in ("env", "seed"):
        done = place.main("sandbox", command, "--folder", str(home))
        assert done.status == 5
        assert done.err == (
            f"idemctl sandbox {command}: no sandbox has come up in {home}\n  idemctl sandbox up\n"
        )


def test_a_folder_that_is_no_sandbox_is_left_alone(place: Place, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    done = place.main("sandbox", "down", "--folder", str(tmp_path), "-o", "json")
    assert done.status == 5
    assert done.document["status"] == "refused"
    assert (tmp_path / "mine").read_text() == "mine"


def test_one_place_is_named_once(place: Place) -> None:
    done = place.main("sandbox", "status", "--folder", "/nowhere", "--name", "x")
    assert done.status == 2
    assert done.err == (
        "idemctl sandbox status: --name and --folder both say where the sandbox is\n  give one\n"
    )


@pytest.mark.parametrize("name", ["Upper", "a/b", "", "x" * 33])
def test_a_name_that_is_none_is_refused(place: Place, name: str) -> None:
    done = place.main("sandbox", "status", "--name", name)
    assert done.status == 2
    assert f"{name!r} is no name for a sandbox" in done.err

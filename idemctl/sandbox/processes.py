"""Starting, finding and ending the servers of one folder, and of no other.

A process counts as a folder's own when it has a server's name, runs under the folder's
owner, and either works inside the folder or was given a path inside it. A number in a pid
file is never enough: the system may have handed it to a stranger.
"""

from __future__ import annotations

import contextlib
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from idemctl.errors import Unreachable
from idemctl.sandbox.binaries import missing_extra

try:
    import psutil
except ModuleNotFoundError as error:
    raise missing_extra("psutil") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from idemctl.sandbox.account import Account

_READY_WITHIN_SECONDS = 30.0
_STOP_WITHIN_SECONDS = 15.0
_KILL_WITHIN_SECONDS = 10.0
_PAUSE_SECONDS = 0.02
_LOG_LINES = 3
_LOG_BYTES = 65_536
# The shell starts the server and leaves; the server belongs to init, in a session of its own.
_DETACH = '"$@" </dev/null >>"$0" 2>&1 & echo $!'
_IN_USE = "Address already in use"


class PortTaken(Unreachable):
    """Somebody else took the port between our choice and the server's start."""


def start(
    argv: Sequence[str | Path],
    *,
    account: Account,
    folder: Path,
    log: Path,
    is_ready: Callable[[], bool],
) -> None:
    """Start a server that outlives us, and return when it answers.

    Raises:
        PortTaken: it left because its port is in use.
        Unreachable: it left, or did not answer in time; it is not left running.
    """
    earlier = log.stat().st_size if log.exists() else 0
    started = account.run(
        ["/bin/sh", "-c", _DETACH, log, *argv],
        folder=folder,
        capture_output=True,
        start_new_session=True,
    )
    server = _process(int(started.stdout))
    deadline = time.monotonic() + _READY_WITHIN_SECONDS
    what = Path(argv[0]).name
    while server is not None and not _is_gone(server):
        if is_ready():
            return
        if time.monotonic() > deadline:
            _kill([server])
            raise Unreachable(
                f"{what} did not answer within {_READY_WITHIN_SECONDS:.0f} s: "
                f"{_last_lines(log, earlier)}",
                hint=f"read {log}",
            )
        time.sleep(_PAUSE_SECONDS)
    said = _last_lines(log, earlier)
    kind = PortTaken if _IN_USE in said else Unreachable
    raise kind(f"{what} stopped while starting: {said}", hint=f"read {log}")


def find(pid_file: Path, *, names: Collection[str], argument: Path) -> psutil.Process | None:
    """Return the server that was started with `argument`, from its pid file or without it."""

    def is_ours(process: psutil.Process) -> bool:
        return process.name() in names and str(argument) in process.cmdline()[1:]

    with contextlib.suppress(OSError, ValueError, IndexError, psutil.Error):
        process = _process(int(pid_file.read_text().split()[0]))
        if process is not None and not _is_gone(process) and is_ours(process):
            return process
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if is_ours(process) and not _is_gone(process):
                found.append(process)
    # A server's children carry its command line until they set their own.
    return min(found, key=lambda process: process.create_time(), default=None)


def stop_inside(
    folder: Path, *, uid: int, names: Collection[str], parts: Collection[str] | None = None
) -> tuple[int, int]:
    """End every server process of `folder`; the counts are those that left, and were killed.

    With `parts`, only what works in the folder itself or in one of these parts of it: what lies
    deeper may be somebody else's.

    Who has no parent here is asked, Postgres for its fast mode, and takes its children along:
    a helper of initdb that is asked itself would leave its shared memory behind. What is
    then left is killed.

    Raises:
        Unreachable: the system keeps a process that does not end.
    """
    ended: set[psutil.Process] = set()
    killed: set[psutil.Process] = set()
    while found := _inside(folder, uid=uid, names=names, parts=parts):
        children = _children(found)
        for process in set(found) - children:
            _ask(process)
        family = [*{*found, *children}]
        left = _wait(family, within=_STOP_WITHIN_SECONDS)
        _kill(left)
        ended.update(family)
        killed.update(left)
    return len(ended), len(killed)


def _inside(
    folder: Path, *, uid: int, names: Collection[str], parts: Collection[str] | None
) -> list[psutil.Process]:
    """Return the folder's processes, those that work in it or were given a path in it."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.name() not in names or process.uids().real != uid or _is_gone(process):
                continue
            words = [*process.cmdline()[1:], process.cwd()]
            if any(_is_in_part(word, folder, parts) for word in words):
                found.append(process)
    return found


def _children(processes: Sequence[psutil.Process]) -> set[psutil.Process]:
    children: set[psutil.Process] = set()
    for process in processes:
        with contextlib.suppress(psutil.Error):
            children.update(process.children(recursive=True))
    return children


def _ask(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.Error):
        is_server = process.name() == "postgres" and "-D" in process.cmdline()
        process.send_signal(signal.SIGINT if is_server else signal.SIGTERM)
        # One that was stopped hears nothing until it goes on.
        process.resume()


def exists(pid: int) -> bool:
    """Whether any process, ours or not, has this number."""
    return psutil.pid_exists(pid)


def _is_in_part(word: str, folder: Path, parts: Collection[str] | None) -> bool:
    if not _is_below(word, folder):
        return False
    below = Path(word).relative_to(folder).parts
    return parts is None or not below or below[0] in parts


def _is_below(word: str, folder: Path) -> bool:
    return word.startswith("/") and Path(word).is_relative_to(folder)


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None


def _is_gone(process: psutil.Process) -> bool:
    """Whether a process has ended, also when nobody collected its exit status."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _wait(processes: Sequence[psutil.Process], *, within: float) -> list[psutil.Process]:
    """Wait for processes to end; those that did not are returned."""
    deadline = time.monotonic() + within
    left = list(processes)
    while left := [process for process in left if not _is_gone(process)]:
        if time.monotonic() > deadline:
            break
        time.sleep(_PAUSE_SECONDS)
    return left


def _kill(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    if left := _wait(processes, within=_KILL_WITHIN_SECONDS):
        raise Unreachable(
            f"process {left[0].pid} does not end", hint="the system holds it; try again later"
        )


def _last_lines(log: Path, start_at: int) -> str:
    """Return the end of what was logged since `start_at`, as one line."""
    try:
        with log.open("rb") as file:
            file.seek(max(start_at, log.stat().st_size - _LOG_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        text = ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if _IN_USE in text:
        lines = [line for line in lines if _IN_USE in line]
    return " | ".join(lines[-_LOG_LINES:]) or "it logged nothing"

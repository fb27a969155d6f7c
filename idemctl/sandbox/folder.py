"""The one folder in which a sandbox lives: its marker, its lock, its secrets, its end.

The marker file is what makes a folder ours. Without it nothing in a folder is changed or
removed, and nothing beside the folder ever is.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import stat
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from idemctl.errors import Denied, Locked, Refused
from idemctl.sandbox.places import home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from idemctl.sandbox.account import Account
    from idemctl.sandbox.places import Places

_KIND = "idemctl sandbox"
_LOCK_WITHIN_SECONDS = 90.0
_PAUSE_SECONDS = 0.05
_PASSWORD_BYTES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """What `sandbox.json` remembers between two starts; the first `up` decides it."""

    durable: bool
    postgres_bin: str | None = None
    """The folder the operator chose; None is the wheel's."""
    redis_bin: str | None = None
    postgres_version: str | None = None
    redis_version: str | None = None
    postgres_port: int | None = None
    redis_port: int | None = None


def read_marker(places: Places) -> Marker | None:
    """Return what the folder's marker says; None where no folder is.

    Raises:
        Refused: the folder is not a sandbox of ours.
        Denied: the folder is another user's.
    """
    try:
        document = json.loads(places.marker.read_text())
        if document.pop("kind") != _KIND:
            raise _foreign(places)
        return Marker(**document)
    except FileNotFoundError:
        if os.path.lexists(places.root):
            raise _foreign(places) from None
        return None
    except PermissionError:
        raise Denied(
            f"{places.root} belongs to another user", hint="run this as that user"
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError, NotADirectoryError):
        raise _foreign(places) from None


def write_marker(places: Places, marker: Marker, account: Account) -> None:
    """Replace the marker, whole or not at all."""
    text = json.dumps({"kind": _KIND, **asdict(marker)}, indent=2)
    write_file(places.marker, text + "\n", account)


def write_file(path: Path, text: str, account: Account, *, mode: int = 0o600) -> None:
    """Put a file into the folder, whole or not at all, owned by the servers' user."""
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.unlink(missing_ok=True)
    # Exclusive, because the folder's owner is not us when we are root: no link is followed.
    file = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(file, "w", encoding="utf-8") as writer:
        _own(file, account)
        os.fchmod(file, mode)
        writer.write(text)
    unfinished.replace(path)


def make_folder(path: Path, account: Account) -> None:
    """Make a folder inside the sandbox, mode 0700, unless it is there."""
    if not path.is_dir():
        path.mkdir(mode=0o700)
        _own(path, account)


def make_password(places: Places, name: str, account: Account) -> None:
    """Write a new random password unless there is one; safe inside URLs as it stands."""
    if not places.password_file(name).exists():
        password = secrets.token_hex(_PASSWORD_BYTES)
        write_file(places.password_file(name), password + "\n", account)


def create(places: Places, account: Account) -> None:
    """Make the folder, empty and private, unless something is there.

    Raises:
        Refused: a folder above is another user's, or closed to the servers' user.
        Denied: we may not write there.
    """
    root = places.root
    try:
        _check_way(root, account)
        while not os.path.lexists(root):
            # Another sandbox's `down` may remove the common parent just now.
            with contextlib.suppress(FileNotFoundError, FileExistsError):
                _make_parents(root.parent, account)
                root.mkdir(mode=0o700)
    except PermissionError as error:
        raise Denied(
            f"{root} cannot be created: {error.strerror}", hint="choose another --folder"
        ) from error


def adopt(places: Places, marker: Marker, account: Account) -> Marker:
    """Make a locked folder ours if it is new; return what its marker says.

    Raises:
        Refused: it holds something and is not ours, or is another user's.
    """
    root = places.root
    if root.lstat().st_uid not in {account.uid, os.geteuid()}:
        raise Refused(f"{root} belongs to another user", hint="run this as that user")
    if not _is_new(root):
        known = read_marker(places)
        assert known is not None
        return known
    try:
        _own(root, account)
        root.chmod(0o700)
    except OSError as error:
        raise Denied(
            f"{root} cannot be given to the servers' user: {error.strerror}",
            hint="run the sandbox as an ordinary user",
        ) from error
    write_marker(places, marker, account)
    return marker


def refuse_foreign(places: Places) -> None:
    """Refuse a folder that holds something and is not ours.

    Raises:
        Refused: that is so.
    """
    if not _is_new(places.root):
        read_marker(places)


@contextlib.contextmanager
def locked(places: Places, *, account: Account | None = None) -> Iterator[bool]:
    """Hold the folder alone; yield whether it is there. With `account`, it is made first.

    The lock is on the folder itself: it leaves no file, and ends with the process.

    Raises:
        Locked: another `up` or `down` holds it for too long.
        Refused: the path is not a folder.
    """
    deadline = time.monotonic() + _LOCK_WITHIN_SECONDS
    while True:
        if account is not None:
            create(places, account)
        try:
            handle = os.open(places.root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            if account is None:
                yield False
                return
            continue
        except PermissionError as error:
            raise Denied(f"{places.root}: {error.strerror}") from error
        except OSError:
            raise _foreign(places) from None
        try:
            if _lock(handle) and _is_still(places.root, handle):
                yield True
                return
        finally:
            os.close(handle)
        if time.monotonic() > deadline:
            raise Locked(
                f"another command is at work on {places.root}", hint="try again when it is done"
            )
        time.sleep(_PAUSE_SECONDS)


def removable(places: Places) -> Marker | None:
    """Return the marker of a folder that may be removed; None if `up` was cut off before it.

    Raises:
        Refused: the folder is not a sandbox of ours.
        Denied: it is another user's.
    """
    names = {entry.name for entry in places.root.iterdir()}
    # Only what `up` was writing, or the place where nobody else makes folders, tells a
    # folder without a marker from a stranger's empty one.
    if names == {"sandbox.json.new"} or (not names and places.root.parent == home()):
        return None
    return read_marker(places)


def remove(places: Places) -> None:
    """Remove a sandbox's folder; the marker goes last, so that a half is still ours.

    Raises:
        Refused: the folder is not a sandbox of ours.
    """
    removable(places)
    for entry in places.root.iterdir():
        if entry == places.marker:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    places.marker.unlink(missing_ok=True)
    places.root.rmdir()
    if places.root.parent == home():
        with contextlib.suppress(OSError):
            home().rmdir()


def _is_new(root: Path) -> bool:
    """Whether an `up` has made the folder and not yet written its marker."""
    return {entry.name for entry in root.iterdir()} <= {"sandbox.json.new"}


def _foreign(places: Places) -> Refused:
    return Refused(
        f"{places.root} is not a sandbox of idemctl: it has no valid sandbox.json",
        hint="nothing in it was changed; name another folder",
    )


def _own(target: Path | int, account: Account) -> None:
    if account.steps_down:
        os.chown(target, account.uid, account.gid)


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(root: Path, handle: int) -> bool:
    """Whether the folder that was locked is the one at its path."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(root.lstat(), os.fstat(handle))
    return False


def _check_way(root: Path, account: Account) -> None:
    """Refuse a place that a stranger prepared, or that the servers' user cannot reach."""
    nearest = next(folder for folder in root.parents if folder.exists())
    above = nearest.parent.stat()
    if above.st_mode & stat.S_IWOTH and nearest.lstat().st_uid not in {0, os.geteuid()}:
        raise Refused(
            f"{nearest} stands in a folder that everyone can write to, and is another user's",
            hint="choose another --folder",
        )
    if not account.can_enter(nearest):
        raise Refused(
            f"the user that runs the sandbox's servers cannot enter {nearest}",
            hint="choose a --folder below /var/tmp",
        )


def _make_parents(folder: Path, account: Account) -> None:
    for missing in reversed([above for above in (folder, *folder.parents) if not above.exists()]):
        missing.mkdir()
        if account.steps_down:
            # A strict umask of root's must not close the way to the servers' user.
            missing.chmod(0o755)

"""Under whose name the servers run: ours, or `nobody` when we are root."""

from __future__ import annotations

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idemctl.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

_PRIVATE = 0o077


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The user that owns the sandbox's folder and runs its servers."""

    uid: int
    gid: int
    steps_down: bool
    """Whether we are root and leave that before any server starts."""

    def run(
        self, argv: Sequence[str | Path], *, folder: Path, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a command under this account, in `folder`, with an environment free of ours.

        Libpq's variables, locale and library paths of the caller never reach a server.
        """
        stepping: dict[str, Any] = (
            {"user": self.uid, "group": self.gid, "extra_groups": []} if self.steps_down else {}
        )
        done: subprocess.CompletedProcess[str] = subprocess.run(  # noqa: S603 - Only our own command lines, without a shell's parsing.
            [str(word) for word in argv],
            cwd=folder,
            env={
                "PATH": os.environ.get("PATH", os.defpath),
                "HOME": str(folder),
                "LC_ALL": "C",
                "TZ": "UTC",
            },
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            umask=_PRIVATE,
            check=False,
            **stepping,
            **options,
        )
        return done

    def can_enter(self, folder: Path) -> bool:
        """Whether this account may make `folder` its working folder."""
        # Not as the command's own working folder: that one is still entered as root.
        entered = self.run(
            ["/bin/sh", "-c", 'cd "$1"', "sh", folder], folder=Path("/"), capture_output=True
        )
        return entered.returncode == 0

    def can_execute(self, binary: Path) -> bool:
        """Whether this account may run `binary` where it stands."""
        try:
            shown = self.run([binary, "--version"], folder=Path("/"), capture_output=True)
        except PermissionError:
            return False
        return shown.returncode == 0


def server_account() -> Account:
    """Return the account for this process's servers: its own, or `nobody` as root.

    Raises:
        ConfigError: this is root on a machine without the user `nobody`.
    """
    if os.geteuid() != 0:
        return Account(uid=os.geteuid(), gid=os.getegid(), steps_down=False)
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise ConfigError(
            "this machine has no user `nobody` for the sandbox's servers",
            hint="run the sandbox as an ordinary user",
        ) from None
    return Account(uid=nobody.pw_uid, gid=nobody.pw_gid, steps_down=True)

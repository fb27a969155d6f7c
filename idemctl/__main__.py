"""Runs as `idemctl` and as `python -m idemctl`."""

from __future__ import annotations

import os
import signal
import sys

from idemctl import __version__
from idemctl.errors import ExitStatus


def main() -> None:
    """Run the command line, and end with its exit status."""
    # Until a run listens to signals itself, Ctrl-C just ends the process: no traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.argv[1:] == ["--version"]:
        sys.exit(_print_version())
    from idemctl.cli.main import main as run
    from idemctl.run.collector import collect_rarely

    collect_rarely()
    sys.exit(run(sys.argv[1:]))


def _print_version() -> int:
    """Answer what every script that installs or checks asks, without loading the rest."""
    try:
        os.write(1, f"idemctl {__version__}\n".encode())
    except OSError:
        return int(ExitStatus.PARTIAL)
    return int(ExitStatus.OK)


# Worker processes import this module too, under another name.
if __name__ == "__main__":
    main()

"""Runs as `idemctl` and as `python -m idemctl`."""

from __future__ import annotations

import sys

from idemctl import __version__


def main() -> None:
    """Run the command line, and end with its exit status."""
    if sys.argv[1:] == ["--version"]:
        # Asked by every script that installs or checks: it must not wait for the rest.
        sys.stdout.write(f"idemctl {__version__}\n")
        return
    from idemctl.cli.main import main as run

    sys.exit(run(sys.argv[1:]))


# Worker processes import this module too, under another name.
if __name__ == "__main__":
    main()

"""Questions to the operator: asked on a terminal, answered by a person, never by a pipe."""

from __future__ import annotations

import select
import sys
from typing import TYPE_CHECKING

from idemctl.errors import Declined, UsageError
from idemctl.render.inert import plain
from idemctl.run.run import Stopped

if TYPE_CHECKING:
    from idemctl.run.stop import Stop

_LISTEN_SECONDS = 0.2


def agree(question: str, *, instead: str, stop: Stop) -> None:
    """Ask whether to go on; anything but yes is no.

    Args:
        question: what will happen, and to what.
        instead: the flag that answers it where nobody is there to ask.
        stop: a signal answers, too.

    Raises:
        UsageError: there is no terminal to ask on.
        Declined: the operator said no, or nothing.
        Stopped: by a signal.
    """
    if answer(f"{question} [y/N] ", instead=instead, stop=stop).lower() not in {"y", "yes"}:
        raise Declined("nothing was changed")


def answer(prompt: str, *, instead: str, stop: Stop) -> str:
    """Ask, and give the line that was typed, without the spaces around it.

    Raises:
        UsageError: there is no terminal to ask on.
        Declined: input ended.
        Stopped: by a signal.
    """
    if not sys.stdin.isatty():
        raise UsageError(
            "this asks before it goes on, and there is no terminal to ask on",
            hint=f"say it with {instead}",
        )
    sys.stderr.write(plain(prompt))
    sys.stderr.flush()
    # A signal sets a flag and interrupts no read, so nobody reads before there is a line.
    while not select.select([sys.stdin], [], [], _LISTEN_SECONDS)[0]:
        if stop.why is not None:
            sys.stderr.write("\n")
            raise Stopped(stop.why)
    line = sys.stdin.readline()
    if not line:
        sys.stderr.write("\n")
        raise Declined("input ended; nothing was changed")
    return line.strip()

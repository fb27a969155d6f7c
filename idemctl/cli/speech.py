"""Talk, on stderr: progress, warnings, errors. Reports go to stdout and nowhere else."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TextIO

from idemctl.errors import IdemctlError
from idemctl.render.figures import span
from idemctl.render.inert import plain

_EVERY_SECONDS = 0.2
_FORETELL_AFTER_SECONDS = 2.0
_RATE_AFTER_SECONDS = 1.0
_LONG_SECONDS = 60.0
_PERCENT = 100


@dataclass(slots=True, kw_only=True)
class Speech:
    """Speaks to the person, never to a program. See also `run.Progress`."""

    quiet: bool
    verbose: bool
    command: str
    _what: str = field(default="", init=False)
    _began_at: float = field(default=0.0, init=False)
    _began_with: int = field(default=0, init=False)
    _began_done: float = field(default=0.0, init=False)
    _foretold: bool = field(default=False, init=False)
    _spoke_at: float = field(default=0.0, init=False)
    _on_line: bool = field(default=False, init=False)

    def at(self, what: str, done: float, counts: Mapping[str, int]) -> None:
        """See `Progress.at`; a line that is written over, on a terminal only."""
        if self.quiet:
            return
        now = time.monotonic()
        name, count = next(iter(counts.items()), ("", 0))
        if what != self._what:
            self._what, self._foretold = what, False
            self._began_at, self._began_with, self._began_done = now, count, done
        elapsed, gained = now - self._began_at, done - self._began_done
        left = timedelta(seconds=elapsed * (1 - done) / gained) if gained > 0 else None
        if not self._foretold and elapsed >= _FORETELL_AFTER_SECONDS:
            self._foretold = True
            total = f": about {(count - self._began_with) / gained:,.0f} {name}" if left else ""
            self._foretell(f"{what}{total}", left)
        if now - self._spoke_at < _EVERY_SECONDS or not _can_write_over():
            return
        self._spoke_at = now
        self._on_line = True
        numbers = ", ".join(f"{value:,} {name}" for name, value in counts.items() if value)
        said = [what, f"{done * _PERCENT:3.0f} %", numbers]
        if elapsed >= _RATE_AFTER_SECONDS:
            said.append(f"{(count - self._began_with) / elapsed:,.0f}/s")
            said += [f"about {span(left)} left"] if left is not None else []
        _write(f"\r\x1b[K{'  '.join(said)}")

    def waits(self, why: str) -> None:
        """See `Progress.waits`."""
        if not self.quiet:
            self._say(f"waiting: {why}")

    def _foretell(self, what: str, left: timedelta | None) -> None:
        """Say once how long a long walk will take, when its pace is known a little."""
        if left is None:
            self._say(f"{what}: how long this takes cannot be told yet")
        elif left.total_seconds() > _LONG_SECONDS:
            self._say(f"{what}, about {span(left)} more at this pace; --max-duration limits it")

    def end_progress(self) -> None:
        """Clear the line of progress."""
        if self._on_line:
            _write("\r\x1b[K")
            self._on_line = False

    def note(self, line: str) -> None:
        """Say something that helps with --verbose."""
        if self.verbose:
            self._say(line)

    def warn(self, line: str) -> None:
        """Say something that a person should know."""
        if not self.quiet:
            self._say(f"warning: {line}")

    def complain(self, error: IdemctlError) -> None:
        """Say what ended a run whose report follows all the same."""
        self.end_progress()
        complain(self.command, error)

    def _say(self, line: str) -> None:
        self.end_progress()
        _write(f"idemctl {self.command}: {plain(line)}\n")


def complain(command: str, error: IdemctlError) -> None:
    """Say what went wrong, and the way out, in a line each."""
    name = f"idemctl {command}".rstrip()
    _write(plain(f"{name}: {error.message}") + "\n")
    if error.hint:
        _write(f"  {plain(error.hint)}\n")


def abandon(stream: TextIO) -> None:
    """Lead a stream that failed nowhere, so that what it still holds can be dropped."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _can_write_over() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        # A terminal that went away is no reason to leave a batch half reported.
        abandon(sys.stderr)

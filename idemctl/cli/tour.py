"""The tour's means: commands typed as a person would, and the score of what they have to show."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from idemctl.cli.verb import Work
from idemctl.domain.outcomes import Report, Sheet
from idemctl.errors import ExitStatus

if TYPE_CHECKING:
    from idemctl.sandbox.servers import Sandbox


class CannotGoOn(Exception):
    """A command of the tour failed; the expectation that did not hold is on record."""


@dataclass(slots=True, kw_only=True)
class Tour:
    """Runs commands as a person would type them, and keeps the score."""

    work: Work
    sandbox: Sandbox
    stream: TextIO
    _environ: dict[str, str] = field(default_factory=dict)
    _kept: list[tuple[str, bool]] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)

    @property
    def here(self) -> tuple[str, str]:
        """The words that name the demo's own sandbox."""
        return "--folder", str(self.sandbox.folder)

    def say(self, line: str) -> None:
        """Tell the story."""
        self.stream.write(line + "\n")
        self.stream.flush()

    def run(self, *words: str, status: ExitStatus = ExitStatus.OK) -> None:
        """Type a command and show what it prints; it has to end with this status."""
        self.work.run.checkpoint()
        self.say(f"$ idemctl {shlex.join(words)}")
        started = time.monotonic()
        done = self._call(*words)
        self._show(done.stdout, time.monotonic() - started)
        self._expect_status(done, words, status)

    def ask(self, *words: str, status: ExitStatus = ExitStatus.OK) -> dict[str, Any]:
        """Type a command with -o json, and read the answer."""
        self.work.run.checkpoint()
        self.say(f"$ idemctl {shlex.join(words)} -o json")
        started = time.monotonic()
        done = self._call(*words, "-o", "json")
        self.say(f"   (exit {done.returncode}, {time.monotonic() - started:.1f} s)")
        self._expect_status(done, words, status)
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def clear_away(self) -> None:
        """Remove the sandbox, also when the tour was stopped or nobody listens any more."""
        words = ("sandbox", "down", *self.here)
        started = time.monotonic()
        done = self._call(*words)
        self.say(f"$ idemctl {shlex.join(words)}")
        self._show(done.stdout, time.monotonic() - started)

    def expect(self, what: str, held: bool, seen: object) -> None:
        """Check an expectation; a tour that ends well has none that did not hold."""
        self._kept.append((what, held))
        self.say(f"   {'ok' if held else 'NOT OK'}: {what}" + ("" if held else f"; saw {seen}"))

    def report(self) -> Report:
        """Sum up."""
        failed = [what for what, held in self._kept if not held]
        took = time.monotonic() - self._began
        said = f"{len(self._kept) - len(failed)} of {len(self._kept)} expectations held"
        return Report(
            command="demo",
            status=ExitStatus.FINDINGS if failed else ExitStatus.OK,
            store=None,
            run_id=self.work.run.id,
            started_at=self.work.run.started_at,
            finished_at=self.work.now(),
            summary={"expectations": len(self._kept), "failed": len(failed)},
            items=[
                {"code": "expectation", "what": what, "held": held} for what, held in self._kept
            ],
            sheets=[
                Sheet(lines=[*(f"NOT OK: {what}" for what in failed), f"{said}, in {took:.0f} s"])
            ],
            headline=said,
        )

    def _call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 (our own command, words of our own)
            [sys.executable, "-m", "idemctl", *words],
            env=self._surroundings(),
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            # Ctrl-C is for the tour: it ends after the command that runs, and clears away.
            process_group=0,
        )

    def _show(self, printed: str, seconds: float) -> None:
        for line in printed.rstrip().splitlines():
            self.say(f"   {line}")
        self.say(f"   ({seconds:.1f} s)")

    def _expect_status(
        self, done: subprocess.CompletedProcess[str], words: tuple[str, ...], status: ExitStatus
    ) -> None:
        if done.returncode != status:
            ends = "well" if status is ExitStatus.OK else f"with {int(status)}"
            what = f"idemctl {shlex.join(words)} ends {ends}"
            self.expect(what, held=False, seen=f"exit {done.returncode}")
            raise CannotGoOn

    def _surroundings(self) -> dict[str, str]:
        """Give the environment of a command: the sandbox's, and no setting of the user's own."""
        ours = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("IDEMCTL_", "PG"))
        }
        return ours | {"XDG_CONFIG_HOME": str(self.sandbox.folder)} | self._found()

    def _found(self) -> dict[str, str]:
        """Learn the sandbox's environment, once it is up."""
        if not self._environ and self.sandbox.status().running:
            self._environ = self.sandbox.env()
        return self._environ

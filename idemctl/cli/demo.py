"""`idemctl demo`: the tour. Every step is a command that anyone can type."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from idemctl.cli.options import option
from idemctl.cli.verb import Work, verb
from idemctl.domain.outcomes import Report, Sheet
from idemctl.errors import ExitStatus
from idemctl.render.figures import count

if TYPE_CHECKING:
    from idemctl.sandbox.servers import Sandbox

_COLLECTED = ("payments", "webhooks", "workflows", "outbox")


def register(app: typer.Typer) -> None:
    """Add the command."""
    verb(app, "demo")(demo)


def demo(
    work: Work,
    *,
    records: Annotated[
        int, option("--records", help="how many to seed", min=1_000, max=10_000_000, metavar="N")
    ] = 100_000,
) -> Report:
    """Take the tour, on servers of its own.

    idemctl demo

    Starts a Postgres and a Valkey in a folder under /var/tmp, fills them, shows what gc
    would collect and why the rest stays, collects it, shows that nothing is left to do, and
    removes everything. Each step is checked against what was planted.

    Exit status: 0 every expectation held, 3 one did not.
    """
    from idemctl.sandbox.servers import Sandbox, default_folder

    sandbox = Sandbox(folder=default_folder(f"demo-{os.getpid()}"))
    tour = _Tour(work=work, sandbox=sandbox, stream=work.story)
    try:
        with contextlib.suppress(_CannotGoOn):
            _walk(tour, records)
    finally:
        tour.clear_away()
    tour.expect("nothing is left behind", not sandbox.folder.exists(), str(sandbox.folder))
    return tour.report()


def _walk(tour: _Tour, records: int) -> None:
    tour.say("Applications remember keys so that a retry is no second charge. Here are two such")
    tour.say("stores, a Postgres and a Valkey, with believable keys of all six patterns.")
    tour.run("sandbox", "up", *tour.here)
    tour.run("sandbox", "seed", *tour.here, "--records", str(records), "--seed", "7")
    planted = json.loads((tour.sandbox.folder / "manifest.json").read_text("utf-8"))
    expired = {name: planted["stores"][name]["postgres"]["expired_count"] for name in _COLLECTED}

    tour.say("")
    tour.say("What has outlived its promise, and why does the rest stay? Nothing changes yet.")
    tour.run("gc", "--pace", "full")
    before = tour.ask("gc", "--pace", "full")
    found = _by_store(before, "candidates")
    tour.expect("gc names exactly the expired records that were planted", found == expired, found)

    tour.say("")
    tour.say("Collect it: in small batches, each judged again at the moment it goes.")
    names = [word for name in _COLLECTED for word in ("--store", name)]
    after = tour.ask("gc", "--apply", "--pace", "full", *names)
    deleted = _by_store(after, "deleted")
    tour.expect("gc deletes exactly what it had named", deleted == expired, deleted)
    summary = after["summary"]
    tour.say(
        f"   {count(summary['deleted'], 'record')} collected in {summary['batches']} batches, "
        f"the longest {summary['longest_batch_ms']} ms; "
        f"{count(summary['children_deleted'], 'workflow step')} went with their runs."
    )

    tour.say("")
    tour.say("Run it again: there is nothing left to do, and what was alive still is.")
    again = tour.ask("gc", "--pace", "full")
    tour.expect("a second run finds nothing", not again["summary"]["candidates"], again["summary"])
    kept = {name: _kept(before, name) for name in _COLLECTED}
    still = {name: _kept(again, name) for name in _COLLECTED}
    tour.expect("every record that was kept is still there", kept == still, still)
    tour.run("store", "show")


def _by_store(document: Mapping[str, Any], figure: str) -> dict[str, int]:
    sides = document["summary"]["stores"]
    return {one["store"]: one[figure] for one in sides if one["place"].startswith("postgres ")}


def _kept(document: Mapping[str, Any], store: str) -> dict[str, int]:
    """Count what stays in a table; what is alive may come of age in between, but not go."""
    return {
        item["code"]: item["count"]
        for item in document["items"]
        if item["store"] == store
        and item["place"].startswith("postgres ")
        and item["code"] != "expired"
    }


class _CannotGoOn(Exception):
    """A command of the tour failed; the expectation that did not hold is on record."""


@dataclass(slots=True, kw_only=True)
class _Tour:
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

    def run(self, *words: str) -> None:
        """Type a command and show what it prints."""
        self.work.run.checkpoint()
        self.say(f"$ idemctl {shlex.join(words)}")
        started = time.monotonic()
        done = self._call(*words)
        self._show(done.stdout, time.monotonic() - started)
        self._expect_success(done, words)

    def ask(self, *words: str) -> dict[str, Any]:
        """Type a command with -o json, and read the answer."""
        self.work.run.checkpoint()
        self.say(f"$ idemctl {shlex.join(words)} -o json")
        done = self._call(*words, "-o", "json")
        self._expect_success(done, words)
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

    def _expect_success(
        self, done: subprocess.CompletedProcess[str], words: tuple[str, ...]
    ) -> None:
        if done.returncode:
            what = f"idemctl {shlex.join(words)} ends well"
            self.expect(what, held=False, seen=f"exit {done.returncode}")
            raise _CannotGoOn

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

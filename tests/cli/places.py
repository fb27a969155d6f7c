"""A folder to run idemctl in, and a database to look into meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from idemctl.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import psycopg
    import pytest

POSTGRES_ONLY = """\
version: 1
stores:
  payments:
    postgres: {dsn_env: DATABASE_URL, layout: reference, table: public.processed_events}
    ttl: 7d
  webhooks:
    postgres: {dsn_env: DATABASE_URL, layout: bare, table: public.seen_events}
    ttl: 7d
  workflows:
    postgres: {dsn_env: DATABASE_URL, layout: workflow, table: public.workflow_runs}
    ttl: 7d
  outbox:
    postgres: {dsn_env: DATABASE_URL, layout: outbox, table: public.outbox_events}
    ttl: 7d
"""
PAYMENTS = """\
version: 1
stores:
  payments:
    postgres: {dsn_env: DATABASE_URL, layout: reference, table: public.processed_events}
    ttl: 7d
"""
LARGE_EXPIRED = 28_000
LARGE_KEPT = 12_000


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        whole: dict[str, Any] = json.loads(self.out)
        return whole

    @property
    def summary(self) -> dict[str, Any]:
        whole: dict[str, Any] = self.document["summary"]
        return whole


@dataclass(kw_only=True)
class Place:
    """A folder with a configuration, and the ways to run idemctl there."""

    folder: Path
    environ: dict[str, str]
    capture: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch
    _started: list[subprocess.Popen[str]] = field(default_factory=list)

    python = sys.executable

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def configure(self, text: str) -> None:
        (self.folder / "idemctl.yaml").write_text(text, "utf-8")

    def lead(self, **environ: str) -> None:
        """Set variables for both ways to run."""
        self.environ |= environ
        for name, value in environ.items():
            self.patch.setenv(name, value)

    def main(self, *words: str) -> Done:
        """Run a command in this process."""
        self.capture.readouterr()
        status = main(words)
        printed = self.capture.readouterr()
        return Done(status=status, out=printed.out, err=printed.err)

    def start(self, *words: str, **more: Any) -> subprocess.Popen[str]:
        """Start a command as a process of its own."""
        process = subprocess.Popen(
            [self.python, "-m", "idemctl", *words],
            cwd=self.folder,
            env=self.environ,
            text=True,
            **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more),
        )
        self._started.append(process)
        return process

    def call(self, *words: str) -> Done:
        """Run a command as a process of its own."""
        return self.end(self.start(*words))

    def end(self, process: subprocess.Popen[str], *, within: float = 20.0) -> Done:
        out, err = process.communicate(timeout=within)
        return Done(status=process.returncode, out=out or "", err=err or "")

    def journal(self) -> list[dict[str, Any]]:
        """Read the newest journal."""
        files = sorted(
            (self.state / "journals").glob("*.jsonl"), key=lambda one: one.stat().st_ctime
        )
        lines = files[-1].read_text("utf-8").split("\n")[:-1] if files else []
        return [json.loads(line) for line in lines]

    def await_journal(self, count: int, *, trouble: bool = False) -> None:
        """Wait for so many events of the newest journal: batches, or what kept one back."""
        await_that(
            lambda: sum("trouble" in one or not trouble for one in self.batches()) >= count,
            f"{count} batches in the journal",
        )

    def batches(self) -> list[dict[str, Any]]:
        return [one for one in self.journal() if one["event"] == "batch"]

    def kill_started(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()


def await_that(holds: Callable[[], bool], what: str, *, within: float = 10.0) -> None:
    """Poll a condition, up to a deadline."""
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, f"did not come within {within} s: {what}"
        time.sleep(0.005)


@dataclass(frozen=True, kw_only=True)
class Database:
    """A database of one test, and the observer who looks into it."""

    dsn: str
    observer: psycopg.Connection[tuple[Any, ...]]

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        return self.observer.execute(query.encode()).fetchall()

    def count(self, query: str) -> int:
        return int(self.ask(f"SELECT count(*) FROM {query}")[0][0])

    def backends(self) -> int:
        """Count the sessions of idemctl."""
        return self.count(
            "pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

    def await_no_backend(self) -> None:
        await_that(lambda: not self.backends(), "no session is left", within=5)

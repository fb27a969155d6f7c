"""Redis is flushed under an application at work: what refills it brings back nothing dead.

The first repairs are controls. What a script would do must be caught, or the harness is too
weak; the same under a lock must pass, or it is too strict.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import idemctl
from idemctl.errors import ExitStatus
from tests.acceptance.flushes import (
    blind_set,
    flush_under_traffic,
    set_nx,
    set_nx_under_lock,
)
from tests.acceptance.slow_way import slow_way

if TYPE_CHECKING:
    from collections.abc import Callable

    from idemctl.sandbox.servers import Sandbox
    from idemctl.sandbox.traffic import Ledger

    Refill = Callable[[str, str], None]

PROJECT = Path(idemctl.__file__).parents[1]
DELAY_SECONDS = 0.05
"""Between what reconcile has read and its writes: without the row's lock it is caught, too."""
RECONCILE = ("reconcile", "--apply", "--yes", "--store", "payments", "--pace", "full")


@pytest.mark.parametrize("refill", [blind_set, set_nx])
def test_a_refill_without_a_lock_brings_back_the_dead_and_is_caught(
    dsn: str, redis_url: str, refill: Refill
) -> None:
    ledger = flush_under_traffic(dsn, redis_url, lambda: refill(dsn, redis_url))

    assert ledger.bad_reads_by_tool_count > 0
    assert ledger.bad_reads_by_app_count == 0


def test_a_refill_under_the_row_lock_brings_back_nothing_dead(dsn: str, redis_url: str) -> None:
    ledger = flush_under_traffic(dsn, redis_url, lambda: set_nx_under_lock(dsn, redis_url))

    assert_no_harm(ledger)


def test_reconcile_brings_back_nothing_dead(
    sandbox: Sandbox, dsn: str, redis_url: str, tmp_path: Path
) -> None:
    applied: list[int] = []
    with slow_way(redis_url, delay=DELAY_SECONDS) as far_redis:
        environ = os.environ | sandbox.env()
        environ |= {
            "DATABASE_URL": dsn,
            "REDIS_URL": far_redis,
            "IDEMCTL_STATE": str(tmp_path / "state"),
            "XDG_CONFIG_HOME": str(tmp_path),
            "PYTHONPATH": str(PROJECT),
        }

        def reconcile() -> None:
            envelope = run_idemctl(*RECONCILE, environ=environ, folder=tmp_path)
            applied.append(envelope["summary"]["applied"])

        ledger = flush_under_traffic(dsn, redis_url, reconcile)

    assert_no_harm(ledger)
    assert sum(applied) > 1_000


def assert_no_harm(ledger: Ledger) -> None:
    assert ledger.bad_reads_by_tool_count == 0, ledger.examples
    assert ledger.bad_reads_by_app_count == 0, ledger.examples
    assert ledger.two_owners_count == 0
    # It was tried: the application did meet what the repair had written.
    assert ledger.tool_read_count > 0


def run_idemctl(*words: str, environ: dict[str, str], folder: Path) -> dict[str, Any]:
    """Run a command as a process of its own; what stays to be done under traffic is no failure."""
    done = subprocess.run(
        [sys.executable, "-m", "idemctl", *words, "-o", "json"],
        env=environ,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    allowed = {ExitStatus.OK, ExitStatus.FINDINGS, ExitStatus.PARTIAL}
    assert done.returncode in allowed, done.stdout + done.stderr
    envelope: dict[str, Any] = json.loads(done.stdout)
    return envelope
